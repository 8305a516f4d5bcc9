"""Affinities of tokens from one attention head: who looks at whom is who is near whom."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from langscape.affinity.joint import joint_from_dense
from langscape.data import Affinities, Capture, Items
from langscape.errors import DataError, SettingsError


def attention(
    capture: Capture,
    layer: int,
    head: int,
    special: Literal["keep", "drop"] = "keep",
    *,
    of: str = "attention",
) -> Affinities:
    """The joint P of one head's attention, p_ij = (1 − δ_ij)(A_ij + A_ji)/Σ; causal heads too.

    Layer and head are the model's own numbers, from 0. "drop" leaves out the rows and columns of
    special tokens before normalising. `of` names the array: an encoder–decoder has several.
    Items are the tokens, with columns position, special and text. A token that neither looks at
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
    weights = capture[of] if of in capture.arrays else _unnamed(capture, of)
    if capture.axes[of] != ("layer", "head", "query", "key") or weights.shape[2] != weights.shape[3]:
        raise DataError(
            f"{of} has axes {capture.axes[of]} and shape {weights.shape}; a map needs one side on both"
        )
    A = weights[_place(capture, of, "layer", layer), _place(capture, of, "head", head)]
    if not np.isfinite(A).all():
        raise DataError(f"{of} of layer {layer}, head {head} holds NaN or infinity; capture it in float32")
    items = _items(capture, of)
    kept = np.arange(len(items))
    if special == "drop":
        kept = kept[~items.columns["special"].astype(bool)]
    alone = _alone(A, kept)
    kept, left = kept[~alone], kept[alone]
    if len(kept) < 2:
        raise DataError(
            f"{of} of layer {layer}, head {head} joins {len(kept)} tokens with others; a map needs at least 2"
        )
    notes = capture.notes
    if len(left):
        named = ", ".join(f"{items.labels[i]!r} at {i}" for i in left[:5]) + (" …" if len(left) > 5 else "")
        notes = (*notes, f"{len(left)} tokens have no attention with any other and were left out: {named}")
    P = joint_from_dense(np.ascontiguousarray(A[np.ix_(kept, kept)], np.float32))
    made: dict[str, Any] = {
        "affinity": "attention",
        "of": of,
        "layer": layer,
        "head": head,
        "special": special,
    }
    made |= {
        name: capture.made[name] for name in ("model", "revision", "text_digest") if name in capture.made
    }
    return Affinities(P, items.take(kept), made, notes=notes)


def _unnamed(capture: Capture, of: str) -> np.ndarray:
    held = [name for name in capture.arrays if name in ("encoder_attention", "decoder_attention")]
    if held and of == "attention":
        raise SettingsError(f"this capture holds {' and '.join(held)}; say which with of={held[0]!r}")
    return capture[of]


def _place(capture: Capture, of: str, noun: Literal["layer", "head"], number: int) -> int:
    """Where a layer or head stands in the array, which may hold a choice of them."""
    count = capture[of].shape[0 if noun == "layer" else 1]
    held = list(capture.made.get(f"{noun}s", {}).get(of, range(count)))
    if number not in held:
        whole = held == list(range(len(held))) and len(held) > 1
        listed = f"0 to {len(held) - 1}" if whole else ", ".join(str(one) for one in held)
        raise SettingsError(f"{noun} {number} is not in this capture; its {noun}s are {listed}")
    return held.index(number)


def _items(capture: Capture, of: str) -> Items:
    about = capture.made
    tokens = list(capture.tokens)
    if of.startswith("decoder_"):
        about = capture.made["target"]
        tokens = list(about["tokens"])
    special = np.asarray(about.get("special", [False] * len(tokens)), bool)
    texts = [
        text if text.strip() else token
        for text, token in zip(about.get("texts", tokens), tokens, strict=True)
    ]
    return Items(
        tokens, {"position": np.arange(len(tokens)), "special": special, "text": np.asarray(texts, object)}
    )


def _alone(A: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Which of the kept tokens have no weight with any other kept one, either way."""
    joined = A[np.ix_(kept, kept)].astype(np.float32)
    joined = joined + joined.T
    np.fill_diagonal(joined, 0)
    return joined.sum(1) == 0
