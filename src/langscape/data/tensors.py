"""Tensors that somebody already holds → Capture: attention, hidden states, queries and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from langscape.data.arrays import as_floats, is_array
from langscape.data.capture import Capture
from langscape.errors import DataError, SettingsError

Rows = Literal["refuse", "renormalise", "keep"]
_UNPADDED = "leave padding out, as [one[..., :n, :n] for one in attentions] does for a text of n tokens"

_AXES = {
    "attention": ("layer", "head", "query", "key"),
    "q": ("layer", "head", "query", "dim"),
    "k": ("layer", "head", "key", "dim"),
    "v": ("layer", "head", "key", "dim"),
    "hidden": ("layer", "token", "dim"),
}
_LARGEST_DEVIATION = 0.02
"""How far a row of half-precision weights may be from 1: rows of 4,000 bfloat16 weights come to 0.99."""


def capture_of(
    *,
    attention: Any = None,
    hidden: Any = None,
    q: Any = None,
    k: Any = None,
    v: Any = None,
    tokens: Sequence[str] | None = None,
    batch: int | None = None,
    rows: Rows = "refuse",
    causal: bool = False,
    model: str = "",
) -> Capture:
    """The Capture of tensors that you hold; each may be a tuple with an entry per layer, or one array.

    attention     (layer, head, query, key), with an axis of texts after the layer or without; of one layer
                  (head, query, key), of one head (query, key)
    hidden        (layer, token, dim), with an axis of texts after the layer or without; or (token, dim)
    q, k, v       as attention, with dim in the place of keys; of q and k alone, attention is computed as
                  softmax(q·kᵀ/√dim), with `causal` over the keys up to each query
    tokens        one label each; numbered where left out
    batch         which text, where the tensors hold several
    rows          what happens to rows of attention that do not sum to 1, as under a mask, dropout or a
                  choice of keys: "refuse", "renormalise" or "keep"

    >>> seen = capture_of(attention=np.full((2, 2), 0.5), tokens=["a", "lamp"])
    >>> seen.tokens, seen["attention"].shape
    (Tokens(['a', 'lamp']), (1, 1, 2, 2))
    """
    if rows not in ("refuse", "renormalise", "keep"):
        raise SettingsError(f'rows {rows!r} is not known; use "refuse", "renormalise" or "keep"')
    given = {"attention": attention, "hidden": hidden, "q": q, "k": k, "v": v}
    arrays = {name: _layers(name, value, batch, tokens) for name, value in given.items() if value is not None}
    if not arrays:
        raise SettingsError("there are no tensors; give attention=, hidden=, or q= and k=")
    if "attention" not in arrays and {"q", "k"} <= set(arrays):
        arrays["attention"] = _softmax(arrays["q"], arrays["k"], causal)
    notes: list[str] = []
    if "attention" in arrays:
        arrays["attention"], notes = _checked_rows(arrays["attention"], rows)
    count = _tokens_of(arrays)
    if tokens is None:
        tokens = [str(at) for at in range(count)]
        notes.append("no tokens were given, so they are numbered; give tokens=")
    tokens = _labels(tokens)
    if len(tokens) != count:
        raise DataError(
            f"there are {len(tokens)} tokens, but the tensors hold {count}; give one for each, special ones "
            "included, for example tokenizer.convert_ids_to_tokens(ids)"
        )
    metadata = {"model": model} if model else {}
    return Capture(tokens, arrays, {name: _AXES[name] for name in arrays}, metadata, notes)


def _labels(tokens: Any) -> list[str]:
    """The tokens of one text, a label each."""
    if isinstance(tokens, str):
        raise SettingsError(
            "tokens is one text; give a list with a label for each token, for example "
            "tokenizer.convert_ids_to_tokens(ids)"
        )
    listed = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    if any(isinstance(one, list | tuple) or np.ndim(one) for one in listed):
        raise SettingsError(
            "tokens holds a list for each text; give those of one text, for example "
            "tokenizer.convert_ids_to_tokens(ids[0])"
        )
    return [str(one) for one in listed]


_NAMED = re.compile(r"blocks\.(\d+)\.(?:attn\.hook_(pattern|q|k|v)|hook_(resid_post))$")


def has_activations(value: Any) -> bool:
    """Whether it is a mapping with the names of TransformerLens, such as `blocks.0.attn.hook_pattern`."""
    if not hasattr(value, "keys") or isinstance(value, type):
        return False
    return any(isinstance(key, str) and _NAMED.match(key) for key in value.keys())  # noqa: SIM118  no dict


def capture_of_activations(
    activations: Any,
    *,
    tokens: Sequence[str] | None = None,
    batch: int | None = None,
    rows: Rows = "refuse",
) -> Capture:
    """The Capture of a TransformerLens `ActivationCache`, or of any mapping with its names.

    Its patterns, queries, keys, values and residual streams are taken; layers must be the same for all.
    """
    found: dict[str, dict[int, Any]] = {}
    for key in activations.keys():  # noqa: SIM118  a cache is no dict
        match = _NAMED.match(key) if isinstance(key, str) else None
        if match is not None:
            what = {"pattern": "attention", None: "hidden"}.get(match[2], match[2])
            found.setdefault(str(what), {})[int(match[1])] = activations[key]
    if not found:
        raise DataError(
            "the mapping holds none of blocks.{layer}.attn.hook_pattern, hook_q, hook_k, hook_v or "
            "blocks.{layer}.hook_resid_post; give attention= and the like by name"
        )
    arrays: dict[str, Any] = {}
    for what, layers in found.items():
        values = [_heads_first(layers[at]) if what in "qkv" else layers[at] for at in sorted(layers)]
        arrays[what] = tuple(_with_text(what, one) for one in values)
    seen = capture_of(**arrays, tokens=tokens, batch=batch, rows=rows)
    numbers = {what: sorted(layers) for what, layers in found.items()}
    numbers.setdefault("attention", numbers.get("q", []))
    return seen.but(metadata={**seen.metadata, "layers": {n: numbers[n] for n in seen.arrays}})


def _heads_first(value: Any) -> np.ndarray:
    """(…, token, head, dim), as TransformerLens has them, → (…, head, token, dim)."""
    return np.swapaxes(as_floats(value), -3, -2)


def _with_text(what: str, value: Any) -> np.ndarray:
    """With an axis of texts, which a cache may have lost by `remove_batch_dim`."""
    array = as_floats(value)
    return array[None] if array.ndim == len(_AXES[what]) - 1 else array


def _layers(name: str, value: Any, batch: int | None, tokens: Any) -> np.ndarray:
    """The array with all axes of its name; a tuple holds (text, …) per layer."""
    axes = len(_AXES[name])
    if isinstance(value, tuple | list) and value and is_array(value[0]):
        parts = [_one_text(name, as_floats(one, name), axes - 1, batch) for one in value]
        if len({one.shape for one in parts}) > 1:
            shapes = ", ".join(str(one.shape) for one in parts[:3])
            raise DataError(f"the layers of {name} have shapes {shapes} …; give layers of one shape")
        array = np.stack(parts)
    else:
        array = as_floats(value, name)
        if array.ndim == axes + 1:
            array = np.stack([_one_text(name, one, axes - 1, batch) for one in array])
    least = axes - 2 if name != "hidden" else axes - 1
    if not least <= array.ndim <= axes:
        raise DataError(
            f"{name} has shape {array.shape}; expected ({', '.join(_AXES[name])}), or fewer axes for one "
            "layer or one head"
        )
    array = array.reshape((1,) * (axes - array.ndim) + array.shape)
    if not array.size:
        raise DataError(f"{name} has shape {array.shape} and holds nothing; give at least one token")
    if not np.isfinite(array).all():
        layer = int(np.argwhere(~np.isfinite(array))[0][0])
        masked = f"a query whose keys are all masked gives such rows: {_UNPADDED}"
        way = masked if name == "attention" else "run the model in float32, since half precision overflows"
        raise DataError(f"{name} holds NaN or infinity, first in layer {layer}; {way}")
    return array


def _one_text(name: str, array: np.ndarray, axes: int, batch: int | None) -> np.ndarray:
    if array.ndim != axes + 1:
        if array.ndim == axes:
            return array
        expected = ", ".join(_AXES[name][1:])
        raise DataError(f"a layer of {name} has shape {array.shape}; expected (text, {expected})")
    if len(array) > 1 and batch is None:
        raise DataError(f"{name} holds {len(array)} texts; say which with batch=0 to batch={len(array) - 1}")
    if not 0 <= (batch or 0) < len(array):
        raise SettingsError(f"batch {batch} is not there; {name} holds texts 0 to {len(array) - 1}")
    return array[batch or 0]


def _softmax(q: np.ndarray, k: np.ndarray, causal: bool) -> np.ndarray:
    if len(q) != len(k) or q.shape[1] % k.shape[1] or q.shape[3] != k.shape[3]:
        raise DataError(f"q has shape {q.shape}, k {k.shape}; layers, heads and dim must be equal")
    k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)  # keys that groups of heads share
    scores = np.matmul(q, np.swapaxes(k, -1, -2), dtype=np.float32) / np.float32(np.sqrt(q.shape[3]))
    if causal:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _checked_rows(weights: np.ndarray, rows: Rows) -> tuple[np.ndarray, list[str]]:
    """The weights whose rows sum to 1, and what was done for it."""
    if weights.shape[-1] != weights.shape[-2]:
        raise DataError(
            f"attention is between {weights.shape[-2]} queries and {weights.shape[-1]} keys; give the "
            "attention of one text to itself, without a cache of earlier keys"
        )
    if (weights < 0).any():
        raise DataError(
            f"attention holds negative numbers, down to {weights.min():g}; give the weights after softmax, "
            "not the scores"
        )
    sums = weights.sum(axis=-1, dtype=np.float64)
    off = np.abs(sums - 1) > _LARGEST_DEVIATION
    if not off.any() or rows == "keep":
        return weights, [f"{off.sum():,} rows of attention do not sum to 1"] if off.any() else []
    layer, head, query = (int(one) for one in np.argwhere(off)[0])
    message = f"{off.sum():,} of {off.size:,} rows of attention do not sum to 1"
    if rows == "refuse":
        raise DataError(
            f"{message}, first query {query} of layer {layer}, head {head}: {sums[layer, head, query]:.3g}; "
            'say rows="renormalise" to divide each by its sum, or rows="keep"'
        )
    if (sums == 0).any():
        raise DataError(f"{int((sums == 0).sum()):,} rows of attention are all zeros; {_UNPADDED}")
    return weights / sums[..., None].astype(np.float32), [f"{message}, and were divided by their sums"]


def _tokens_of(arrays: Mapping[str, np.ndarray]) -> int:
    """How many tokens all arrays hold."""
    counts = {name: array.shape[-2] for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise DataError(f"the tensors hold different numbers of tokens: {listed}; give those of one text")
    return next(iter(counts.values()))
