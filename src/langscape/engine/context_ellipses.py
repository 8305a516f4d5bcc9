"""Ellipses that tell the truth: size from the total variance, orientation from the contexts.

The σ that a t-SNE of distributions learns act as spare coordinates and do not follow variance. Here nothing
is learned: the map is t-SNE's, and each item's covariance is laid on it through a local projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from langscape.data import Gaussians
from langscape.kernels.linear import blocks, one_blas_thread

NEAR = 15
"""Items, the nearest by their means, that tie the space to the map around an item."""

RIDGE, SHRINK, MOST_RATIO, TRUSTED = 0.1, 5.0, 3.0, 0.15
"""Regularisation of the projection; contexts' worth of roundness added; the longest axis ratio drawn; and
the orientation score from which an orientation is drawn at all."""

_LEAST = 3
"""Contexts, and neighbours, below which an item is a circle."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """The drawn covariances (n, 2, 2), κ², and per item the axis ratio and the orientation score."""

    covariances: np.ndarray
    kappa2: float
    ratio: np.ndarray
    score: np.ndarray


def context_shapes(xy: np.ndarray, given: Gaussians) -> Shapes:
    """What is drawn around each place: κ² · total variance · V diag(r, 1/r) Vᵀ.

    The area is the total variance times a factor κ² common to all. V and r come from the item's contexts,
    projected by the orthonormal map that best carries the directions of its nearest items to where they lie.
    The orientation score is the share by which one half of the contexts varies more along the axis that the
    other half gave, through the other half of the neighbours; below 0.15, a circle is drawn.
    """
    Y = np.asarray(xy, np.float64)
    n = len(Y)
    t = given.spread
    ratio, score = np.ones(n), np.zeros(n)
    turn = np.zeros((n, 2, 2))
    turn[:] = np.eye(2)
    if n > _LEAST:
        near = _nearest(given.means, min(NEAR, n - 1))
        X = given.means.astype(np.float64)
        starts = given.starts
        with one_blas_thread():
            for part in blocks(n):
                rows = np.arange(part.start, part.stop)
                whole = _projections(X, Y, rows, near[rows])
                halves = [_projections(X, Y, rows, near[rows][:, h::2]) for h in (0, 1)]
                for at, i in enumerate(rows):
                    found = _oriented(given, i, starts, [whole[at], *(half[at] for half in halves)])
                    if found is not None:
                        turn[i], ratio[i], score[i] = found
    lengths = np.stack([ratio, 1.0 / ratio], axis=1)
    kappa2 = _kappa2(Y, t)
    drawn = kappa2 * t[:, None, None] * np.einsum("nij,nj,nkj->nik", turn, lengths, turn)
    return Shapes(drawn.astype(np.float32), kappa2, ratio, score)


def with_area(
    figures: Mapping[str, float], per_point: Mapping[str, np.ndarray], shapes: np.ndarray, given: Gaussians
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The figures of a map with what its ellipses are worth: area against total variance."""
    from langscape.metrics import area_variance

    few = len(given) <= 2
    dealt = np.random.default_rng(0).permutation(len(given))
    worth = float("nan") if few else area_variance(shapes, given.spread)
    chance = float("nan") if few else area_variance(shapes, given.spread[dealt])
    return (
        {**figures, "area_variance": worth, "area_variance_null": chance},
        {**per_point, "variance": given.spread.astype(np.float32)},
    )


def _nearest(means: np.ndarray, k: int) -> np.ndarray:
    from langscape.kernels.neighbours import nearest

    return nearest(np.ascontiguousarray(means, np.float32), k).index


