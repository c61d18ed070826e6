"""Which libraries race, how each is started, and what has to be known about it to count what it sends."""

import dataclasses
import pathlib

root = pathlib.Path(__file__).resolve().parents[3]
built = root / "build" / "peers"
release = root / "build" / "release"
module = release / "module" / "holdfast.so"

HOW_TO_BUILD = "cmake --preset release && cmake --build --preset release --target holdfast_race holdfast_race_floor holdfast_module"


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    label: str
    program: pathlib.Path  # what has to be there
    command: tuple  # of the program; the port follows
    options: tuple = ()  # they follow the port
    environment: dict = dataclasses.field(default_factory=dict)
    key: str = "{}"  # of a lock, by its name
    sends_set: bool = False  # its requests are SET besides scripts, and its scripts call no SET inside
    with_module: bool = False
    warm_up: float = 0.5  # seconds
    ours: bool = False
    floor: bool = False


def _holdfast(name, label, **more):
    program = release / "holdfast_race"
    return Peer(name, label, program, (str(program),), ours=True, **more)


def _go(name, label, **more):
    program = built / "race-go"
    return Peer(name, label, program, (str(program), name), **more)


_redisson = built / "redisson-current"
_python = built / "redis-py" / "venv" / "bin" / "python"
_node = built / "node-redlock" / "node_modules"
_redis_plus_plus = built / "race-redis-plus-plus"
_floor = release / "holdfast_race_floor"
_racing = root / "bench" / "racing"

ALL = (
    _holdfast("holdfast", "Holdfast"),
    _holdfast("holdfast-module", "Holdfast, module in the server", with_module=True),
    _holdfast("holdfast-redisson", "Holdfast, Redisson's wire", options=("wire=redisson",)),
    Peer("redisson", "Redisson", _redisson / "classes" / "holdfast" / "peer" / "Race.class",
         ("java", "-cp", f"{_redisson}/classes:{_redisson}/lib/*", "holdfast.peer.Race"), warm_up=8),
    _go("redsync", "redsync", sends_set=True),
    _go("rueidislock", "rueidislock", key="rueidislock:0:{}"),
    _go("redislock", "bsm/redislock"),
    Peer("redis-py", "redis-py", _python, (str(_python), str(_racing / "python" / "race.py")), sends_set=True),
    Peer("node-redlock", "node-redlock", _node, ("node", str(_racing / "node" / "race.js")),
         environment={"NODE_PATH": str(_node)}, warm_up=1),
    Peer("redis-plus-plus", "redis-plus-plus RedMutex", _redis_plus_plus, (str(_redis_plus_plus),), sends_set=True),
    Peer("hiredis", "floor: hiredis", _floor, (str(_floor),), sends_set=True, floor=True),
    _go("go-redis", "floor: go-redis", sends_set=True, floor=True),
)


def lacking(peer):
    """Why it can't be started; empty if it can."""
    if peer.with_module and not module.exists():
        return f"{module.relative_to(root)} isn't built"
    if peer.program.exists():
        return ""
    said = built / f"{peer.program.name}.lacking"
    if said.exists():
        return said.read_text().strip()
    return f"{peer.program.relative_to(root)} isn't there"
