"""Places for new points whose neighbours on a finished map are known, by any metric; and refining them."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.engine.weighting import Insertion

ENDS = 1e-12
"""Squared distances that differ by less than this share count as one."""


def place_among(xy: np.ndarray, index: np.ndarray, squared: np.ndarray, settings: Insertion) -> np.ndarray:
    """Places (m, dims) of new points by their nearest on a map: rows and squared distances, nearest first.

    A neighbour weighs θ^((d² − d₁²)/(d_k² − d₁²)): the nearest 1, the last of `neighbours` θ, which is what
    Claassen's power weights tend to where similarities differ little. "optimise" refines the medians.

    >>> xy = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [9.0, 9.0]])
    >>> found = place_among(xy, np.array([[0, 1, 2, 3]]), np.ones((1, 4)), Insertion(neighbours=4))
    >>> found.round(3).tolist()
    [[1.0, 1.0]]
    """
    from langscape.kernels.median import medians

    Y = np.ascontiguousarray(xy, np.float64)
    squared = np.asarray(squared, np.float64)
    count = min(int(settings.neighbours), index.shape[1])  # type: ignore[arg-type]
    near = squared[:, :count] - squared[:, :1]
    span = near[:, -1:]
    weights = settings.theta ** (near / np.where(span > ENDS * squared[:, -1:], span, np.inf))
    out = np.empty((len(index), Y.shape[1]))
    steps = np.empty(len(index), np.int64)
    medians(Y, np.ascontiguousarray(index[:, :count], np.int64), np.ascontiguousarray(weights), out, steps)
    refiner = refiner_of(Y, settings)
    if refiner is not None:
        most = refined_by(len(Y), settings)
        refine_by(refiner, index[:, :most], squared[:, :most], out, settings)
    return out


def refiner_of(Y: np.ndarray, settings: Insertion) -> Any:
    """What refines points on the map Y, made once; None where medians are asked for."""
    if settings.method != "optimise":
        return None
    from langscape.kernels.refine import Refiner

    return Refiner(Y)


def refined_by(n: int, settings: Insertion) -> int:
    """How many neighbours on a map of n points have a weight where a place is refined."""
    return int(min(n, np.ceil(3 * settings.perplexity)))


def refine_by(
    refiner: Any, index: np.ndarray, squared: np.ndarray, xy: np.ndarray, settings: Insertion
) -> None:
    """Move places xy, (m, dims) float64, to a lower KL of their own; neighbours weigh by perplexity."""
    from langscape.kernels.perplexity import conditional_rows

    m, k = index.shape
    p = np.empty((m, k))
    targets = np.full(m, np.log(min(settings.perplexity, max(1.0, k / 3))))
    conditional_rows(np.ascontiguousarray(squared, np.float64), 0, targets, False, p, *np.empty((2, m)))
    refiner(np.ascontiguousarray(index, np.int64), p, xy, settings.rounds)
