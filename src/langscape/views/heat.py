"""Heat maps with token labels that can be read, for matplotlib renderers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, LinearSegmentedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure

from langscape.views.colours import BELOW, HEAT, SIDES
from langscape.views.paper import INK, PLAIN, SOFT, inches, short

LETTERS = 14
"""Token labels are cut after so many."""

_SIZE = 6.5
_PITCH = _SIZE / 72 * 1.25
"""Inches from one label to the next, at least."""

COLOURS = LinearSegmentedColormap.from_list("langscape heat", HEAT)
BOTH = LinearSegmentedColormap.from_list(
    "langscape both",
    [
        *zip(np.linspace(0, 0.5, SIDES), BELOW[SIDES - 1 :: -1], strict=True),
        *zip(np.linspace(0.5, 1, SIDES), HEAT[:SIDES], strict=True),
    ],
)
"""Orange below 0, blue above it, white between."""


def draw_heat(axes: Axes, weights: np.ndarray, top: float, *, signed: bool = False) -> ScalarMappable:
    """Weights from 0 to top as colours that grow with their square root, so that weak ones are seen.

    Signed ones are from −top to top, those below 0 in a colour of their own.
    """
    norm: Normalize = PowerNorm(0.5, vmin=0, vmax=top)
    if signed:
        norm = FuncNorm((_signed_root, _signed_square), vmin=-top, vmax=top)
    image = axes.imshow(
        weights,
        cmap=BOTH if signed else COLOURS,
        norm=norm,
        aspect="auto",
        interpolation="nearest",
        interpolation_stage="data",
    )
    for spine in axes.spines.values():
        spine.set_color("#c9ced6")
        spine.set_linewidth(0.6)
    axes.tick_params(length=1.5, width=0.4, color="#c9ced6", pad=1.5)
    return image


def _signed_root(values: np.ndarray) -> np.ndarray:
    return np.sign(values) * np.sqrt(np.abs(values))


def _signed_square(values: np.ndarray) -> np.ndarray:
    return np.sign(values) * np.square(values)


def thinned(count: int, room: float) -> np.ndarray:
    """The places that get a label where `count` of them have so many inches: all, every second, third, …"""
    step = max(1, int(np.ceil(count * _PITCH / max(room, 1e-6))))
    return np.arange(0, count, step)


def label_across(axes: Axes, names: Sequence[str], room: float) -> int:
    """Write names under the axes, upright; gives every how manyth is written."""
    at = thinned(len(names), room)
    axes.set_xticks(at, [short(names[int(i)], LETTERS) or " " for i in at], rotation=90)
    _dress(axes.get_xticklabels())
    return int(at[1] - at[0]) if len(at) > 1 else 1


def label_up(axes: Axes, names: Sequence[str], room: float) -> int:
    """Write names beside the axes; gives every how manyth is written."""
    at = thinned(len(names), room)
    axes.set_yticks(at, [short(names[int(i)], LETTERS) or " " for i in at])
    _dress(axes.get_yticklabels())
    return int(at[1] - at[0]) if len(at) > 1 else 1


def bar(
    figure: Figure,
    image: ScalarMappable,
    left: float,
    bottom: float,
    title: str,
    ticks: Sequence[float] | None = None,
) -> None:
    """A bar that says which colour is which weight; left and bottom in inches."""
    colour_bar = figure.colorbar(image, cax=figure.add_axes(inches(figure, left, bottom, 0.14, 1.6)))
    if ticks is not None:
        signed = [f"{at:+.2g}".replace("-", "−") if at else "0" for at in ticks]
        colour_bar.set_ticks(list(ticks), labels=signed)
    colour_bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    colour_bar.ax.tick_params(labelsize=7, length=2, colors=SOFT)
    colour_bar.ax.set_title(title, size=8, loc="left", color=INK, pad=6, **PLAIN)


def _dress(texts: Any) -> None:
    for text in texts:
        text.set_parse_math(False)
        text.set_fontfamily(PLAIN["family"])
        text.set_fontsize(_SIZE)
        text.set_color(INK)
