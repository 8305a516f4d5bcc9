"""Affinities of tokens from one attention head: who looks at whom is who is near whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from langscape.affinity.joint import joint_from_dense
from langscape.affinity.tokens import run_facts, token_items
from langscape.data import Affinities, Capture, Items, Side
from langscape.errors import DataError, SettingsError
from langscape.metrics.sinks import find_sinks, separators_of

Special = Literal["keep", "drop"]
Sinks = Literal["keep", "drop"]

_SAID = 0.005
"""The share of the weight from which a learned sink is named."""


@dataclass(frozen=True, eq=False)
class HeadTokens:
    """The weights of one head among the tokens that its map shows.

    rows     (n,) their places in the text
    weights  (n, n) weights[query, key], as the model has them
    shown    (n,) the share of each token's weight that is shown
    sinks    (place in the text, share of the head's weight) of every sink left off, the heaviest first
    learned  the share of the head's weight that goes to its learned sink, which is no token
    head     its layer and number
    special, left_off   whether special tokens, and sinks, are kept or dropped
    """

    items: Items
    rows: np.ndarray
    weights: np.ndarray
    shown: np.ndarray
    sinks: tuple[tuple[int, float], ...]
    learned: float
    head: tuple[int, int]
    special: Special
    left_off: Sinks

    @property
    def parked(self) -> float:
        """The share of the head's weight that lies on sinks left off the map, the learned one among them."""
        return self.learned + sum(share for _, share in self.sinks)


def head_tokens(
    capture: Capture,
    layer: int,
    head: int,
    special: Special = "keep",
    sinks: Sinks = "keep",
    *,
    side: Side | None = None,
) -> HeadTokens:
    """The tokens and weights that a map of this head shows; see `attention` for what is left out."""
    for name, value in (("special", special), ("sinks", sinks)):
        if value not in ("keep", "drop"):
            raise SettingsError(f'{name} {value!r} is not known; use "keep" or "drop"')
    seen = capture.attention(side)
    if "rows" in capture.metadata:
        raise DataError(
            f"this capture holds {len(seen.queries):,} of {len(seen.keys):,} rows; a map needs all of them"
        )
    if seen.queries is not seen.keys:
        raise DataError(f"{seen.name} is between the tokens of two sides; a map needs one side on both axes")
    A = seen.one(layer, head)
    if not np.isfinite(A).all():
        raise DataError(
            f"{seen.name} of layer {layer}, head {head} holds NaN or infinity; capture it in float32"
        )
    tokens = seen.keys
    off = tokens.special.copy() if special == "drop" else np.zeros(len(tokens), bool)
    found = np.zeros(len(tokens), bool)
    if sinks == "drop" and len(tokens) > 2:
        found = find_sinks(A[None, None], separators=separators_of(tokens))[0, 0] & ~off
    rows = np.flatnonzero(~(off | found))
    weights = A[np.ix_(rows, rows)]
    shown = weights.sum(axis=1)
    parked = [(int(at), float(A[rows, at].mean())) for at in np.flatnonzero(found)] if len(rows) else []
    ranked = tuple(sorted(parked, key=lambda one: -one[1]))
    learned = float(seen.parked_by_design(layer, head)[rows].mean()) if len(rows) else 0.0
    return HeadTokens(
        token_items(tokens).take(rows), rows, weights, shown, ranked, learned, (layer, head), special, sinks
    )


def attention(
    capture: Capture,
    layer: int,
    head: int,
    special: Special = "keep",
    sinks: Sinks = "keep",
    *,
    side: Side | None = None,
) -> Affinities:
    """The joint P of one head's attention, p_ij = (1 − δ_ij)(A_ij + A_ji)/Σ; causal heads too.

    Layer and head are the model's own numbers, from 0. special="drop" leaves out the rows and columns of
    special tokens before normalising; sinks="drop" also the tokens on which this head parks its weight
    (`metrics.find_sinks`). What is left is normalised together: a token that parks nearly all of its weight
    pulls little, as it attends to little. A learned sink is no token and on no map; the notes say what goes
    there. `side` says whose of an encoder–decoder: the encoder's if none is named. Items are the tokens, with
    columns position, special and text. A token that neither looks at another nor is looked at has no place;
    it is left out, and named in the notes.

    >>> from langscape.data import Capture
    >>> A = np.array([[0.5, 0.5, 0.0], [0.2, 0.0, 0.8], [0.0, 0.4, 0.6]])
    >>> axes = {"attention": ("layer", "head", "query", "key")}
    >>> P = attention(Capture(("a", "b", "c"), {"attention": A[None, None]}, axes), 0, 0).P
    >>> [round(float(p), 3) for p in P[1]]
    [0.184, 0.0, 0.316]
    """
    return attention_among(capture, head_tokens(capture, layer, head, special, sinks, side=side), side=side)


def attention_among(capture: Capture, seen: HeadTokens, *, side: Side | None = None) -> Affinities:
    """The joint P of a head whose tokens are chosen already; see `attention`."""
    layer, head = seen.head
    items = seen.items
    alone = _alone(seen.weights)
    if (~alone).sum() < 2:
        raise DataError(
            f"layer {layer}, head {head} joins {(~alone).sum()} tokens with others; a map needs at least 2. "
            "Give a longer text, or keep special tokens and sinks"
        )
    notes = capture.notes
    names = capture.attention(side).keys.readable if seen.sinks or alone.any() else ()
    if seen.sinks or seen.learned >= _SAID:
        notes = (*notes, _parked(names, seen))
    if alone.any():
        listed = [f"“{names[at]}” at {at}" for at in seen.rows[alone]]
        named = ", ".join(listed[:5]) + (" …" if len(listed) > 5 else "")
        notes = (*notes, f"{len(listed)} tokens have no attention with any other and were left out: {named}")
    kept = np.flatnonzero(~alone)
    P = joint_from_dense(np.ascontiguousarray(seen.weights[np.ix_(kept, kept)], np.float32))
    settings = {"affinity": "attention", "of": capture.attention(side).name, "layer": layer, "head": head,
                "special": seen.special, "sinks": seen.left_off, "parked": seen.parked}  # fmt: skip
    return Affinities(P, items.take(kept), {**settings, **run_facts(capture)}, notes=notes)


def _parked(names: Sequence[str], seen: HeadTokens) -> str:
    """How much weight is left off the map, and where it lies."""
    places = [f"“{names[at]}” at {at}" for at, _ in seen.sinks[:3]]
    if seen.learned >= _SAID:
        places.insert(0, f"the head’s learned sink, which is no token ({100 * seen.learned:.0f} %)")
    named = ", ".join(places) if len(places) != 2 else " and ".join(places)
    more = f" and {len(seen.sinks) - 3} more" if len(seen.sinks) > 3 else ""
    left = 100 * (1 - seen.parked)
    parked = f"{100 * seen.parked:.0f} % of the weight is parked on {named}{more}"
    return f"{parked}; the map shows the other {left:.0f} %"


def _alone(weights: np.ndarray) -> np.ndarray:
    """Which tokens have no weight with any other, either way."""
    joined = weights.astype(np.float32)
    joined = joined + joined.T
    np.fill_diagonal(joined, 0)
    return joined.sum(1) == 0
