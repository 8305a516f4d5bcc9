"""How much of a head's attention its map keeps: are a token's strongest partners its nearest?"""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.heads import visible_keys
from langscape.metrics.point_scores import PointScores
from langscape.metrics.scores import neighbours


def kept(affinities: Any, places: Any, k: int | None = None) -> PointScores:
    """Of each token's k strongest partners, the share among its k nearest on the map.

    affinities  (n, n) joint P of the head, symmetric; partners without any weight do not count
    places      (n, dims) the map
    k           10, or fewer than half of the tokens

    By chance it is k / (n − 1). Equal weights and equal distances are taken in the order of the tokens.

    >>> P = np.array([[0, 4, 0, 0], [4, 0, 1, 0], [0, 1, 0, 5], [0, 0, 5, 0]]) / 20
    >>> kept(P, [[0, 0], [1, 0], [8, 0], [9, 0]], k=1).per_point.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    P, xy = np.asarray(affinities), np.asarray(places, np.float64)
    n = len(xy)
    if P.shape != (n, n) or n < 2:
        raise DataError(f"affinities of shape {P.shape} and {n} places; expected (n, n) of at least 2 tokens")
    k = neighbours(n) if k is None else k
    if not 1 <= k < n:
        raise DataError(f"k {k} must be at least 1 and less than the {n} tokens")
    itself = np.eye(n, dtype=bool)
    strongest = np.argsort(np.where(itself, 1.0, -P), axis=1, kind="stable")[:, :k]
    squares = np.where(itself, np.inf, ((xy[:, None] - xy[None]) ** 2).sum(axis=-1))
    near = np.zeros((n, n), bool)
    np.put_along_axis(near, np.argsort(squares, axis=1, kind="stable")[:, :k], True, axis=1)
    weighty = np.take_along_axis(P, strongest, axis=1) > 0
    found = np.take_along_axis(near, strongest, axis=1) & weighty
    return PointScores("kept", found.sum(axis=1) / np.maximum(weighty.sum(axis=1), 1), np.arange(n), n, k)


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
