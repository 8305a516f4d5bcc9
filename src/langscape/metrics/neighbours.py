"""Is who was near still near? Figures from the k nearest neighbours of each point."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import SettingsError
from langscape.metrics.compare import compare
from langscape.metrics.point_scores import PointScores
from langscape.metrics.space import chosen_rows, pair


def local(
    high: Any,
    low: Any,
    k: int = 10,
    *,
    count_self: bool = False,
    rows: Any = None,
    most_rows: int | None = None,
    seed: int = 0,
) -> PointScores:
    """The share of each point's k nearest neighbours that both spaces agree on, 0 to 1.

    high and low are vectors (n, dims) or a `Space`. Points are judged against all others;
    `rows` names those to judge, `most_rows` samples them. `count_self=True` counts a point
    as its own nearest neighbour, as the program behind Claassen 2020's tables did.

    >>> float(local([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [3.0], [-7.0]], k=1))
    0.75
    """
    high, low = pair(high, low, least=2)
    _check_k(k, high.n - 1 + count_self)
    rows = chosen_rows(high.n, rows, most_rows, seed)
    if count_self and k == 1:
        return PointScores("local", np.ones(len(rows)), rows, high.n, k)
    ranks, _ = compare(high, low, rows, k - count_self)
    return PointScores("local", local_of(ranks, count_self=count_self), rows, high.n, k)


def ndcg(
    high: Any,
    low: Any,
    k: int = 10,
    *,
    full: bool = False,
    rows: Any = None,
    most_rows: int | None = None,
    seed: int = 0,
) -> PointScores:
    """How well the map's k nearest, in their order, repeat the original's, 0 to 1 (nDCG@k).

    A point's k nearest in the high space are worth k, k−1, … 1 and the rest nothing; with
    `full=True` all n−1 others are worth n−1, … 1, so that near misses count too.
    """
    high, low = pair(high, low, least=2)
    _check_k(k, high.n - 1)
    rows = chosen_rows(high.n, rows, most_rows, seed)
    ranks, _ = compare(high, low, rows, k)
    return PointScores("ndcg", ndcg_of(ranks, high.n - 1 if full else k), rows, high.n, k)


def trustworthiness(
    high: Any,
    low: Any,
    k: int = 10,
    *,
    rows: Any = None,
    most_rows: int | None = None,
    seed: int = 0,
) -> PointScores:
    """How few strangers the map puts among a point's k nearest, 0 to 1 (Venna and Kaski's).

    A stranger costs by how far down it stood in the high space. k must be below n/2.
    """
    high, low = pair(high, low, least=3)
    _check_k(k, high.n - 1)
    if not k < high.n / 2:
        raise SettingsError(
            f"trustworthiness with k = {k} needs more than {2 * k} points, but there are {high.n}; "
            f"take k = {(high.n - 1) // 2} or less"
        )
    rows = chosen_rows(high.n, rows, most_rows, seed)
    ranks, _ = compare(high, low, rows, k)
    return PointScores("trustworthiness", trustworthiness_of(ranks, high.n), rows, high.n, k)


def local_of(ranks: np.ndarray, *, count_self: bool = False) -> np.ndarray:
    """The agreed share per row, from the high ranks of each row's nearest in the map."""
    agreed = np.count_nonzero(ranks < ranks.shape[1], axis=1) + count_self
    return agreed / (ranks.shape[1] + count_self)


def ndcg_of(ranks: np.ndarray, best: int) -> np.ndarray:
    """nDCG per row, the nearest in the high space worth `best`, the next one less, down to 0."""
    discounts = 1.0 / np.log2(np.arange(ranks.shape[1]) + 2.0)
    gains = np.maximum(best - ranks.astype(np.float64), 0.0)
    # einsum, not @: its order of summation does not depend on the number of threads.
    return np.einsum("ij,j->i", gains, discounts) / float(
        np.einsum("j,j->", best - np.arange(ranks.shape[1], dtype=np.float64), discounts)
    )


def trustworthiness_of(ranks: np.ndarray, n: int) -> np.ndarray:
    """Trustworthiness per row; its mean over all rows is the usual figure."""
    k = ranks.shape[1]
    penalties = np.maximum(ranks.astype(np.int64) + 1 - k, 0).sum(axis=1)
    return 1.0 - penalties * (2.0 / (k * (2.0 * n - 3.0 * k - 1.0)))


def _check_k(k: int, most: int) -> None:
    if not isinstance(k, int | np.integer) or not 1 <= k <= most:
        raise SettingsError(
            f"k = {k} neighbours were asked for, but a whole number from 1 to {most} is needed"
        )
