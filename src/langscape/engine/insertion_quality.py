"""How well inserted points lie: the scores of each, against the map's items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from langscape.kernels.linear import blocks, side_by_side, squared_distances
from langscape.kernels.neighbours import Finder
from langscape.metrics.null import LEAST_DRAWS, Null
from langscape.metrics.point_scores import known_mean
from langscape.metrics.score import NOT_TO_BE_READ
from langscape.metrics.scores import SCORES, InsertedPoints, applying, neighbours

MANY = 5000
"""Above so many points, distances are ranked among 500 items of the map instead of a thousand."""

_AGAINST, _AGAINST_MANY = 1000, 500
_CHUNK = 1024
_BY_CHANCE, _DRAWS = 50, 199


class NearestItems(NamedTuple):
    """Of new items, (m, k) the map's nearest in the data, how far they are, and what share was found."""

    rows: np.ndarray
    distances: np.ndarray
    recall: float


def nearest_items(known: np.ndarray, new: np.ndarray, k: int | None = None) -> NearestItems:
    """The true neighbours of new items among the map's, k being the map's own or what so many items have.

    Where there are very many new items they are looked for in nearby cells.
    """
    k = min(neighbours(len(known)) if k is None else k, len(known))
    find = Finder(known, len(new), new[np.linspace(0, len(new) - 1, min(len(new), 500)).astype(int)], k=k)
    squared, rows = find(new, k)
    return NearestItems(rows, np.sqrt(np.maximum(squared, 0)), find.recall)


def insertion_quality(
    xy: np.ndarray,
    known: np.ndarray,
    placed: np.ndarray,
    new: np.ndarray,
    k: int | None = None,
    near: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Every score that the registry has for inserted points (Claassen 2020, section 4.3), each of shape (m,).

    local: the share of its k nearest items that are nearest on the map too; near (m, k) are those that
    `nearest_items` found, looked for here if left out. global: the rank correlation of its distances to at
    most a thousand items, spread evenly over the map's rows.
    """
    from scipy.spatial import KDTree

    m, n = len(new), len(xy)
    scores = applying("inserted", computed=True)
    values = {score.name: np.full(m, np.nan) for score in scores}
    if n < 2 or not m:
        return values
    near = nearest_items(known, new, k).rows if near is None else near
    count = near.shape[1]
    low = KDTree(xy)
    against = np.unique(np.linspace(0, n - 1, min(n, _AGAINST if m <= MANY else _AGAINST_MANY)).astype(int))
    # float32 distances lose digits far from the origin
    centre, middle = known[against].mean(0), xy[against].mean(0)
    items, points = _float32(known[against] - centre), _float32(xy[against] - middle)

    def work(part: slice) -> None:
        seen = InsertedPoints(
            near[part],
            np.reshape(low.query(placed[part], count)[1], (-1, count)),
            squared_distances(_float32(new[part] - centre), items),
            squared_distances(_float32(placed[part] - middle), points),
        )
        for score in scores:
            values[score.name][part] = score.computed["inserted"](seen)  # type: ignore[misc]

    side_by_side(work, blocks(m, _CHUNK))
    return values


def insertion_by_chance(
    xy: np.ndarray, known: np.ndarray, new: np.ndarray, k: int | None = None, seed: int = 0
) -> dict[str, Null]:
    """What inserted points would have at the places of items drawn by chance, at most 50 of them each time.

    It is not that of a random layout: the other items stay where they are, and whoever lies in the middle of
    the map, or far out, does so for all.
    """
    rng = np.random.default_rng(seed)
    some = new[np.unique(np.linspace(0, len(new) - 1, min(len(new), _BY_CHANCE)).astype(int))]
    m = len(some)
    draws = max(LEAST_DRAWS, min(_DRAWS, 20 * _BY_CHANCE // max(m, 1)))
    near = np.tile(nearest_items(known, some, k).rows, (draws, 1)) if m and len(xy) > 1 else None
    placed = np.asarray(xy)[rng.integers(0, len(xy), draws * m)]
    found = insertion_quality(xy, known, placed, np.tile(some, (draws, 1)), k, near)
    return {
        name: Null.of([known_mean(one) for one in values.reshape(draws, m)]) for name, values in found.items()
    }


def verdicts(
    xy: np.ndarray, near: np.ndarray, local: np.ndarray, dissimilar: np.ndarray, seed: int = 0
) -> np.ndarray:
    """The verdict on the place of each new item, (m,) words: good, partly, not to be read; "" if not known.

    Each is judged by its own `local` (m,) beside what it would have at the places of 199 items of the map
    drawn by chance, so that it does not depend on what is placed with it; of one item alone, these are the
    places that `insertion_by_chance` draws. What is unlike everything on the map is not to be read: even its
    nearest are far from it.
    """
    from scipy.sparse import csr_array
    from scipy.spatial import KDTree

    m, n, score = len(local), len(xy), SCORES["local"]
    said = np.full(m, "", dtype=object)
    k = near.shape[1] if near.ndim == 2 else 0
    if m and 0 < k < n:
        drawn = np.random.default_rng(seed).integers(0, n, _DRAWS)
        lying = np.reshape(KDTree(xy).query(np.asarray(xy)[drawn], k)[1], (_DRAWS, k))
        # row i, column j: whether item i is among the k that lie nearest to the j-th place
        lies = csr_array(
            (np.ones(lying.size, np.int32), (lying.ravel(), np.repeat(np.arange(_DRAWS), k))), (n, _DRAWS)
        )

        def work(part: slice) -> None:
            mine = near[part]
            wanted = csr_array(
                (np.ones(mine.size, np.int32), mine.ravel(), np.arange(0, mine.size + 1, k)), (len(mine), n)
            )
            both: Any = wanted @ lies
            shares = both.toarray() / k
            nulls = np.array([(null.mean, null.low, null.high) for null in map(Null.of, shares)])
            # of few values, each is judged once
            asked, at = np.unique(np.column_stack([local[part], nulls]), axis=0, return_inverse=True)
            told = [score.verdict(float(value), Null(*null)) for value, *null in asked]
            said[part] = np.array(told, dtype=object)[at.ravel()]

        side_by_side(work, blocks(m, _CHUNK))
    said[dissimilar] = NOT_TO_BE_READ
    return said


def _float32(X: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(X, np.float32)
