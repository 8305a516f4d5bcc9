"""The atlas drawn with matplotlib: every head a small map coloured by position, in the ranking's order.

Without a ranking, layers go down and heads across.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from langscape.data import View
from langscape.metrics.scores import ORDER, SCORES, SHORT
from langscape.views.colours import NEUTRAL, RAMP, VERDICTS
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, number_heads

_WIDTH, _GAP, _SIDE, _FOOT = 12.0, 0.12, 0.35, 0.32
_LEGEND = 0.24
_FRAME = "#e3e6ea"

EVEN = "evenly spread"
"""The verdict on heads that have nothing to map: their discs are drawn pale, with these words."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """Where each head's square stands (column, row), how many there are of both, and inches of the rest."""

    places: np.ndarray
    across: int
    down: int
    cell: float
    foot: float
    beside: float
    above: float


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 12 inches wide; one square per head."""
    properties, xy = view.properties, view.arrays["xy"]
    keys = [tuple(key) for key in properties["heads"]]
    by, ranking = _order(view)
    verdicts = _verdicts(view)
    grid = _ranked(ranking) if ranking is not None else _table(keys)
    caption = Caption(properties, _WIDTH)
    legend = _LEGEND if verdicts else 0.0
    up = grid.down * (grid.cell + grid.foot)
    figure = Figure(figsize=(_WIDTH, caption.height + up + legend + MARGIN + grid.above), facecolor="white")
    axes = figure.add_axes(inches(figure, MARGIN + grid.beside, MARGIN + legend, grid.cell * grid.across, up))
    axes.set(xlim=(0, grid.across), ylim=(grid.down, 0))
    axes.set_axis_off()
    # the square's share of the height of its row
    tall = grid.cell / (grid.cell + grid.foot)
    ramp = LinearSegmentedColormap.from_list("langscape", RAMP)
    at = view.arrays["positions"] / max(len(properties["tokens"]) - 1, 1)
    size = float(np.clip(260 * grid.cell**2 / max(xy.shape[1], 1), 0.5, 12))
    shown = ranking if ranking is not None else _numbers(view, "kl")
    for row, (layer, head) in enumerate(keys):
        corner = grid.places[row]
        verdict = verdicts[row] if verdicts else ""
        there = np.isfinite(xy[row, :, 0])
        unit = _GAP / 2 + (1 - _GAP) * _unit(xy[row, there])
        places = corner + unit * [1, tall]
        square = (corner[0] + 0.02, corner[1] + 0.02), 0.96, tall - 0.02
        axes.add_patch(Rectangle(*square, facecolor="none", edgecolor=_FRAME, linewidth=0.6))
        drawn: PathCollection = axes.scatter(
            places[:, 0], places[:, 1], c=at[there], cmap=ramp, s=size, vmin=0, vmax=1
        )
        drawn.set_linewidth(0)
        if verdict == EVEN:
            drawn.set_alpha(0.12)
            x, y = corner[0] + 0.5, corner[1] + tall / 2
            axes.text(x, y, EVEN, size=_letters(grid), color=SOFT, ha="center", va="center", **PLAIN)
        name = f"{layer}.{head}" if ranking is not None else ""
        score = "" if shown is None else _said(by or "kl", shown[row])
        _write_foot(axes, grid, corner, name, score, verdict)
    if ranking is None:
        number_heads(axes, sorted({layer for layer, _ in keys}), sorted({head for _, head in keys}))
    if verdicts:
        _write_legend(figure, [name for name in VERDICTS if name in verdicts])
    caption.write(figure, " · ".join(_sentences(view, by, shown is not None)))
    return figure


def _ranked(ranking: np.ndarray) -> _Grid:
    """Squares one after another, the highest score first and heads without one last."""
    n = len(ranking)
    across = min(max(n, 1), 12 if n <= 144 else 15)
    order = np.argsort(-np.nan_to_num(ranking.astype(np.float64), nan=-np.inf), kind="stable")
    places = np.empty((n, 2))
    places[order] = np.stack([np.arange(n) % across, np.arange(n) // across], axis=1)
    cell = min((_WIDTH - 2 * MARGIN) / across, 2.4)
    return _Grid(places, across, -(-n // across), cell, _FOOT, beside=0.0, above=0.05)


def _table(keys: Sequence[tuple[int, ...]]) -> _Grid:
    layers = sorted({layer for layer, _ in keys})
    heads = sorted({head for _, head in keys})
    places = np.array([[heads.index(head), layers.index(layer)] for layer, head in keys], float)
    cell = min((_WIDTH - 2 * MARGIN - _SIDE) / len(heads), 2.4)
    return _Grid(places, len(heads), len(layers), cell, 0.14, beside=_SIDE, above=_SIDE)


def _write_foot(axes: Axes, grid: _Grid, corner: np.ndarray, name: str, score: str, verdict: str) -> None:
    """The head's number with the mark and word of its verdict, and its score, under its square."""
    inch = 1 / (grid.cell + grid.foot)
    left, bottom = corner[0] + 0.06, corner[1] + 1
    look = {"size": _letters(grid), "va": "baseline", **PLAIN}
    if not name:
        axes.text(corner[0] + 0.97, bottom - 0.02 * inch, score, color=SOFT, ha="right", **look)
        return
    axes.text(left, bottom - 0.1 * inch, score, color=SOFT, ha="left", **look)
    if verdict:
        axes.scatter([left + 0.03], [bottom - 0.235 * inch], s=8, color=[VERDICTS.get(verdict, NEUTRAL)])
    axes.text(left + 0.1, bottom - 0.21 * inch, f"{name}  {verdict}", color=INK, ha="left", **look)


