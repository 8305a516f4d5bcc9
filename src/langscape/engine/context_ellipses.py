"""Ellipses that tell the truth: size from the total variance, orientation from the contexts.

The σ that a t-SNE of distributions learns act as spare coordinates and do not follow variance. Here nothing
is learned: the map is t-SNE's, and each item's covariance is laid on it through a local projection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from langscape.data import Gaussians
from langscape.kernels.linear import blocks, one_blas_thread

NEAR = 15
"""Items, the nearest by their means, that tie the space to the map around an item."""

RIDGE, SHRINK, MOST_RATIO, TRUSTED = 0.1, 5.0, 3.0, 0.15
"""Regularisation of the projection; contexts' worth of roundness added; the longest axis ratio drawn; and
the orientation score from which an orientation is drawn at all."""

COMMON, SHARED = 2.0, 2
"""How many times as much as along the directions of other items an item must vary along its own, from the
middle of all, for that direction to be one that all share; and how many further directions, along which all
contexts vary most, are then taken out with it. Of 300 words by MiniLM, 89 % of the turned ellipses pointed at
the middle of the map with all of these left in, 58 % without the first and 27 % without two more (29 % by
chance); a third and a fifth change nothing more."""

WEIGHT = 2.0
"""Rows' worth of the spread that all items share, added to each item's own: a few rows say little of it."""

_LEAST = 3
"""Contexts, and neighbours, below which an item is a circle."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """The drawn covariances (n, 2, 2), κ², and per item the axis ratio and the orientation score.

    common is the share of variance, the mean over items, along the direction from the middle of all items to
    the item itself, which no angle is told from; 0 where items do not share it.
    """

    covariances: np.ndarray
    kappa2: float
    ratio: np.ndarray
    score: np.ndarray
    common: float = 0.0


def context_shapes(xy: np.ndarray, given: Gaussians, *, shared: int | None = SHARED) -> Shapes:
    """What is drawn around each place: κ² · total variance · V diag(r, 1/r) Vᵀ.

    The area is the total variance (`steady_spread`) times a factor κ² common to all. V and r come from the
    item's contexts, projected by the orthonormal map that best carries the directions of its nearest items to
    where they lie. Where nearly every item varies along the direction in which it lies from the middle
    of all, that says nothing of the item, and is taken out before, with `shared` more that all share; None
    leaves everything in. The orientation score is the share by which one half of the contexts varies more
    along the axis that the other half gave, through the other half of the neighbours; below 0.15, a circle is
    drawn. Of an item with a single row nothing is drawn: its covariance is 0.
    """
    Y = np.asarray(xy, np.float64)
    n = len(Y)
    t = steady_spread(given)
    common = 0.0
    ratio, score = np.ones(n), np.zeros(n)
    turn = np.zeros((n, 2, 2))
    turn[:] = np.eye(2)
    if n > _LEAST:
        near = _nearest(given.means, min(NEAR, n - 1))
        X = given.means.astype(np.float64)
        starts = given.starts
        outward = _outward(X)
        common = _share_along(given, outward)
        # those of other items are what the variance along any direction of the means is
        if shared is None or common < COMMON * _share_along(given, np.roll(outward, n // 2, axis=0)):
            common, outward = 0.0, np.zeros_like(outward)
        else:
            others = _shared_directions(given, shared)
            X = X - (X @ others.T) @ others
            outward = _unit(outward - (outward @ others.T) @ others)
        with one_blas_thread():
            for part in blocks(n):
                rows = np.arange(part.start, part.stop)
                whole = _projections(X, Y, rows, near[rows], outward)
                halves = [_projections(X, Y, rows, near[rows][:, h::2], outward) for h in (0, 1)]
                for at, i in enumerate(rows):
                    found = _oriented(given, i, starts, [whole[at], *(half[at] for half in halves)])
                    if found is not None:
                        turn[i], ratio[i], score[i] = found
    lengths = np.stack([ratio, 1.0 / ratio], axis=1)
    known = has_spread(given)
    kappa2 = _kappa2(Y, np.where(known, t, 0.0))
    drawn = (
        kappa2 * np.where(known, t, 0.0)[:, None, None] * np.einsum("nij,nj,nkj->nik", turn, lengths, turn)
    )
    return Shapes(drawn.astype(np.float32), kappa2, ratio, score, common)


def has_spread(given: Gaussians) -> np.ndarray:
    """(n,) whether the spread of an item is known at all; a single row says nothing of it."""
    return given.counts != 1


def steady_spread(given: Gaussians) -> np.ndarray:
    """(n,) total variances that do not grow with the number of rows they come from.

    A variance over n rows is too small by (n − 1)/n, and of one row it is 0: few rows would look certain.
    Here an item's squares are divided by n − 1, with two rows' worth of what all items share added to them.
    Items that come with a covariance and no rows keep its trace.
    """
    t, rows = given.spread, given.counts.astype(np.float64)
    free = np.maximum(rows - 1, 0.0)
    if not free.any():
        return t
    squares = t * rows
    shared = squares.sum() / free.sum()
    return np.where(rows > 0, (squares + WEIGHT * shared) / (free + WEIGHT), t)


def spread_interval(given: Gaussians) -> tuple[np.ndarray, np.ndarray]:
    """(n,), (n,) what the total variance of each item may be, at least and at most: 90 % of what is likely.

    The squared distances of contexts from their mean are taken as χ², of as many degrees of freedom as their
    own scatter tells (pooled over items). What is known before the first row is how far the spreads of items
    of many rows differ. NaN where the number of rows is not known.
    """
    from scipy.special import gammaincinv

    rows = given.counts.astype(np.float64)
    free, squares = np.maximum(rows - 1, 0.0), given.spread * rows
    if not free.any():
        nothing = np.full(len(rows), np.nan)
        return nothing, nothing
    shared, scatter = squares.sum() / free.sum(), _scatter(given)
    before = _known_before(squares, free, scatter)
    half = free / scatter + before  # half the degrees of freedom
    t = np.where(rows > 0, (squares / scatter + before * shared) / half, np.nan)
    low, high = (half / gammaincinv(half, share) for share in (0.95, 0.05))
    return t * low, t * high


def _known_before(squares: np.ndarray, free: np.ndarray, scatter: float) -> float:
    """Half the degrees of freedom that the spread of another item is worth, from how far spreads differ."""
    many = (free >= 7) & (squares > 0)
    if many.sum() < 5:
        return WEIGHT / scatter
    differ = np.log(squares[many] / free[many]).var(ddof=1) - float((scatter / free[many]).mean())
    return min(1.0 / max(differ, 1e-6), WEIGHT / scatter)


def _scatter(given: Gaussians) -> float:
    """The squared coefficient of variation of squared distances from the mean; 2 / dim if round."""
    many = np.flatnonzero(given.counts >= 4)
    if given.samples is not None and len(many):
        starts, found = given.starts, []
        for i in many:
            away = given.samples[starts[i] : starts[i + 1]].astype(np.float64)
            far = ((away - away.mean(axis=0)) ** 2).sum(axis=1)
            if far.any():
                found.append((far.var(ddof=1) / far.mean() ** 2, len(far)))
        if found:
            return max(float(np.average([cv for cv, _ in found], weights=[n for _, n in found])), 1e-6)
    V = given.variances.astype(np.float64)
    total = V.sum(axis=1)
    V, total = V[total > 0], total[total > 0]
    return float((2 * (V**2).sum(axis=1) / total**2).mean()) if len(V) else 2.0


def with_held_area(
    figures: Mapping[str, float], given: Gaussians, areas: Callable[[Gaussians], np.ndarray] | None = None
) -> dict[str, float]:
    """The figures of a map with what sizes from one half of the rows say of the other, where there are rows.

    areas gives the squared areas that would be drawn for distributions; without it, area is total variance.
    """
    from langscape.metrics import held_out_area

    found = held_out_area(given, areas)
    if found is None:
        return dict(figures)
    rows = {
        "area_held_rows": float(found.rows), "area_held_least": float(found.least),
        "area_held_items": float(found.items),
    }  # fmt: skip
    return {**figures, "area_held": found.value, **found.null.beside("area_held"), **rows}


def with_area(
    figures: Mapping[str, float], per_point: Mapping[str, np.ndarray], shapes: np.ndarray, given: Gaussians
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The figures of a map with what its ellipses are worth: area against total variance.

    Only where area is not that variance by construction.
    """
    from langscape.metrics import area_variance
    from langscape.metrics.gaussians import area_variance_by_chance
    from langscape.metrics.null import Null

    few = len(given) <= 2
    worth = float("nan") if few else area_variance(shapes, given.spread)
    null = Null(float("nan")) if few else area_variance_by_chance([(shapes, given.spread)])
    return (
        {**figures, "area_variance": worth, **null.beside("area_variance")},
        {**per_point, "variance": given.spread.astype(np.float32)},
    )


