"""Puts bugs back that were mended, one at a time, and looks whether the tests without a server find each (docs/reliability.md).

A file of tools/mutation/known is a patch, with the number of a row of tests/fault/FOUND.md: the bug as a branch on that number. Its head
names the tests that find it, `unit: FILTER` and `simulation: FILTER`."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import tree

PATCHES = sorted((tree.OWN / "known").glob("*.patch"))
PROGRAMS = ["unit", "simulation"]
LONGEST_RUN = 600  # seconds; what hangs is found


def write_copy():
    """All bugs are in it, so that it is compiled once."""
    tree.PLACE = tree.ROOT / "build" / "mutants" / "known"
    tree.TREE, tree.BUILD = tree.PLACE / "tree", tree.PLACE / "build"
    tree.write({})
    changed = set()
    for patch in PATCHES:
        subprocess.run(["patch", "-p1", "--no-backup-if-mismatch", "-i", patch], cwd=tree.TREE, check=True, stdout=subprocess.DEVNULL)
        changed |= set(re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(), re.M))
    for name in changed:
        file = tree.TREE / name
        file.write_text(re.sub(r"^#include ", '#include "mutants.hpp"\n#include ', file.read_text(), count=1, flags=re.M))


def build():
    subprocess.run(["cmake", "--preset", "dev", "-S", tree.TREE, "-B", tree.BUILD, *tree.FLAGS], check=True, cwd=tree.TREE, stdout=subprocess.DEVNULL)
    targets = [f"holdfast_{program}" for program in PROGRAMS]
    return subprocess.run(["cmake", "--build", tree.BUILD, "-j", str(os.cpu_count()), "--target", *targets]).returncode == 0


def culprit(program, tests, number):
    """The test that fails, or hangs, if any."""
    command = [tree.BUILD / f"tests/holdfast_{program}", f"--gtest_filter={tests}", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, cwd=tree.TREE, env=os.environ | {"HOLDFAST_MUTANT": number}, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_RUN)
    except subprocess.TimeoutExpired:
        return f"{tests} (ended after {LONGEST_RUN} s)"
    begun = re.findall(r"^\[ RUN      \] (\S+)", done.stdout, re.M)
    if not begun:
        return f"no test is {tests}" if number == "0" else None
    return begun[-1] if done.returncode != 0 else None


def show():
    """What is known, and whether each patch still fits into the sources, one behind the other, as write_copy() applies them."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(tree.ROOT / "src", pathlib.Path(folder) / "src")
        for patch in PATCHES:
            print(patch.read_text().splitlines()[0], flush=True)
            if subprocess.run(["patch", "-p1", "--no-backup-if-mismatch", "-i", patch], cwd=folder, stdout=subprocess.DEVNULL).returncode != 0:
                failed.append(patch.name)
    if failed:
        print("not in these sources any more:", *failed)
    return 1 if failed else 0


def main():
    write_copy()
    if not build():
        print("0 passed, 1 failed")
        return 1
    passed = failed = 0

    def count(good, text):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        print(f"{'passed' if good else 'failed'}  {text}", flush=True)

    for patch in PATCHES:
        number, head = str(int(patch.stem)), patch.read_text().split("\n---")[0]
        for program, tests in re.findall(rf"^({'|'.join(PROGRAMS)}): (\S+)$", head, re.M):
            if fault := culprit(program, tests, "0"):
                count(False, f"{program} without a bug: {fault}")
                continue
            by = culprit(program, tests, number)
            count(by is not None, f"{head.splitlines()[0]}: " + (f"found by {by}" if by else f"not found by {program} {tests}"))
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed != 0 else 1
