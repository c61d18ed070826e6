"""What the rounds of a row say of one figure: its median and its spread, and whether one peer is ahead of another."""

import dataclasses
import math
import statistics

from . import peers


def at(figures, path):
    """The value under those keys; None if there is none."""
    for step in path:
        if not isinstance(figures, dict) or step not in figures:
            return None
        figures = figures[step]
    return figures


def has(figures, path):
    return path[-1] in (at(figures, path[:-1]) or {})


@dataclasses.dataclass(frozen=True)
class Figure:
    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, rounds, path):
        """Of all rounds that have it; None if no round has. A null (it didn't happen in time) is later than any time."""
        values = [at(one, path) for one in rounds if has(one, path)]
        values = sorted(math.inf if value is None else value for value in values)
        return cls(statistics.median(values), values[0], values[-1]) if values else None

    def beats(self, other, better):
        """Is every round of it better than every round of the other? `better` is "low" or "high"."""
        return self.greatest < other.least if better == "low" else self.least > other.greatest


def failures(rounds, under=None):
    """What failed, with how often: of the whole row, or of its part `under`; without `under` of any part."""
    errors = []
    for one in rounds:
        parts = [one] + [part for key, part in one.items() if isinstance(part, dict) and under in (None, key)]
        errors += [part["error"] for part in parts if "error" in part]
    return {error: errors.count(error) for error in errors}


def rounds_of(results, name, row):
    return results["peers"].get(name, {}).get("rows", {}).get(row, [])


def figures_of(results, row, path):
    """The figure of each peer that has one, by its label, in three groups: Holdfast as it is installed (or None), all of
    Holdfast's, and the other libraries. Floors aren't compared: they do less."""
    stock, ours, theirs = None, {}, {}
    for peer in peers.ALL:
        figure = Figure.of(rounds_of(results, peer.name, row), path)
        if figure is None or peer.floor:
            continue
        (ours if peer.ours else theirs)[peer.label] = figure
        if peer.name == peers.STOCK:
            stock = figure
    return stock, ours, theirs
