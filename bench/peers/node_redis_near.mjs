// npm's redis with its client-side cache, as near_beside.py plays it beside our near cache.
//
//   node node_redis_near.mjs '{"mode": "race" | "hits" | "table", "modules": FOLDER, "package": NAME,
//                              "port": N, …}'
//
//   race   the writer and the readers of herdlock-lab near-soak: `writes` writes with `pause` ms
//          after each, then an event, `events` times
//   hits   the time of a hit on one key, the median of `rounds` of a millisecond or two: few of them
//          are interrupted by other work of the machine
//   table  `clients` clients read `hot` keys each, ten times, and `cold` others, once, with or
//          without (`near`) their cache
//
// Where something is to happen it prints `event` and waits for a line of its input, by which it has
// happened; after the last one `settle`, and the same. Its last line is its figures, as JSON. Times are of the clock that all threads share.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setImmediate as turn, setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const options = isMainThread ? JSON.parse(process.argv[2]) : workerData.options;
const { createClient } = createRequire(`${options.modules}/`)(options.package);
const key = 'k';
const second = 1_000_000_000n;

async function open(port, near) {
  const client = createClient({
    socket: { host: '127.0.0.1', port },
    RESP: 3,
    ...(near ? { clientSideCache: { ttl: 0, maxEntries: 0 } } : {}),
  });
  client.on('error', () => {}); // it connects again by itself
  await client.connect();
  return client;
}

// near_history.hpp: what was written when, in memory that all threads see.
class History {
  constructor(memory) {
    this.memory = memory;
    this.flags = new Int32Array(memory, 0, 4); // acknowledged, nothing on its way, stop
    const most = (memory.byteLength - 16) / 16;
    this.at = new BigInt64Array(memory, 16, most);
    this.nothing = new BigInt64Array(memory, 16 + 8 * most, most);
  }

  static of(most) {
    return new History(new SharedArrayBuffer(16 + 16 * (most + 2)));
  }

  get acknowledged() {
    return Atomics.load(this.flags, 0);
  }

  nothingFollows() {
    Atomics.store(this.flags, 1, 1);
  }

  acknowledge(isNothing) {
    const number = this.acknowledged + 1;
    Atomics.store(this.nothing, number, isNothing ? 1n : 0n);
    Atomics.store(this.at, number, process.hrtime.bigint());
    Atomics.store(this.flags, 0, number);
    Atomics.store(this.flags, 1, 0);
  }

  // How long ago, at `asked`, that what was seen had been replaced by an acknowledged write.
  age(seen, acknowledged, asked) {
    if (seen === null && Atomics.load(this.flags, 1)) return null;
    let at = seen === null ? this.acknowledged : Number(seen);
    while (seen === null && at > 0 && !Atomics.load(this.nothing, at)) --at;
    if (at === 0 || at >= acknowledged) return null;
    return asked - Atomics.load(this.at, at + 1);
  }

  stop() {
    Atomics.store(this.flags, 2, 1);
  }

  get stopped() {
    return Atomics.load(this.flags, 2) === 1;
  }
}

async function read() {
  const history = new History(workerData.memory);
  const client = await open(options.port, true);
  const figures = { reads: 0, errors: 0, stale: 0, stale_a_second: 0, oldest_ns: 0n };
  parentPort.postMessage('ready');
  while (!history.stopped) {
    try {
      const acknowledged = history.acknowledged;
      const asked = process.hrtime.bigint();
      const age = history.age(await client.get(key), acknowledged, asked);
      ++figures.reads;
      if (age !== null) {
        ++figures.stale;
        if (age > second) ++figures.stale_a_second;
        if (age > figures.oldest_ns) figures.oldest_ns = age;
      }
    } catch {
      ++figures.errors;
    }
    // Without a turn of its loop it would never see a push.
    await turn();
  }
  parentPort.postMessage(figures);
  client.destroy();
}

async function write(client, history) {
  const value = String(history.acknowledged + 1);
  for (;;) {
    try {
      await client.set(key, value);
      break;
    } catch {
      await turn(); // unknown, and the same again
    }
  }
  history.acknowledge(false);
  if (options.pause > 0) await pass(options.pause);
}

async function race(tell) {
  const history = History.of((options.writes + 1) * (options.events + 1));
  const data = { options, memory: history.memory };
  const readers = Array.from(
    { length: options.readers },
    () => new Worker(fileURLToPath(import.meta.url), { workerData: data }),
  );
  const said = () => Promise.all(readers.map((one) => new Promise((done, fail) => {
    one.once('message', done);
    one.once('error', fail);
  })));
  await said();
  const client = await open(options.writer_port, false);
  for (let i = 0; i <= options.events; ++i) {
    for (let n = 0; n < options.writes; ++n) await write(client, history);
    if (i === options.events) break;
    if (options.empties) history.nothingFollows();
    await tell('event');
    if (options.empties) history.acknowledge(true);
  }
  await tell('settle');
  history.stop();
  const sum = { reads: 0, errors: 0, stale: 0, stale_a_second: 0, oldest_ms: 0 };
  for (const one of await said()) {
    for (const name of ['reads', 'errors', 'stale', 'stale_a_second']) sum[name] += one[name];
    sum.oldest_ms = Math.max(sum.oldest_ms, Number(one.oldest_ns) / 1e6);
  }
  return sum;
}

async function hits() {
  const client = await open(options.port, true);
  await client.set(key, 'x'.repeat(100));
  const some = async (count) => {
    const began = process.hrtime.bigint();
    for (let i = 0; i < count; ++i) await client.get(key);
    return Number(process.hrtime.bigint() - began) / count;
  };
  await some(50_000);
  const rounds = [];
  for (let i = 0; i < options.rounds; ++i) {
    rounds.push(await some(1_000));
    await turn();
  }
  return { ns_per_hit: rounds.sort((a, b) => a - b)[Math.floor(options.rounds / 2)] };
}

async function table(tell) {
  const clients = [];
  for (let i = 0; i < options.clients; ++i) clients.push(await open(options.port, options.near));
  const readAll = async (client, name, count) => {
    for (let at = 0; at < count; at += 64) {
      const some = Array.from({ length: Math.min(64, count - at) }, (_, i) => `${name}${at + i}`);
      await Promise.all(some.map((one) => client.get(one)));
    }
  };
  await tell('event');
  await Promise.all(clients.map(async (client) => {
    for (let i = 0; i < 10; ++i) await readAll(client, 'hot', options.hot);
    await readAll(client, 'cold', options.cold);
  }));
  await tell('settle');
  return {};
}

if (isMainThread) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const tell = async (what) => {
    console.log(what);
    await lines.next();
  };
  const result = await { race, hits, table }[options.mode](tell);
  console.log(JSON.stringify(result));
  process.exit(0);
} else {
  await read();
}