def _write_legend(figure: Figure, verdicts: Sequence[str]) -> None:
    width = _WIDTH - 2 * MARGIN
    axes = figure.add_axes(inches(figure, MARGIN, MARGIN / 2, width, _LEGEND))
    axes.set(xlim=(0, width), ylim=(0, 1))
    axes.set_axis_off()
    x = 0.05
    for verdict in verdicts:
        axes.scatter([x], [0.5], s=18, color=[VERDICTS[verdict]])
        axes.text(x + 0.1, 0.5, verdict, size=8.5, color=SOFT, va="center", **PLAIN)
        x += 0.4 + 0.07 * len(verdict)


def _sentences(view: View, by: str, scored: bool) -> list[str]:
    count, tokens = view.arrays["xy"].shape[:2]
    sentences = [
        str(view.properties.get("subtitle", "")),
        f"{count} heads, {tokens} tokens, light first and dark last",
    ]
    if by:
        sentences.append(f"ordered by {SCORES[by].word}, which stands under each map")
    elif scored:
        sentences.append("small figures: KL of the map")
    return [part for part in sentences if part]


def _order(view: View) -> tuple[str, np.ndarray | None]:
    """The score that heads are ordered by, as on the page, and its values; no name where there is none."""
    for name in ORDER:
        if (values := _numbers(view, name)) is not None:
            return name, values
    return "", None


def _numbers(view: View, name: str) -> np.ndarray | None:
    """The values of a score per head; None where the view has none."""
    for column in view.properties["columns"]:
        if column["name"] == name and column["type"] == "number":
            return view.arrays[column["array"]]
    return None


def _verdicts(view: View) -> list[str]:
    """The verdict on each head; empty where the view has none."""
    for column in view.properties["columns"]:
        if column["name"] == "verdict" and column["type"] == "category":
            codes = view.arrays[column["array"]].tolist()
            return [column["categories"][code] if code >= 0 else "" for code in codes]
    return []


def _said(name: str, value: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.2f}" if name == "kl" else f"{SHORT.get(name, name)} {SCORES[name].text(float(value))}"


def _letters(grid: _Grid) -> float:
    return float(np.clip(5.9 * grid.cell, 4.0, 7.0))


def _unit(plane: np.ndarray) -> np.ndarray:
    """The map moved and scaled into the unit square, y downward; its proportions are kept."""
    if not len(plane):
        return plane
    low, high = plane.min(axis=0), plane.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return 0.5 + (plane - (low + high) / 2) / extent * [1, -1]
