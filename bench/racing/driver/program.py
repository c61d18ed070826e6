"""A peer's program, driven by lines: bench/racing/README.md."""

import json
import os
import queue
import resource
import signal
import subprocess
import tempfile
import threading

from . import machine


class PeerError(Exception):
    """What a peer can't do, in words for its row."""


class Program:
    def __init__(self, peer, port, pin):
        self.peer = peer
        self.said = tempfile.TemporaryFile()  # by its standard error
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        try:
            self.process = subprocess.Popen(
                [*peer.command, str(port), *peer.options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
                text=True, bufsize=1, env={**os.environ, **peer.environment}, preexec_fn=machine.pinned(1, pin, files))
        except OSError as e:
            raise PeerError(f"can't be started: {e}") from e
        self.pid = self.process.pid
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.version = None

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def _line(self, what, seconds):
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise PeerError(f"no answer to `{what}` within {seconds:.0f} s") from None
        if line is None:
            self.said.seek(0)
            last = self.said.read().decode(errors="replace").strip().splitlines()[-1:]
            raise PeerError(f"ended during `{what}`" + "".join(f": {text}" for text in last))
        return line

    def wait_until_ready(self):
        ready, _, self.version = self._line("start", 60).partition(" ")
        if ready != "ready":
            raise PeerError(f"said `{ready}` instead of `ready`")
        return self

    def send(self, *words):
        self.asked = " ".join(str(word) for word in words)
        try:
            self.process.stdin.write(self.asked + "\n")
        except OSError:
            pass  # it has ended; its answer says so

    def answer(self, seconds):
        line = self._line(self.asked, seconds)
        try:
            answer = json.loads(line)
        except ValueError:
            raise PeerError(f"answered `{line}` to `{self.asked}`") from None
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def ask(self, *words, seconds=60):
        self.send(*words)
        return self.answer(seconds)

    def cpu(self):
        return machine.cpu_seconds(self.pid)

    def memory_and_threads(self):
        return machine.memory_and_threads(self.pid)

    def kill(self):
        """As a crash does: nothing is released."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.said.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