def _nearest(means: np.ndarray, k: int) -> np.ndarray:
    from langscape.kernels.neighbours import nearest

    return nearest(np.ascontiguousarray(means, np.float32), k).index


def _outward(X: np.ndarray) -> np.ndarray:
    """(n, dim) unit vectors from the middle of all items to each; zeros for one that lies there."""
    return _unit(X - X.mean(axis=0))


def _unit(X: np.ndarray) -> np.ndarray:
    far = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(far > 0, far, 1.0)


def _shared_directions(given: Gaussians, count: int) -> np.ndarray:
    """(count, dim) the directions along which the contexts of all items vary most; none without rows."""
    dim = given.means.shape[1]
    if given.samples is None or dim <= count + 2:
        return np.zeros((0, dim))
    item = np.repeat(np.arange(len(given)), given.counts)
    away = given.samples.astype(np.float64) - given.means.astype(np.float64)[item]
    with one_blas_thread():
        return np.linalg.eigh(away.T @ away)[1][:, ::-1][:, :count].T


def _share_along(given: Gaussians, directions: np.ndarray) -> float:
    """The mean share of an item's variance along its own direction."""
    t = given.spread
    if given.samples is None:
        along = np.einsum("nd,nd,nd->n", given.variances.astype(np.float64), directions, directions)
        if given.factors is not None:
            F = given.factors.astype(np.float64)
            along += (np.einsum("ndf,nd->nf", F, directions) ** 2).sum(axis=1)
            along -= np.einsum("ndf,ndf,nd->n", F, F, directions**2)
    else:
        item = np.repeat(np.arange(len(given)), given.counts)
        seen = np.einsum("md,md->m", given.samples.astype(np.float64), directions[item])
        rows = np.maximum(given.counts, 1)
        mean = np.bincount(item, seen, minlength=len(given)) / rows
        along = np.bincount(item, (seen - mean[item]) ** 2, minlength=len(given)) / rows
    known = t > 0
    return float((along[known] / t[known]).mean()) if known.any() else 0.0


def _projections(
    X: np.ndarray, Y: np.ndarray, rows: np.ndarray, near: np.ndarray, without: np.ndarray
) -> np.ndarray:
    """(rows, 2, dim) the orthonormal maps J⊥, blind along `without` (n, dim); NaN where there is none.

    There is none where neighbours are too few or lie on a line.
    """
    B = X[near] - X[rows][:, None, :]
    u = without[rows]
    B = B - np.einsum("nkd,nd->nk", B, u)[:, :, None] * u[:, None, :]
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
        halves = [away[half] for half in given.halves_of(i)]
        if not all(map(len, halves)):
            return None
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
