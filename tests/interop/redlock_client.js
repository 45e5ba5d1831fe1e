// npm's redlock over ioredis, driven line by line: `node redlock_client.js PORT…`, one port or one
// for each node, with NODE_PATH at the modules. The same lines as redis_py_lock.py.
'use strict';

const readline = require('readline');
const Redis = require('ioredis');
const Redlock = require('redlock');

const clients = process.argv.slice(2).map((port) => {
  // A node that is down fails its command at once, as one of a minority should.
  const client = new Redis({ host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: 0 });
  client.on('error', (why) => console.error(String(why)));
  return client;
});
const redlock = new Redlock(clients, { retryCount: 0 });
// What one server has to say besides the outcome; shown when a test fails.
redlock.on('clientError', (why) => console.error(String(why)));
const held = new Map();

async function answer(verb, name, ttl) {
  try {
    if (verb === 'take') {
      held.set(name, await redlock.lock(name, Number(ttl)));
    } else if (verb === 'extend') {
      held.set(name, await held.get(name).extend(Number(ttl)));
    } else if (verb === 'release') {
      await held.get(name).unlock();
    } else {
      return `error unknown verb ${verb}`;
    }
    return 'yes';
  } catch (why) {
    return why instanceof Redlock.LockError ? 'no' : `error ${why}`;
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await answer(...line.split(' ')));
  }
  clients.forEach((client) => client.disconnect());
}

main();
