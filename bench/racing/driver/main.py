"""The command: reads its arguments, runs the race, writes the results and the docs."""

import argparse
import dataclasses
import datetime
import json
import pathlib
import subprocess
import sys
import time

from . import charts, machine, peers, rows, tables
from .program import PeerError
from .redis import Server

DOCS = peers.root / "docs" / "benchmarks.md"
IMAGES = peers.root / "docs" / "images"
RESULTS = peers.root / "build" / "race.json"
UNAVAILABLE = 69  # of sysexits.h
BEGIN, END = "<!-- race: written by bench/race --docs -->", "<!-- race: end -->"


def chosen(text, known, what):
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no {what} `{name}`; there are {', '.join(known)}")
    if not names:
        raise argparse.ArgumentTypeError(f"names no {what}; there are {', '.join(known)}")
    return names


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` isn't a positive number")
    return int(text)


def arguments(given):
    names = [peer.name for peer in peers.ALL]
    parser = argparse.ArgumentParser(
        prog="bench/race", description="Races Holdfast against other libraries' locks on one Redis, which it starts. About 25 "
        f"minutes. The results go to a file; docs/benchmarks.md says what is measured. Peers: {', '.join(names)}. Rows: {', '.join(rows.ALL)}.")
    parser.add_argument("--quick", action="store_true", help="about four minutes: less of everything, to see whether all works")
    parser.add_argument("--only", metavar="PEER,...", type=lambda text: chosen(text, names, "peer"), help="these peers")
    parser.add_argument("--rows", metavar="ROW,...", type=lambda text: chosen(text, list(rows.ALL), "row"), help="these rows")
    parser.add_argument("--rounds", metavar="N", type=positive, help=f"so many rounds of {', '.join(rows.IN_TURNS)} (default: 5; quick: 1)")
    parser.add_argument("--leases", metavar="N", type=positive, help="so many held leases (default: 100,000; quick: 2,000)")
    parser.add_argument("--no-pin", action="store_true", help="leave it to the kernel which core runs what")
    parser.add_argument("--no-build", action="store_true", help="build and install nothing: race what is there")
    parser.add_argument("--out", metavar="FILE", type=pathlib.Path, default=RESULTS, help="where the results go (default: build/race.json)")
    parser.add_argument("--docs", action="store_true", help="write tables and charts into docs/, too")
    parser.add_argument("--from", metavar="FILE", type=pathlib.Path, dest="results", help="run nothing: write the docs from these results")
    options = parser.parse_args(given)
    if options.results and (options.only or options.rows or options.quick or options.rounds or options.leases):
        parser.error("--from takes all from its file: --only, --rows, --rounds, --quick and --leases say nothing there")
    if not options.out.parent.is_dir() and options.out != RESULTS:
        parser.error(f"{options.out.parent} isn't a folder")
    return options


def build():
    """Holdfast's programs, and the peers. What fails shows as a row that says so."""
    for command in (peers.HOW_TO_BUILD, "tools/prepare-race"):
        if subprocess.run(["bash", "-c", command], cwd=peers.root, stdout=sys.stderr, check=False).returncode != 0:
            print(f"bench/race: `{command}` failed; see above. What is missing is left out.", file=sys.stderr)


def say(text):
    print(text, file=sys.stderr, flush=True)


def introduce(course, peer):
    """What is said of a peer before it races: its version, or why it can't."""
    why = peers.lacking(peer)
    if not why:
        try:
            with course.prepared(peer), course.started(peer) as [program]:
                return {"version": program.version, "rows": {}}
        except (PeerError, RuntimeError) as e:
            why = str(e)
    say(f"{peer.label} is left out: {why}")
    return {"error": f"left out: {why}", "rows": {}}


def measure(course, peer, row):
    """The figures of a round."""
    try:
        with course.prepared(peer):
            return rows.ALL[row](course, peer)
    except (PeerError, RuntimeError) as e:
        return {"error": str(e)}


def race(course, racing, row, said):
    """Measures a row in rounds. What fails isn't tried again: it may have waited for a minute."""
    count, began = rows.rounds(course.settings, row), time.monotonic()
    for number in range(1, count + 1):
        for peer in racing:
            rounds = said[peer.name]["rows"].setdefault(row, [])
            if rounds and "error" in rounds[-1]:
                continue
            rounds.append(measure(course, peer, row))
            if "error" in rounds[-1]:
                say(f"    {peer.label}: {rounds[-1]['error']}")
        say(f"{row}, round {number} of {count}: {time.monotonic() - began:.0f} s")


def settings_of(options):
    settings = rows.QUICK if options.quick else rows.Settings()
    chosen_here = {name: getattr(options, name) for name in ("rounds", "leases") if getattr(options, name)}
    return dataclasses.replace(settings, **chosen_here)


def run(options, given):
    settings = settings_of(options)
    chosen_peers = [peer for peer in peers.ALL if not options.only or peer.name in options.only]
    names = [name for name in rows.ALL if not options.rows or name in options.rows]
    if not options.no_build:
        build()
    if machine.load() > 0.5:
        say(f"The load is {machine.load():.1f}: others use this machine, so the figures are worth little.")
    results = {"date": datetime.date.today().isoformat(), "command": " ".join(["bench/race", *given]), "machine": machine.description(),
               "load": machine.load(), "pinned": not options.no_pin, "settings": dataclasses.asdict(settings), "rows": names, "peers": {}}
    server = Server(pin=not options.no_pin)
    try:
        results["server"] = server.version()
        course = rows.Course(server, settings, pin=not options.no_pin)
        for peer in chosen_peers:
            results["peers"][peer.name] = introduce(course, peer)
        for name in names:
            racing = [peer for peer in chosen_peers
                      if "error" not in results["peers"][peer.name] and (not peer.rows or name in peer.rows)]
            race(course, racing, name, results["peers"])
    finally:
        server.close()
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"The results are in {options.out}.")
    return results


def read(file):
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except OSError as e:
        raise SystemExit(f"bench/race: {file} can't be read: {e.strerror}") from None
    except ValueError as e:
        raise SystemExit(f"bench/race: {file} isn't JSON: {e}") from None
    needed = ("date", "command", "machine", "load", "pinned", "settings", "server", "rows", "peers")
    if not isinstance(results, dict) or any(key not in results for key in needed):
        raise SystemExit(f"bench/race: {file} has no results of bench/race: it needs {', '.join(needed)}")
    return results


def write_docs(results):
    text = DOCS.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"bench/race: {DOCS} has lost its lines `{BEGIN}` and `{END}`, between which the tables go")
    IMAGES.mkdir(exist_ok=True)
    lines = [BEGIN, ""]
    for name, title, image in charts.all_charts(results):
        (IMAGES / f"{name}.svg").write_text(image, encoding="utf-8")
        lines += [f"![{title}](images/{name}.svg)", ""]
    lines += [*tables.page(results), END]
    DOCS.write_text(head + "\n".join(lines) + tail, encoding="utf-8")
    say(f"Written: {DOCS.relative_to(peers.root)} and the charts in {IMAGES.relative_to(peers.root)}.")


def main():
    given = sys.argv[1:]
    options = arguments(given)
    try:
        results = read(options.results) if options.results else run(options, given)
    except KeyboardInterrupt:
        say("bench/race: interrupted; there are no results.")
        return 130
    print("\n".join(tables.page(results)))
    if all("error" in said for said in results["peers"].values()):
        say("bench/race: none of them could race; the tables say why.")
        return UNAVAILABLE
    if options.docs or options.results:
        write_docs(results)
    return 0
