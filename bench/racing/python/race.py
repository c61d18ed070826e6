"""redis-py's Lock in bench/race: PORT; then the line protocol of bench/racing/README.md.

The defaults of Lock, with a time-out (it has none by default). A thread for each that is at work at once.
"""

import json
import mmap
import os
import struct
import sys
import threading
import time

import redis

TTL = 10  # seconds
tally = struct.Struct("=ii")  # who held last, from 1 on, and whether somebody does; only holders touch it


def now():
    return time.time_ns() // 1000


def in_threads(count, body):
    failed = []

    def run(number):
        try:
            body(number)
        except Exception as e:  # told by the thread that waits for all
            failed.append(e)

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


class Race:
    def __init__(self, port):
        self.client = redis.Redis(port=port, max_connections=256)
        self.client.ping()
        self.held = None
        self.kept = []

    def lock(self, name, ttl=TTL):
        return self.client.lock(name, timeout=ttl)

    def cycles(self, count):
        lock, took = self.lock("race:cycles"), []
        for _ in range(int(count)):
            before = time.perf_counter_ns()
            lock.acquire()
            lock.release()
            took.append((time.perf_counter_ns() - before) / 1000)
        took.sort()
        return {"p50_us": took[int((len(took) - 1) * 0.5)], "p99_us": took[int((len(took) - 1) * 0.99)]}

    def rate(self, in_flight, seconds):
        done = [0] * int(in_flight)
        before = time.monotonic()
        end = before + float(seconds)

        def cycle(number):
            lock = self.lock(f"race:rate:{number}")
            while time.monotonic() < end:
                lock.acquire()
                lock.release()
                done[number] += 1

        in_threads(len(done), cycle)
        return {"cycles": sum(done), "seconds": time.monotonic() - before}

    def contend(self, name, contenders, first, start, seconds, file):
        contenders, first, start = int(contenders), int(first), int(start)
        end = start + int(float(seconds) * 1e6)
        with open(file, "r+b") as opened:
            shared = mmap.mmap(opened.fileno(), tally.size)
        counts = [{"turns": 0, "handoffs": 0, "process_handoffs": 0, "overlaps": 0, "longest": 0} for _ in range(contenders)]

        def take_turns(number):
            lock, mine, me = self.lock(name), counts[number], first + number
            time.sleep(max(0, start - now()) / 1e6)
            while (asked := now()) < end:
                lock.acquire()
                at = now()
                mine["longest"] = max(mine["longest"], min(at, end) - asked)
                if at < end:
                    last, inside = tally.unpack_from(shared)
                    mine["overlaps"] += inside != 0
                    tally.pack_into(shared, 0, me + 1, 1)
                    mine["handoffs"] += last - 1 != me
                    mine["process_handoffs"] += last > 0 and not first <= last - 1 < first + contenders
                    mine["turns"] += 1
                    tally.pack_into(shared, 0, me + 1, 0)
                lock.release()

        in_threads(contenders, take_turns)
        sums = {key: sum(mine[key] for mine in counts) for key in ("handoffs", "process_handoffs", "overlaps")}
        return {"turns": [mine["turns"] for mine in counts], "longest_wait_us": max(mine["longest"] for mine in counts), **sums}

    def acquire(self, name, ttl):
        self.held = self.lock(name, int(ttl) / 1000)
        asked = now()
        self.held.acquire()
        return {"asked_us": asked, "at_us": now()}

    def release(self):
        asked = now()
        self.held.release()
        return {"asked_us": asked, "at_us": now()}

    def watch(self, _seconds):
        return {"unsupported": True}

    def hold_many(self, count):
        workers, count, before = 16, int(count), time.monotonic()
        self.kept = [None] * count

        def hold(first):
            for number in range(first, count, workers):
                self.kept[number] = self.lock(f"race:held:{number}", 30)
                self.kept[number].acquire()

        in_threads(workers, hold)
        return {"held": count, "seconds": time.monotonic() - before}

    def answer(self, verb, *words):
        if verb not in ("cycles", "rate", "contend", "acquire", "release", "watch", "hold_many"):
            raise ValueError(f"no such request: {verb}")
        return getattr(self, verb)(*words)


def main():
    race = Race(int(sys.argv[1]))
    print("ready", redis.__version__, flush=True)
    for line in sys.stdin:
        try:
            answer = race.answer(*line.split())
        except Exception as e:  # whatever it is, the race that asked is to see it
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)
    os._exit(0)  # releases nothing


main()
