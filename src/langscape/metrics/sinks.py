"""Attention sinks: tokens on which a head parks its weight, whatever is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.data import Tokens
from langscape.metrics.heads import checked_weights, flags, visible_keys

LEAST = 0.1
"""The mean weight that a sink takes at least, over the queries that see it."""

TYPICAL = 0.05
"""The weight that at least half of these queries give it."""

_ENDS = frozenset(".!?;\n")

TIMES = 8.0
"""How many times its even share a token takes; four times where many tokens are taken together."""


def find_sinks(attention: Any, *, separators: Any = None) -> np.ndarray:
    """Which tokens are sinks of which head, (layer, head, key), found from the weights alone.

    attention   (layer, head, query, key), rows sum to 1
    separators  tokens that part sentences; they are one sink where together they take what one would

    A sink takes at least a tenth of the weight on average, eight times what even weights would give it, and
    at least half of the queries give it a twentieth. It is seen by at least a third of the queries: what only
    the last few tokens look at is a finding, not a sink.

    >>> A = np.full((6, 6), 0.02); A[:, 2] = 0.9
    >>> find_sinks(A[None, None])[0, 0].tolist()
    [False, False, True, False, False, False]
    """
    A = checked_weights(attention)
    n = A.shape[-1]
    seen = visible_keys(A)
    others = seen & ~np.eye(n, dtype=bool)  # a token's weight on itself says nothing of the others'
    count = others.sum(axis=0)
    even = (others / seen.sum(axis=1, keepdims=True)).sum(axis=0) / np.maximum(count, 1)
    mean = np.einsum("lhqk,qk->lhk", A, others.astype(A.dtype)) / np.maximum(count, 1)
    # with few tokens nothing can take eight times its share
    found = (mean >= LEAST) & (mean >= np.minimum(TIMES * even, 0.5)) & (count >= n / 3)
    for layer, head, key in np.argwhere(found):
        found[layer, head, key] = np.median(A[layer, head, others[:, key], key]) >= TYPICAL
    parts = flags(separators, n, "separators") if separators is not None else np.zeros(n, bool)
    if parts.sum() > 1:
        found |= _together(A, seen, parts)[..., None] & parts
    return found


def parked_weight(attention: Any, sinks: Any, *, asked: Sequence[bool] | None = None) -> np.ndarray:
    """The share of its weight that each head puts on its sinks, (layer, head), over the queries asked.

    >>> A = np.full((6, 6), 0.02); A[:, 2] = 0.9
    >>> round(float(parked_weight(A[None, None], find_sinks(A[None, None]))[0, 0]), 2)
    0.9
    """
    A, sinks = checked_weights(attention), np.asarray(sinks, bool)
    rows = np.ones(A.shape[2], bool) if asked is None else flags(asked, A.shape[2], "asked")
    # a sink is not asked where it looks itself
    weight = np.where(rows, ~sinks, 0.0)
    onto = np.einsum("lhqk,lhk->lhq", A, sinks.astype(A.dtype)).astype(np.float64)
    return (onto * weight).sum(axis=-1) / np.maximum(weight.sum(axis=-1), 1.0)


def separators_of(tokens: Tokens) -> np.ndarray:
    """Which tokens part sentences: special ones but for the first, or what ends a sentence where none are."""
    separators = tokens.special & (np.arange(len(tokens)) > 0)
    if separators.any():
        return separators
    return np.array([text.strip(" ") in _ENDS for text in tokens.texts], bool)


def _together(A: np.ndarray, seen: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """(layer, head): whether these tokens together are a sink."""
    rows = ~parts & (seen & parts).any(axis=1)
    if rows.sum() < A.shape[-1] / 3:
        return np.zeros(A.shape[:2], bool)
    taken = A[..., parts].sum(axis=-1)[:, :, rows]
    share = ((seen & parts).sum(axis=1) / seen.sum(axis=1))[rows].mean()
    mean = taken.mean(axis=-1)
    enough = (mean >= LEAST) & (mean >= min(TIMES / 2 * share, 0.5))
    return enough & (np.median(taken, axis=-1) >= TYPICAL)
