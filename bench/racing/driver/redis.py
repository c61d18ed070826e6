"""The server of the race, and the few commands that the driver sends it."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time

from . import machine


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self._reply()

    def _reply(self):
        line = self.file.readline()
        kind, text = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(f"the server answers: {text.decode()}")
        if kind == b":":
            return int(text)
        if kind == b"$":
            return None if text == b"-1" else self.file.read(int(text) + 2)[:-2].decode()
        if kind == b"*":
            return [self._reply() for _ in range(int(text))]
        if kind == b"+":
            return text.decode()
        raise RuntimeError("the server has closed the connection")


# What clients send; what scripts call inside has the same counters, so the rest can't be told apart.
REQUESTS = ("eval", "evalsha", "exec", "subscribe", "ssubscribe", "psubscribe", "unsubscribe", "sunsubscribe", "ping", "hello")


class Server:
    """Without persistence, on a port of loopback. Pinned to the first core."""

    def __init__(self, pin):
        program = os.environ.get("HOLDFAST_REDIS_SERVER") or shutil.which("redis-server") or shutil.which("valkey-server")
        if not program:
            raise SystemExit("bench/race needs redis-server or valkey-server in PATH, or HOLDFAST_REDIS_SERVER")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--loglevel",
             "warning", "--dir", "/tmp", "--enable-module-command", "yes"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=machine.pinned(0, pin, files))
        self.admin = self._connect(program)

    def _connect(self, program):
        deadline = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                return Connection(self.port)
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"{program} can't be started on port {self.port}; it has to be Redis 7 or later, or Valkey")

    def info(self, section):
        lines = self.admin.call("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def version(self):
        info = self.info("server")
        return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"

    def cpu(self):
        return machine.cpu_seconds(self.process.pid)

    def reset_counts(self):
        self.admin.call("CONFIG", "RESETSTAT")

    def requests(self, peer):
        """So many have clients sent since the counts were reset. A transaction is one request."""
        counted = REQUESTS + (("set",) if peer.sends_set else ())
        sum_of = 0
        for command, numbers in self.info("commandstats").items():
            command = command.removeprefix("cmdstat_").split("|")[0]
            if command in counted or command.startswith("holdfast."):
                sum_of += int(numbers.split(",")[0].removeprefix("calls="))
        return sum_of

    def commands(self):
        """So many has the server run since then, for clients and inside of scripts and transactions."""
        return sum(int(numbers.split(",")[0].removeprefix("calls=")) for numbers in self.info("commandstats").values())

    def expires_at_us(self, key):
        at = self.admin.call("PEXPIRETIME", key)
        if at <= 0:
            raise RuntimeError(f"the lock isn't under the key {key}, or has no ttl")
        return at * 1000

    def clear(self):
        self.admin.call("FLUSHALL")

    def fill(self, keys):
        """So many keys that expire in an hour."""
        script = "for i = ARGV[1], ARGV[2] do redis.call('SET', 'race:other:' .. i, 'x', 'PX', 3600000 + i) end"
        for first in range(0, keys, 10_000):
            self.admin.call("EVAL", script, 0, first, min(first + 10_000, keys) - 1)

    def load_module(self, path):
        self.admin.call("MODULE", "LOAD", path)

    def unload_module(self):
        self.admin.call("MODULE", "UNLOAD", "holdfast")

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self):
        self.thaw()
        self.process.kill()
        self.process.wait()
