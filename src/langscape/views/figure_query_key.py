"""The query–key view drawn with matplotlib: one head large with its lines, or a grid of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from langscape.data import View
from langscape.data.plane import flat
from langscape.views.colours import CATEGORIES, DISTINCT, NEUTRAL, NO_VALUE, RAMP, category_mark
from langscape.views.figure_neighbours import (
    NO_LINES,
    Fates,
    counts_text,
    draw_neighbours,
    line_ends,
    neighbour_handles,
)
from langscape.views.figure_scatter import limits, place_labels, place_over_points, spread
from langscape.views.paper import FONTS, INK, MARGIN, PLAIN, SOFT, Caption, inches, number_heads, short

_WIDTH, _UP, _SIDE = 10.0, 7.6, 1.75
_GRID = 12.0
_TWO, _GAP, _OVER = 15.0, 0.4, 0.35
_TURNS = 16
_QUERY, _KEY = "o", "D"
_RAMP = LinearSegmentedColormap.from_list("langscape", RAMP)


def draw(view: View) -> Figure:
    """One map: 10 inches wide, queries as circles and keys as diamonds; with one beside it, 15 inches.

    Several maps are a grid, 12 inches wide.
    """
    return _one(view) if len(view.properties["panels"]) == 1 else _many(view)


def _one(view: View) -> Figure:
    properties = view.properties
    panel = properties["panels"][0]
    two = "beside" in properties
    width = _TWO if two else _WIDTH
    caption = Caption({**properties, "quality": panel.get("flat_quality") or panel["quality"]}, width, more=2)
    across = (width - 2 * MARGIN - _SIDE - (_GAP if two else 0)) / (2 if two else 1)
    up = across if two else _UP
    over = _OVER if two else 0.0
    figure = Figure(figsize=(width, caption.height + over + up + MARGIN), facecolor="white")
    axes = figure.add_axes(inches(figure, MARGIN, MARGIN, across, up))
    axes.set_axis_off()
    plane = flat(view.arrays["xy"][0])
    limits(axes, plane)
    n = len(plane)
    size = float(np.clip((8000 if two else 16000) / n, 4, 40))
    colours, handles, ramp = colours_of(view, 0)
    _points(axes, plane, properties["queries"], colours, size)
    focus, fates = _lines_of(view)
    if focus is not None:
        draw_neighbours(axes, plane, focus, fates)
    first = [] if focus is None else line_ends(focus, fates)
    labels = {row: short(properties["names"][row], 24) for row in _wanted(plane, first, 60 if two else 110)}
    crowd = plane if n <= 5000 else plane[list(labels)]
    placed = place_labels(axes, plane, labels, set(first[:1]), x_scatter=crowd[:, 0], y_scatter=crowd[:, 1])
    drawn = len(placed | place_over_points(axes, plane, labels, set(first) - placed, set(first[:1])))
    if two:
        axes.set_title("query–key map", size=10, color=SOFT, loc="left", **PLAIN)
        other = figure.add_axes(inches(figure, MARGIN + across + _GAP, MARGIN, across, up))
        _other(other, view, colours, 2 * size, focus)
    lines = neighbour_handles(fates)
    _legend(figure, handles, properties["color"], width - MARGIN - _SIDE + 0.1, MARGIN + up, ramp, lines)
    said = [
        f"{properties['subtitle']}; {properties['queries']:,} queries and "
        f"{n - properties['queries']:,} keys, {drawn} labelled"
    ]
    if focus is not None:
        is_query = focus < properties["queries"]
        who = "the query {}: its strongest keys" if is_query else "the key {}: who gives it most"
        label = f"“{properties['names'][focus]}”"
        said.append(f"lines: of {who.format(label)}; {counts_text(fates)}")
    caption.write(figure, *said)
    return figure


def _other(axes: Axes, view: View, colours: np.ndarray, size: float, focus: int | None) -> None:
    """The attention-head map beside: each token coloured as its query is."""
    plane, rows = view.arrays["beside_xy"], view.arrays["beside_rows"]
    axes.set_axis_off()
    limits(axes, plane)
    axes.set_title("attention-head map, one point a token", size=10, color=SOFT, loc="left", **PLAIN)
    axes.scatter(*plane.T, c=colours[rows], s=size, linewidths=0.25, edgecolors="white", alpha=0.9, zorder=2)
    chosen = np.flatnonzero(rows == focus).tolist() if focus is not None else []
    for row in chosen:
        axes.scatter(*plane[row], s=size * 3, facecolors="none", edgecolors=INK, linewidths=1.4, zorder=4)
    wanted = dict.fromkeys([*chosen, *spread(plane, 60)])
    labels = {row: short(view.properties["names"][rows[row]], 24) for row in wanted}
    place_labels(axes, plane, labels, x_scatter=plane[:, 0], y_scatter=plane[:, 1])


def _many(view: View) -> Figure:
    properties = view.properties
    panels = properties["panels"]
    layers = sorted({panel["layer"] for panel in panels})
    heads = sorted({panel["head"] for panel in panels})
    table = len({(panel["layer"], panel["head"]) for panel in panels}) == len(panels) > 6
    wide = len(heads) if table else min(3, len(panels))
    tall = len(layers) if table else -(-len(panels) // wide)
    caption = Caption(properties, _GRID, more=2)
    side = 0.35 if table else 0.0
    cell = min((_GRID - 2 * MARGIN - side) / wide, 3.75)
    foot = 0.14 if table else 0.34
    figure = Figure(
        figsize=(_GRID, caption.height + tall * (cell + foot) + MARGIN + side + 0.3), facecolor="white"
    )
    axes = figure.add_axes(inches(figure, MARGIN + side, MARGIN + 0.25, cell * wide, tall * (cell + foot)))
    axes.set(xlim=(0, wide), ylim=(tall, 0))
    axes.set_axis_off()
    size = float(np.clip(500 * cell**2 / view.arrays["xy"].shape[1], 0.35, 10))
    places, colours = [], []
    for at, panel in enumerate(panels):
        corner = (
            (heads.index(panel["head"]), layers.index(panel["layer"])) if table else (at % wide, at // wide)
        )
        places.append(_cell(axes, view, at, corner, panel, cell / (cell + foot), table))
        colours.append(colours_of(view, at)[0])
    _small_points(axes, np.stack(places), np.stack(colours), properties["queries"], size)
    if table:
        number_heads(axes, layers, heads)
    _, handles, ramp = colours_of(view, 0)
    _strip(figure, handles, properties["color"], ramp)
    legend = "small figures: query-specific order, of nearness with q·k beyond key popularity"
    caption.write(figure, properties["subtitle"], legend)
    return figure


def _cell(
    axes: Axes, view: View, at: int, corner: tuple[int, int], panel: Any, up: float, table: bool
) -> np.ndarray:
    """Write what stands beside a small map, and give the places of its points in the grid."""
    plane = flat(view.arrays["xy"][at])
    low, high = plane.min(axis=0), plane.max(axis=0)
    extent = float((high - low).max()) or 1.0
    places = 0.5 + 0.88 * (plane - (low + high) / 2) / extent * [1, -1]
    places = np.array(corner) + places * [1, up] + [0, 0 if table else 1 - up]
    value = panel["scores"]["specific_order"]
    score = "" if value is None else f"{value:.2f}"
    text = {"size": 6 if table else 8, "color": SOFT, **PLAIN}
    if table:
        axes.text(corner[0] + 0.97, corner[1] + 0.98, score, ha="right", va="bottom", **text)
        return places
    axes.text(
        corner[0] + 0.05,
        corner[1] + 0.02,
        panel["title"],
        size=10,
        weight="bold",
        color=INK,
        va="top",
        **PLAIN,
    )
    axes.text(corner[0] + 0.95, corner[1] + 0.03, score, ha="right", va="top", **text)
    if panel["marked"]:
        axes.add_patch(
            Rectangle(
                (corner[0] + 0.01, corner[1] + 0.005),
                0.98,
                0.98,
                fill=False,
                edgecolor=CATEGORIES[1],
                linewidth=2,
            )
        )
    return places


def _small_points(axes: Axes, places: np.ndarray, colours: np.ndarray, queries: int, size: float) -> None:
    """The points of all small maps, (maps, points, 2) and (maps, points, 4).

    Keys and queries come by turns, so that neither hides the other. Marks of one colour are drawn together,
    which takes a tenth of the time of drawing each by itself.
    """
    n = places.shape[1]
    turn = np.concatenate([np.arange(queries) / queries, np.arange(n - queries) / max(n - queries, 1)])
    turns = np.broadcast_to((turn * _TURNS).astype(int), places.shape[:2]).ravel()
    shades, shade = np.unique(colours.reshape(-1, 4), axis=0, return_inverse=True)
    flat_places, raster = places.reshape(-1, 2), n > 2000
    if len(shades) > _TURNS:
        order = np.argsort(turns, kind="stable")
        drawn = axes.scatter(*flat_places[order].T, c=shades[shade][order], s=size, rasterized=raster)
        drawn.set_linewidth(0)
        return
    for at in range(_TURNS):
        for number, colour in enumerate(shades):
            here = flat_places[(turns == at) & (shade == number)]
            axes.plot(
                *here.T, linestyle="", marker="o", markersize=np.sqrt(size), markeredgewidth=0, color=colour,
                rasterized=raster,
            )  # fmt: skip


def colours_of(view: View, panel: int) -> tuple[np.ndarray, list[Line2D], Normalize | None]:
    """The colour of every point of a panel by the view's column, the legend's handles, the ramp's range."""
    properties = view.properties
    column = next(c for c in properties["columns"] if c["name"] == properties["color"])
    values = view.arrays[column["array"]]
    values = values[panel] if column["per_panel"] else values
    if column["type"] == "number":
        known = np.isfinite(values)
        low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 1.0)
        span = Normalize(low, high) if high > low else Normalize(low - 1, high + 1)
        colours = np.array(_RAMP(span(np.where(known, values, low))))
        colours[~known] = _rgba(NEUTRAL)
        return colours, [], span
    marks = [_tone(code) for code in range(min(len(column["categories"]), DISTINCT))]
    table = np.array([*(_rgba(mark) for mark in marks), _rgba(NEUTRAL)])
    codes = np.where((values >= 0) & (values < len(marks)), values, len(marks))
    handles = [_handle(name, mark) for name, mark in zip(column["categories"], marks, strict=False)]
    if (values < 0).any():
        handles.append(_handle(NO_VALUE, NEUTRAL))
    return table[codes], handles, None


