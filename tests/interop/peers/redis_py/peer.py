"""Drives redis-py's Lock by lines: ID THREAD KIND NAME VERB [ARG...] in, ID ANSWER out.

Started with where Redis is, on 127.0.0.1: PORT, or cluster:PORT,….
"""

import os
import queue
import sys
import threading

import redis
from redis.cluster import ClusterNode, RedisCluster

RETRY_DELAY = 0.005  # seconds; redis-py's own is 0.1, and tests have no time for that

one = threading.Lock()


def say(request, text):
    with one:
        print(request, " ".join(str(text).split()), flush=True)


def connect(where):
    if not where.startswith("cluster:"):
        return redis.Redis(port=int(where))
    ports = where.removeprefix("cluster:").split(",")
    return RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", int(port)) for port in ports])


class Holder:
    """What one logical thread holds."""

    def __init__(self, where):
        self.client = connect(where)
        self.held = {}

    def lock(self, name, lease):
        return self.client.lock(name, timeout=int(lease) / 1000, sleep=RETRY_DELAY, thread_local=False)

    def try_lock(self, name, wait, lease):
        lock = self.lock(name, lease)
        if not lock.acquire(blocking_timeout=int(wait) / 1000):
            return "false"
        self.held[name] = lock
        return "true"

    def unlock(self, name):
        self.held.pop(name).release()
        return "ok"

    def increment(self, name, counter, times, lease):
        lock = self.lock(name, lease)
        for _ in range(int(times)):
            with lock:
                self.client.set(counter, int(self.client.get(counter) or 0) + 1)
        return "ok"

    def answer(self, kind, name, verb, *args):
        verbs = {"try-lock": self.try_lock, "unlock": self.unlock, "increment": self.increment}
        if kind != "lock" or verb not in verbs:
            return "unsupported"
        return verbs[verb](name, *args)

    def serve(self, requests):
        while True:
            request, *words = requests.get()
            try:
                say(request, self.answer(*words))
            except Exception as e:  # whatever it is, the test that asked is to see it
                say(request, f"error {type(e).__name__}: {e}")


def main():
    where = sys.argv[1]
    connect(where).ping()
    say("0", f"ready {redis.__version__}")
    threads = {}
    for line in sys.stdin:
        request, thread, *words = line.split()
        if thread not in threads:
            threads[thread] = queue.Queue()
            threading.Thread(target=Holder(where).serve, args=[threads[thread]], daemon=True).start()
        threads[thread].put([request, *words])
    os._exit(0)  # releases nothing


main()
