"""Would the ellipses have the same sizes, had other contexts been drawn?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.metrics.gaussians import area_variance, area_variance_by_chance
from langscape.metrics.null import Null

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langscape.data import Gaussians

LEAST_ROWS, LEAST_ITEMS = 4, 5
"""Rows that an item needs to be split, and items that a correlation needs."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rank correlation of areas from one half of the rows with the spread of the other, and what it is of.

    value, null  the correlation, and those with the halves of other items
    items        how many items have rows enough to be split
    rows, least  rows of an item, in the middle and at least
    """

    value: float
    null: Null
    items: int
    rows: int
    least: int


def held_out_area(
    given: Gaussians, areas: Callable[[Gaussians], np.ndarray] | None = None, seed: int = 0
) -> HeldOut | None:
    """How far areas made from one half of each item's rows follow how much the other half varies.

    areas gives the squared areas (n,) that would be drawn for distributions; without it, they are their total
    variances, squared. None where rows are not known, or too few of the items have four of them.
    """
    if given.samples is None:
        return None
    split = {int(i): given.halves_of(int(i)) for i in np.flatnonzero(given.counts >= LEAST_ROWS)}
    # of a word whose occurrences stand in one passage, there are no two halves
    chosen = np.array([i for i, halves in split.items() if min(map(len, halves)) > 1], np.intp)
    if len(chosen) < LEAST_ITEMS:
        return None
    halves = [_half(given, chosen, [split[int(i)][part] for i in chosen]) for part in (0, 1)]
    drawn = [half.spread**2 if areas is None else np.asarray(areas(half), np.float64) for half in halves]
    pairs = ((_round(drawn[0]), halves[1].spread), (_round(drawn[1]), halves[0].spread))
    value = float(np.mean([area_variance(shapes, spread) for shapes, spread in pairs]))
    null = area_variance_by_chance(pairs, seed=seed)
    counts = given.counts[chosen]
    return HeldOut(value, null, len(chosen), int(np.median(counts)), int(counts.min()))


def _round(areas: np.ndarray) -> np.ndarray:
    """Circles (n, 2, 2) of these squared areas."""
    return np.sqrt(areas)[:, None, None] * np.eye(2)


def _half(given: Gaussians, chosen: np.ndarray, parts: Sequence[np.ndarray]) -> Any:
    """The distributions of one half of the rows of some items."""
    from langscape.data import Gaussians

    assert given.samples is not None
    starts = given.starts
    rows = [given.samples[starts[i] + part].astype(np.float64) for i, part in zip(chosen, parts, strict=True)]
    counts = np.array([len(some) for some in rows])
    means = np.stack([some.mean(axis=0) for some in rows])
    variances = np.stack([some.var(axis=0, ddof=1) for some in rows])
    return Gaussians(means, variances, given.items.take(chosen), counts, samples=np.concatenate(rows))
