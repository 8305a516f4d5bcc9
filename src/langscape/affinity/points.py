"""Affinities of points by perplexity: exact for small sets, over nearest neighbours for large ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from langscape.affinity.joint import joint_from_dense, joint_from_neighbours
from langscape.data import Affinities, Items
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import BLOCK, blocks, one_blas_thread, side_by_side, squared_distances

Metric = Literal["euclidean", "cosine"]

EXACT_UP_TO = 2500
"""Points up to which every pair has a probability; above, only each point's nearest neighbours."""

LARGEST = 1e15
"""Numbers up to which squared distances stay within float32, in which neighbours are found."""


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
) -> Affinities:
    """The joint P of the rows of X, shape (n, dim), for one perplexity or one per point.

    "cosine" is the Euclidean distance between vectors scaled to length 1. "neighbours" keeps each
    point's 3·perplexity nearest, found at the recall asked for; "auto" does so above 2,500 points.

    >>> import numpy as np
    >>> a = points(np.eye(5), perplexity=2)
    >>> round(float(a.P.sum()), 6), a.P.shape
    (1.0, (5, 5))
    """
    X = checked_matrix(X)
    n = len(X)
    items = items or (Items(labels) if labels is not None else Items.numbered(n))
    if len(items) != n:
        raise DataError(f"{len(items)} labels for {n} rows; give one label per row")
    wanted = checked_perplexity(perplexity, n)
    space = unit_rows(X, items) if metric == "cosine" else X
    if metric not in ("euclidean", "cosine"):
        raise SettingsError(f'metric {metric!r} is not known; use "euclidean" or "cosine"')
    if method not in ("auto", "exact", "neighbours"):
        raise SettingsError(f'method {method!r} is not known; use "auto", "exact" or "neighbours"')
    exact = method == "exact" or (method == "auto" and n <= EXACT_UP_TO)
    one = float(wanted[0]) if np.ptp(wanted) == 0 else None
    settings: dict[str, Any] = {"affinity": "points", "perplexity": one or "per point", "metric": metric}
    if exact:
        P = joint_from_dense(conditional(space, wanted))
        settings["neighbours"] = "all"
    else:
        near, index, reached = _near(space, wanted, recall, seed)
        P: Any = joint_from_neighbours(near, index)
        settings["neighbours"] = int(min(n - 1, np.ceil(3 * wanted.max())))
        settings["recall"] = round(reached, 4)
    return Affinities(P, items, settings, vectors=X, metric=metric)


def conditional(X: np.ndarray, perplexity: np.ndarray) -> np.ndarray:
    """The conditional matrix p_{j|i} over all pairs, rows summing to 1, float32."""
    from langscape.kernels.perplexity import conditional_rows

    n = len(X)
    centred = np.ascontiguousarray(X - X.mean(0, dtype=np.float64), np.float64)
    norms = np.einsum("ij,ij->i", centred, centred)
    P = np.empty((n, n), np.float32)
    targets = np.log(perplexity)
    betas = np.empty(n)
    if n <= 4 * BLOCK:  # one product, then all rows at once
        with one_blas_thread():
            D = squared_distances(centred, centred, norms)
        conditional_rows(D, 0, targets, True, P, betas)
        return P

    D = np.empty((n, n), np.float64) if n <= 8000 else None
    if D is not None:

        def work(part: slice) -> None:
            D[part] = squared_distances(centred[part], centred, norms)

        side_by_side(work, blocks(n))
        conditional_rows(D, 0, targets, True, P, betas)
        return P
    with one_blas_thread():
        for part in blocks(n):
            rows = squared_distances(centred[part], centred, norms)
            conditional_rows(rows, part.start, targets[part], True, P[part], betas[part])
    return P


def neighbour_rows(
    X: np.ndarray, perplexity: np.ndarray, recall: float, seed: int
) -> tuple[csr_array, float]:
    """The conditional matrix over each point's 3·perplexity nearest, as CSR, and the recall reached."""
    P, index, reached = _near(X, perplexity, recall, seed)
    n, k = index.shape
    starts = np.arange(0, n * k + 1, k)
    return csr_array((P.ravel(), index.ravel(), starts), shape=(n, n)), reached


def _near(
    X: np.ndarray, perplexity: np.ndarray, recall: float, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    from langscape.kernels.neighbours import nearest
    from langscape.kernels.perplexity import conditional_rows

    n = len(X)
    k = int(min(n - 1, np.ceil(3 * perplexity.max())))
    found = nearest(X, k, recall=recall, seed=seed)
    P = np.empty((n, k), np.float32)
    conditional_rows(found.squared, 0, np.log(np.minimum(perplexity, k)), False, P, np.empty(n))
    return P, found.index, found.recall


def checked_matrix(X: Any) -> np.ndarray:
    """X as a finite float matrix with at least two rows, or a DataError that says what is wrong."""
    if issparse(X):
        raise DataError(f"the vectors are a sparse {type(X).__name__}; give all numbers, with X.toarray()")
    if np.iscomplexobj(X):
        raise DataError(
            "the vectors are complex numbers, but a map is made of real ones; give X.real or abs(X)"
        )
    try:
        X = np.asarray(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the vectors are not numbers: {error}") from None
    if X.ndim != 2:
        raise DataError(f"vectors need shape (items, dimensions), but these have shape {X.shape}")
    if X.shape[0] < 2 or X.shape[1] < 1:
        raise DataError(
            f"a map needs at least 2 items with 1 dimension, but the vectors have shape {X.shape}"
        )
    bad = ~np.isfinite(X).all(1)
    if bad.any():
        rows = np.flatnonzero(bad)
        raise DataError(
            f"{len(rows)} of {len(X)} rows hold NaN or infinity (the first is row {rows[0]}); "
            "remove or repair them"
        )
    most = max(float(X.max()), -float(X.min()))
    if most > LARGEST:
        raise DataError(f"the vectors hold numbers up to {most:.1e}, too large to be squared; rescale them")
    return X


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
            f"but there are only {n - 1}; lower it or add items"
        )
    return wanted


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
