"""How far a map of queries and keys still tells attention: order within a sentence, strongest keys near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data.neighbourhood import STRONGEST
from langscape.errors import DataError
from langscape.metrics.null import LEAST_DRAWS, Null
from langscape.metrics.point_scores import PointScores, known_mean

if TYPE_CHECKING:
    from langscape.metrics.score_inputs import QueryKeyPlaces

ANYWHERE = 10
"""Keys looked at among all sentences."""

_FEW_PAIRS = 400


def attention_order(distance: Any, score: Any, query: Any, n: int | None = None) -> PointScores:
    """Per query, the rank correlation of nearness on the map with q·k, over the keys of its sentence.

    distance, score and query have one entry per pair, sorted by query; `query` names the row. 1: the
    nearer a key the larger the product; 0 is chance. Queries with fewer than three keys are not judged.
    """
    distance, score, query = _pairs(distance, score, query)
    return order_of_ranks(ranks_within(-distance, query), ranks_within(score, query), query, n)


def ranks_within(values: Any, query: Any) -> np.ndarray:
    """The rank of every pair's value among those of its query, from 0; equal ones share their mean."""
    return _order(np.asarray(values, np.float64), _groups(np.asarray(query))[0])[0]


def order_of_ranks(near: np.ndarray, strong: np.ndarray, query: np.ndarray, n: int | None) -> PointScores:
    """What `attention_order` gives, from the ranks of nearness and of q·k."""
    starts, counts = _groups(query)
    middle = np.repeat((counts - 1) / 2, counts)
    a, b = near - middle, strong - middle
    top, left, right = (np.add.reduceat(v, starts) for v in (a * b, a * a, b * b))
    scale = np.sqrt(left * right)
    value = np.where(scale > 0, top / np.where(scale > 0, scale, 1.0), 0.0)
    judged = counts >= 3
    return PointScores("order", value[judged], query[starts][judged], _total(query, n))


def strongest_near(
    distance: Any, score: Any, query: Any, k: int = STRONGEST, n: int | None = None
) -> PointScores:
    """Per query, the share of its k strongest keys among its k nearest on the map, within its sentence.

    Queries that see fewer than 2k keys are not judged: chance alone would give them half.
    """
    distance, score, query = _pairs(distance, score, query)
    return hits_of(first_within(distance, query, k), first_within(-score, query, k), query, k, n)


def first_within(values: Any, query: Any, k: int = STRONGEST) -> np.ndarray:
    """Of every pair, whether its value is among the k smallest of its query."""
    return _order(np.asarray(values, np.float64), _groups(np.asarray(query))[0])[1] < k


def hits_of(
    near: np.ndarray, strong: np.ndarray, query: np.ndarray, k: int = STRONGEST, n: int | None = None
) -> PointScores:
    """What `strongest_near` gives, from which pairs are near and which are strong."""
    starts, counts = _groups(query)
    value = np.add.reduceat((near & strong).astype(np.float64), starts) / k
    judged = counts >= 2 * k
    return PointScores("strongest", value[judged], query[starts][judged], _total(query, n), k)


def strongest_of_all(scores: Any, n: int, m: int, k: int = ANYWHERE, *, block: int = 256) -> np.ndarray:
    """(n, k) the k keys, of m, with the largest q·k of each of n queries; `scores(rows)` gives some."""
    from langscape.kernels.selection import smallest_in_rows

    k = min(k, m)
    found = np.empty((n, k), np.int32)
    for start in range(0, n, block):
        part = slice(start, min(n, start + block))
        found[part] = smallest_in_rows(-np.asarray(scores(part)), k)[0]
    return found


def nearest_keys(places: Any, key_places: Any, k: int = ANYWHERE) -> np.ndarray:
    """(n, k) the k keys nearest on the map to each of n queries, of all sentences, by number."""
    from scipy.spatial import KDTree

    Y, Z = np.asarray(places, np.float64), np.asarray(key_places, np.float64)
    k = min(k, len(Z))
    return np.asarray(KDTree(Z).query(Y, k)[1], np.int32).reshape(len(Y), k)


def strongest_anywhere(
    places: Any, key_places: Any, scores: Any, k: int = ANYWHERE, *, block: int = 256
) -> PointScores:
    """Per query, the share of its k strongest keys of all sentences among its k nearest keys of all.

    places (queries, dims) and key_places (keys, dims) are of the map; `scores(rows)` gives q·k of those
    queries with every key.
    """
    strong = strongest_of_all(scores, len(places), len(key_places), k, block=block)
    return hits_anywhere(nearest_keys(places, key_places, k), strong)


