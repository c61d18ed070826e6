// node-redlock in bench/race: PORT; then the line protocol of bench/racing/README.md. The defaults of redlock, with
// as many tries as it takes.
'use strict';

const fs = require('fs');
const readline = require('readline');
const Redis = require('ioredis');
const Redlock = require('redlock');

const TTL = 10_000; // ms
const FOR_EVER = -1; // redlock's word for retryCount

const client = new Redis({host: '127.0.0.1', port: Number(process.argv[2])});
const locks = new Redlock([client], {retryCount: FOR_EVER});
const version = require('redlock/package.json').version;
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000); // microseconds
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const at_once = (count, body) => Promise.all(Array.from({length: count}, (_, number) => body(number)));
let held;
let kept = [];

async function cycles(count) {
  const took = [];
  for (let i = 0; i < count; ++i) {
    const before = performance.now();
    const lock = await locks.lock('race:cycles', TTL);
    await lock.unlock();
    took.push((performance.now() - before) * 1000);
  }
  took.sort((one, other) => one - other);
  const at = (share) => took[Math.floor((count - 1) * share)];
  return {p50_us: at(0.5), p99_us: at(0.99)};
}

async function rate(in_flight, seconds) {
  let done = 0;
  const before = performance.now();
  const end = before + seconds * 1000;
  await at_once(in_flight, async (number) => {
    while (performance.now() < end) {
      const lock = await locks.lock(`race:rate:${number}`, TTL);
      await lock.unlock();
      ++done;
    }
  });
  return {cycles: done, seconds: (performance.now() - before) / 1000};
}

// What the holders of all processes tell each other, in a file: who held last, from 1 on, and whether somebody does.
// Only holders touch it.
function visit(file, bytes, me, is_here, sums) {
  fs.readSync(file, bytes, 0, 8, 0);
  const [last, inside] = bytes;
  if (inside !== 0) ++sums.overlaps;
  fs.writeSync(file, Int32Array.of(me + 1, 1), 0, 8, 0);
  if (last - 1 !== me) ++sums.handoffs;
  if (last > 0 && !is_here(last - 1)) ++sums.process_handoffs;
  fs.writeSync(file, Int32Array.of(me + 1, 0), 0, 8, 0);
}

async function contend(name, contenders, first, start, seconds, path) {
  const end = start + seconds * 1e6;
  const file = fs.openSync(path, 'r+');
  const turns = new Array(contenders).fill(0);
  const sums = {handoffs: 0, process_handoffs: 0, overlaps: 0, longest_wait_us: 0};
  const bytes = new Int32Array(2);
  const is_here = (other) => other >= first && other < first + contenders;
  await sleep(Math.max(0, start - now()) / 1000);
  await at_once(contenders, async (number) => {
    for (let asked = now(); asked < end; asked = now()) {
      const lock = await locks.lock(name, TTL);
      const at = now();
      sums.longest_wait_us = Math.max(sums.longest_wait_us, Math.min(at, end) - asked);
      if (at < end) {
        visit(file, bytes, first + number, is_here, sums);
        ++turns[number];
      }
      await lock.unlock();
    }
  });
  fs.closeSync(file);
  return {turns, ...sums};
}

async function acquire(name, ttl) {
  const asked_us = now();
  held = await locks.lock(name, ttl);
  return {asked_us, at_us: now()};
}

async function release() {
  const asked_us = now();
  await held.unlock();
  return {asked_us, at_us: now()};
}

async function hold_many(count) {
  const workers = 256;
  const before = performance.now();
  kept = new Array(count);
  await at_once(workers, async (first) => {
    for (let number = first; number < count; number += workers) {
      kept[number] = await locks.lock(`race:held:${number}`, 30_000);
    }
  });
  return {held: count, seconds: (performance.now() - before) / 1000};
}

const verbs = {cycles, rate, contend, acquire, release, hold_many, watch: async () => ({unsupported: true})};

async function main() {
  await client.ping();
  console.log('ready', version);
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [verb, ...words] = line.split(' ');
    let answer;
    try {
      if (!(verb in verbs)) throw new Error(`no such request: ${verb}`);
      answer = await verbs[verb](...words.map((word) => (Number.isNaN(Number(word)) ? word : Number(word))));
    } catch (error) {
      answer = {error: `${error.name}: ${error.message}`};
    }
    console.log(JSON.stringify(answer));
  }
  process.exit(0); // releases nothing
}

main();