def _points(axes: Axes, plane: np.ndarray, queries: int, colours: np.ndarray, size: float) -> None:
    look: dict[str, Any] = {"linewidths": 0.25, "edgecolors": "white", "alpha": 0.9, "zorder": 2}
    look["rasterized"] = len(plane) > 20_000
    axes.scatter(plane[:queries, 0], plane[:queries, 1], c=colours[:queries], s=size, marker=_QUERY, **look)
    axes.scatter(
        plane[queries:, 0], plane[queries:, 1], c=colours[queries:], s=size * 0.9, marker=_KEY, **look
    )


def _lines_of(view: View) -> tuple[int | None, Fates]:
    """The item whose lines are drawn, the one asked for or the view's example, and its neighbours."""
    shown = view.properties if "fates" in view.properties else view.properties.get("example", {})
    return shown.get("focus"), shown.get("fates", NO_LINES)


def _wanted(plane: np.ndarray, first: Sequence[int], most: int) -> list[int]:
    rows = dict.fromkeys(first)
    for row in spread(plane, most):
        rows.setdefault(row)
    return list(rows)


def _legend(
    figure: Figure,
    handles: list[Line2D],
    title: str,
    left: float,
    top: float,
    ramp: Normalize | None,
    lines: list[Line2D],
) -> None:
    width, height = figure.get_size_inches()
    marks = [
        _handle("query", SOFT, _QUERY),
        _handle("key", SOFT, _KEY),
    ]
    below = 0.0
    if title != "type":
        if ramp is not None:
            bar = figure.colorbar(
                ScalarMappable(ramp, _RAMP),
                cax=figure.add_axes(inches(figure, left + 0.05, top - 2.4, 0.16, 2.1)),
            )
            bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
            bar.ax.tick_params(labelsize=8, length=2, colors=SOFT)
            bar.ax.set_title(title, size=9, loc="left", weight="bold", color=INK, **PLAIN)
            below = 2.7
        else:
            below = 0.45 + 0.2 * len(handles)
            _box(figure, handles, title, left / width, top / height)
    else:
        marks = [_handle("query", CATEGORIES[0], _QUERY), _handle("key", CATEGORIES[1], _KEY)]
    marks += lines
    _box(figure, marks, "mark" if title != "type" else "", left / width, (top - below) / height)


