"""What is measured. Each row is a function of a course and a peer that returns the figures of a round, or raises a PeerError."""

import contextlib
import dataclasses
import random
import statistics
import tempfile
import time

from .peers import module
from .program import PeerError, Program

NAME = "race:one"
IN_FLIGHT = (1, 16, 256)
SHAPES = ((1, 16), (4, 4), (16, 1))  # processes, contenders in each
OTHER_KEYS = (0, 20_000, 200_000)


@dataclasses.dataclass(frozen=True)
class Settings:
    rounds: int = 5  # of the rows that vary most: IN_TURNS
    cycles: int = 600  # a round
    seconds: float = 0.5  # of each measurement of a rate, a round
    contention: float = 1.0  # seconds in which all contend for one name, a round
    warm_up: float = 1.0  # times what the peer needs
    wake_ups: int = 3  # a round
    ttl_ms: int = 1_000  # of those that die
    deaths: int = 3  # rounds of the recovery
    patience: float = 8.0  # seconds after the end of the ttl
    loss_ttl_ms: int = 2_000
    leases: int = 100_000
    renewals: float = 15.0  # seconds in which the leases are watched


QUICK = Settings(rounds=1, cycles=500, warm_up=0.25, ttl_ms=500, deaths=1, patience=2, loss_ttl_ms=1_000, leases=2_000, renewals=0)


class Course:
    """The server, and what is started on it."""

    def __init__(self, server, settings, pin):
        self.server, self.settings, self.pin = server, settings, pin

    def start(self, peer):
        return Program(peer, self.server.port, self.pin)

    @contextlib.contextmanager
    def started(self, peer, count=1):
        programs = []
        try:
            for _ in range(count):
                programs.append(self.start(peer))
            for program in programs:
                program.wait_until_ready()
            yield programs
        finally:
            for program in programs:
                program.kill()

    @contextlib.contextmanager
    def prepared(self, peer):
        """An empty server, with the module if the peer needs that."""
        self.server.clear()
        if peer.with_module:
            self.server.load_module(module)
        try:
            yield
        finally:
            if peer.with_module:
                self.server.unload_module()


def _warm(course, program):
    program.ask("rate", 16, max(0.1, program.peer.warm_up * course.settings.warm_up))


def uncontended(course, peer):
    with course.started(peer) as [program]:
        _warm(course, program)
        course.server.reset_counts()
        figures = program.ask("cycles", course.settings.cycles)
        return figures | {"requests": course.server.requests(peer) / course.settings.cycles,
                          "commands": course.server.commands() / course.settings.cycles}


def rate(course, peer):
    figures = {}
    with course.started(peer) as [program]:
        _warm(course, program)
        for in_flight in IN_FLIGHT:
            server, client = course.server.cpu(), program.cpu()
            try:
                done = program.ask("rate", in_flight, course.settings.seconds, seconds=course.settings.seconds + 20)
            except PeerError as e:
                figures[str(in_flight)] = {"error": str(e)}
                break
            server, client = course.server.cpu() - server, program.cpu() - client
            figures[str(in_flight)] = {"per_second": done["cycles"] / done["seconds"],
                                       "server_us": 1e6 * server / max(1, done["cycles"]),
                                       "client_us": 1e6 * client / max(1, done["cycles"])}
    return figures


def _handoffs(course, peer, processes, contenders):
    seconds, server = course.settings.contention, course.server
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as tally, course.started(peer, processes) as programs:
        tally.write(bytes(8))
        tally.flush()
        for program in programs:
            program.ask("cycles", 20)
        server.reset_counts()
        server_cpu, client_cpu = server.cpu(), sum(program.cpu() for program in programs)
        start = time.time_ns() // 1000 + 500_000
        for number, program in enumerate(programs):
            program.send("contend", NAME, contenders, number * contenders, start, seconds, tally.name)
        answers = [program.answer(seconds + 60) for program in programs]
        requests = server.requests(peer)
        server_cpu, client_cpu = server.cpu() - server_cpu, sum(program.cpu() for program in programs) - client_cpu
    if sum(answer["overlaps"] for answer in answers):
        raise PeerError("two contenders held the lock at once")
    turns = [count for answer in answers for count in answer["turns"]]
    handoffs = sum(answer["handoffs"] for answer in answers)
    return {"turns_per_second": sum(turns) / seconds, "handoffs_per_second": handoffs / seconds,
            "process_handoffs_per_second": sum(answer["process_handoffs"] for answer in answers) / seconds,
            "longest_wait_ms": max(answer["longest_wait_us"] for answer in answers) / 1000,
            "least_share": min(turns) / max(1, sum(turns)), "greatest_share": max(turns) / max(1, sum(turns)),
            "requests_per_handoff": requests / max(1, handoffs), "server_us": 1e6 * server_cpu / max(1, handoffs),
            "client_us": 1e6 * client_cpu / max(1, handoffs)}


