"""The scatter view drawn with matplotlib: no label over another, legend outside, figures of trust above."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib.patheffects as effects
import numpy as np
import textalloc
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D

from langscape.data import View
from langscape.views.colours import CATEGORIES, DISTINCT, NEUTRAL, RAMP, category_mark

MOST_LABELS = 250
"""Labels tried at most; of these, the ones for which there is room are drawn."""

_INK, _SOFT = "#1b1d21", "#5b626c"
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^"}
# The first draws what it can, the others the rest; matplotlib complains of every one that is not installed.
_FONTS = ["DejaVu Sans"] + [
    name
    for name in ("Noto Sans CJK JP", "Noto Sans", "Arial Unicode MS")
    if name in fontManager.get_font_names()
]
# Labels are text, never formulas: "$" is a letter like any other.
_PLAIN: dict[str, Any] = {"parse_math": False, "family": _FONTS}
# Beyond this many points a vector file is slow to open; the points are then an image inside it.
_RASTER = 20_000
# Up to this many points, labels keep clear of all of them; beyond, of the labelled ones.
_CROWD = 5000


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 10 × 8 inches."""
    properties, plane = view.properties, _plane(view.arrays["xy"])
    figure = Figure(figsize=(10, 8), facecolor="white")
    side = _points_side(properties)
    caption = _Caption(figure, properties)
    axes = figure.add_axes((0.03, 0.03, 0.94 - side, caption.bottom - 0.045))
    axes.set_axis_off()
    _limits(axes, plane)
    _draw_points(figure, axes, view, plane, 0.97 - side)
    drawn = _draw_labels(axes, view, plane)
    caption.say(_sentences(view, drawn))
    return figure


class _Caption:
    """Title and lines under it; how many lines is known before the axes are placed."""

    _LINE = 0.022

    def __init__(self, figure: Figure, properties: Any) -> None:
        self._figure = figure
        title = _short(str(properties.get("title") or ""), 80)
        figure.text(0.03, 0.965, title, size=14, weight="bold", color=_INK, va="top", **_PLAIN)
        # A figure is never broken from its value, hence the no-break spaces.
        figures = [
            f"{one['label']} {one['shown']}".replace(" ", "\u00a0") for one in properties.get("quality", ())
        ]
        trust = " · ".join(figures)
        self._lines = textwrap.wrap(trust, 130)
        notes = properties.get("notes", ())
        if notes:
            more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
            self._lines += textwrap.wrap(f"Note: {_short(notes[0], 240)}{more}", 130)
        # One line is kept for what is only known once the labels stand.
        self.bottom = 0.925 - self._LINE * (len(self._lines) + 1)

    def say(self, sentence: str) -> None:
        for at, line in enumerate([*self._lines, sentence]):
            self._figure.text(0.03, 0.925 - self._LINE * at, line, size=8.5, color=_SOFT, va="top", **_PLAIN)


def _sentences(view: View, drawn: int) -> str:
    n, dims = view.arrays["xy"].shape
    parts = [f"{n:,} {'item' if n == 1 else 'items'}, {drawn:,} labelled"]
    if view.properties.get("subtitle"):
        parts.append(view.properties["subtitle"])
    if dims == 3:
        parts.append("three dimensions seen from one side")
    if dims > 3:
        parts.append(f"axes 0 and 1 of {dims}")
    return " · ".join(parts)


def _plane(xy: np.ndarray) -> np.ndarray:
    """What is drawn, shape (n, 2): the page's first sight of a 3-D map, else the first two axes."""
    if xy.shape[1] == 1:
        return np.column_stack([xy[:, 0], np.zeros(len(xy))])
    if xy.shape[1] != 3:
        return xy[:, :2]
    yaw, pitch = 0.6, 0.4
    turn_yaw = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    turn_pitch = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]])
    centred = xy - xy.mean(axis=0) if len(xy) else xy
    return (centred @ (turn_pitch @ turn_yaw).T)[:, :2]


