#!/usr/bin/env python3
"""Fails when a file of src/ or cli/ includes something from a layer above its own, when one of cli/ looks behind
the public headers, when a public header includes anything but <holdfast/…> and the standard library (an adapter: and what it adapts), when a file
of src/engine reads the clock where no event comes in, or when includes of src/ or cli/ go round in a circle.

Usage: check_layers.py <project folder> | --self-test
"""

import graphlib
import pathlib
import re
import sys

LAYERS = ["base", "history", "judge", "resp", "reactor", "net", "memory", "topology", "script", "engine", "etcd", "wire", "sync", "inspect", "probe"]  # low to high
EMBEDDED = "scripts"  # the folder of the generated headers; for those who make calls
EMBEDDED_FOR = {"engine", "wire", "sync", "inspect", "probe"}
CLI_LAYERS = ["common", "process", "server", "show"]  # low to high; below the folders of single commands
CLI_COMMANDS = {"commands", "completion", "doctor", "run", "serve", "top"}  # none knows another, but:
CLI_USES = {"serve": {"doctor"}}
CLI_MAY_USE = re.compile(r"(probe|judge)/.*|base/(backoff|host_name|printable|signals_of_writing|whole_number)\.hpp")  # of src/

# Files of src/engine that read the clock (docs/decisions/0017): events come in there. All others get `now` passed down.
CLOCK_READERS = {
    "async_server_calls.cpp", "client_end.cpp", "conversions.cpp", "core.cpp", "lay_down_calls.cpp", "lease_calls.cpp", "lease_conversion.cpp", "lease_renewal.cpp", "lock_calls.cpp", "server_calls.cpp",  # calls
    "contention/acquire_requests.cpp", "contention/lease_ends.cpp", "deadlock/deadlocks.cpp", "release/kept_keys.cpp",
    "release/pending_releases.cpp", "renewer.cpp",  # answers
    "petitions.cpp", "wake/contender_channels.cpp", "watches.cpp",  # messages
    "contention/contention.cpp", "held_traces.cpp", "presence.cpp", "recorder.cpp", "release/owed_requests.cpp",  # timers alone
    "lease_state.cpp",  # valid() and remaining(), at each call of a holder
}
CLOCK_READING_FOLDER = "quorum/"  # a backend: its interface has no `now`
CLOCK = re.compile(r"_clock::now\b|\bclock_gettime\b")

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"[a-z_0-9]+")  # no folder, no ending
PUBLIC = re.compile(r"holdfast/[a-z_0-9]+\.hpp")
# By the first word of their name. POSIX's header is for getpid(): the standard library knows no processes.
ADAPTERS = {"asio": re.compile(r"(boost/)?asio/(posix/)?[a-z_0-9]+\.hpp|boost/system/[a-z_0-9]+\.hpp|unistd\.h")}


def wrong_in_src(file, quote, name):
    """Why `file` (relative to src/) may not include `name`, or None."""
    layer = file.split("/")[0]
    if layer not in LAYERS:
        return None if "/" not in file else f"{layer}/ is no layer; tools/check_layers.py lists them"
    included_layer = name.split("/")[0]
    if included_layer == EMBEDDED:
        return None if layer in EMBEDDED_FOR else f"{layer} must not know the scripts"
    if quote == "<":
        return None
    if included_layer == "holdfast":
        return f"write <{name}>"
    if included_layer not in LAYERS:
        return f"write the layer's folder in front of {name}"
    if LAYERS.index(included_layer) > LAYERS.index(layer):
        return f"{layer} must not know {included_layer}"
    return None


def wrong_in_cli(file, quote, name):
    """Why `file` (relative to cli/) may not include `name`, or None."""
    if quote == "<" or "/" not in file:
        return None
    layer, included_layer = file.split("/")[0], name.split("/")[0]
    if layer not in CLI_LAYERS and layer not in CLI_COMMANDS:
        return f"{layer}/ is no layer of the command; tools/check_layers.py lists them"
    if included_layer in LAYERS:
        return None if CLI_MAY_USE.fullmatch(name) else f"the command must not know {name}"
    if included_layer in CLI_USES.get(layer, ()):
        return None
    if included_layer in (layer, *CLI_LAYERS[: CLI_LAYERS.index(layer) if layer in CLI_LAYERS else None]):
        return None
    return f"{layer} must not know {included_layer}"


def wrong_in_public(file, quote, name):
    """Why the public header `file` may not include `name`, or None."""
    if quote == "<" and (STANDARD.fullmatch(name) or PUBLIC.fullmatch(name)):
        return None
    adapts = ADAPTERS.get(re.split(r"[_.]", file)[0])
    if quote == "<" and adapts and adapts.fullmatch(name):
        return None
    return f"a public header includes <holdfast/…> and the standard library only, not {name}"


def may_read_clock(file):
    """`file` is relative to src/engine/."""
    return file in CLOCK_READERS or file.startswith(CLOCK_READING_FOLDER)