def _strip(figure: Figure, handles: list[Line2D], title: str, ramp: Normalize | None) -> None:
    """The legend of a grid, in one line under it."""
    width, height = figure.get_size_inches()
    if ramp is not None:
        bar = figure.colorbar(
            ScalarMappable(ramp, _RAMP), cax=figure.add_axes(inches(figure, MARGIN + 1.4, 0.26, 2.4, 0.1)),
            orientation="horizontal",
        )  # fmt: skip
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        bar.ax.tick_params(labelsize=7, length=2, colors=SOFT)
        figure.text(MARGIN / width, 0.3 / height, short(title, 24), size=8.5, color=INK, va="center", **PLAIN)
        return
    legend = figure.legend(
        handles=handles[:12], loc="lower left", bbox_to_anchor=(MARGIN / width, 0.08 / height), ncols=12,
        frameon=False, fontsize=8, handletextpad=0.2, columnspacing=1.0, borderaxespad=0,
    )  # fmt: skip
    _dress(legend)


def _box(figure: Figure, handles: list[Line2D], title: str, x: float, y: float) -> None:
    legend = figure.legend(
        handles=handles, title=short(title, 24) or None, loc="upper left", bbox_to_anchor=(x, y),
        borderaxespad=0,
        frameon=False, fontsize=8.5, alignment="left", handletextpad=0.3,
    )  # fmt: skip
    _dress(legend)
    legend.get_title().set_fontweight("bold")


def _dress(legend: Any) -> None:
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
        text.set_fontfamily(FONTS)
        text.set_color(INK)


def _handle(name: str, colour: str, marker: str = "o") -> Line2D:
    return Line2D(
        [], [], marker=marker, color=colour, linestyle="", markersize=5.5, label=short(name, 22) or " "
    )


def _tone(code: int) -> str:
    """The colour of a category; shapes tell queries from keys here, so colours come again paler instead."""
    pale = min(0.3 * (code // len(CATEGORIES)), 0.8)
    mixed = (round(255 * (part + (1 - part) * pale)) for part in _rgba(category_mark(code)[0])[:3])
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _rgba(colour: str) -> tuple[float, float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue, 1.0
