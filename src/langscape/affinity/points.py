"""Affinities of points by perplexity: exact for small sets, over nearest neighbours for large ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from langscape.affinity.given_vectors import given_vectors
from langscape.affinity.joint import joint_from_dense, joint_from_neighbours
from langscape.data import Affinities, Checkpoint, Items, Progress
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import (
    BLOCK,
    blocks,
    centre_of,
    one_blas_thread,
    side_by_side,
    squared_distances,
)

Metric = Literal["euclidean", "cosine"]

EXACT_UP_TO = 2500
"""Points up to which every pair has a probability; above, only each point's nearest neighbours."""


def points(
    X: Any,
    perplexity: float | Sequence[float] | np.ndarray = 30.0,
    metric: Metric = "euclidean",
    labels: Sequence[str] | None = None,
    *,
    items: Items | None = None,
    method: Literal["auto", "exact", "neighbours"] = "auto",
    recall: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Affinities:
    """The joint P of the rows of X, shape (n, dim), for one perplexity or one per point.

    X is an array, a list of vectors, a tensor, or a sparse matrix, which is reduced by truncated SVD.
    "cosine" is the Euclidean distance between vectors scaled to length 1. "neighbours" keeps each
    point's 3·perplexity nearest, found at the recall asked for; "auto" does so above 2,500 points.

    >>> import numpy as np
    >>> a = points(np.eye(5), perplexity=2)
    >>> round(float(a.P.sum()), 6), a.P.shape
    (1.0, (5, 5))
    """
    given = given_vectors(X, seed)
    X, n = given.matrix, len(given.matrix)
    items = items or (Items(labels) if labels is not None else Items.numbered(n))
    if len(items) != n:
        raise DataError(f"{len(items)} labels for {n} rows; give one label per row")
    wanted = checked_perplexity(perplexity, n)
    check_metric(metric)
    space = unit_rows(X, items) if metric == "cosine" else X
    if method not in ("auto", "exact", "neighbours"):
        raise SettingsError(f'method {method!r} is not known; use "auto", "exact" or "neighbours"')
    exact = method == "exact" or (method == "auto" and n <= EXACT_UP_TO)
    one = float(wanted[0]) if np.ptp(wanted) == 0 else None
    settings: dict[str, Any] = {"affinity": "points", "perplexity": one or "per point", "metric": metric}
    P: Any
    if exact:
        rows, reached = conditional(space, wanted)
        P = joint_from_dense(rows)
        settings["neighbours"] = "all"
    else:
        near = neighbour_rows(space, wanted, recall, seed, progress, checkpoint)
        reached = near.perplexity
        P = joint_from_neighbours(near.P, near.index)
        settings["neighbours"] = near.index.shape[1]
        settings["recall"] = round(near.recall, 4)
    notes = (*given.notes, *perplexity_notes(wanted, reached, items))
    return Affinities(P, items, settings, vectors=X, metric=metric, notes=notes)


def conditional(X: np.ndarray, perplexity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The conditional p_{j|i} over all pairs, (n, n), rows summing to 1, and the perplexities reached."""
    from langscape.kernels.perplexity import conditional_rows

    n = len(X)
    centred = np.ascontiguousarray(X - centre_of(np.asarray(X, np.float64)), np.float64)
    norms = np.einsum("ij,ij->i", centred, centred)
    P = np.empty((n, n), np.float32)
    targets = np.log(perplexity)
    betas, reached = np.empty((2, n))
    if n <= 8000:
        D = np.empty((n, n), np.float64)

        def work(part: slice) -> None:
            D[part] = squared_distances(centred[part], centred, norms)

        # one product of a small set, whose bits are those of the first release
        side_by_side(work, blocks(n) if n > 4 * BLOCK else [slice(0, n)])
        conditional_rows(D, 0, targets, True, P, betas, reached)
        return P, np.exp(reached)
    with one_blas_thread():
        for part in blocks(n):
            rows = squared_distances(centred[part], centred, norms)
            conditional_rows(rows, part.start, targets[part], True, P[part], betas[part], reached[part])
    return P, np.exp(reached)


@dataclass(frozen=True, eq=False)
class NeighbourRows:
    """Conditional rows over each point's nearest: P and index (n, k), perplexities reached, recall."""

    P: np.ndarray
    index: np.ndarray
    perplexity: np.ndarray
    recall: float

    def matrix(self) -> csr_array:
        """The same as CSR."""
        n, k = self.index.shape
        return csr_array((self.P.ravel(), self.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def neighbour_rows(
    X: np.ndarray,
    perplexity: np.ndarray,
    recall: float,
    seed: int,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> NeighbourRows:
    """The conditional rows over each point's 3·perplexity nearest, found at the recall asked for."""
    from langscape.kernels.neighbours import nearest
    from langscape.kernels.perplexity import conditional_rows

    n = len(X)
    k = int(min(n - 1, np.ceil(3 * perplexity.max())))
    found = nearest(X, k, recall=recall, seed=seed, progress=progress, checkpoint=checkpoint)
    P = found.squared  # each row of probabilities takes the place of its distances
    betas, reached = np.empty((2, n))
    conditional_rows(P, 0, np.log(np.minimum(perplexity, k)), False, P, betas, reached)
    return NeighbourRows(P, found.index, np.exp(reached), found.recall)


def perplexity_notes(wanted: np.ndarray, reached: np.ndarray, items: Items) -> tuple[str, ...]:
    """Says where the perplexity asked for was not reached, and why; nothing where it was everywhere.

    >>> perplexity_notes(np.full(3, 5.0), np.array([5.0, 5.0, 20.0]), Items(["a", "b", "c"]))[0][:60]
    'perplexity 5 was not reached by 1 of 3 items: the worst is c'
    """
    missed = np.abs(np.log(reached) - np.log(wanted)) > 1e-3
    if not missed.any():
        return ()
    worst = int(np.argmax(np.abs(np.log(reached) - np.log(wanted))))
    asked = f"{wanted[worst]:g}" if np.ptp(wanted) == 0 else f"{wanted[worst]:g} of its own"
    why = "more items than that are equally near" if reached[worst] > wanted[worst] else "too few are near"
    return (
        f"perplexity {asked} was not reached by {int(missed.sum()):,} of {len(wanted):,} items: the worst is "
        f"{items.labels[worst]} with {reached[worst]:.0f}, since {why}",
    )


def checked_perplexity(perplexity: Any, n: int) -> np.ndarray:
    """One perplexity per point, each at least 1 and at most the number of others."""
    try:
        wanted = np.asarray(perplexity, np.float64)
    except (TypeError, ValueError):
        wanted = np.asarray(np.nan)
    if wanted.ndim not in (0, 1) or (wanted.ndim == 1 and len(wanted) != n):
        raise SettingsError(f"perplexity has shape {wanted.shape}; give one number, or one per item ({n})")
    if not np.isfinite(wanted).all() or wanted.min() < 1:
        wanted_text = repr(perplexity) if wanted.ndim == 0 else f"{wanted.min():g}"
        raise SettingsError(
            f"perplexity {wanted_text} is not possible; it must be a number of at least 1, such as 30"
        )
    wanted = np.broadcast_to(wanted, (n,))
    if wanted.max() > n - 1:
        raise SettingsError(
            f"perplexity {wanted.max():g} needs at least {int(np.ceil(wanted.max()))} neighbours, "
            f"but there are only {n - 1}; lower it, for example to {max(1, (n - 1) // 3)}, or add items"
        )
    return wanted


def check_metric(metric: str) -> None:
    """Refuse a metric that is not known."""
    if metric not in ("euclidean", "cosine"):
        raise SettingsError(f'metric {metric!r} is not known; use "euclidean" or "cosine"')


def unit_rows(X: np.ndarray, items: Items) -> np.ndarray:
    """The rows scaled to length 1; a row of zeros has no direction and is an error."""
    lengths = np.linalg.norm(X, axis=1)
    if (lengths == 0).any():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise DataError(
            f"item {items.labels[row]!r} (row {row}) is all zeros and has no cosine; "
            "remove it or use euclidean"
        )
    return X / lengths[:, None]