def breaches(folder, wrong):
    for file in sorted(folder.rglob("*.?pp")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if found := INCLUDE.match(line):
                if why := wrong(str(file.relative_to(folder)), *found.groups()):
                    yield f"{file}:{number}: {why}"


def circle_in(uses):
    """The first and the last are the same; None: there is no circle."""
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as found:
        return found.args[1]
    return None


def header_of(source, included):
    """Of a source that has no header of its own: the one of `included`, the texts by name, whose class it defines: `cluster::learn(`
    in a line that isn't indented. None: there is none, or more than one."""
    defined = set(re.findall(r"^(?=[^\s/#}]).*?\b(\w+)::~?\w+\(", source, re.M))
    owners = [name for name, text in included.items()
              if defined & set(re.findall(r"^(?:class|struct) (?:HOLDFAST_EXPORT )?(\w+)[^;]*{$", text, re.M))]
    return owners[0] if len(owners) == 1 else None


def circles(folder):
    """A header and the sources of its functions are one: what they include must not include them."""
    texts = {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in folder.rglob("*.?pp")}
    uses = {}
    for name, text in texts.items():
        included = {found[2] for line in text.splitlines() if (found := INCLUDE.match(line)) and found[2] in texts}
        own = name[:-4]
        if name.endswith(".cpp") and own + ".hpp" not in texts:
            folder_of = pathlib.PurePath(name).parent
            own = (header_of(text, {each: texts[each] for each in included if pathlib.PurePath(each).parent == folder_of}) or name)[:-4]
        uses.setdefault(own, set()).update({each[:-4] for each in included} - {own})
    if circle := circle_in(uses):
        yield f"{folder}: {' <- '.join(circle)}: includes go round in a circle; what two need wants a file of its own"


def clock_breaches(engine):
    sources = {str(file.relative_to(engine)): file.read_text(encoding="utf-8") for file in engine.rglob("*.?pp")}
    readers = {name for name, text in sources.items() if CLOCK.search(text)}
    for file in sorted(readers):
        if not may_read_clock(file):
            yield f"{engine / file}: reads the clock; take `now` from the event, or see docs/decisions/0017"
    for file in sorted(CLOCK_READERS - readers):
        yield f"{engine / file}: reads no clock; take it off the list in tools/check_layers.py"


def self_test():
    assert wrong_in_src("net/url.cpp", '"', "engine/acquire.hpp")
    assert wrong_in_src("resp/reply.hpp", '"', "reply.hpp")
    assert wrong_in_src("net/url.cpp", '"', "scripts/exclusive.hpp")
    assert wrong_in_src("elsewhere/x.cpp", '"', "base/ids.hpp")
    assert not wrong_in_src("engine/wake/hint_channel.cpp", '"', "net/subscriber.hpp")
    assert not wrong_in_src("sync/mutex.cpp", '"', "scripts/exclusive.hpp")
    assert not wrong_in_src("client.cpp", '"', "sync/mutex.hpp")
    assert wrong_in_cli("run/run.cpp", '"', "net/url.hpp")
    assert wrong_in_cli("show/json.cpp", '"', "top/model.hpp")
    assert wrong_in_cli("run/run.cpp", '"', "top/model.hpp")
    assert wrong_in_cli("run/run.cpp", '"', "guard.hpp")
    assert not wrong_in_cli("run/run.cpp", '"', "show/json.hpp")
    assert not wrong_in_cli("doctor/facts.cpp", '"', "probe/server_session.hpp")
    assert not wrong_in_cli("main.cpp", '"', "run/run.hpp")
    assert wrong_in_public("mutex.hpp", "<", "boost/asio.hpp")
    assert wrong_in_public("mutex.hpp", "<", "unistd.h")
    assert wrong_in_public("asio.hpp", "<", "boost/url.hpp")
    assert not wrong_in_public("asio_initiate.hpp", "<", "boost/asio/post.hpp")
    assert wrong_in_public("mutex.hpp", '"', "holdfast/lease.hpp")
    assert not wrong_in_public("mutex.hpp", "<", "holdfast/lease.hpp")
    assert not wrong_in_public("mutex.hpp", "<", "stop_token")
    assert CLOCK.search("  start(boot_clock::now());")
    assert not CLOCK.search("  std::chrono::time_point<boot_clock> now;")
    assert circle_in({"net/a": {"net/b"}, "net/b": {"net/c"}, "net/c": {"net/a"}})
    assert not circle_in({"net/a": {"net/b", "net/c"}, "net/b": {"net/c"}, "net/c": set()})
    cluster = {"a/cluster.hpp": "class cluster final : public deployment {\n", "a/map.hpp": "struct cluster;\nclass map {\n"}
    assert header_of("void cluster::learn(int) {\n  map::of(1);\n}\n", cluster) == "a/cluster.hpp"
    assert header_of("map::map() = default;\nvoid cluster::learn(int) {}\n", cluster) is None
    assert not may_read_clock("contention/grants.cpp")
    assert may_read_clock("renewer.cpp")
    assert may_read_clock("quorum/node.cpp")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    project = pathlib.Path(sys.argv[1])
    if not (project / "src").is_dir():
        print(f"{project} has no src/: give the project's folder")
        return 2
    found = [*breaches(project / "src", wrong_in_src), *breaches(project / "cli", wrong_in_cli),
             *breaches(project / "include/holdfast", wrong_in_public), *clock_breaches(project / "src/engine"),
             *circles(project / "src"), *circles(project / "cli")]
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
