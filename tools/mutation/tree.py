"""A copy of the sources that has all mutants, each as a branch on its number, and its build."""

import os
import re
import shutil
import subprocess
import sys

import cpp
import lua
from choice import ROOT, script_files

PLACE = ROOT / "build" / "mutants"
TREE, BUILD = PLACE / "tree", PLACE / "build"
OWN = ROOT / "tools" / "mutation"
FLAGS = ["-DCMAKE_CXX_FLAGS=-w", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 -g0 -D_GLIBCXX_ASSERTIONS", "-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF",
         "-DHOLDFAST_SHARED=OFF", "-DHOLDFAST_EXAMPLES=OFF", "-DHOLDFAST_MODULE=OFF"]
PROGRAMS = {"unit": "unit", "threads": "threads", "memory": "memory", "contract": "contract", "simulation": "simulation",
            "asynchronous": "asynchronous", "laws": "laws", "fault": "fault", "pressure": "pressure", "cli_test": "cli"}  # and its folder


# What a compiler says of a line that has to do with an error: GCC's words, and clang's.
BLAMED = re.compile(r"tree/(src/[\w/.]+):(\d+):\d+: +(?:(?:fatal )?error|required from|note: (?:.*was not declared|in instantiation|declared here|"
                    r"non-constexpr function 'on_at_run_time'))")


def put(path, data):
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def scripts_file(number):
    """What stands in for the scripts, of the mutant of that number."""
    return PLACE / f"scripts.{number}"


def write(chosen):
    """The files that have changed since the last time, so that no more is compiled."""
    by_file = {}
    for number, place in chosen.items():
        if place.is_script:
            put(scripts_file(number), lua.changes(script_files(), place.path[len("scripts/"):], place.mutant))
        else:
            by_file.setdefault(place.path, {})[number] = place.mutant
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    own = {"src/mutants.hpp": OWN / "mutants.hpp"} | {f"tests/{folder}/mutants_listener.cpp": OWN / "listener.cpp" for folder in PROGRAMS.values()}
    names = set(tracked.stdout.splitlines())
    for copy in [path for path in TREE.rglob("*") if path.is_file()] if TREE.exists() else []:
        if str(copy.relative_to(TREE)) not in names | own.keys():
            copy.unlink()
    for name in sorted(names):
        source, copy = ROOT / name, TREE / name
        if not source.is_file():
            continue
        data = source.read_bytes()
        if name in by_file:
            data = cpp.instrumented(data.decode(), by_file[name]).encode()
        if name == "cmake/EmbedLua.cmake":
            data = with_scripts_chosen_at_run_time(data.decode()).encode()
        put(copy, data)
        shutil.copymode(source, copy)
    for name, source in own.items():
        put(TREE / name, source.read_bytes())


def with_scripts_chosen_at_run_time(text):
    for before, after in [
            ('static constexpr script source{\\"', 'static inline script const source = ::mutants::script_of<script>(\\"'),
            ('R\\"lua(${body})lua\\"};', 'R\\"lua(${body})lua\\");'),
            ('return call{source,', 'static ::mutants::mark noted{}; ::mutants::note(noted, source.name); return call{source,'),
            ('#include \\"script/call.hpp\\"\\n', '#include \\"mutants.hpp\\"\\n#include \\"script/call.hpp\\"\\n')]:
        if before not in text:
            sys.exit(f"tools/mutate: cmake/EmbedLua.cmake doesn't have {before} any more")
        text = text.replace(before, after)
    return text


def without_those_in(output, chosen):
    """Leaves out what doesn't compile: the mutants of the lines that the compiler names."""
    wrong = {(match[1], int(match[2])) for match in re.finditer(BLAMED, output)}
    dropped = set()
    for number, place in chosen.items():
        if place.is_script:
            continue
        last = place.mutant.line + (ROOT / place.path).read_text()[place.mutant.start:place.mutant.end].count("\n")
        if any(place.path == file and place.mutant.line <= line <= last for file, line in wrong):
            dropped.add(number)
    if not dropped:
        sys.exit(f"tools/mutate: the copy doesn't compile:\n{output[-4000:]}")
    print(f"left out, as they don't compile: {' '.join(map(str, sorted(dropped)))}", flush=True)
    return {number: each for number, each in chosen.items() if number not in dropped}


def compiler():
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.M)[1]


def compile_library(chosen):
    """What of it compiles. First all headers in one unit, since each of them costs many."""
    write(chosen)
    subprocess.run(["cmake", "--preset", "dev", "-S", TREE, "-B", BUILD, *FLAGS], check=True, cwd=TREE, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "holdfast_scripts"], check=True, stdout=subprocess.DEVNULL)
    while True:
        headers = sorted({place.path for place in chosen.values() if place.path.endswith(".hpp")})
        put(PLACE / "headers.cpp", "".join(f'#include "{path[4:]}"\n' for path in headers).encode())
        done = subprocess.run([compiler(), "-std=c++20", "-w", "-fsyntax-only", f"-I{TREE}/src", f"-I{TREE}/include", f"-I{BUILD}/generated",
                               "-DBOOST_ASIO_NO_DEPRECATED", PLACE / "headers.cpp"], capture_output=True, text=True)
        if done.returncode == 0:
            break
        chosen = without_those_in(done.stderr, chosen)
        write(chosen)
    return build(["libholdfast.a"], chosen)


def build(targets, chosen):
    """What of it compiles."""
    while True:
        done = subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", *targets, "--", "-k", "0"],
                              capture_output=True, text=True)
        if done.returncode == 0:
            return chosen
        chosen = without_those_in(done.stdout + done.stderr, chosen)
        write(chosen)
