// One process of a fleet over bentocache whose loader fails for a while, as outage_beside.py plays
// it beside ours.
//
//   node bentocache_outage.mjs '{"modules": FOLDER, "port": N, "callers": N, "ttl": MS, "load": MS,
//                                "pause": MS, "back_off": MS, "timeout": MS | null, "tiers": 1 | 2}'
//
// Its callers do what those of lab/scenes/freshness_worker.cpp do. Prints `loaded` at a load and
// `recovered NS` at the first after an outage; reads `outage FROM UNTIL`, in ns of the clock that
// all processes share, and `stop`; its last line is its figures, as JSON.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as pass } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const options = JSON.parse(process.argv[2]);
const { resolve } = createRequire(`${options.modules}/`);
const module = (name) => import(pathToFileURL(resolve(name)));
const { BentoCache, bentostore } = await module('bentocache');
const { redisDriver, redisBusDriver } = await module('bentocache/drivers/redis');
const { memoryDriver } = await module('bentocache/drivers/memory');
const { Redis } = await module('ioredis');

const connection = { host: '127.0.0.1', port: options.port };
let layers = bentostore();
if (options.tiers === 2) layers = layers.useL1Layer(memoryDriver({ maxItems: 1000 }));
layers = layers.useL2Layer(redisDriver({ connection }));
if (options.tiers === 2) layers = layers.useBus(redisBusDriver({ connection }));
const cache = new BentoCache({ default: 'one', stores: { one: layers } });
const plain = new Redis(connection);

const figures = { calls: 0, stale: 0, errors: 0, failed_loads: 0, longest_ms: 0, waits: {} };
let from = Infinity;
let until = Infinity;
let stopped = false;
let served = false;
let recovered = false;
const now = () => Number(process.hrtime.bigint());

createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, ...times] = line.split(' ');
  if (verb === 'outage') [from, until] = times.map(Number);
  if (verb === 'stop') stopped = true;
});

async function load() {
  await pass(options.load);
  const at = now();
  if (at >= from && at < until) {
    ++figures.failed_loads;
    throw new Error('the loader is down');
  }
  if (at >= until && !recovered) {
    recovered = true;
    console.log(`recovered ${at - until}`);
  } else {
    console.log('loaded');
  }
  return at;
}

async function callOn() {
  while (!stopped) {
    const began = now();
    const mayWait = !served;
    try {
      const seen = await cache.getOrSet({
        key: 'k',
        ttl: options.ttl,
        grace: '1h',
        graceBackoff: options.back_off,
        timeout: options.timeout,
        factory: load,
      });
      const ended = now();
      served = true;
      ++figures.calls;
      if (ended - seen > options.ttl * 1e6) ++figures.stale;
      if (!mayWait) {
        const wait = (ended - began) / 1e6;
        figures.longest_ms = Math.max(figures.longest_ms, wait);
        const bucket = Math.floor(Math.log2(Math.max(wait * 1000, 1)) * 16);
        figures.waits[bucket] = (figures.waits[bucket] ?? 0) + 1;
      }
      await plain.get('plain');
    } catch {
      ++figures.errors;
    }
    await pass(options.pause * (0.5 + Math.random()));
  }
}

await Promise.all(Array.from({ length: options.callers }, callOn));
console.log(JSON.stringify(figures));
process.exit(0);
