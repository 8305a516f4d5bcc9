"""As much weight of a head taken at edges of a role and at others, to tell what the role carries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class MatchedEdges(NamedTuple):
    """What is taken from a head's weights, (query, key) each.

    role    in every row at the heaviest edge of its role
    other   in every row as much at the heaviest edge that is not of the role
    mixed   (draw, query, key), in every row as much at one of these two edges, by a coin
    share   of the role's weight how much `role` takes
    rest    weight of other edges ÷ weight of the role, over the rows that have the role
    """

    role: np.ndarray
    other: np.ndarray
    mixed: np.ndarray
    share: float
    rest: float


def matched_edges(
    weights: Any, role: Any, *, sinks: Any = None, draws: int = 16, rng: np.random.Generator
) -> MatchedEdges:
    """Weight taken at edges of a role, and in every row exactly as much at one other edge of the same row.

    weights  (query, key) of one head; a key that a query does not see has none
    role     which edges make the role
    sinks    keys on which the head parks its weight: not among the others, since what is parked there
             carries little, and any edge would seem to carry more

    One edge stands against one edge: half of a row taken at one key changes more than a tenth taken at
    each of five, whatever the role. Where both edges carry alike, `role` is only one of the mixtures: that
    it changes more than all draws has a chance of 1 in draws + 1.

    >>> weights = np.array([[0.6, 0.2, 0.1, 0.1]])
    >>> found = matched_edges(weights, weights > 0.5, draws=3, rng=np.random.default_rng(0))
    >>> found.role.tolist(), found.other.tolist(), round(found.share, 2), round(found.rest, 2)
    ([[0.2, 0.0, 0.0, 0.0]], [[0.0, 0.2, 0.0, 0.0]], 0.33, 0.67)
    """
    W, role = np.asarray(weights, np.float64), np.asarray(role, bool)
    off = np.zeros(W.shape[1], bool) if sinks is None else np.asarray(sinks, bool)
    own, free = np.where(role, W, 0.0), np.where(role | off, 0.0, W)
    taken = np.minimum(own.max(axis=1), free.max(axis=1))
    places = np.arange(W.shape[1])
    at_role, at_other = (
        np.where(places == one.argmax(axis=1)[:, None], taken[:, None], 0.0) for one in (own, free)
    )
    coins = rng.random((draws, len(W), 1)) < 0.5
    held, rest = own.sum(), free[role.any(axis=1)].sum()
    return MatchedEdges(
        at_role, at_other, np.where(coins, at_role, at_other),
        float(taken.sum() / held) if held else 0.0, float(rest / held) if held else 0.0,
    )  # fmt: skip
