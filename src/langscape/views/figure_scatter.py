"""The scatter view drawn with matplotlib: no label over another, legend outside, scores above."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import matplotlib.patheffects as effects
import numpy as np
import textalloc
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from langscape.data import View
from langscape.data.plane import flat
from langscape.views.colours import CATEGORIES, DISTINCT, NEUTRAL, NO_VALUE, RAMP, category_mark
from langscape.views.figure_neighbours import (
    NO_LINES,
    counts_text,
    draw_neighbours,
    line_ends,
    neighbour_handles,
)
from langscape.views.paper import FONTS, INK, MARGIN, PLAIN, SOFT, Caption, inches, short
from langscape.views.quantile import QuantileScale, quantile_scale, tick_text

MOST_LABELS = 250
"""Labels tried at most; of these, the ones for which there is room are drawn."""

_WIDTH, _HEIGHTS = 10.0, (3.6, 9.0)
_TICKS = 0.3
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^"}
# Beyond this many points a vector file is slow to open; the points are then an image inside it.
_RASTER = 20_000
# Up to this many points there is room for long names, and anywhere for the number of a token.
_NAMED, _SHORT = 100, 3
# Up to this many points, labels keep clear of all of them; beyond, of the labelled ones.
_CROWD = 5000
# Up to this many ringed points have their labels in bold; where most are ringed, none stands out.
_STAND_OUT = 40


_PATH = (
    "line: from the mean of a period to that of the next, dashed where shuffled periods step as far "
    "(p > 0.05) · ellipse: one standard deviation"
)
_Box = tuple[float, float, float, float]


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 10 inches wide and as high as the map wants."""
    return drawn(view)


def drawn(
    view: View, *, reach: np.ndarray | None = None, under: Callable[[Axes, np.ndarray], None] | None = None
) -> Figure:
    """The same with `under` drawing below the points, which reaches so far (n, 2) from each place."""
    properties, plane = view.properties, flat(view.arrays["xy"])
    k = properties.get("quantiles") if len(plane) else None
    periods = () if k else properties.get("periods", ())
    caption = Caption(properties, _WIDTH, more=2 if periods else 1)
    side = _legend_width(properties)
    across = _WIDTH - 2 * MARGIN - side
    scales = [quantile_scale(plane[:, axis], k) for axis in (0, 1)] if k else []
    # Rescaled axes have no unit in common, so they fill a rectangle of any shape.
    shown = plane if reach is None else np.vstack([plane - reach, plane + reach])
    up = 0.8 * across if scales else float(np.clip(across * _aspect(shown), *_HEIGHTS))
    figure = Figure(figsize=(_WIDTH, caption.height + up + MARGIN), facecolor="white")
    gap = _TICKS if scales else 0.0
    axes = figure.add_axes(inches(figure, MARGIN + gap, MARGIN + gap, across - gap, up - gap))
    if scales:
        plane = np.column_stack([scale.forward(plane[:, axis]) for axis, scale in enumerate(scales)])
        _ticks(axes, scales)
    else:
        axes.set_axis_off()
        limits(axes, shown)
    if under is not None:
        under(axes, plane)
    _draw_points(figure, axes, view, plane, _WIDTH - MARGIN - side, MARGIN + up)
    if "fates" in properties:
        draw_neighbours(axes, plane, properties["focus"], properties["fates"])
    written = _draw_periods(axes, periods)
    names = [] if scales else _draw_names(axes, properties.get("regions", ()), written)
    drawn = 0 if names else _draw_labels(axes, view, plane)
    caption.write(figure, _sentences(view, drawn), *([_PATH] if periods else []))
    return figure


