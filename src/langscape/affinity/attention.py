"""Affinities of tokens from one attention head: who looks at whom is who is near whom."""

from __future__ import annotations

from typing import Literal

import numpy as np

from langscape.affinity.joint import joint_from_dense
from langscape.affinity.tokens import run_facts, token_items
from langscape.data import Affinities, Capture, Side
from langscape.errors import DataError, SettingsError


def attention(
    capture: Capture,
    layer: int,
    head: int,
    special: Literal["keep", "drop"] = "keep",
    *,
    side: Side | None = None,
) -> Affinities:
    """The joint P of one head's attention, p_ij = (1 − δ_ij)(A_ij + A_ji)/Σ; causal heads too.

    Layer and head are the model's own numbers, from 0. "drop" leaves out the rows and columns of
    special tokens before normalising. `side` says whose of an encoder–decoder: the encoder's if none
    is named. Items are the tokens, with columns position, special and text. A token that neither looks at
    another nor is looked at has no place; it is left out, and named in the notes.

    >>> from langscape.data import Capture
    >>> A = np.array([[0.5, 0.5, 0.0], [0.2, 0.0, 0.8], [0.0, 0.4, 0.6]])
    >>> axes = {"attention": ("layer", "head", "query", "key")}
    >>> P = attention(Capture(("a", "b", "c"), {"attention": A[None, None]}, axes), 0, 0).P
    >>> [round(float(p), 3) for p in P[1]]
    [0.184, 0.0, 0.316]
    """
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    seen = capture.attention(side)
    of = seen.name
    if seen.queries is not seen.keys:
        raise DataError(f"{of} is between the tokens of two sides; a map needs one side on both axes")
    A = seen.one(layer, head)
    if not np.isfinite(A).all():
        raise DataError(f"{of} of layer {layer}, head {head} holds NaN or infinity; capture it in float32")
    items = token_items(seen.keys)
    kept = np.arange(len(items))
    if special == "drop":
        kept = kept[~items.columns["special"].astype(bool)]
    alone = _alone(A, kept)
    kept, left = kept[~alone], kept[alone]
    if len(kept) < 2:
        raise DataError(
            f"{of} of layer {layer}, head {head} joins {len(kept)} tokens with others; a map needs at "
            "least 2. Give a longer text, or keep special tokens"
        )
    notes = capture.notes
    if len(left):
        named = ", ".join(f"{items.labels[i]!r} at {i}" for i in left[:5]) + (" …" if len(left) > 5 else "")
        notes = (*notes, f"{len(left)} tokens have no attention with any other and were left out: {named}")
    P = joint_from_dense(np.ascontiguousarray(A[np.ix_(kept, kept)], np.float32))
    settings = {"affinity": "attention", "of": of, "layer": layer, "head": head, "special": special}
    return Affinities(P, items.take(kept), {**settings, **run_facts(capture)}, notes=notes)


def _alone(A: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Which of the kept tokens have no weight with any other kept one, either way."""
    joined = A[np.ix_(kept, kept)].astype(np.float32)
    joined = joined + joined.T
    np.fill_diagonal(joined, 0)
    return joined.sum(1) == 0
