"""Which heads attend alike: distances between attention matrices, and groups of heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import DataError

_ROWS = 512


def head_distances(attention: Any, *, most_rows: int = _ROWS) -> np.ndarray:
    """Distances between all heads, (layers·heads, layers·heads), from 0 (alike) to 1 (no key in common).

    attention is (layer, head, query, key) or (head, query, key). The distance is Hellinger's,
    √(1 − Σ_j √(a_j b_j)), averaged over queries; of more than `most_rows`, evenly chosen ones.

    >>> one, other = np.eye(3), np.roll(np.eye(3), 1, axis=1)
    >>> head_distances([one, other, one]).round(3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    A = np.asarray(attention)
    if A.ndim not in (3, 4) or A.shape[-1] != A.shape[-2] or not A.size:
        raise DataError(f"attention has shape {A.shape}; expected (layer, head, query, key) of one text")
    A = A.reshape(-1, *A.shape[-2:])
    if not np.isfinite(A).all() or A.min() < 0:
        raise DataError("attention holds NaN, infinity or negative weights; capture it in float32")
    n = A.shape[-1]
    rows = np.linspace(0, n - 1, min(n, most_rows)).round().astype(np.intp)
    total = np.zeros((len(A), len(A)))
    for row in rows:
        weights = A[:, row].astype(np.float64)
        root = np.sqrt(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30))
        # 1 − Σ√(ab) is rounding alone between equal rows; its root would be 1e-8
        total += np.sqrt(np.clip(1.0 - root @ root.T, 1e-15, 1.0) - 1e-15)
    D = total / len(rows)
    np.fill_diagonal(D, 0.0)
    return (D + D.T) / 2


def head_groups(distances: Any, count: int | None = None, *, least: int = 4, most: int = 12) -> np.ndarray:
    """The group of every head, 0 the largest: complete linkage, cut into `count` groups.

    Without a count, that of `least` to `most` whose silhouette is highest is taken. Fewer than four groups
    often have the higher one, but only part a single odd head from all others.

    >>> head_groups([[0, .1, .9], [.1, 0, .8], [.9, .8, 0]], 2).tolist()
    [0, 0, 1]
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    D = np.asarray(distances, np.float64)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or not np.isfinite(D).all():
        raise DataError(f"distances have shape {D.shape}; expected a finite square matrix, one row per head")
    n = len(D)
    if count is not None and not 1 <= count <= n:
        raise DataError(f"{n} heads cannot form {count} groups")
    if n == 1 or (n <= least and count is None):
        return np.zeros(n, np.intp)
    tree = linkage(squareform(D, checks=False), "complete")
    if count is None:
        cuts = [fcluster(tree, k, "maxclust") for k in range(least, min(most, n - 1) + 1)]
        found = max(cuts, key=lambda groups: silhouette(D, groups))
    else:
        found = fcluster(tree, count, "maxclust")
    _, number, sizes = np.unique(found, return_inverse=True, return_counts=True)
    place = np.empty(len(sizes), np.intp)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return place[number]


def silhouette(distances: np.ndarray, groups: np.ndarray) -> float:
    """How much nearer heads lie to their own group than to the next, averaged; groups of one count 0."""
    names = np.unique(groups)
    if len(names) < 2:
        return 0.0
    member = (groups[:, None] == names[None, :]).astype(np.float64)
    sizes = member.sum(axis=0)
    total = distances @ member
    own = np.argmax(member, axis=1)
    rows = np.arange(len(groups))
    inner = total[rows, own] / np.maximum(sizes[own] - 1, 1)
    outer = total / sizes
    outer[rows, own] = np.inf
    nearest = outer.min(axis=1)
    value = (nearest - inner) / np.maximum(np.maximum(inner, nearest), 1e-30)
    return float(np.where(sizes[own] == 1, 0.0, value).mean())