def _sentences(view: View, drawn: int) -> str:
    n, dims = view.arrays["xy"].shape
    parts = [f"{n:,} {'item' if n == 1 else 'items'}, {drawn:,} labelled"]
    if view.properties.get("subtitle"):
        parts.append(view.properties["subtitle"])
    if view.properties.get("quantiles"):
        parts.append(
            f"axes at equal quantiles, k = {view.properties['quantiles']}: distances are not preserved"
        )
    if "fates" in view.properties:
        label = view.properties.get("names", view.properties["labels"])[view.properties["focus"]]
        carrying = view.properties.get("fates_among", 0)
        among = f" (among the {carrying:,} that carry the map)" if carrying else ""
        parts.append(f"neighbours of “{label}”: {counts_text(view.properties['fates'])}{among}")
    if dims == 3:
        parts.append("three dimensions seen from one side")
    if dims > 3:
        parts.append(f"axes 0 and 1 of {dims}")
    return " · ".join(parts)


def _draw_names(axes: Axes, regions: Any, written: list[_Box]) -> list[str]:
    """The names of regions that do not touch one another or what is written, the largest region first."""
    box = axes.get_window_extent()
    taken: list[_Box] = []
    names: list[str] = []
    for region in regions:
        if not region["name"]:
            continue
        x, middle = axes.transData.transform((region["x"], region["y"]))
        wide, high = 0.064 * len(region["name"]) * axes.figure.dpi, 0.16 * axes.figure.dpi
        x = min(max(x, box.x0 + wide / 2), box.x1 - wide / 2)
        for lines in (0, 1, -1, 2, -2, 3, -3):
            y = middle + lines * 0.6 * high
            here = (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
            if not any(_touch(here, other) for other in written):
                break
        else:
            continue
        if any(_touch(here, other) for other in taken):
            continue
        taken.append(here)
        left, up = axes.transData.inverted().transform((x, y))
        axes.text(
            left, up, region["name"], ha="center", va="center", fontsize=8.5, fontweight="bold", color=INK,
            path_effects=[effects.withStroke(linewidth=2.5, foreground="white")], zorder=6, clip_on=True,
        )  # fmt: skip
        names.append(region["name"])
    return names


def _touch(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and a[2] > b[0] and a[1] < b[3] and a[3] > b[1]


def _draw_periods(axes: Axes, periods: Any) -> list[_Box]:
    """The way of the periods, solid where a step is more than chance; where on the figure their names are."""
    from matplotlib.patches import Ellipse

    colour = INK  # no colour of a category
    dpi = axes.figure.dpi
    written: list[_Box] = []
    for at, period in enumerate(periods):
        (xx, xy, yy), place = period["shape"], (period["x"], period["y"])
        middle, apart = (xx + yy) / 2, float(np.hypot((xx - yy) / 2, xy))
        size = [2 * float(np.sqrt(max(middle + sign * apart, 0.0))) for sign in (1, -1)]
        angle = float(np.degrees(np.arctan2(2 * xy, xx - yy) / 2))
        axes.add_patch(Ellipse(place, *size, angle=angle, fill=False, color=colour, alpha=0.15, zorder=4))
        if at:
            before = periods[at - 1]
            style = "-" if period["p"] <= 0.05 else (0, (4, 3))
            axes.plot(
                [before["x"], place[0]],
                [before["y"], place[1]],
                color=colour,
                linestyle=style,
                lw=1.4,
                zorder=5,
            )
        axes.annotate(
            period["name"], place, (4, 0), textcoords="offset points", fontsize=7, color=colour,
            fontweight="bold", va="center", zorder=6,
            path_effects=[effects.withStroke(linewidth=2, foreground="white")],
        )  # fmt: skip
        x, y = axes.transData.transform(place)
        written.append((x, y - 0.06 * dpi, x + (0.06 + 0.064 * len(period["name"])) * dpi, y + 0.06 * dpi))
    return written


def _aspect(plane: np.ndarray) -> float:
    """Height over width of the map; 1 where it has no extent."""
    if not len(plane):
        return 0.6
    wide, high = np.ptp(plane, axis=0)
    return float(high / wide) if wide > 0 else 1.0


def limits(axes: Axes, plane: np.ndarray) -> None:
    """Equal units on both axes, all points inside; by hand, since labels are placed before the first draw."""
    low, high = (plane.min(axis=0), plane.max(axis=0)) if len(plane) else (np.zeros(2), np.zeros(2))
    box = axes.get_window_extent()
    unit = max((high[0] - low[0]) / box.width, (high[1] - low[1]) / box.height) * 1.06 or 1 / box.width
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - unit * box.width / 2, middle[0] + unit * box.width / 2)
    axes.set_ylim(middle[1] - unit * box.height / 2, middle[1] + unit * box.height / 2)


def _ticks(axes: Axes, scales: list[QuantileScale]) -> None:
    """Equal steps on both axes that carry the values of the map."""
    shares = np.linspace(0, 1, 11)
    texts = [[tick_text(value) for value in scale.inverse(shares)] for scale in scales]
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_xticks(shares, texts[0])
    axes.set_yticks(shares, texts[1])
    axes.tick_params(labelsize=7, length=2, colors=SOFT)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#c9ced6")


def colour_column(properties: Any) -> dict[str, Any] | None:
    """The description of the column that gives the colours; None where there is none."""
    return next((c for c in properties.get("columns", ()) if c["name"] == properties.get("color")), None)


def _legend_width(properties: Any) -> float:
    """The inches that the legend takes at the side."""
    column = colour_column(properties)
    fates = [handle.get_label() for handle in neighbour_handles(properties.get("fates", NO_LINES))]
    if column is None and not properties.get("ring_meaning") and not fates:
        return 0.0
    names = [] if column is None else [column["name"], *column.get("categories", ())[:DISTINCT]]
    names = [
        *names,
        properties.get("ring_meaning", ""),
        properties.get("loose_meaning", ""),
        *map(str, fates),
    ]
    longest = max((len(short(name, 24)) for name in names), default=0)
    return float(np.clip(0.5 + 0.085 * longest, 1.1, 2.4))


def _draw_points(figure: Figure, axes: Axes, view: View, plane: np.ndarray, right: float, top: float) -> None:
    column = colour_column(view.properties)
    n = len(plane)
    look: dict[str, Any] = {
        # Inside an ellipse a point is only its middle.
        "s": 4.0 if "outlines" in view.arrays else float(np.clip(9000 / max(n, 1), 1.5, 34)),
        "linewidths": 0.3 if n <= 4000 else 0,
        "edgecolors": "white",
        "alpha": 0.92 if n <= 4000 else 0.6,
        "rasterized": n > _RASTER,
        "zorder": 2,
    }
    handles: list[Line2D] = []
    rings = view.arrays.get("rings")
    numbers = column is not None and column["type"] == "number"
    if column is None:
        axes.scatter(plane[:, 0], plane[:, 1], color=CATEGORIES[0], **look)
    elif column["type"] == "number":
        _draw_numbers(figure, axes, plane, view.arrays[column["array"]], column["name"], look, (right, top))
    else:
        handles = _draw_categories(
            axes, plane, view.arrays[column["array"]], column["categories"], look, rings
        )
    if rings is not None:
        wide = {"s": look["s"] * 2.6 + 12, "linewidths": 0.9, "zorder": 3, "facecolors": "none"}
        firm, loose = (plane[rings == kind] for kind in (1, 2))
        axes.scatter(firm[:, 0], firm[:, 1], edgecolors=INK, **wide)
        axes.scatter(loose[:, 0], loose[:, 1], edgecolors=SOFT, linestyles=[(0, (2, 1.6))], **wide)
        if len(firm) or not len(loose):
            handles.append(_handle(view.properties["ring_meaning"], "o", "none", edge=INK))
        if len(loose):
            # a marker's edge cannot be dashed, but the circle of dashes among the letters is one
            handles.append(_handle(view.properties["loose_meaning"], "$\u25cc$", SOFT))
    if meaning := view.properties.get("doubtful_meaning"):
        handles.append(Line2D([], [], linestyle=(0, (4, 3)), color=SOFT, label=short(meaning, 24)))
    handles += neighbour_handles(view.properties.get("fates", NO_LINES))
    if handles:
        legend = figure.legend(
            handles=handles,
            title=None if column is None or numbers else short(column["name"], 24),
            loc="upper left",
            bbox_to_anchor=_share(figure, right, top - (2.6 if numbers else 0)),
            borderaxespad=0,
            frameon=False,
            fontsize=8.5 if len(handles) <= 24 else 7,
            alignment="left",
            handletextpad=0.3,
        )
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_parse_math(False)
            text.set_fontfamily(FONTS)
            text.set_color(INK)
        legend.get_title().set_fontweight("bold")


def _draw_categories(
    axes: Axes,
    plane: np.ndarray,
    codes: np.ndarray,
    categories: list[str],
    look: dict[str, Any],
    rings: np.ndarray | None,
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
    for name, rows in ((f"{len(categories) - known} others", codes >= known), (NO_VALUE, codes < 0)):
        if rows.any():
            # Grey lies below the colours, but what wears a ring must be seen in it.
            ringed = np.zeros(len(rows), bool) if rings is None else rings > 0
            for those, order in ((rows & ~ringed, 1), (rows & ringed, 2.5)):
                axes.scatter(plane[those, 0], plane[those, 1], color=NEUTRAL, **{**look, "zorder": order})
            handles.append(_handle(name, "o", NEUTRAL))
    return handles


def _draw_numbers(
    figure: Figure,
    axes: Axes,
    plane: np.ndarray,
    values: np.ndarray,
    name: str,
    look: dict[str, Any],
    corner: tuple[float, float],
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
    place = inches(figure, corner[0] + 0.05, corner[1] - 2.4, 0.16, 2.1)
    bar = figure.colorbar(ScalarMappable(span, ramp), cax=figure.add_axes(place))
    if (values[known] == np.round(values[known])).all():
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.ax.tick_params(labelsize=8, length=2, colors=SOFT)
    bar.ax.set_title(name, size=9, loc="left", weight="bold", color=INK, **PLAIN)


def _share(figure: Figure, left: float, bottom: float) -> tuple[float, float]:
    across, up = figure.get_size_inches()
    return left / across, bottom / up


def _handle(label: str, marker: str, fill: str, edge: str = "none") -> Line2D:
    # A label that begins with "_" would be left out of the legend.
    text = short(label, 24) or NO_VALUE
    text = "\u200b" + text if text.startswith("_") else text
    look = {"markerfacecolor": fill, "markeredgecolor": edge, "markersize": 6}
    return Line2D([], [], linestyle="none", marker=marker, label=text, **look)


def _draw_labels(axes: Axes, view: View, plane: np.ndarray) -> int:
    """Writes the labels for which there is room, the most wanted first, and says how many."""
    plain = view.properties["labels"]
    names = view.properties.get("names", plain)
    if len(plain) > _NAMED:
        pairs = zip(names, plain, strict=True)
        names = [name if len(name) <= len(label) + _SHORT else label for name, label in pairs]
    labels = {row: short(names[row], 32) for row in _wanted(view, plane)}
    labels = {row: text for row, text in labels.items() if text}
    points = plane if len(plane) <= _CROWD else plane[list(labels)]
    rings = view.arrays.get("rings")
    ringed = {row for row in labels if rings is not None and rings[row]}
    loose = {row for row in ringed if rings is not None and rings[row] == 2}
    bold = ringed - loose if len(ringed) <= _STAND_OUT else set()
    if "fates" in view.properties:
        bold, ringed = (
            {view.properties["focus"]},
            ringed | set(line_ends(view.properties["focus"], view.properties["fates"])),
        )
    around = {"x_scatter": points[:, 0], "y_scatter": points[:, 1], "max_distance": 0.05}
    placed = place_labels(axes, plane, labels, bold, loose, **around)
    return len(placed | place_over_points(axes, plane, labels, ringed - placed, bold, loose))


def place_over_points(
    axes: Axes,
    plane: np.ndarray,
    labels: dict[int, str],
    wanted: set[int],
    bold: Collection[int] = (),
    soft: Collection[int] = (),
) -> set[int]:
    """Writes labels of what the picture is about: they may cover points, but no other label."""
    missed = {row: labels[row] for row in labels if row in wanted}
    if not missed:
        return set()
    x_lines, y_lines = _outlines(axes)
    around = {"x_lines": x_lines, "y_lines": y_lines, "max_distance": 0.15}
    return place_labels(axes, plane, missed, bold, soft, **around)


def place_labels(
    axes: Axes,
    plane: np.ndarray,
    labels: dict[int, str],
    bold: Collection[int] = (),
    soft: Collection[int] = (),
    **around: Any,
) -> set[int]:
    """Writes those of the labels, by row, that find a place, some bold or soft; gives the rows of these."""
    rows = list(labels)
    if not rows:
        return set()
    _, _, texts, _ = textalloc.allocate(
        axes,
        plane[rows, 0],
        plane[rows, 1],
        list(labels.values()),
        textsize=7.5 if len(plane) <= 150 else 6,
        textcolor=INK,
        fontweight=["bold" if row in bold else "normal" for row in rows],
        margin=0.002,
        min_distance=0.006,
        nbr_candidates=60,
        linecolor="#b9bfc8",
        linewidth=0.5,
        draw_all=False,
        zorder=4,
        **PLAIN,
        path_effects=[effects.withStroke(linewidth=1.6, foreground="white", alpha=0.85)],
        **around,
    )
    for row, text in zip(rows, texts, strict=True):
        if isinstance(text, Text) and row in soft:
            text.set_color(SOFT)
    return {row for row, text in zip(rows, texts, strict=True) if text is not None}


def _outlines(axes: Axes) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The labels that stand already as lines to keep clear of: outline and diagonals of each."""
    corners = [text.get_window_extent().corners()[[0, 1, 3, 2, 0, 3, 1, 2]] for text in axes.texts]
    lines = [axes.transData.inverted().transform(corner) for corner in corners]
    return [line[:, 0] for line in lines], [line[:, 1] for line in lines]


def _wanted(view: View, plane: np.ndarray) -> list[int]:
    """At most MOST_LABELS rows: ringed ones, then those asked for, then others spread over the map."""
    n = len(view.properties["labels"])
    order = np.asarray(view.arrays.get("label_order", np.arange(n)))
    first = int(view.properties.get("labels_first", 0))
    rings = view.arrays.get("rings")
    ringed = order[rings[order] > 0] if rings is not None else order[:0]
    lines = (
        line_ends(view.properties["focus"], view.properties["fates"]) if "fates" in view.properties else []
    )
    rows = dict.fromkeys([*lines, *ringed.tolist(), *order[:first].tolist()])
    for row in spread(plane[order], MOST_LABELS):
        rows.setdefault(int(order[row]))
    return list(rows)[:MOST_LABELS]


def spread(plane: np.ndarray, most: int) -> list[int]:
    """At most so many rows from all over the plane: one of each cell of a grid, then of ever finer ones.

    Of the rows in a cell the first is taken, so that a small group far from the others gets one as
    early as a large group does.
    """
    n = len(plane)
    if not n:
        return []
    low, extent = plane.min(axis=0), float(np.ptp(plane, axis=0).max()) or 1.0
    taken: dict[int, None] = {}
    for level in range(1, 12):
        if len(taken) >= min(n, most):
            break
        cells = np.floor((plane - low) / extent * 2**level).astype(np.int64)
        keys = cells[:, 0] * (2**level + 1) + cells[:, 1]
        filled = set(keys[list(taken)].tolist())
        _, firsts = np.unique(keys, return_index=True)
        for row in sorted(firsts.tolist()):
            if int(keys[row]) not in filled:
                taken.setdefault(row)
    for row in range(n):
        if len(taken) >= most:
            break
        taken.setdefault(row)
    return list(taken)[:most]