def _limits(axes: Axes, plane: np.ndarray) -> None:
    """Equal units on both axes, all points inside; by hand, since labels are placed before the first draw."""
    low, high = (plane.min(axis=0), plane.max(axis=0)) if len(plane) else (np.zeros(2), np.zeros(2))
    box = axes.get_window_extent()
    unit = max((high[0] - low[0]) / box.width, (high[1] - low[1]) / box.height) * 1.1 or 1 / box.width
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - unit * box.width / 2, middle[0] + unit * box.width / 2)
    axes.set_ylim(middle[1] - unit * box.height / 2, middle[1] + unit * box.height / 2)


def _column(properties: Any) -> dict[str, Any] | None:
    return next((c for c in properties.get("columns", ()) if c["name"] == properties.get("color")), None)


def _points_side(properties: Any) -> float:
    """The share of the width that the legend takes."""
    column = _column(properties)
    return 0.2 if column is not None or properties.get("ring_meaning") else 0.0


def _draw_points(figure: Figure, axes: Axes, view: View, plane: np.ndarray, right: float) -> None:
    column = _column(view.properties)
    n = len(plane)
    look: dict[str, Any] = {
        "s": float(np.clip(9000 / max(n, 1), 1.5, 34)),
        "linewidths": 0.3 if n <= 4000 else 0,
        "edgecolors": "white",
        "alpha": 0.92 if n <= 4000 else 0.6,
        "rasterized": n > _RASTER,
        "zorder": 2,
    }
    handles: list[Line2D] = []
    if column is None:
        axes.scatter(plane[:, 0], plane[:, 1], color=CATEGORIES[0], **look)
    elif column["type"] == "number":
        _draw_numbers(figure, axes, plane, view.arrays[column["array"]], column["name"], look, right)
    else:
        handles = _draw_categories(axes, plane, view.arrays[column["array"]], column["categories"], look)
    rings = view.arrays.get("rings")
    if rings is not None:
        ringed = plane[rings.astype(bool)]
        wide = {"s": look["s"] * 2.6 + 12, "linewidths": 0.9, "zorder": 3}
        axes.scatter(ringed[:, 0], ringed[:, 1], facecolors="none", edgecolors=_INK, **wide)
        handles.append(_handle(view.properties["ring_meaning"], "o", "none", edge=_INK))
    if handles:
        legend = figure.legend(
            handles=handles,
            title=None if column is None or column["type"] == "number" else column["name"],
            loc="upper left",
            bbox_to_anchor=(right, 0.52 if column is not None and column["type"] == "number" else 0.87),
            frameon=False,
            fontsize=8.5 if len(handles) <= 24 else 7,
            alignment="left",
            handletextpad=0.3,
        )
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_parse_math(False)
            text.set_fontfamily(_FONTS)
            text.set_color(_INK)
        legend.get_title().set_fontweight("bold")


def _draw_categories(
    axes: Axes, plane: np.ndarray, codes: np.ndarray, categories: list[str], look: dict[str, Any]
) -> list[Line2D]:
    known = min(len(categories), DISTINCT)
    marks = [category_mark(code) for code in range(known)]
    # By shape and not by category, so that points lie over one another in row order, as on the page.
    for shape in dict.fromkeys(shape for _, shape in marks):
        rows = np.flatnonzero([0 <= code < known and marks[code][1] == shape for code in codes])
        colours = [marks[code][0] for code in codes[rows]]
        axes.scatter(plane[rows, 0], plane[rows, 1], c=colours, marker=_MARKERS[shape], **look)
    handles = [
        _handle(name, _MARKERS[shape], colour)
        for name, (colour, shape) in zip(categories, marks, strict=False)
    ]
    for name, rows in ((f"{len(categories) - known} others", codes >= known), ("no value", codes < 0)):
        if rows.any():
            axes.scatter(plane[rows, 0], plane[rows, 1], color=NEUTRAL, **{**look, "zorder": 1})
            handles.append(_handle(name, "o", NEUTRAL))
    return handles


