"""Why a library is ahead of Holdfast and what would change it, as far as the same run shows that: each function is given the
results and the figures of the libraries that are ahead, and returns a sentence, or nothing."""

from .figures import Figure, figures_of, rounds_of
from .words import listed


def unknown(_results, _ahead):
    return ""


def _stock(results, row, *path):
    return figures_of(results, row, path)[0]


def _library(results, label, row, *path):
    return figures_of(results, row, path)[2].get(label)


def alone(results, ahead):
    """With one request under way at a time."""
    busy = {}
    for in_flight in ("1", "256"):
        parts = [_stock(results, "rate", in_flight, side) for side in ("server_us", "client_us")]
        busy[in_flight] = sum(part.median for part in parts if part)
    if busy["1"] <= 2 * busy["256"] or not busy["256"]:
        return commands(results, ahead)
    return (f"A cycle of Holdfast's costs server and client {busy['1']:.0f} µs of CPU with one in flight and {busy['256']:.1f} µs with 256: "
            "what is more is system calls, sleeps and wake-ups, for one request and one reply at a time. " + commands(results, ahead)).strip()


def commands(results, ahead):
    """By the requests and commands of a cycle."""
    mine = _stock(results, "uncontended", "commands")
    theirs = {label: _library(results, label, "uncontended", "commands") for label in ahead}
    theirs = {label: figure.median for label, figure in theirs.items() if figure}
    if mine is None or not theirs:
        return ""
    counted = (f"A free lock and its unlock are {mine.median:.1f} commands in the server for Holdfast, among them MULTI, INCR and EXEC for the fencing token, "
               + listed([f"{count:.1f} for {label}" for label, count in theirs.items()]) + ".")
    if min(theirs.values()) > mine.median - 0.05:
        return counted + " So it isn't the number of commands."
    module = Figure.of(rounds_of(results, "holdfast-module", "uncontended"), ("commands",))
    return counted + (f" With the module they are {module.median:.1f}, and its row shows what that changes." if module else "")


def overtaking(shape):
    def reason(results, _):
        turns, handoffs = [_stock(results, "handoffs", shape, what) for what in ("turns_per_second", "handoffs_per_second")]
        if turns.median < 1.5 * handoffs.median:
            return ""
        return (f"Holdfast has {turns.median / max(1, handoffs.median):.1f} turns a handoff here: a `mutex` may be taken again by the process that has "
                "just given it back, until the one that waits longest has waited `starvation_limit` (100 ms), and the handoffs bear the requests "
                "and the CPU of all turns. `fair_mutex` hands over at each release"
                + ("; its row shows what that changes." if rounds_of(results, "holdfast-fair", "handoffs") else "."))

    return reason


def waiting(_results, _ahead):
    return ("A waiter of Holdfast's sleeps until the end of the ttl that the server told it. A library that asks all the time may come sooner; "
            "asking more often would change it, and cost requests.")


def renewing(results, ahead):
    quiet = [label for label in ahead
             if (sent := _library(results, label, "leases", "requests")) is not None and sent.greatest == 0]
    return f"No request came from {listed(quiet)} while its leases were held: it renews none, so it needs nothing to do that." if quiet else ""
