"""Results as Markdown tables."""

from . import peers, reasons, rows, verdicts
from .figures import Figure, failures, rounds_of
from .words import number, percent, text_of


class Column:
    """A figure of a row. `better` is "low", "high", or empty where there is no better; `none` says that something didn't
    happen in time; `why` is one of reasons'."""

    def __init__(self, title, *path, better="low", say=number, none="–", why=reasons.unknown):
        self.title, self.path, self.better, self.say, self.none, self.why = title, path, better, say, none, why

    def cell(self, rounds):
        figure = Figure.of(rounds, self.path)
        return "–" if figure is None else text_of(figure.median, self)


class Table:
    """`under`: the part of the row's figures that it is about."""

    def __init__(self, row, title, text, *columns, under=None):
        self.row, self.title, self.text, self.columns, self.under = row, title, text, columns, under

    def lines(self, results):
        racing = [peer for peer in peers.ALL if peer.name in results["peers"] and (not peer.rows or self.row in peer.rows)]
        count = max([len(rounds_of(results, peer.name, self.row)) for peer in racing], default=0)
        counted = f" Medians of {count} rounds." if count > 1 else " Measured once, so the spread isn't known." if count else ""
        yield from [f"### {self.title}", "", self.text + counted, ""]
        yield "| | " + " | ".join(column.title for column in self.columns) + " |"
        yield "|---|" + "---|" * len(self.columns)
        for peer in racing:
            yield f"| {peer.label} | {' | '.join(self.cells(results, peer))} |"
        yield ""
        for peer in racing:
            rounds = rounds_of(results, peer.name, self.row)
            for error, often in failures(rounds, self.under).items():
                if self.figures(rounds):
                    yield from [f"{peer.label} failed in {often} of its {len(rounds)} round{'s' if len(rounds) > 1 else ''}: {error}.", ""]
        yield from verdicts.verdict(results, self.row, self.columns, count)

    def figures(self, rounds):
        return any(Figure.of(rounds, column.path) for column in self.columns)

    def cells(self, results, peer):
        rounds = rounds_of(results, peer.name, self.row)
        if self.figures(rounds):
            return [column.cell(rounds) for column in self.columns]
        if any("unsupported" in one for one in rounds):
            text = "never: it has nothing for that"
        else:
            text = results["peers"][peer.name].get("error") or next(iter(failures(rounds, self.under)), "–")
        return [text.replace("|", "/"), *[""] * (len(self.columns) - 1)]


def _shape(shape):
    processes, contenders = shape
    key = f"{processes}x{contenders}"
    why = reasons.overtaking(key)
    return Table(
        "handoffs", f"One name, {processes} process{'es' if processes > 1 else ''} × {contenders} contender{'s' if contenders > 1 else ''}",
        "All come back at once and do nothing under the lock. A handoff is a turn of another contender than the one before. "
        f"A fair share is {100 / processes / contenders:.1f} %.",
        Column("handoffs/s", key, "handoffs_per_second", better="high", why=why),
        Column("turns/s", key, "turns_per_second", better=""),
        Column("longest wait, ms", key, "longest_wait_ms", why=why),
        Column("least share", key, "least_share", better="high", say=percent, why=why),
        Column("greatest", key, "greatest_share", say=percent, why=why),
        Column("requests a handoff", key, "requests_per_handoff", why=why),
        Column("client CPU, µs a handoff", key, "client_us", why=why), under=key)


def _in_flight(title, figure, better):
    return [Column(f"{title} {count}" if title else str(count), str(count), figure, better=better,
                   why=reasons.alone if count == 1 else reasons.commands) for count in rows.IN_FLIGHT]


def all_tables(settings):
    patience, loss_patience = settings["patience"], settings["patience"] / 2
    yield Table("uncontended", "A free lock",
                "Lock + unlock of one name, one after the other, µs. Commands are what the server runs, in scripts and transactions, too.",
                Column("p50", "p50_us", why=reasons.alone), Column("p99", "p99_us", why=reasons.alone),
                Column("requests a cycle", "requests", better=""), Column("commands a cycle", "commands", better=""))
    yield Table("rate", "Different names at once: cycles/s", "So many in flight; each cycle is lock + unlock.",
                *_in_flight("", "per_second", "high"))
    yield Table("rate", "Different names at once: CPU a cycle, µs", "User and system time of the server, and of the client's process.",
                *_in_flight("server,", "server_us", "low"), *_in_flight("client,", "client_us", "low"))
    for shape in rows.SHAPES:
        yield _shape(shape)
    yield Table("wake-up", "Wake-up",
                "From the call that gives the lock back to the moment when a waiter in another process has it, µs.",
                Column("p50", "p50_us"), Column(f"longest of {settings['wake_ups']}", "longest_us"))
    yield Table("recovery", "Recovery after SIGKILL of the holder",
                "From the end of its ttl by the server's clock to the moment when a waiter in another process has the lock, ms, "
                "with so many other keys that have a ttl of an hour.",
                *[Column(f"{keys:,}", str(keys), "ms", none=f"not within {patience:g} s", why=reasons.waiting) for keys in rows.OTHER_KEYS])
    yield Table("loss", "Loss, told", "The server is frozen. From the end of the ttl there to the moment when the holder is told; negative: before.",
                Column("ms", "told_ms", none=f"not within {loss_patience:g} s"))
    watched = settings["renewals"]
    yield Table("leases", f"{settings['leases']:,} leases held",
                "With a ttl of 30 s. Requests and CPU are those of the time after they were taken: renewals, if the library renews.",
                Column("taken/s", "per_second", better="high", why=reasons.commands), Column("bytes a lease", "bytes_per_lease"),
                Column("threads", "threads", why=reasons.renewing),
                *([Column(f"requests in {watched:g} s", "requests", better=""),
                   Column("client CPU, % of a core", "client_percent", better=""),
                   Column("server CPU, %", "server_percent", better="")] if watched else []))


def page(results):
    """The generated part of docs/benchmarks.md, without charts."""
    versions = [f"{peer.label} {results['peers'][peer.name]['version']}" for peer in peers.ALL
                if results["peers"].get(peer.name, {}).get("version") and not (peer.ours and peer.name != peers.STOCK)]
    yield (f"{results['date']}, `{results['command']}`, {results['machine']}, {results['server']}; load when it began {results['load']:.1f}. "
           + ("Server on core 0, clients on core 1. " if results["pinned"] else "Nothing was pinned to a core. ")
           + (", ".join(versions) + "." if versions else ""))
    yield ""
    for table in all_tables(results["settings"]):
        if table.row in results["rows"]:
            yield from table.lines(results)