def _projections(X: np.ndarray, Y: np.ndarray, rows: np.ndarray, near: np.ndarray) -> np.ndarray:
    """(rows, 2, dim) the orthonormal maps J⊥; NaN where neighbours are too few or lie on a line."""
    B = X[near] - X[rows][:, None, :]
    away = Y[near] - Y[rows][:, None, :]
    far, apart = np.linalg.norm(B, axis=2), np.linalg.norm(away, axis=2)
    usable = (far > 0) & (apart > 0)
    M = away * np.where(usable, far / np.where(apart > 0, apart, 1.0), 0.0)[:, :, None]
    B = np.where(usable[:, :, None], B, 0.0)
    gram = np.einsum("nid,njd->nij", B, B, optimize=True)
    k = near.shape[1]
    ridge = RIDGE * np.einsum("nii->n", gram) / k
    gram[:, range(k), range(k)] += np.where(ridge > 0, ridge, 1.0)[:, None]
    J = np.einsum("nik,nid->nkd", np.linalg.solve(gram, M), B, optimize=True)
    # the polar factor through the small Gram matrix: J⊥ = (J Jᵀ)^(−½) J
    values, axes = np.linalg.eigh(np.einsum("nkd,nld->nkl", J, J))
    bad = (usable.sum(axis=1) < _LEAST) | (values[:, 0] <= 1e-10 * np.maximum(values[:, 1], 1e-300))
    roots = np.where(bad[:, None], np.nan, np.maximum(values, 1e-300)) ** -0.5
    return np.einsum("nij,nj,nkj,nkd->nid", axes, roots, axes, J, optimize=True)


def _oriented(
    given: Gaussians, i: int, starts: np.ndarray, maps: list[np.ndarray]
) -> tuple[np.ndarray, float, float] | None:
    """(axes as columns, axis ratio, orientation score) of one item; None for a circle."""
    count = int(given.counts[i])
    if any(np.isnan(J[0, 0]) for J in maps) or 0 < count < _LEAST or not given.variances[i].any():
        return None
    if given.samples is not None and count:
        away = given.samples[starts[i] : starts[i + 1]].astype(np.float64)
        halves = [away[h::2] for h in (0, 1)]
        C = _covariance(away @ maps[0].T)
        first, second = (_uneven(_covariance(some @ J.T)) for some, J in zip(halves, maps[1:], strict=True))
    else:
        C, left, right = (_projected(given, i, J) for J in maps)
        first, second = _uneven(left), _uneven(right)
    score = 0.5 * (_along(first, second) + _along(second, first))
    if not score >= TRUSTED:
        return None
    if count:
        C = (count * C + SHRINK * 0.5 * np.trace(C) * np.eye(2)) / (count + SHRINK)
    values, axes = np.linalg.eigh(C)
    low, high = float(values[0]), float(values[1])
    if high <= 0:
        return None
    return axes[:, ::-1], min(np.sqrt(high / max(low, 1e-12 * high)), MOST_RATIO), score


def _covariance(points: np.ndarray) -> np.ndarray:
    points = points - points.mean(axis=0)
    return points.T @ points / len(points)


def _projected(given: Gaussians, i: int, J: np.ndarray) -> np.ndarray:
    S = given.variances[i].astype(np.float64)
    if given.factors is None:
        return (J * S) @ J.T
    F = given.factors[i].astype(np.float64)
    return (J * np.maximum(S - (F * F).sum(axis=1), 0.0)) @ J.T + (J @ F) @ (J @ F).T


def _uneven(C: np.ndarray) -> np.ndarray:
    """How far from round, and which way: length (λ₁ − λ₂)/(λ₁ + λ₂), at twice the long axis's angle."""
    trace = C[0, 0] + C[1, 1]
    return np.array([C[0, 0] - C[1, 1], 2.0 * C[0, 1]]) / trace if trace > 0 else np.zeros(2)


def _along(axis: np.ndarray, other: np.ndarray) -> float:
    length = float(np.hypot(*axis))
    return float(axis @ other) / length if length > 0 else 0.0


def _kappa2(Y: np.ndarray, spread: np.ndarray) -> float:
    """κ² for which the middle ellipse reaches about as far as the nearest item on the map."""
    if len(Y) < 2 or not (spread > 0).any():
        return 1.0
    from scipy.spatial import KDTree

    gaps = KDTree(Y).query(Y, k=2)[0][:, 1]
    gaps = gaps[gaps > 0]
    gap = float(np.median(gaps)) if len(gaps) else 1.0
    return (0.75 * gap) ** 2 / float(np.median(spread[spread > 0]))
