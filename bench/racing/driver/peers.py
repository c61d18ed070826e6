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
    made: pathlib.Path  # what has to be there; build/peers/NAME.lacking says why it can't be, NAME the last of its path
    command: tuple  # of the program; the port follows
    options: tuple = ()  # they follow the port
    environment: dict = dataclasses.field(default_factory=dict)
    key: str = "{}"  # of a lock, by its name
    sends_set: bool = False  # its requests are SET besides scripts, and its scripts call no SET inside
    with_module: bool = False
    warm_up: float = 0.5  # seconds
    rows: tuple = ()  # of rows.ALL, those in which it races; empty: in all
    ours: bool = False
    floor: bool = False


def _holdfast(name, label, kind="mutex", **more):
    program = release / "holdfast_race"
    return Peer(name, label, program, (str(program), kind), ours=True, **more)


def _go(name, label, **more):
    made = built / "race-go"
    return Peer(name, label, made, (str(made / "peer"), name), **more)


_redisson = built / "redisson-current"
_redis_py = built / "redis-py"
_node = built / "node-redlock"
_redis_plus_plus = built / "race-redis-plus-plus"
_floor = release / "holdfast_race_floor"
_racing = root / "bench" / "racing"

ALL = (
    _holdfast("holdfast", "Holdfast"),
    _holdfast("holdfast-module", "Holdfast, module in the server", with_module=True),
    _holdfast("holdfast-redisson", "Holdfast, Redisson's wire", options=("wire=redisson",)),
    _holdfast("holdfast-fair", "Holdfast, fair_mutex", kind="fair_mutex", rows=("handoffs",)),
    Peer("redisson", "Redisson", _redisson, ("java", "-cp", f"{_redisson}/classes:{_redisson}/lib/*", "holdfast.peer.Race"), warm_up=8),
    _go("redsync", "redsync", sends_set=True),
    _go("rueidislock", "rueidislock", key="rueidislock:0:{}"),
    _go("redislock", "bsm/redislock"),
    Peer("redis-py", "redis-py", _redis_py, (f"{_redis_py}/venv/bin/python", str(_racing / "python" / "race.py")), sends_set=True),
    Peer("node-redlock", "node-redlock", _node, ("node", str(_racing / "node" / "race.js")),
         environment={"NODE_PATH": f"{_node}/node_modules"}, warm_up=1),
    Peer("redis-plus-plus", "redis-plus-plus RedMutex", _redis_plus_plus, (f"{_redis_plus_plus}/peer",), sends_set=True),
    Peer("hiredis", "floor: hiredis", _floor, (str(_floor),), sends_set=True, floor=True),
    _go("go-redis", "floor: go-redis", sends_set=True, floor=True),
)
STOCK = "holdfast"


def lacking(peer):
    """Why it can't be started; empty if it can."""
    said = built / f"{peer.made.name}.lacking"
    if said.exists():
        return said.read_text(encoding="utf-8", errors="replace").strip() or "it can't be had here"
    for made in [peer.made] + [module] * peer.with_module:
        if not made.exists():
            return f"{made.relative_to(root)} isn't there"
    return ""
