"""How much of its data a map keeps: are a point's strongest partners its nearest?"""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.first_columns import smallest_columns
from langscape.metrics.heads import visible_keys
from langscape.metrics.null import LEAST_DRAWS, Null
from langscape.metrics.point_scores import PointScores
from langscape.metrics.scores import neighbours
from langscape.metrics.true_neighbours import nearest_places


def kept(affinities: Any, places: Any, k: int | None = None) -> PointScores:
    """Of each point's k strongest partners, the share among its k nearest on the map.

    affinities  (n, n) joint P, symmetric, dense or sparse; partners without any weight do not count
    places      (n, dims) the map
    k           10, or fewer than half of the points

    By chance it is k / (n − 1). Equal weights and equal distances are taken in the order of the points.

    >>> P = np.array([[0, 4, 0, 0], [4, 0, 1, 0], [0, 1, 0, 5], [0, 0, 5, 0]]) / 20
    >>> kept(P, [[0, 0], [1, 0], [8, 0], [9, 0]], k=1).per_point.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    from scipy.sparse import issparse

    P, xy = affinities if issparse(affinities) else np.asarray(affinities), np.asarray(places, np.float64)
    n = len(xy)
    if P.shape != (n, n) or n < 2:
        raise DataError(f"affinities of shape {P.shape} and {n} places; expected (n, n) of at least 2 points")
    k = neighbours(n) if k is None else k
    if not 1 <= k < n:
        raise DataError(f"k {k} must be at least 1 and less than the {n} points")
    strongest, weighty = _strongest_of_sparse(P, k) if issparse(P) else _strongest(P, k)
    near = nearest_places(xy, k)
    found = (strongest[:, :, None] == near[:, None, :]).any(axis=2) & weighty
    return PointScores("kept", found.sum(axis=1) / np.maximum(weighty.sum(axis=1), 1), np.arange(n), n, k)


def weight_near(affinities: Any, places: Any) -> PointScores:
    """The share of each point's weight that lies on its k nearest on the map, k as for `kept`.

    affinities  (n, n) joint P, symmetric
    places      (n, dims) the map

    Where a token has one partner, `kept` counts nine more that have next to no weight; this does not.

    >>> P = np.array([[0, 4, 0, 0], [4, 0, 1, 0], [0, 1, 0, 5], [0, 0, 5, 0]]) / 20
    >>> weight_near(P, [[0, 0], [1, 0], [8, 0], [9, 0]]).per_point.round(2).tolist()
    [1.0, 0.8, 0.83, 1.0]
    """
    shares, near = _shares_and_near(affinities, places)
    held = np.take_along_axis(shares, near, axis=1).sum(axis=1)
    return PointScores("weight_near", held, np.arange(len(near)), len(near), near.shape[1])


def weight_near_by_chance(affinities: Any, places: Any, seed: int = 0) -> Null:
    """The same where the places are shuffled among the points."""
    shares, near = _shares_and_near(affinities, places)
    rng = np.random.default_rng(seed)
    dealt = (rng.permutation(len(near)) for _ in range(LEAST_DRAWS))
    return Null.of([shares[turn[:, None], turn[near]].sum(axis=1).mean() for turn in dealt])


def _shares_and_near(affinities: Any, places: Any) -> tuple[np.ndarray, np.ndarray]:
    """(n, n) how a point's weight is divided among the others, and (n, k) its nearest on the map."""
    P = np.array(affinities, np.float64)
    np.fill_diagonal(P, 0.0)
    shares = P / np.maximum(P.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return shares, nearest_places(np.asarray(places, np.float64), neighbours(len(P)))


def _strongest(P: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, k) the strongest partners of each point, and whether they have any weight."""
    others = -P
    np.fill_diagonal(others, 1.0)
    rows = smallest_columns(others, k)
    return rows, np.take_along_axis(P, rows, axis=1) > 0


def _strongest_of_sparse(P: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of a sparse P, which need not be made whole for it."""
    P = P.tocsr()
    found = np.full((P.shape[0], k), -1, np.intp)
    for row in range(P.shape[0]):
        part = slice(P.indptr[row], P.indptr[row + 1])
        columns, values = P.indices[part], np.where(P.indices[part] == row, 0.0, P.data[part])
        order = np.lexsort((columns, -values))[:k]
        order = order[values[order] > 0]
        found[row, : len(order)] = columns[order]
    return found, found >= 0


def shuffled_weights(weights: Any, seed: int = 0) -> np.ndarray:
    """A head without its structure: every row's weights dealt anew among the tokens that it can see.

    How peaked the rows are stays; who attends to whom is chance. The diagonal stays where it is.
    """
    A = np.array(weights, np.float64)
    n = len(A)
    seen = visible_keys(A[None, None]) & ~np.eye(n, dtype=bool)
    rng = np.random.default_rng(seed)
    for row in range(n):
        A[row, seen[row]] = rng.permutation(A[row, seen[row]])
    return A


def shuffled_states(states: Any, seed: int = 0) -> np.ndarray:
    """Hidden states (n, dim) without their structure: the values of each dimension dealt anew among rows.

    Each dimension keeps its values; which of them go together is chance.

    >>> dealt = shuffled_states([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    >>> sorted(dealt[:, 1].tolist())
    [5.0, 6.0, 7.0]
    """
    return np.random.default_rng(seed).permuted(np.asarray(states), axis=0)


def shuffled_distances(distances: Any, seed: int = 0) -> np.ndarray:
    """Distances (n, n) without their structure: those of all pairs dealt anew among the pairs.

    >>> shuffled_distances([[0.0, 2.0], [2.0, 0.0]]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    D = np.array(distances, np.float64)
    pairs = np.triu_indices(len(D), 1)
    D[pairs] = np.random.default_rng(seed).permutation(D[pairs])
    D.T[pairs] = D[pairs]
    return D


def evenness(weights: Any) -> float:
    """How evenly tokens attend to the others that they see, 1 is all alike: the mean over tokens.

    >>> round(evenness(np.full((5, 5), 0.2)), 6)
    1.0
    """
    A = np.array(weights, np.float64)
    seen = visible_keys(A[None, None]) & ~np.eye(len(A), dtype=bool)
    A = np.where(seen, A, 0.0)
    rows = (A.sum(axis=1) > 0) & (seen.sum(axis=1) > 1)
    shares = A[rows] / A[rows].sum(axis=1, keepdims=True)
    entropy = -(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1)
    return float((entropy / np.log(seen[rows].sum(axis=1))).mean()) if rows.any() else 0.0


def partners(weights: Any) -> float:
    """How many others a token attends to, effectively: the geometric mean over rows of exp(entropy).

    >>> partners(np.full((5, 5), 0.2))
    4.0
    """
    A = np.array(weights, np.float64)
    np.fill_diagonal(A, 0.0)
    total = A.sum(axis=1)
    A = A[total > 0] / total[total > 0, None]
    entropy = -(A * np.log(np.maximum(A, 1e-300))).sum(axis=1)
    return round(float(np.exp(entropy.mean())), 10) if len(A) else 1.0