def hits_anywhere(near: np.ndarray, strong: np.ndarray) -> PointScores:
    """What `strongest_anywhere` gives, from what `nearest_keys` and `strongest_of_all` give."""
    n, k = near.shape
    value = (near[:, :, None] == strong[:, None, :]).any(axis=2).sum(axis=1) / k
    return PointScores("anywhere", value, np.arange(n), n, k)


def query_key_chance(seen: QueryKeyPlaces, seed: int = 0) -> dict[str, Null]:
    """Every score of a query–key map with its queries dealt anew within their sentences, by name."""
    from langscape.metrics.scores import applying

    part, rng = seen.part(), np.random.default_rng(seed)
    few = len(part.query) <= _FEW_PAIRS
    draws = [part.dealt(rng) for _ in range(5 * (LEAST_DRAWS + 1) - 1 if few else LEAST_DRAWS)]
    found: dict[str, Null] = {}
    for score in applying("query-key map", computed=True):
        compute: Any = score.computed["query-key map"]
        found[score.name] = Null.of([known_mean(compute(one).per_point) for one in draws])
    return found


def popularity(values: Any, key: Any) -> np.ndarray:
    """Of every pair, the mean of its key's values over the queries that see it.

    >>> popularity([1.0, 5.0, 3.0], [0, 1, 0]).tolist()
    [2.0, 5.0, 2.0]
    """
    key = np.asarray(key)
    means = np.bincount(key, np.asarray(values, np.float64)) / np.maximum(np.bincount(key), 1)
    return means[key]


def without_popularity(score: Any, key: Any) -> np.ndarray:
    """q·k of every pair beyond what its key gets on average: what is left is the query's own."""
    return np.asarray(score, np.float64) - popularity(score, key)


def mean_products(products: Any, n: int, most: int = 512) -> np.ndarray:
    """The mean of q·k of every key with all n queries, or with `most` of them, evenly taken, (keys,)."""
    step = -(-n // most)
    rows = slice(0, n, step)
    return np.asarray(products(rows), np.float64).mean(axis=0)


def map_distances(xy: Any, query: Any, key: Any) -> np.ndarray:
    """The distance on the map of every pair; rows of xy are queries first, `key` counts among all rows."""
    xy = np.asarray(xy, np.float64)
    gap = xy[np.asarray(query)] - xy[np.asarray(key)]
    return np.sqrt(np.einsum("ij,ij->i", gap, gap))


def aggregate_attention(attention: Any, position: Any, key_position: Any, most: int = 24) -> np.ndarray:
    """Mean weight from each position to each position over all sentences, (positions, positions).

    attention, position and key_position have one entry per pair. Row i is the mean over all sentences that
    have a query there; positions from `most` on are left out.
    """
    attention = np.asarray(attention, np.float64)
    i, j = np.asarray(position, np.intp), np.asarray(key_position, np.intp)
    size = int(min(most, max(i.max(), j.max()) + 1))
    inside = (i < size) & (j < size)
    total = np.bincount(i[inside] * size + j[inside], attention[inside], minlength=size * size)
    # every query gives weight 1 in all, so the weight that leaves a position counts its queries
    queries = np.bincount(i[i < size], attention[i < size], minlength=size)
    return total.reshape(size, size) / np.maximum(queries, 1e-12)[:, None]


def _pairs(distance: Any, score: Any, query: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distance, score = np.asarray(distance, np.float64), np.asarray(score, np.float64)
    query = np.asarray(query)
    if not distance.shape == score.shape == query.shape or distance.ndim != 1 or not len(query):
        raise DataError(
            f"distance, score and query have shapes {distance.shape}, {score.shape} and {query.shape}; "
            "give one entry per pair, at least one"
        )
    if (np.diff(query) < 0).any():
        raise DataError("the pairs are not sorted by query; sort them first")
    return distance, score, query


def _total(query: np.ndarray, n: int | None) -> int:
    return int(query[-1]) + 1 if n is None else n


def _groups(query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    return starts, np.diff(np.r_[starts, len(query)])


def _order(values: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank of each value in its group, equal ones sharing their mean, and its place; both from 0."""
    from langscape.kernels.groups import ranks_and_places

    ranks, places = np.empty(len(values)), np.empty(len(values), np.intp)
    ranks_and_places(values, np.append(starts, len(values)), ranks, places)
    return ranks, places
