"""What figures share: letters, inks, and the caption. Only matplotlib renderers import this."""

from __future__ import annotations

import logging
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findSystemFonts, fontManager

from langscape.data import EDITED

INK, SOFT = "#1b1d21", "#5b626c"
MARGIN = 0.32
"""Inches kept free on every side."""

_MORE = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Emoji",
    "Symbola",
    "Arial Unicode MS",
)
# The first draws what it can, the others the rest; matplotlib complains of every one that is not installed.
FONTS = ["DejaVu Sans", *(name for name in _MORE if name in fontManager.get_font_names())]
# a font without bold letters draws a title's few in its own weight, and nobody need hear of it
logging.getLogger("matplotlib.font_manager").addFilter(
    lambda record: "Failed to find font weight" not in record.getMessage()
)
# Labels are text, never formulas: "$" is a letter like any other.
PLAIN: dict[str, Any] = {"parse_math": False, "family": FONTS}


def found_new_fonts() -> bool:
    """Whether fonts of ours were installed since matplotlib last looked; later figures use them."""
    files = {name.removesuffix(" JP").replace(" ", "") for name in _MORE}
    known = {entry.fname for entry in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - known):
        # a file is named as its family is, without spaces: reading hundreds of others takes seconds
        if re.split(r"[-_.]", Path(path).name)[0] in files:
            fontManager.addfont(path)
    added = [name for name in _MORE if name not in FONTS and name in fontManager.get_font_names()]
    FONTS.extend(added)
    return bool(added)


_TITLE, _LINE = 0.36, 0.175


class Caption:
    """A title and the lines under it; how high they are is known before the picture's height is chosen."""

    def __init__(self, properties: Mapping[str, Any], width: float, *, more: int = 1) -> None:
        """`more` lines are kept for what is only known once everything is drawn."""
        self._title = short(str(properties.get("title") or ""), int(9 * width))
        letters = int(13.5 * width)
        # A figure is never broken from its value, hence the no-break spaces.
        scores = properties.get("flat_quality") or properties.get("quality", ())
        figures = [f"{one['label']} {one['shown']}".replace(" ", "\u00a0") for one in scores]
        self._lines = _wrapped(figures, letters)
        # sorting keeps the order of all others
        notes = sorted(properties.get("notes", ()), key=lambda note: not note.startswith(EDITED))
        if notes:
            others = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
            self._lines += textwrap.wrap(f"Note: {short(notes[0], 240)}{others}", letters)
        self.height = MARGIN + _TITLE + _LINE * (len(self._lines) + more) + 0.12

    def write(self, figure: Figure, *sentences: str) -> None:
        """Put title, scores, notes and these sentences on the figure."""
        width, height = figure.get_size_inches()
        left, top = MARGIN / width, 1 - MARGIN / height
        figure.text(left, top, self._title, size=14, weight="bold", color=INK, va="top", **PLAIN)
        for at, line in enumerate([*self._lines, *sentences]):
            y = top - (_TITLE + _LINE * at) / height
            figure.text(left, y, line, size=8.5, color=SOFT, va="top", **PLAIN)


def _wrapped(figures: Sequence[str], letters: int) -> list[str]:
    """Scores in lines of so many letters; the dot that parts two of them ends and begins none.

    >>> _wrapped(["one", "two", "three"], 10)
    ['one · two', 'three']
    """
    return [line.strip("· ") for line in textwrap.wrap(" · ".join(figures), letters)]


def inches(
    figure: Figure, left: float, bottom: float, width: float, height: float
) -> tuple[float, float, float, float]:
    """A rectangle in inches as the shares of the figure that matplotlib wants."""
    across, up = figure.get_size_inches()
    return float(left / across), float(bottom / up), float(width / across), float(height / up)


def short(text: str, most: int) -> str:
    """One line of at most so many letters, without what no font can draw."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(clean.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def number_heads(axes: Axes, layers: Sequence[int], heads: Sequence[int]) -> None:
    """Numbers above and beside a table of maps, one unit of the axes each: layers down, heads across."""
    look = {"size": 7.5, **PLAIN}
    for column, head in enumerate(heads):
        axes.text(column + 0.5, -0.07, f"head {head}", color=SOFT, ha="center", va="bottom", **look)
    for row, layer in enumerate(layers):
        axes.text(-0.07, row + 0.5, f"layer {layer}", color=INK, ha="right", va="center", rotation=90, **look)
