"""Affinities of one head's queries and keys on one map: by attention itself, or by distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from langscape.affinity.head_vectors import HeadVectors, head_vectors
from langscape.affinity.joint import joint_from_dense
from langscape.affinity.points import (
    EXACT_UP_TO,
    Metric,
    checked_perplexity,
    conditional,
    neighbour_rows,
    points,
)
from langscape.data import Affinities, Capture
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import blocks, side_by_side
from langscape.kernels.sparse import symmetric_in_order

By = Literal["attention", "distance"]

SHARE = 0.15
"""Of a row by attention, the part that is within-queries or within-keys affinity."""

REACH = 0.45
"""Of all keys, the part that a query's row reaches, as a perplexity. Some heads attend to everything and some
to one key; neither draws well, and at one reach maps tell more of both (bench/query_key_maps.py)."""

STRONGEST = 250
"""Keys that a query's row keeps among many tokens. With 90, special tokens fill the rows where kept."""


def align_query_key(Q: Any, K: Any, c: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Queries ÷ c and keys × c, then the keys moved so that both clouds have one centre.

    Q has shape (queries, dim), K (keys, dim). No attention weight changes: scaling cancels in q·k, and
    moving every key by one vector adds the same number to all scores of a query.

    >>> Q, K = align_query_key([[2.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [3.0, 5.0]], c=2.0)
    >>> Q.mean(axis=0).tolist() == K.mean(axis=0).tolist()
    True
    """
    Q, K = (np.asarray(side, np.float64 if np.asarray(side).dtype.kind != "f" else None) for side in (Q, K))
    if Q.ndim != 2 or K.ndim != 2 or Q.shape[1] != K.shape[1] or not len(Q) or not len(K):
        raise DataError(f"queries have shape {Q.shape} and keys {K.shape}; both need rows of the same width")
    check_scale(c)
    dtype = np.result_type(Q, K)
    Q, K = Q.astype(np.float64) / c, K.astype(np.float64) * c
    return Q.astype(dtype), (K - K.mean(axis=0) + Q.mean(axis=0)).astype(dtype)


def check_scale(c: float) -> None:
    """Refuse a c that is no finite number above 0."""
    if isinstance(c, bool) or not isinstance(c, int | float | np.number) or not 0 < c < np.inf:
        raise SettingsError(
            f"c {c!r} must be a number above 0; queries are divided and keys multiplied by it"
        )


def norm_ratio(Q: np.ndarray, K: np.ndarray) -> float:
    """c = √(median‖q‖ / median‖k‖), which makes both clouds equally wide (the third metric of 2023)."""
    wide = [float(np.median(np.linalg.norm(side.astype(np.float64), axis=1))) for side in (Q, K)]
    if not min(wide) > 0:
        raise DataError("half of the queries or keys are zero and have no length to compare")
    return float(np.sqrt(wide[0] / wide[1]))


def query_key(
    capture: Capture | HeadVectors,
    layer: int | None = None,
    head: int | None = None,
    by: By = "attention",
    *,
    c: float | None = None,
    metric: Metric = "euclidean",
    share: float = SHARE,
    reach: float = REACH,
    perplexity: float = 30.0,
    special: Literal["keep", "drop"] = "keep",
    seed: int = 0,
) -> Affinities:
    """The joint P of a head's queries and keys, queries first; items say of each which it is.

    by="attention": a query's row is the softmax of its scores over all keys of all sentences, at the
    temperature where its perplexity is `reach` times their number (0 leaves it as the model has it). A key's
    row is what it gets from each query, scaled to 1. `share` of each row is ordinary affinity, of that
    `perplexity`, among queries or among keys. It depends neither on c nor on a translation.

    by="distance" is that of *Visualizing Attention*: the aligned vectors, scaled by c (√ of the ratio of
    median norms if left out), Euclidean or cosine.
    """
    one = capture if isinstance(capture, HeadVectors) else _named(capture, layer, head, special)
    if by not in ("attention", "distance"):
        raise SettingsError(f'by {by!r} is not known; use "attention" or "distance"')
    n = len(one.Q) + len(one.K)
    if n < 4:
        raise DataError(f"head {one.layer}.{one.head} has {n} queries and keys; a map needs at least 4")
    settings = {"affinity": "query_key", "by": by, **(one.settings or {})}
    asked, perplexity = perplexity, float(min(perplexity, (n - 1) / 3))
    notes = one.notes
    if perplexity < asked:
        notes = (*notes, f"perplexity {asked:g} is too many for {n:,} points; {perplexity:.3g} was taken")
    if by == "distance":
        c = norm_ratio(one.Q, one.K) if c is None else c
        both = np.concatenate(align_query_key(one.Q, one.K, c))
        near = points(both, perplexity, metric, items=one.items(), seed=seed)
        settings = {**near.settings, **settings, "c": float(c)}
        return Affinities(near.P, near.items, settings, vectors=near.vectors, metric=metric, notes=notes)
    if not 0 <= share < 1:
        raise SettingsError(f"share {share} must be from 0 to below 1: the part of within-cloud affinities")
    if not 0 <= reach < 1:
        raise SettingsError(
            f"reach {reach} must be from 0, the softmax as it is, to below 1: a part of the keys"
        )
    P = _by_attention(one, share, float(reach), perplexity, seed)
    settings |= {"share": float(share), "reach": float(reach), "perplexity": perplexity}
    return Affinities(P, one.items(), settings, notes=notes)


def _named(capture: Capture, layer: int | None, head: int | None, special: Any) -> HeadVectors:
    if layer is None or head is None:
        raise SettingsError("say which head: query_key(capture, layer, head)")
    return head_vectors(capture, layer, head, special=special)


def _by_attention(one: HeadVectors, share: float, reach: float, perplexity: float, seed: int) -> Any:
    n, m = len(one.Q), len(one.K)
    sharp = _sharpness(one, reach)
    if n + m <= EXACT_UP_TO:
        weights = _softmax(one.scores().astype(np.float64) * sharp[:, None])
        rows = np.zeros((n + m, n + m), np.float32)
        rows[:n, n:] = (1 - share) * weights
        rows[n:, :n] = (1 - share) * (weights / np.maximum(weights.sum(axis=0), 1e-300)).T
        for part, side in ((slice(0, n), one.Q), (slice(n, n + m), one.K)):
            if share and len(side) > 2:
                rows[part, part] = share * conditional(side, _perplexities(perplexity, len(side)))[0]
        return joint_from_dense(rows)
    across, back = _strongest(one, sharp, STRONGEST)
    among = [
        _within(side, _perplexities(perplexity, len(side)), seed) if share and len(side) > 2 else None
        for side in (one.Q, one.K)
    ]
    # a query's row has queries first, a key's row has queries first: both are in order of their columns
    rows = [_scaled(among[0], share, 0), _scaled(across, 1 - share, n)]
    key_rows = [_scaled(back, 1 - share, 0), _scaled(among[1], share, n)]
    sides = [_side_by_side(part) for part in (rows, key_rows)]
    lengths = np.concatenate([np.full(len(index), index.shape[1]) for index, _ in sides])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns, values = (np.concatenate([side[at].ravel() for side in sides]) for at in (0, 1))
    starts, columns, values = symmetric_in_order(starts, columns, values)
    values /= values.sum(dtype=np.float64)
    return csr_array((values, columns, starts), shape=(n + m, n + m))


Rows = tuple[np.ndarray, np.ndarray]
"""Columns (rows, kept) in order, and the weights of these."""


def _within(side: np.ndarray, perplexity: np.ndarray, seed: int) -> Rows:
    """Ordinary affinities among queries, or among keys."""
    found = neighbour_rows(side, perplexity, 0.95, seed)
    order = np.argsort(found.index, axis=1)
    index, weight = (np.take_along_axis(part, order, axis=1) for part in (found.index, found.P))
    return index.astype(np.int32), weight.astype(np.float32)


def _scaled(rows: Rows | None, factor: float, shift: int) -> Rows | None:
    return None if rows is None else (rows[0] + np.int32(shift), np.float32(factor) * rows[1])


def _side_by_side(parts: list[Rows | None]) -> Rows:
    given = [part for part in parts if part is not None]
    return np.concatenate([index for index, _ in given], axis=1), np.concatenate(
        [w for _, w in given], axis=1
    )


def _sharpness(one: HeadVectors, reach: float) -> np.ndarray:
    """What each query's scores are multiplied with so that their softmax reaches that part of the keys."""
    from langscape.kernels.perplexity import conditional_rows

    n, m = len(one.Q), len(one.K)
    sharp = np.ones(n, np.float32)
    if not reach or m < 4:
        return sharp
    target = np.log(max(1.0, reach * m))
    for part in blocks(n):
        scores = one.scores(part)
        below = (scores.max(axis=1, keepdims=True) - scores).astype(np.float64)
        found, reached = np.empty((2, len(scores)))
        targets = np.full(len(scores), target)
        conditional_rows(below, 0, targets, False, np.empty_like(scores), found, reached)
        # equal scores are even at any temperature
        sharp[part] = np.where(below.max(axis=1) > 0, found, 1.0)
    return sharp


def _perplexities(perplexity: float, n: int) -> np.ndarray:
    return checked_perplexity(max(1.0, min(perplexity, (n - 1) / 3)), n)


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _strongest(one: HeadVectors, sharp: np.ndarray, keep: int) -> tuple[Rows, Rows]:
    """Each query's weights on its `keep` strongest keys, and each key's from its strongest queries."""
    n, m = len(one.Q), len(one.K)
    total = np.empty(n, np.float32)

    def of_queries(part: slice) -> np.ndarray:
        scores = one.scores(part) * sharp[part, None]
        top = scores.max(axis=1)
        total[part] = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
        return scores

    across = _kept(of_queries, n, m, keep)
    # what a key gets is the query's softmax, so the query's own total comes off its scores
    back = _kept(lambda part: (one.scores(columns=part) * sharp[:, None] - total[:, None]).T, m, n, keep)
    return across, back


def _kept(scores: Callable[[slice], np.ndarray], n: int, m: int, keep: int) -> Rows:
    """A softmax over the largest `keep` of each row's m scores."""
    from langscape.kernels.selection import smallest_in_rows

    keep = min(keep, m)
    index, weight = np.empty((n, keep), np.int32), np.empty((n, keep), np.float32)

    def work(part: slice) -> None:
        index[part], below = smallest_in_rows(-scores(part), keep)
        weight[part] = _softmax(-below.astype(np.float64))

    side_by_side(work, blocks(n))
    return index, weight
