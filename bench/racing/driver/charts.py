"""Bar charts as plain SVG, for light and dark pages."""

import html
import math

from . import peers
from .figures import Figure, rounds_of
from .words import number

INK, OURS, THEIRS, FLOOR = "#7d8590", "#2f81f7", "#8b949e", "#d0a215"
LINE, LEFT, BARS, WIDTH = 24, 210, 400, 720

CHARTS = (
    ("race-rate", "256 in flight on different names: cycles/s", ("rate", "256", "per_second"), False),
    ("race-server", "256 in flight: server CPU a cycle, µs (shorter is better)", ("rate", "256", "server_us"), False),
    ("race-client", "256 in flight: client CPU a cycle, µs (shorter is better)", ("rate", "256", "client_us"), True),
    ("race-handoffs", "One name, 4 processes × 4 contenders: handoffs/s", ("handoffs", "4x4", "handoffs_per_second"), True),
    ("race-longest-wait", "One name, 4 processes × 4 contenders: longest wait, ms (shorter is better)", ("handoffs", "4x4", "longest_wait_ms"), True),
    ("race-wake-up", "From unlock to the next holder in another process, p50, µs (shorter is better)", ("wake-up", "p50_us"), True),
    ("race-recovery", "Holder killed, 200,000 other keys: ms after its ttl (shorter is better)", ("recovery", "200000", "ms"), True),
)


def svg(title, bars, logarithmic):
    """`bars`: label, figure, colour; instead of a figure it may be text, for what has none."""
    drawn = [figure for _, figure, _ in bars if not isinstance(figure, str)]
    greatest = max(figure.greatest for figure in drawn)
    low = min([figure.least for figure in drawn if figure.least > 0], default=greatest) / 3 if logarithmic else 0

    def length(value):
        if value <= 0 or greatest <= 0:
            return 1
        share = math.log(value / low) / math.log(greatest / low) if logarithmic else value / greatest
        return max(1, BARS * share)

    height = 40 + LINE * len(bars)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" font-size="13" fill="{INK}">'
    yield f"  <title>{html.escape(title)}</title>"
    yield f'  <text x="4" y="18" font-weight="bold">{html.escape(title)}{" (logarithmic)" if logarithmic else ""}</text>'
    for line, (label, figure, colour) in enumerate(bars):
        y = 32 + LINE * line
        yield f'  <text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>'
        if isinstance(figure, str):
            yield f'  <text x="{LEFT + 6}" y="{y + 14}" font-style="italic">{html.escape(figure)}</text>'
            continue
        yield f'  <rect x="{LEFT}" y="{y + 2}" width="{length(figure.median):.1f}" height="{LINE - 8}" fill="{colour}"/>'
        if figure.least < figure.greatest:
            yield f'  <path d="M{LEFT + length(figure.least):.1f} {y + LINE / 2 - 2:g}H{LEFT + length(figure.greatest):.1f}" stroke="{INK}" stroke-width="2"/>'
        yield f'  <text x="{LEFT + length(figure.greatest) + 6:.1f}" y="{y + 14}">{number(figure.median)}</text>'
    yield "</svg>"


def bars_of(results, path):
    """A bar of each peer that was to race in that row, or what is said instead of one."""
    row = path[0]
    for peer in peers.ALL:
        racing = results["peers"].get(peer.name)
        if racing is None or peer.rows and row not in peer.rows:
            continue
        figure = Figure.of(rounds_of(results, peer.name, row), path[1:])
        if figure is None:
            figure = "left out" if "error" in racing else "no figure: it failed"
        elif math.isinf(figure.greatest):
            figure = f"not within {results['settings']['patience']:g} s"
        yield peer.label, figure, OURS if peer.ours else FLOOR if peer.floor else THEIRS


def all_charts(results):
    """Name, title and text of each chart for which there are figures."""
    for name, title, path, logarithmic in CHARTS:
        bars = list(bars_of(results, path)) if path[0] in results["rows"] else []
        if any(not isinstance(figure, str) and figure.greatest > 0 for _, figure, _ in bars):
            yield name, title, "\n".join(svg(title, bars, logarithmic)) + "\n"
