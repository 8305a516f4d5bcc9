"""The matrices view drawn with matplotlib: tables as heat maps with their values written in."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.heat import BOTH, COLOURS
from langscape.views.matrices import ratios
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, short

MOST = 12
"""Tables drawn on one figure; the caption says when there are more."""

_WIDTH, _LEAST = 12.0, 7.0
_NAME = 26
"""Letters of a column's name, written upright, before it is cut."""


def draw(view: View) -> Figure:
    """Up to three tables side by side, 12 inches wide, the next below; one alone is as wide as it needs."""
    properties = view.properties
    tables = properties["tables"][:MOST]
    wide = 1 if len(tables) == 1 else 2 if len(tables) in (2, 4) else 3
    tall = -(-len(tables) // wide)
    rows, columns = (max(len(table[side]) for table in tables) for side in ("rows", "columns"))
    # where columns are few, names of rows take the room that they leave
    spare = (_WIDTH - 2 * MARGIN) / wide - 0.47 - 0.62 * columns
    longest = int(np.clip(spare / 0.068, 14, 48))
    gutter = 0.32 + 0.068 * max(min(len(name), longest) for table in tables for name in table["rows"])
    across = (_WIDTH - 2 * MARGIN) / wide - gutter - 0.15
    names = [name for table in tables for name in table["columns"]]
    # a few names stand level, a word to a line; many, or long ones, stand upright
    level = columns <= 4 and max(len(word) for name in names for word in name.split() or [""]) <= 8
    upright = not level and max(len(name) for name in names) > 3
    foot = 0.25 + (
        0.07 * max(min(len(name), _NAME) for name in names)
        if upright
        else 0.08 + 0.12 * max(len(textwrap.wrap(name, 9)) for name in names)
    )
    # a note stands under its own table: what does not fit goes to the next line
    letters = max(24, int(across / 0.062))
    foot += 0.14 * max(len(_below(properties, table, letters)) - 1 for table in tables)
    cell = min(across / columns, 0.62)
    # one table alone takes the width that it needs, and its title
    needed = max(2 * MARGIN + gutter + cell * columns + 0.15, len(properties["title"]) / 8.5, _LEAST)
    width = _WIDTH if wide > 1 else min(_WIDTH, needed)
    said = " ".join([properties["subtitle"], *map(_written, properties.get("written", []))]).strip()
    lines = textwrap.wrap(said, int(13.5 * width))
    if len(properties["tables"]) > MOST:
        lines.append(f"the first {MOST} of {len(properties['tables'])} tables")
    caption = Caption(properties, width, more=max(1, len(lines)))
    up = rows * min(cell, 0.5 if rows <= 16 else 0.24)  # a layer each: thirty must fit on a page
    head = 0.42
    figure = Figure(figsize=(width, caption.height + tall * (up + foot + head) + MARGIN), facecolor="white")
    for at, table in enumerate(tables):
        left = MARGIN + gutter + (at % wide) * (across + gutter + 0.15)
        own = up * len(table["rows"]) / rows
        bottom = MARGIN + foot + (tall - 1 - at // wide) * (up + foot + head) + up - own
        _table(
            figure, view, table, (left, bottom, cell * len(table["columns"]), own), upright, longest, letters
        )
    caption.write(figure, *lines)
    return figure


def _written(one: Any) -> str:
    """What a model wrote, the new words apart from those that they stand behind."""
    lead = f"{one['name'].capitalize()}, it writes" if one["name"] else "It writes"
    return f"{lead} “{' '.join(one['new'].split())}” after “{one['ending']}”."


def _below(properties: Any, table: Any, letters: int) -> list[str]:
    """What stands under a table, line by line."""
    return textwrap.wrap(
        " · ".join(part for part in (properties["column_name"], table["note"]) if part), letters
    )


def _coloured(view: View, table: Any) -> tuple[np.ndarray, Any, Normalize]:
    """What is drawn of a table, with which colours, over the range that all tables share."""
    values = view.arrays[table["array"]]
    span = Normalize(*view.properties["spans"][table["scale"]])
    if table["scale"] == "ratio":
        return ratios(values, table["centre"]), BOTH, span
    if table["scale"] == "signed":
        return values, BOTH, span
    return values, COLOURS, span


def _table(
    figure: Figure,
    view: View,
    table: Any,
    place: tuple[float, float, float, float],
    upright: bool,
    longest: int,
    letters: int,
) -> None:
    axes = figure.add_axes(inches(figure, *place))
    values = view.arrays[table["array"]]
    drawn, colours, span = _coloured(view, table)
    colours = colours.with_extremes(bad="#f0f1f3")
    axes.imshow(np.ma.masked_invalid(drawn), cmap=colours, norm=span, aspect="auto", interpolation="nearest")
    named = [
        short(name, _NAME) if upright else "\n".join(textwrap.wrap(name, 9)) for name in table["columns"]
    ]
    axes.set_xticks(range(len(named)), named, rotation=90 if upright else 0)
    axes.set_yticks(range(len(table["rows"])), [short(n, longest) for n in table["rows"]])
    axes.tick_params(length=0, labelsize=7.5, labelcolor=INK, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    pitch = place[2] / len(table["columns"])
    size = float(np.clip(pitch * 72 * 0.3, 3.5, 8))
    for row, column in np.ndindex(*values.shape):
        value = values[row, column]
        shade = (
            abs(float(span(drawn[row, column])) - 0.5) * 2
            if table["scale"] in ("ratio", "signed")
            else float(span(value))
        )
        ink = "white" if np.isfinite(value) and shade > 0.62 else INK
        text = _text(float(value), table["decimals"][column])
        weight = "bold" if table["marked"] and table["marked"][row][column] else "normal"
        axes.text(column, row, text, size=size, color=ink, ha="center", va="center", weight=weight, **PLAIN)
    properties = view.properties
    axes.set_title(table["title"], size=10, weight="bold", loc="left", color=INK, pad=6, **PLAIN)
    names = {"size": 8, "color": SOFT, **PLAIN}
    axes.set_xlabel("\n".join(_below(properties, table, letters)), loc="left", **names)
    axes.set_ylabel(properties["row_name"], **names)


def _text(value: float, digits: int) -> str:
    """A value with so many decimals; one that they cannot tell from 0 is 0.

    >>> _text(0.5, 2), _text(0.001, 2), _text(-0.001, 2), _text(-0.25, 1), _text(float("nan"), 2)
    ('0.50', '0', '0', '-0.2', '–')
    """
    if not np.isfinite(value):
        return "–"
    return "0" if abs(value) < 0.5 * 10.0**-digits else f"{value:.{digits}f}"
