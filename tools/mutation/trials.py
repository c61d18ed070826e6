"""Which tests there are, which places each of them reaches, and whether it notices that one is broken.

No verdict rests on how fast the machine is. What fails for a mutant, or doesn't end, runs once more by itself, and beside it the same
test with nothing broken: the mutant is killed if it fails again, or still runs when the other has passed and as long again has gone
by several times, and if the other passes."""

import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import time
from typing import NamedTuple

from tree import BUILD, PLACE, TREE


class Suite(NamedTuple):
    name: str
    program: str
    parts: int  # in which it runs when nothing is broken
    waits: bool  # for servers and time, so that a failure may be the machine's
    arguments: tuple = ()
    tests: str = "*"


def laws(name, argument, kinds):
    return Suite(f"laws.{name}", "laws", 2, True, (argument,), f"{kinds}-*cost*:waking_by_messages*:*its_turn_in_spite_of_barging_neighbours*")


SUITES = [  # the cheapest first; all of `./check` but what is about packages, examples and the module
    Suite("unit", "unit", 1, False),
    Suite("threads", "threads", 1, True),
    Suite("memory", "memory", 1, True),
    Suite("contract", "contract", 2, True),
    Suite("simulation", "simulation", 4, False),
    Suite("asynchronous", "asynchronous", 4, True),
    Suite("laws", "laws", 24, True),
    laws("on_quorum", "--on=quorum", "*/quorum_mutex_inbox"),
    laws("on_cluster", "--on=cluster", "*/mutex_inbox"),
    laws("on_sentinel", "--on=sentinel", "*/mutex_inbox"),
    laws("by_native", "--by=native", "*/mutex_inbox"),
    laws("by_scriptless", "--by=scriptless", "*/mutex_inbox:fenced.*"),
    Suite("fault", "fault", 12, True),
    Suite("pressure", "pressure", 8, True),
    Suite("cli", "cli_test", 12, True),
]
SETTINGS = {"HOLDFAST_SEED": "1", "HOLDFAST_SCHEDULES": "15", "RC_PARAMS": "seed=1"}
BATCH = 12.0  # seconds of tests that run in one process


class Outcome(NamedTuple):
    passed: bool
    ended: bool
    seconds: float
    output: str

    def times(self):
        """{test that passed: seconds}."""
        return {match[1]: int(match[2]) / 1000 for match in re.finditer(r"^\[       OK \] (\S+) \((\d+) ms\)", self.output, re.M)}

    def culprit(self):
        """The test that failed, or that the program was in when it ended or was ended."""
        failed = re.search(r"^\[  FAILED  \] (\S+?),? ", self.output, re.M)
        if failed:
            return failed[1]
        begun = re.findall(r"^\[ RUN      \] (\S+)", self.output, re.M)
        return begun[-1] if begun and begun[-1] not in self.times() else None


class Run:
    """A program of tests that is running."""

    def __init__(self, suite, tests, settings, part=None):
        self.output = open(PLACE / f"output.{os.getpid()}.{time.monotonic_ns()}", "w+b")
        os.unlink(self.output.name)
        shard = {} if part is None else {"GTEST_TOTAL_SHARDS": str(suite.parts), "GTEST_SHARD_INDEX": str(part)}
        fast = [] if part is not None else ["--gtest_fail_fast"]
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            [BUILD / f"tests/holdfast_{suite.program}", *suite.arguments, f"--gtest_filter={tests}", *fast], cwd=TREE,
            env=os.environ | SETTINGS | settings | shard, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True)

    def wait(self, limit):
        try:
            self.process.wait(limit)
            return True
        except subprocess.TimeoutExpired:
            return False

    def end(self):
        ended = self.process.poll() is not None
        seconds = time.monotonic() - self.begin
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # it, and the servers that it has started
        except ProcessLookupError:
            pass
        passed = self.process.wait() == 0 and ended
        self.output.seek(0)
        text = self.output.read().decode(errors="replace")
        self.output.close()
        return Outcome(passed, ended, seconds, text)