def _draw_numbers(
    figure: Figure,
    axes: Axes,
    plane: np.ndarray,
    values: np.ndarray,
    name: str,
    look: dict[str, Any],
    right: float,
) -> None:
    known = np.isfinite(values)
    axes.scatter(plane[~known, 0], plane[~known, 1], color=NEUTRAL, **{**look, "zorder": 1})
    if not known.any():
        return
    ramp = LinearSegmentedColormap.from_list("langscape", RAMP)
    low, high = float(values[known].min()), float(values[known].max())
    # A column of one value sits in the middle of the ramp, as on the page.
    span = Normalize(low, high) if high > low else Normalize(low - 1, high + 1)
    axes.scatter(plane[known, 0], plane[known, 1], c=values[known], cmap=ramp, norm=span, **look)
    bar = figure.colorbar(ScalarMappable(span, ramp), cax=figure.add_axes((right + 0.02, 0.55, 0.018, 0.28)))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.ax.tick_params(labelsize=8, length=2, colors=_SOFT)
    bar.ax.set_title(name, size=9, loc="left", weight="bold", color=_INK, **_PLAIN)


def _handle(label: str, marker: str, fill: str, edge: str = "none") -> Line2D:
    # A label that begins with "_" would be left out of the legend.
    text = _short(label, 24) or "(no name)"
    text = "\u200b" + text if text.startswith("_") else text
    look = {"markerfacecolor": fill, "markeredgecolor": edge, "markersize": 6}
    return Line2D([], [], linestyle="none", marker=marker, label=text, **look)


def _draw_labels(axes: Axes, view: View, plane: np.ndarray) -> int:
    """Writes the labels for which there is room, the most wanted first, and says how many."""
    labels = {row: _short(view.properties["labels"][row], 32) for row in _wanted(view)}
    labels = {row: text for row, text in labels.items() if text}
    points = plane if len(plane) <= _CROWD else plane[list(labels)]
    placed = _place(axes, plane, labels, x_scatter=points[:, 0], y_scatter=points[:, 1], max_distance=0.05)
    rings = view.arrays.get("rings")
    missed = {
        row: text for row, text in labels.items() if rings is not None and rings[row] and row not in placed
    }
    if missed:
        # A ringed point is what the picture is about: its label may cover points, but no other label.
        x_lines, y_lines = _outlines(axes)
        placed |= _place(axes, plane, missed, x_lines=x_lines, y_lines=y_lines, max_distance=0.15)
    return len(placed)


def _place(axes: Axes, plane: np.ndarray, labels: dict[int, str], **around: Any) -> set[int]:
    """Writes those of the labels, by row, that find a place; gives the rows of these."""
    rows = list(labels)
    if not rows:
        return set()
    _, _, texts, _ = textalloc.allocate(
        axes,
        plane[rows, 0],
        plane[rows, 1],
        list(labels.values()),
        textsize=7.5 if len(plane) <= 150 else 6,
        textcolor=_INK,
        margin=0.002,
        min_distance=0.006,
        nbr_candidates=60,
        linecolor="#b9bfc8",
        linewidth=0.5,
        draw_all=False,
        zorder=4,
        **_PLAIN,
        path_effects=[effects.withStroke(linewidth=1.6, foreground="white", alpha=0.85)],
        **around,
    )
    return {row for row, text in zip(rows, texts, strict=True) if text is not None}


def _outlines(axes: Axes) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The labels that stand already as lines to keep clear of: outline and diagonals of each."""
    corners = [text.get_window_extent().corners()[[0, 1, 3, 2, 0, 3, 1, 2]] for text in axes.texts]
    lines = [axes.transData.inverted().transform(corner) for corner in corners]
    return [line[:, 0] for line in lines], [line[:, 1] for line in lines]


def _wanted(view: View) -> np.ndarray:
    """At most MOST_LABELS rows: ringed ones first, then in the view's order."""
    n = len(view.properties["labels"])
    order = view.arrays.get("label_order", np.arange(n))
    rings = view.arrays.get("rings")
    if rings is not None:
        order = np.concatenate([order[rings[order] > 0], order[rings[order] == 0]])
    return order[:MOST_LABELS]


def _short(text: str, most: int) -> str:
    """One line of at most so many letters, without what no font can draw."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(clean.split())
    return line if len(line) <= most else line[: most - 1] + "…"
