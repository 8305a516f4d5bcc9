"""Maps whose places are dealt anew among the items: what a picture without the information is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.metrics.null import LEAST_DRAWS
from langscape.metrics.score_inputs import TwoSpaces
from langscape.metrics.space import Space, chosen_rows

# Distances that are put in order, and looked up over all draws: a quarter of a second in all.
_PAIRS, _LOOKED_UP = 1_000_000, 8_000_000
_LEAST_ROWS, _MOST_ROWS, _MOST_DRAWS = 20, 400, 199


def random_layouts(
    high: Space, low: Space, k: int, seed: int = 0, rows: np.ndarray | None = None
) -> list[TwoSpaces]:
    """The same map with its places dealt anew among the points, at least 19 times and more if it is small.

    Of a large map some rows are judged, which are dealt among themselves, as the others are: distances are
    then put in order once for all draws.
    """
    n = high.n
    if rows is None:
        rows = chosen_rows(n, None, max(_LEAST_ROWS, min(_MOST_ROWS, _PAIRS // n)), seed)
    rng = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(n), rows)
    data, places = _Order.of(high, rows), _Order.of(low, rows)
    draws = max(LEAST_DRAWS, min(_MOST_DRAWS, _LOOKED_UP // (len(rows) * n)))
    return [_dealt(high, low, rows, others, data, places, k, rng) for _ in range(draws)]


@dataclass(frozen=True, eq=False)
class _Order:
    """Of some rows: all others from the nearest on (rows, n − 1), the place of each in that order (rows, n),
    and the same around 0 with ties sharing theirs, as Spearman's correlation takes it."""

    near: np.ndarray
    place: np.ndarray
    shared: np.ndarray

    @classmethod
    def of(cls, space: Space, rows: np.ndarray) -> _Order:
        from scipy.stats import rankdata

        n, at = space.n, np.arange(len(rows))
        D = np.array(space.squared(rows)[:, :n], np.float64)
        D[at, rows] = -1.0
        order = np.argsort(D, axis=1, kind="stable")
        place = np.empty(order.shape, np.int32)
        np.put_along_axis(place, order, np.arange(-1, n - 1, dtype=np.int32)[None], axis=1)
        ordered = np.take_along_axis(D, order, axis=1)
        ties = bool((ordered[:, 1:] == ordered[:, :-1]).any())
        shared = (rankdata(D, axis=1) - 2.0 if ties else place.astype(np.float64)) - (n - 2) / 2
        shared[at, rows] = 0.0
        return cls(order[:, 1:].astype(np.int32), place, shared)


def _dealt(
    high: Space, low: Space, rows: np.ndarray, others: np.ndarray, data: _Order, places: _Order, k: int,
    rng: np.random.Generator,
) -> TwoSpaces:  # fmt: skip
    """One draw: item i lies where item `at[i]` lay."""
    n = high.n
    turn = rng.permutation(len(rows))
    at = np.empty(n, np.intp)
    at[rows], at[others] = rows[turn], others[rng.permutation(len(others))]
    who = np.empty(n, np.intp)
    who[at] = np.arange(n)
    ranks = np.take_along_axis(data.place, who[places.near[turn, :k]], axis=1)
    back = np.take_along_axis(places.place[turn], at[data.near[:, :k]], axis=1)
    shared = places.shared[turn][:, at]
    sizes = np.einsum("ij,ij->i", data.shared, data.shared) * np.einsum("ij,ij->i", shared, shared)
    together = np.einsum("ij,ij->i", data.shared, shared)
    correlations = np.where(sizes > 0, together / np.sqrt(np.where(sizes > 0, sizes, 1.0)), 0.0)
    ranks, back = ranks.astype(np.int64), back.astype(np.int64)  # scores multiply them
    return TwoSpaces(high, low, rows, ranks, np.clip(correlations, -1.0, 1.0), back)