def handoffs(course, peer):
    figures = {}
    for processes, contenders in SHAPES:
        course.server.clear()
        try:
            figures[f"{processes}x{contenders}"] = _handoffs(course, peer, processes, contenders)
        except PeerError as e:
            figures[f"{processes}x{contenders}"] = {"error": str(e)}
    return figures


def wake_up(course, peer):
    took = []
    with course.started(peer, 2) as [holder, waiter]:
        for program in (holder, waiter):
            program.ask("cycles", 50)
        for _ in range(course.settings.wake_ups):
            holder.ask("acquire", NAME, 30_000)
            waiter.send("acquire", NAME, 30_000)
            time.sleep(random.uniform(0.15, 0.25))  # it waits, and is at any point of its pauses
            left = holder.ask("release")
            took.append(waiter.answer(60)["at_us"] - left["asked_us"])
            waiter.ask("release")
    return {"p50_us": statistics.median(took), "longest_us": max(took)}


def _recovery(course, peer):
    settings, key = course.settings, peer.key.format(NAME)
    with course.started(peer, 2) as [holder, waiter]:
        holder.ask("acquire", NAME, settings.ttl_ms)
        waiter.send("acquire", NAME, settings.ttl_ms)
        time.sleep(0.3)  # it waits
        holder.process.kill()
        holder.process.wait()
        end = course.server.expires_at_us(key)
        left = end / 1e6 - time.time()
        try:
            return (waiter.answer(left + settings.patience)["at_us"] - end) / 1000
        except PeerError:
            if waiter.process.poll() is not None:
                raise
            return None


def recovery(course, peer):
    """Milliseconds from the end of the ttl; None: not within the patience."""
    figures = {}
    for keys in OTHER_KEYS:
        course.server.clear()
        course.server.fill(keys)
        figures[str(keys)] = {"ms": _recovery(course, peer)}
    return figures


def loss(course, peer):
    """Milliseconds from the end of the ttl at a frozen server to the moment when the holder is told; None: it isn't."""
    settings = course.settings
    with course.started(peer) as [program]:
        program.ask("acquire", NAME, settings.loss_ttl_ms)
        if "unsupported" in program.ask("watch", 0):
            return {"unsupported": True}
        time.sleep(settings.loss_ttl_ms / 3000)
        end = course.server.expires_at_us(peer.key.format(NAME))
        course.server.freeze()
        try:
            seconds = max(0, end / 1e6 - time.time()) + settings.patience / 2
            told = program.ask("watch", seconds, seconds=seconds + 30)["lost_us"]
        finally:
            course.server.thaw()
    return {"told_ms": None if told is None else (told - end) / 1000}


def leases(course, peer):
    settings, server = course.settings, course.server
    with course.started(peer) as [program]:
        program.ask("cycles", 50)
        before, _ = program.memory_and_threads()
        held = program.ask("hold_many", settings.leases, seconds=60)
        memory, threads = program.memory_and_threads()
        figures = {"held": held["held"], "per_second": held["held"] / held["seconds"],
                   "bytes_per_lease": (memory - before) / held["held"], "threads": threads}
        if settings.renewals and not peer.floor:
            server.reset_counts()
            server_cpu, client_cpu = server.cpu(), program.cpu()
            time.sleep(settings.renewals)
            figures |= {"seconds": settings.renewals, "requests": server.requests(peer),
                        "server_percent": 100 * (server.cpu() - server_cpu) / settings.renewals,
                        "client_percent": 100 * (program.cpu() - client_cpu) / settings.renewals}
        return figures


ALL = {"uncontended": uncontended, "rate": rate, "handoffs": handoffs, "wake-up": wake_up, "recovery": recovery, "loss": loss,
       "leases": leases}
IN_TURNS = ("uncontended", "rate", "handoffs", "wake-up")


def rounds(settings, row):
    """In each round all peers are measured, one after the other."""
    return settings.rounds if row in IN_TURNS else settings.deaths if row == "recovery" else 1