def measure(suites, jobs):
    """What of each suite passes when nothing is broken: how long it takes, and what it reaches: numbers of mutants of the sources, and
    names of scripts. Apart the constants that are computed before the first test."""
    def one(suite, part):
        folder = PLACE / f"reached.{suite.name}.{part}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        run = Run(suite, suite.tests, {"HOLDFAST_MUTANTS_REACHED": str(folder)}, part)
        run.wait(1800)
        outcome = run.end()
        notes = {path.name: sorted(set(path.read_text().split())) for path in folder.iterdir()}
        shutil.rmtree(folder)
        failed = sorted(set(re.findall(r"^\[  FAILED  \] ([^\s,]+\.[^\s,]+)", outcome.output, re.M)))
        if not outcome.passed:
            print(f"left out, as it fails when nothing is broken: {suite.name} {' '.join(failed) or outcome.culprit() or outcome.output[-600:]}", flush=True)
        tests = {name: {"seconds": seconds, "reached": notes.get(name.replace("/", "~"), [])}
                 for name, seconds in outcome.times().items() if name not in failed}
        return suite.name, tests, notes.get("before", [])
    measured = {suite.name: {"tests": {}, "constants": []} for suite in suites}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, tests, constants in pool.map(lambda each: one(*each), [(suite, part) for suite in suites for part in range(suite.parts)]):
            measured[name]["tests"] |= tests
            measured[name]["constants"] = sorted(set(measured[name]["constants"]) | set(constants))
    return measured


def in_order(tests, seed):
    """By chance, but one test of each sentence first, then the second of each: of a law that holds for twenty kinds of lock, one."""
    chance = random.Random(seed)
    sentences = {}
    for test in sorted(tests):
        sentences.setdefault(re.sub(r"^\w+/|/[^.]*$", "", test), []).append(test)
    for of_one in sentences.values():
        chance.shuffle(of_one)
    places = [(i, chance.random(), test) for of_one in sentences.values() for i, test in enumerate(of_one)]
    return [test for _, _, test in sorted(places)]


def tests_of(number, scripts, measured, companions, seed):
    """The tests of a suite that reach the mutant, in the order in which they try it. `scripts` are the names of those that it changes;
    `companions` the other numbers of its file: who reaches these may depend on a constant of the file."""
    wanted = scripts | {str(number)}
    reaching = {test for test, what in measured["tests"].items() if wanted & set(what["reached"])}
    if str(number) in measured["constants"]:
        reaching |= {test for test, what in measured["tests"].items() if companions & set(what["reached"])} or set(measured["tests"])
    return in_order(reaching, seed)


def is_killed_by(suite, test, settings):
    """Whether that test fails for the mutant while it passes beside it."""
    mutated, control = Run(suite, test, settings), Run(suite, test, {})
    beside = control.wait(600)
    seconds = time.monotonic() - control.begin
    unbroken = control.end()
    mutated.wait(max(20.0, 4 * seconds) if beside else 0)
    broken = mutated.end()
    return unbroken.passed and not broken.passed


def try_tests(suite, tests, times, settings):
    """How the mutant is killed by these tests; None if it isn't."""
    while tests:
        expected = sum(times[test] for test in tests)
        run = Run(suite, ":".join(tests), settings)
        run.wait(30 + 6 * expected)
        outcome = run.end()
        if outcome.passed:
            return None
        test = outcome.culprit()
        if test is None:  # it fails apart from any test: at its beginning or at its end
            test = ":".join(tests)
        if (outcome.ended and not suite.waits) or is_killed_by(suite, test, settings):
            return f"{test}{'' if outcome.ended else ' (hangs)'}"
        through = outcome.times()
        tests = [each for each in tests if each != test and each not in through] if test in tests else []
    return None


def batches(tests, times):
    batch, seconds = [], 0.0
    for test in tests:
        if batch and seconds + times[test] > BATCH:
            yield batch
            batch, seconds = [], 0.0
        batch.append(test)
        seconds += times[test]
    if batch:
        yield batch
