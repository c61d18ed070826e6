"""What is said under a table: which libraries are ahead of Holdfast, by the figures of all rounds."""

from .figures import figures_of
from .words import listed, spread


def _variant(column, ours, ahead):
    """Where the best of Holdfast's other rows stands to the libraries that are ahead of the first."""
    others = [label for label in ours if label != "Holdfast"]
    if not others:
        return ""
    best = (min if column.better == "low" else max)(others, key=lambda label: ours[label].median)
    figure = ours[best]
    if all(figure.beats(other, column.better) for other in ahead.values()):
        place = "is ahead of all of these" if len(ahead) > 1 else "is ahead of that"
    elif any(other.beats(figure, column.better) for other in ahead.values()):
        place = "is behind, too"
    else:
        place = "isn't to be told apart"
    return f" The best of Holdfast's other rows, *{best}* with {spread(figure, column)}, {place}."


def _behind(column, stock, ours, ahead):
    best_first = sorted(ahead.items(), key=lambda named: named[1].median, reverse=column.better == "high")
    them = listed([f"{label} {spread(figure, column)}" for label, figure in best_first])
    return f"- *{column.title}*: {them}; Holdfast {spread(stock, column)}.{_variant(column, ours, ahead)}"


def verdict(results, row, columns, count):
    """Lines of Markdown about a row of so many rounds."""
    behind, level, reasons, compared = [], [], [], 0
    for column in columns:
        stock, ours, theirs = figures_of(results, row, column.path)
        if not column.better or stock is None or not theirs:
            continue
        compared += 1
        ahead = {label: figure for label, figure in theirs.items() if figure.beats(stock, column.better)}
        overlapping = [label for label, figure in theirs.items() if label not in ahead and not stock.beats(figure, column.better)]
        if ahead:
            behind.append(_behind(column, stock, ours, ahead))
            reasons.append(column.why(results, ahead) or "The figures don't say why.")
        if overlapping:
            level.append(f"{listed(overlapping)} in *{column.title}*")
    if behind:
        how = ", with every round better than all of its rounds (least and greatest round in brackets)" if count > 1 else ", measured once"
        yield from [f"Ahead of stock Holdfast{how}:", "", *behind, "", " ".join(dict.fromkeys(reasons)), ""]
    if level:
        yield from [f"Not to be told apart from stock Holdfast, as the rounds overlap or are the same: {'; '.join(level)}.", ""]
    if compared and not behind and not level:
        yield from [f"Stock Holdfast is ahead of all the libraries here, {'in every round' if count > 1 else 'measured once'}.", ""]
