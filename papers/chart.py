"""Small charts as SVG text, in the colours of every langscape picture: lines, and panels of points."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from langscape.views.colours import CATEGORIES

_INK, _SOFT, _LINE = "#1b1d21", "#5b626c", "#e3e6ea"
_FONT = 'font-family="system-ui, Helvetica Neue, Arial, sans-serif"'


@dataclass(frozen=True)
class Panel:
    """Lines over common axes: name → (x, y). Names of several panels that agree share a colour."""

    title: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x: str
    y: str
    dots: bool = False


def lines(panels: Sequence[Panel], *, width: int = 900, height: int = 330) -> str:
    """Panels side by side, one legend under them."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    colours = {name: CATEGORIES[i % len(CATEGORIES)] for i, name in enumerate(names)}
    wide = width / len(panels)
    parts = [_lines_panel(panel, colours, at * wide, wide, height - 40) for at, panel in enumerate(panels)]
    parts.append(_legend([(name, colours[name]) for name in names], 54, height - 12))
    return _svg(width, height, parts)


def scatters(
    panels: Sequence[tuple[str, str, np.ndarray]], groups: Sequence[str], *, width: int = 900
) -> str:
    """Maps side by side, (title, line under it, xy) each, points coloured by group, one legend under them."""
    names = list(dict.fromkeys(groups))
    colours = {name: CATEGORIES[i % len(CATEGORIES)] for i, name in enumerate(names)}
    wide = width / len(panels)
    side = wide - 24
    parts = []
    for at, (title, said, xy) in enumerate(panels):
        left = at * wide + 12
        parts.append(_text(left, 20, title, size=14, bold=True))
        parts.append(_text(left, 39, said, size=12, colour=_SOFT))
        parts.append(f'<rect x="{left}" y="50" width="{side}" height="{side}" fill="none" stroke="{_LINE}"/>')
        low, span = xy.min(0), float(np.ptp(xy, axis=0).max()) or 1.0
        inset = (span - np.ptp(xy, axis=0)) / 2
        for point, group in zip((xy - low + inset) / span, groups, strict=True):
            px, py = left + 10 + point[0] * (side - 20), 50 + side - 10 - point[1] * (side - 20)
            parts.append(
                f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colours[group]}" fill-opacity=".8" '
                'stroke="white" stroke-width=".5"/>'
            )
    height = int(50 + side + 34)
    parts.append(_legend([(name, colours[name]) for name in names], 18, height - 10))
    return _svg(width, height, parts)


def _lines_panel(panel: Panel, colours: Mapping[str, str], left: float, wide: float, high: float) -> str:
    x0, x1, y0, y1 = left + 54, left + wide - 14, high - 44, 34
    xs = np.concatenate([np.asarray(x, float) for x, _ in panel.lines.values()])
    ys = np.concatenate([np.asarray(y, float) for _, y in panel.lines.values()])
    across = [value for value in ticks(xs.min(), xs.max()) if xs.min() <= value <= xs.max()]
    up = ticks(ys.min(), ys.max())
    low, top = min(up[0], ys.min()), max(up[-1], ys.max())

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            x0 + (x - xs.min()) / ((xs.max() - xs.min()) or 1.0) * (x1 - x0),
            y0 + (y - low) / ((top - low) or 1.0) * (y1 - y0),
        )

    parts = [_text(x0, 18, panel.title, size=14, bold=True)]
    for value in up:
        y = place(xs.min(), value)[1]
        parts.append(f'<line x1="{x0}" x2="{x1}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>')
        parts.append(_text(x0 - 8, y + 4, f"{value:g}", size=12, colour=_SOFT, anchor="end"))
    for value in across:
        x = place(value, low)[0]
        parts.append(_text(x, y0 + 17, f"{value:g}", size=12, colour=_SOFT, anchor="middle"))
    parts.append(_text((x0 + x1) / 2, y0 + 36, panel.x, size=12, colour=_SOFT, anchor="middle"))
    middle = (y0 + y1) / 2
    turned = f'transform="rotate(-90 {left + 14:.1f} {middle:.1f})"'
    parts.append(_text(left + 14, middle, panel.y, size=12, colour=_SOFT, anchor="middle", more=turned))
    for name, (x, y) in panel.lines.items():
        spots = [place(a, b) for a, b in zip(x, y, strict=True)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        if panel.dots:
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.2" fill="{colours[name]}"/>' for a, b in spots]
    return "".join(parts)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values from at or below `low` to at or above `high`, at most so many steps apart."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * m for m in (1, 2, 5, 10) if scale * m >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _legend(entries: Sequence[tuple[str, str]], left: float, y: float) -> str:
    parts = []
    for name, colour in entries:
        parts.append(f'<rect x="{left:.0f}" y="{y - 9}" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(_text(left + 18, y + 1, name, size=13))
        left += 40 + 7.2 * len(name)
    return "".join(parts)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    colour: str = _INK,
    anchor: str = "start",
    bold: bool = False,
    more: str = "",
) -> str:
    weight = ' font-weight="600"' if bold else ""
    look = f'font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight} {more}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{html.escape(text)}</text>'


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {_FONT}>'
        f"{''.join(parts)}</svg>"
    )
