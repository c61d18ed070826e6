"""A Redis and `holdfast serve` before it, as the checks of the page need them."""

import os
import re
import socket
import subprocess
import threading
import time

LIMIT = 30  # seconds for what must come


def eventually(question, limit=LIMIT):
    end = time.monotonic() + limit
    while not (answer := question()):
        if time.monotonic() > end:
            raise AssertionError("it didn't become true in time")
        time.sleep(0.1)
    return answer


def owner(number):
    return f"{number:08x}-2222-4333-8444-555555555555:1"


class Redis:
    def __init__(self, folder):
        self.folder = folder
        self.path = f"{folder}/redis.sock"
        self.url = f"redis+unix://{self.path}"
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.folder]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        eventually(self.answers)

    def answers(self):
        """Its socket has a path before anybody listens there."""
        try:
            return self.send(["PING"]) == [b"+PONG\r\n"]
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def send(self, *commands):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            text = b""
            for words in commands:
                words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
                text += b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
            connection.sendall(text)
            file = connection.makefile("rb")
            return [file.readline() for _ in commands]

    def hold(self, name, number=1, token=None):
        """As a process that left no record would. Without a token the lock is held since now."""
        token = int(time.time() * 1e6) if token is None else token
        self.send(["SET", name, owner(number), "PX", 600_000], ["SET", f"{{{name}}}:holdfast_token", token])

    def read(self, name, *numbers):
        late = int(time.time() * 1000) + 600_000
        self.send(["SET", name, "holdfast_readers", "PX", 600_000], ["ZADD", f"{{{name}}}:holdfast_readers", *[word for number in numbers for word in (late, owner(number) + ":r")]])

    def queue(self, name, *numbers):
        now = int(time.time() * 1e6)
        self.send(["ZADD", f"{{{name}}}:holdfast_queue", *[word for i, number in enumerate(numbers) for word in (now + i, owner(number))]])

    def holds(self, name):
        return self.send(["EXISTS", name]) == [b":1\r\n"]

    def empty(self):
        self.send(["FLUSHALL"])


class Serve:
    def __init__(self, holdfast, redis, *options, listen="127.0.0.1:0"):
        self.said = ""
        command = [holdfast, "serve", "--listen", listen, "--url", redis.url, *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.said += line
        found = re.search(r"(https?)://(127\.0\.0\.1:[0-9]+)/", line)
        if not found:
            raise RuntimeError(line + self.process.stderr.read())
        self.address = found[2]
        self.url = f"{found[1]}://{found[2]}/"
        # A pipe that nobody reads would stop it.
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said += line

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
