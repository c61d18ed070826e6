"""Figures and lists as people read them."""

import math


def number(value):
    """Three figures."""
    if value is None:
        return "–"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def percent(value):
    return f"{100 * value:.1f} %"


def listed(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def text_of(value, column):
    return column.none if math.isinf(value) else column.say(value)


def spread(figure, column):
    """The median, with the least and the greatest round where these differ."""
    median, least, greatest = (text_of(value, column) for value in (figure.median, figure.least, figure.greatest))
    return median if least == greatest else f"{median} ({least}–{greatest})"
