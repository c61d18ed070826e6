// Drives node-redlock by lines: ID THREAD KIND NAME VERB [ARG...] in, ID ANSWER out. Started with where
// Redis is, on 127.0.0.1: PORT; PORT,PORT,… for masters that know nothing of each other; cluster:PORT,….
'use strict';

const readline = require('readline');
const Redis = require('ioredis');
const Redlock = require('redlock');

const RETRY_DELAY = 5; // ms; redlock's own is 200, and tests have no time for that
const FOR_EVER = -1; // redlock's word for retryCount

const connect = (where) => {
  const [ports, isCluster] = where.split(':').reverse();
  const hosts = ports.split(',').map((port) => ({host: '127.0.0.1', port: Number(port)}));
  if (isCluster) return [new Redis.Cluster(hosts)];
  // What is asked of one of several that is down fails soon. By default ioredis keeps it for later, and redlock waits.
  const several = {maxRetriesPerRequest: 0, retryStrategy: () => 50};
  return hosts.map((host) => new Redis({...host, ...(hosts.length > 1 ? several : {})}));
};
const clients = connect(process.argv[2]);
for (const one of clients) one.on('error', () => {}); // a server that goes down: what was asked of it fails
const [client] = clients;

const say = (id, text) => console.log(`${id} ${String(text).replace(/\s+/g, ' ')}`);

const locks = (retryCount) => new Redlock(clients, {retryCount, retryDelay: RETRY_DELAY, retryJitter: 1});

async function tryLock(held, name, wait, lease) {
  try {
    held.set(name, await locks(Math.floor(wait / RETRY_DELAY)).lock(name, Number(lease)));
    return 'true';
  } catch (error) {
    if (error instanceof Redlock.LockError) return 'false';
    throw error;
  }
}

async function unlock(held, name) {
  const lock = held.get(name);
  if (!lock) throw new Error('not locked by this thread');
  held.delete(name);
  await lock.unlock();
  return 'ok';
}

async function increment(held, name, counter, times, lease) {
  const patient = locks(FOR_EVER);
  for (let left = Number(times); left > 0; --left) {
    const lock = await patient.lock(name, Number(lease));
    await client.set(counter, Number(await client.get(counter)) + 1);
    await lock.unlock();
  }
  return 'ok';
}

const verbs = {'try-lock': tryLock, unlock, increment};

async function answer(held, [kind, name, verb, ...args]) {
  if (kind !== 'lock' || !(verb in verbs)) return 'unsupported';
  return verbs[verb](held, name, ...args);
}

async function main() {
  await Promise.all(clients.map((one) => one.ping()));
  say(0, 'ready redlock');
  const threads = new Map(); // to {held, last}: what the thread holds, and the promise of its last request
  readline.createInterface({input: process.stdin})
    .on('line', (line) => {
      const [id, name, ...words] = line.split(' ');
      if (!threads.has(name)) threads.set(name, {held: new Map(), last: Promise.resolve()});
      const thread = threads.get(name);
      thread.last = thread.last
        .then(() => answer(thread.held, words))
        .then((text) => say(id, text), (error) => say(id, `error ${error.name}: ${error.message}`));
    })
    .on('close', () => process.exit(0)); // releases nothing
}

main();
