"""Quantile-equidistant axes: as many items left of the middle as right of it, whatever their distances.

`quantile_scale` gives φ as plain numbers. With this module imported, matplotlib knows the scale by name:
`ax.set_xscale("quantile", values=x, k=100)`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.scale import FuncTransform, ScaleBase, register_scale
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Transform

from langscape.errors import DataError, SettingsError

STEPS = 10
"""Ticks stand at every tenth of the axis unless told otherwise."""


@dataclass(frozen=True, eq=False)
class QuantileScale:
    """φ, linear between (knots, shares): knots in data units, shares from 0 to 1, both increasing."""

    knots: np.ndarray
    shares: np.ndarray

    def forward(self, values: Any) -> np.ndarray:
        """φ(values), from 0 to 1; values beyond the ends are clamped."""
        if len(self.knots) == 1:
            return np.full(np.shape(values), 0.5)
        return np.interp(values, self.knots, self.shares)

    def inverse(self, shares: Any) -> np.ndarray:
        """φ⁻¹(shares): the value that stands at this share of the axis."""
        return np.interp(shares, self.shares, self.knots)

    def ticks(self, steps: int = STEPS) -> np.ndarray:
        """The values at equal steps of the axis, both ends included."""
        return self.inverse(np.linspace(0, 1, steps + 1))


def quantile_scale(values: Any, k: int = 100) -> QuantileScale:
    """φ that puts the k + 1 quantiles 0, 1/k, … 1 of the values at equal distances, linear between.

    k of n or more gives the empirical distribution function: the i-th smallest of n at (i − 1)/(n − 1).
    Equal values share the middle of the places they would take, and the ends stay at 0 and 1, so that φ
    keeps order and can be undone.

    >>> scale = quantile_scale([0, 1, 2, 3, 100], k=2)
    >>> scale.forward([0, 2, 51, 100]).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise SettingsError(f"k {k!r} of a quantile scale must be a whole number of at least 1")
    flat = np.asarray(values, dtype=np.float64).ravel()
    if not len(flat) or not np.isfinite(flat).all():
        raise DataError(f"a quantile scale needs finite values; {len(flat)} were given")
    intervals = int(k) if k < len(flat) else max(len(flat) - 1, 1)
    quantiles = np.quantile(flat, np.linspace(0, 1, intervals + 1))
    # Interpolated quantiles can step back by the last bit.
    quantiles = np.maximum.accumulate(quantiles)
    knots, first, counts = np.unique(quantiles, return_index=True, return_counts=True)
    shares = (first + (counts - 1) / 2) / intervals
    if len(knots) > 1:
        shares[0], shares[-1] = 0.0, 1.0
    return QuantileScale(knots, shares)


class QuantileAxis(ScaleBase):
    """The scale "quantile" of matplotlib; ticks at equal steps carry φ⁻¹ as their label."""

    name = "quantile"

    def __init__(self, axis: Axis | None, *, values: Any, k: int = 100, steps: int = STEPS) -> None:
        super().__init__(axis)
        self.scale = quantile_scale(values, k)
        self._steps = steps

    def get_transform(self) -> Transform:
        """From data to shares of the axis."""
        return FuncTransform(self.scale.forward, self.scale.inverse)

    def set_default_locators_and_formatters(self, axis: Axis) -> None:
        """Ticks at equal steps, labelled with the values that stand there."""
        axis.set_major_locator(FixedLocator(self.scale.ticks(self._steps).tolist()))
        axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))
        axis.set_minor_locator(NullLocator())

    def limit_range_for_scale(self, vmin: float, vmax: float, minpos: float) -> tuple[float, float]:
        """Never beyond the ends, where the axis has no extent."""
        low, high = float(self.scale.knots[0]), float(self.scale.knots[-1])
        return max(vmin, low), min(vmax, high)


def tick_text(value: float) -> str:
    """Three figures at most, with a true minus."""
    return f"{value:.3g}".replace("-", "−")


with warnings.catch_warnings():
    # From 3.11 on matplotlib takes scales without an axis; 3.9 and 3.10 need it.
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    register_scale(QuantileAxis)
