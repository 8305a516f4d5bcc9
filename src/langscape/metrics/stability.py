"""Would another run have put it there? How far points wander between maps laid over each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.null import LEAST_DRAWS, Null
from langscape.metrics.point_scores import Stability

_ROUNDS = 100
_TOLERANCE = 1e-10


def stability(maps: Iterable[Any]) -> Stability:
    """How far each point wanders between restarts, after the maps were laid over each other.

    maps are `Map`s or arrays (n, dims) of the same items, at least two. Each may be moved,
    turned, mirrored and scaled; all are fitted to their common mean (generalised Procrustes),
    so their order does not matter beyond rounding.
    """
    return stability_of_each([maps])[0]


def stability_of_each(groups: Sequence[Iterable[Any]]) -> list[Stability]:
    """`stability` of many groups of maps at once, each of as many maps: the restarts of every head."""
    units = [np.stack([_unit(one) for one in _checked(maps)]) for maps in groups]
    found = []
    for one, turns in zip(units, _turns_to_mean(units), strict=True):
        aligned = one @ turns
        from_mean = aligned - aligned.mean(axis=0)
        spread = np.sqrt(np.einsum("mnd,mnd->n", from_mean, from_mean) / len(aligned))
        found.append(Stability(spread, aligned))
    return found


def stability_by_chance(maps: Iterable[Any], seed: int = 0) -> Null:
    """The mean spread of the same maps with the points of each dealt anew: what it is when nothing holds.

    >>> xy = np.random.default_rng(0).normal(size=(50, 2))
    >>> null = stability_by_chance([xy, xy])
    >>> 0.5 < null.low < null.mean < null.high < 0.75
    True
    """
    maps = [np.asarray(getattr(one, "xy", one)) for one in maps]
    rng = np.random.default_rng(seed)
    dealt = [[rng.permutation(one) for one in maps] for _ in range(LEAST_DRAWS)]
    return Null.of([one.mean for one in stability_of_each(dealt)])


def chance_of_each(groups: Sequence[Iterable[Any]], seed: int = 0) -> np.ndarray:
    """The mean spread, points dealt anew once, of many groups of maps at once."""
    dealt = []
    for maps in groups:
        rng = np.random.default_rng(seed)
        dealt.append([rng.permutation(np.asarray(getattr(one, "xy", one))) for one in maps])
    return np.array([one.mean for one in stability_of_each(dealt)])


def _checked(maps: Iterable[Any]) -> list[np.ndarray]:
    arrays = [np.asarray(getattr(one, "xy", one), dtype=np.float64) for one in maps]
    if len(arrays) < 2:
        raise DataError(f"stability compares maps, at least two; {len(arrays)} given: ask for more restarts")
    shapes = sorted({one.shape for one in arrays})
    if len(shapes) > 1 or len(shapes[0]) != 2 or 0 in shapes[0]:
        raise DataError(f"the maps have shapes {shapes}; all must be (points, dims) of the same items")
    if not all(np.isfinite(one).all() for one in arrays):
        raise DataError("a map holds NaN or infinite coordinates; leave it out")
    return arrays


def _turns_to_mean(units: Sequence[np.ndarray]) -> np.ndarray:
    """(groups, maps, dims, dims) how to turn the maps of each group (maps, n, dims) onto their common mean.

    Only products of maps with each other are needed, X_aᵀ X_b: the mean is a sum of turned maps, so that its
    product with a map is the sum of these, turned. Points are summed over once and not in every round.
    """
    from langscape.kernels.linear import one_blas_thread

    groups, (maps, _, dims) = len(units), units[0].shape
    # one thread: sums over all points are then taken in one order, whatever the machine
    with one_blas_thread():
        flat = [one.transpose(1, 0, 2).reshape(len(one[0]), -1) for one in units]
        products = np.stack([one.T @ one for one in flat])
    turns = _nearest_turns(products.reshape(groups, maps, dims, maps, dims)[:, :, :, 0])
    open_ones = np.arange(len(units))
    for _ in range(_ROUNDS - 1):
        onto_mean = products[open_ones] @ turns[open_ones].reshape(-1, maps * dims, dims)
        better = _nearest_turns(onto_mean.reshape(-1, maps, dims, dims))
        moved = np.abs(better - turns[open_ones]).max(axis=(1, 2, 3))
        turns[open_ones] = better
        open_ones = open_ones[moved >= _TOLERANCE]
        if not len(open_ones):
            break
    return turns


def align(reference: Any, other: Any, *, same_size: bool = False) -> np.ndarray:
    """`other` moved, turned, mirrored and scaled to lie as near to `reference` as it can; (n, dims).

    The nearest size of points that have little to do with the reference is small: all of them gather in its
    middle. With same_size, `other` is given the root mean square radius of the reference instead.

    >>> (align([[0, 0], [2, 0], [0, 1]], [[5, 5], [5, 9], [3, 5]]).round(6) + 0.0).tolist()
    [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]
    """
    reference = np.asarray(reference, dtype=np.float64)
    other = np.asarray(other, dtype=np.float64)
    if reference.ndim != 2 or reference.shape != other.shape or 0 in reference.shape:
        raise DataError(f"shapes {reference.shape} and {other.shape} cannot be aligned; give the same points")
    if not (np.isfinite(reference).all() and np.isfinite(other).all()):
        raise DataError("coordinates to align must be finite; remove NaN and infinity")
    centre = reference.mean(axis=0)
    still = reference - centre
    moving = other - other.mean(axis=0)
    turn = _turn(still, moving)
    turned = moving @ turn
    size = float(np.einsum("nd,nd->", turned, turned))
    if size == 0:
        return turned + centre
    nearest = np.einsum("nd,nd->", still, turned) / size
    equal = np.sqrt(np.einsum("nd,nd->", still, still) / size)
    return (equal if same_size else nearest) * turned + centre


def _unit(xy: np.ndarray) -> np.ndarray:
    """Centred, root mean square radius 1; points that all coincide stay at 0."""
    xy = xy - xy.mean(axis=0)
    radius = float(np.sqrt(np.einsum("nd,nd->", xy, xy) / len(xy)))
    return xy / radius if radius > 0 else xy


def _turn(still: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """The rotation or reflection R that brings moving @ R nearest to still."""
    return _nearest_turns(np.einsum("nd,ne->de", moving, still))


def _nearest_turns(M: np.ndarray) -> np.ndarray:
    """The rotations or reflections R, (…, dims, dims), of the largest tr(Rᵀ M)."""
    if M.shape[-1] != 2:
        left, _, right = np.linalg.svd(M)
        return left @ right
    # on a plane both are known: along (a, b) for rotations, along (c, d) for reflections; the longer wins
    a, b = M[..., 0, 0] + M[..., 1, 1], M[..., 0, 1] - M[..., 1, 0]
    c, d = M[..., 0, 0] - M[..., 1, 1], M[..., 0, 1] + M[..., 1, 0]
    mirrored = np.hypot(c, d) > np.hypot(a, b)
    x, y = np.where(mirrored, c, a), np.where(mirrored, d, b)
    length = np.hypot(x, y)
    x, y = np.where(length > 0, x, 1.0), np.where(length > 0, y, 0.0)
    x, y = x / np.where(length > 0, length, 1.0), y / np.where(length > 0, length, 1.0)
    sign = np.where(mirrored, 1.0, -1.0)
    return np.stack([np.stack([x, y], axis=-1), np.stack([sign * y, -sign * x], axis=-1)], axis=-2)
