"""Results as Markdown tables, each with the figures in which another library is ahead."""

from . import peers, rows


def number(value):
    """Three figures, as people read them."""
    if value is None:
        return "–"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def _at(figures, path):
    for step in path:
        if not isinstance(figures, dict) or step not in figures:
            return None
        figures = figures[step]
    return figures


class Column:
    """A figure of a row; `better` is "low", "high", or empty where there is no better."""

    def __init__(self, title, *path, better="low", say=number, none="–"):
        self.title, self.path, self.better, self.say, self.none = title, path, better, say, none

    def of(self, figures):
        return _at(figures, self.path)

    def cell(self, figures):
        if _at(figures, self.path[:-1]) is None or self.path[-1] not in _at(figures, self.path[:-1]):
            return "–"
        value = self.of(figures)
        return self.none if value is None else self.say(value)


# Why another library may be ahead, and what would change it.
_IDLE_CORES = ("One at a time, a core goes to sleep and is woken for each request and each reply, which costs more than all else and varies "
               "from run to run; with more in flight it doesn't. A faster way would have to save commands: Holdfast's lock has a fencing token, "
               "a command more than a lock without one; with the module in the server it is one command.")
_OVERTAKING = ("A `mutex` may be taken again by the process that has just given it back, until the one that waits longest has waited "
               "`starvation_limit` (100 ms): turns, not handoffs, are what is many then, and the handoffs have the requests of all turns "
               "to bear. `fair_mutex` hands over at each release.")
_LOOKS = "All of these looked again within some milliseconds of the end; which came first is chance."
_NOTHING_BESIDE = "It has no thread that could renew a lease, or tell that one is lost."


def percent(value):
    return f"{100 * value:.1f} %"


def _shape(shape):
    processes, contenders = shape
    key = f"{processes}x{contenders}"
    return Table(
        "handoffs", f"One name, {processes} process{'es' if processes > 1 else ''} × {contenders} contender{'s' if contenders > 1 else ''}",
        "All come back at once and do nothing under the lock. A handoff is a turn of another contender than the one before. "
        f"A fair share is {100 / processes / contenders:.1f} %.",
        Column("handoffs/s", key, "handoffs_per_second", better="high"), Column("turns/s", key, "turns_per_second", better=""),
        Column("longest wait, ms", key, "longest_wait_ms"), Column("least share", key, "least_share", better="high", say=percent),
        Column("greatest", key, "greatest_share", say=percent), Column("requests a handoff", key, "requests_per_handoff"),
        Column("client CPU, µs a handoff", key, "client_us"), under=key, why=_OVERTAKING if contenders == 1 else "")


class Table:
    def __init__(self, row, title, text, *columns, under=None, why=""):
        """why: what is said where another library is ahead, and what would change it."""
        self.row, self.title, self.text, self.columns, self.under, self.why = row, title, text, columns, under, why

    def lines(self, results):
        yield f"### {self.title}"
        yield ""
        yield self.text
        yield ""
        yield "| | " + " | ".join(column.title for column in self.columns) + " |"
        yield "|---|" + "---|" * len(self.columns)
        for peer in peers.ALL:
            said = results["peers"].get(peer.name)
            if said is None:
                continue
            figures = said["rows"].get(self.row)
            error = said.get("error") or (figures or {}).get("error") or (_at(figures, [self.under]) or {}).get("error")
            if error:
                yield f"| {peer.label} | " + error.replace("|", "/") + " |" + " |" * (len(self.columns) - 1)
            elif figures and figures.get("unsupported"):
                yield f"| {peer.label} | never: it has nothing for that |" + " |" * (len(self.columns) - 1)
            elif figures:
                yield f"| {peer.label} | " + " | ".join(column.cell(figures) for column in self.columns) + " |"
        yield ""
        for peer in peers.ALL:
            incomplete = _at(results["peers"].get(peer.name, {}), ["rows", self.row, "incomplete"])
            if incomplete:
                yield f"{peer.label} didn't come to its end: {incomplete}."
                yield ""
        for line in self.behind(results):
            yield line

    def behind(self, results):
        """Where Holdfast, as its best, isn't ahead of every other library."""
        places = []
        for column in self.columns:
            if not column.better:
                continue
            best = {True: None, False: None}  # ours, others'
            for peer in peers.ALL:
                value = column.of(results["peers"].get(peer.name, {}).get("rows", {}).get(self.row))
                if peer.floor or value is None:
                    continue
                known = best[peer.ours]
                if known is None or (value < known[0] if column.better == "low" else value > known[0]):
                    best[peer.ours] = (value, peer.label)
            if None in best.values():
                continue
            ours, theirs = best[True][0], best[False][0]
            if (theirs < ours) if column.better == "low" else (theirs > ours):
                places.append(f"{best[False][1]} in *{column.title}*")
        if places:
            yield "Ahead of Holdfast here: " + "; ".join(places) + "." + (f" {self.why}" if self.why else "")
            yield ""


