"""Would another run have put it there? How far points wander between maps laid over each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.point_scores import Stability

_ROUNDS = 100
_TOLERANCE = 1e-10


def stability(maps: Iterable[Any]) -> Stability:
    """How far each point wanders between restarts, after the maps were laid over each other.

    maps are `Map`s or arrays (n, dims) of the same items, at least two. Each may be moved,
    turned, mirrored and scaled; all are fitted to their common mean (generalised Procrustes),
    so their order does not matter beyond rounding.
    """
    arrays = [np.asarray(getattr(one, "xy", one), dtype=np.float64) for one in maps]
    if len(arrays) < 2:
        raise DataError(f"stability compares maps, at least two; {len(arrays)} given: ask for more restarts")
    shapes = sorted({one.shape for one in arrays})
    if len(shapes) > 1 or len(shapes[0]) != 2 or 0 in shapes[0]:
        raise DataError(f"the maps have shapes {shapes}; all must be (points, dims) of the same items")
    if not all(np.isfinite(one).all() for one in arrays):
        raise DataError("a map holds NaN or infinite coordinates; leave it out")
    units = np.stack([_unit(one) for one in arrays])
    aligned = units
    consensus = units[0]
    for _ in range(_ROUNDS):
        aligned = np.stack([one @ _turn(consensus, one) for one in units])
        mean = _unit(aligned.mean(axis=0))
        moved = float(np.abs(mean - consensus).max())
        consensus = mean
        if moved < _TOLERANCE:
            break
    from_mean = aligned - aligned.mean(axis=0)
    spread = np.sqrt(np.einsum("mnd,mnd->n", from_mean, from_mean) / len(aligned))
    return Stability(spread, aligned)


def stability_by_chance(maps: Iterable[Any], seed: int = 0) -> float:
    """The mean spread of the same maps with the points of each dealt anew: what it is when nothing holds.

    >>> xy = np.random.default_rng(0).normal(size=(50, 2))
    >>> 0.6 < stability_by_chance([xy, xy]) < 0.72
    True
    """
    rng = np.random.default_rng(seed)
    return stability([rng.permutation(np.asarray(getattr(one, "xy", one))) for one in maps]).mean


def align(reference: Any, other: Any) -> np.ndarray:
    """`other` moved, turned, mirrored and scaled to lie as near to `reference` as it can; (n, dims).

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
    scale = float(np.einsum("nd,nd->", still, turned)) / size if size > 0 else 0.0
    return scale * turned + centre


def _unit(xy: np.ndarray) -> np.ndarray:
    """Centred, root mean square radius 1; points that all coincide stay at 0."""
    xy = xy - xy.mean(axis=0)
    radius = float(np.sqrt(np.einsum("nd,nd->", xy, xy) / len(xy)))
    return xy / radius if radius > 0 else xy


def _turn(still: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """The rotation or reflection R that brings moving @ R nearest to still."""
    # einsum, not @: a sum over all points whose order does not depend on the number of threads.
    left, _, right = np.linalg.svd(np.einsum("nd,ne->de", moving, still))
    return left @ right
