"""Whom each token asks and by whom it is asked: the strongest weights of a head, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.first_columns import smallest_columns
from langscape.metrics.scores import neighbours

STORED = 20
"""Partners kept of each token, beyond the ten that are counted."""


@dataclass(frozen=True, eq=False)
class Partners:
    """The strongest partners of n tokens, k each way, the strongest first; −1 and 0 where there are fewer.

    asks, asks_weights    (n, k) the tokens that each attends to, and how strongly
    asked, asked_weights  (n, k) the tokens that attend to it
    """

    asks: np.ndarray
    asks_weights: np.ndarray
    asked: np.ndarray
    asked_weights: np.ndarray


def strongest_partners(weights: Any, k: int | None = None) -> Partners:
    """Of weights[query, key], the k strongest other tokens of each, as a query and as a key.

    k is 10, or fewer than half of the tokens, as for `kept`. Of equal weights the first tokens are taken.

    >>> found = strongest_partners([[0.1, 0.9, 0.0], [0.3, 0.1, 0.6], [0.0, 0.0, 1.0]], k=1)
    >>> found.asks.ravel().tolist(), found.asked.ravel().tolist()
    ([1, 2, -1], [1, 0, 1])
    """
    A = np.array(weights, np.float32)
    n = len(A)
    if A.shape != (n, n):
        raise DataError(f"weights have shape {A.shape}; partners are found among the tokens of a square")
    np.fill_diagonal(A, 0)
    k = min(neighbours(n) if k is None else k, max(n - 1, 1))
    return Partners(*_strongest(A, k), *_strongest(A.T, k))


def strongest_both_ways(affinities: Any, weights: Any, most: int = STORED) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, k) of the strongest partners in a head's joint P, as `kept` counts them, and their weights.

    weights (n, n) are those of the tokens on the map; that of a pair is the mean of what two tokens give each
    other. −1 and 0 stand where there are fewer partners.

    >>> A = np.array([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75], [0.0, 1.0, 0.0]])
    >>> rows, found = strongest_both_ways(A + A.T, A)
    >>> rows.tolist(), found.tolist()
    ([[1, -1], [2, 0], [1, -1]], [[0.375, 0.0], [0.875, 0.375], [0.875, 0.0]])
    """
    P, A = np.array(affinities, np.float32), np.asarray(weights, np.float32)
    np.fill_diagonal(P, 0)
    rows, found = _strongest(P, min(most, max(len(P) - 1, 1)))
    mean = np.take_along_axis((A + A.T) / 2, np.maximum(rows, 0), axis=1)
    return rows, np.where(found > 0, mean, 0).astype(np.float32)


def _strongest(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    rows = smallest_columns(-A, k)
    found = np.take_along_axis(A, rows, axis=1)
    return np.where(found > 0, rows, -1).astype(np.int32), np.ascontiguousarray(found)