def _in_flight(title, figure, better):
    return [Column(f"{title} {count}" if title else str(count), str(count), figure, better=better) for count in rows.IN_FLIGHT]


def all_tables(settings):
    patience, loss_patience = settings["patience"], settings["patience"] / 2
    yield Table("uncontended", "A free lock", "Lock + unlock of one name, one after the other, µs.", Column("p50", "p50_us"), Column("p99", "p99_us"),
                why=_IDLE_CORES)
    yield Table("rate", "Different names at once: cycles/s", "So many in flight; each cycle is lock + unlock.",
                *_in_flight("", "per_second", "high"), why=_IDLE_CORES)
    yield Table("rate", "Different names at once: CPU a cycle, µs", "User and system time of the server, and of the client's process.",
                *_in_flight("server,", "server_us", "low"), *_in_flight("client,", "client_us", "low"), why=_IDLE_CORES)
    for shape in rows.SHAPES:
        yield _shape(shape)
    yield Table("wake-up", "Wake-up", "From the call that gives the lock back to the moment when a waiter in another process has it, µs.",
                Column("p50", "p50_us"), Column("longest", "longest_us"))
    yield Table("recovery", "Recovery after SIGKILL of the holder",
                "From the end of its ttl by the server's clock to the moment when a waiter in another process has the lock, ms (the longest "
                "try), with so many other keys that have a ttl of an hour.",
                *[Column(f"{keys:,}", str(keys), "longest_ms", none=f"not within {patience:g} s") for keys in rows.OTHER_KEYS], why=_LOOKS)
    yield Table("loss", "Loss, told", "The server is frozen. From the end of the ttl there to the moment when the holder is told; negative: before.",
                Column("ms", "told_ms", none=f"not within {loss_patience:g} s"))
    watched = settings["renewals"]
    yield Table("leases", f"{settings['leases']:,} leases held",
                "With a ttl of 30 s. Requests and CPU are those of the time after they were taken: renewals, if the library renews.",
                Column("taken/s", "per_second", better="high"), Column("bytes a lease", "bytes_per_lease"), Column("threads", "threads"),
                *([Column(f"requests in {watched:g} s", "requests", better=""),
                   Column("client CPU, % of a core", "client_percent", better=""),
                   Column("server CPU, %", "server_percent", better="")] if watched else []), why=_NOTHING_BESIDE)


def page(results):
    """The generated part of docs/benchmarks.md, without charts."""
    versions = [f"{peer.label} {results['peers'][peer.name]['version']}" for peer in peers.ALL
                if results["peers"].get(peer.name, {}).get("version") and not (peer.ours and peer.name != "holdfast")]
    yield (f"{results['date']}, `{results['command']}`, {results['machine']}, {results['server']}; load when it began {results['load']:.1f}. "
           + ("Server on core 0, clients on core 1. " if results["pinned"] else "Nothing was pinned to a core. ")
           + ", ".join(versions) + ".")
    yield ""
    for table in all_tables(results["settings"]):
        if any(table.row in said["rows"] for said in results["peers"].values()):
            yield from table.lines(results)
