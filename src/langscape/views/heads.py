"""Reading a capture's attention: which layers and heads it holds, whose tokens stand on which side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langscape.data import Capture
from langscape.errors import DataError, not_there
from langscape.models.display_names import model_title

AXES = ("layer", "head", "query", "key")


@dataclass(frozen=True, eq=False)
class Heads:
    """One attention array with its numbers: weights[layer, head, query, key], and the tokens of both sides.

    `layers` and `heads` are the model's own numbers, from 0; a capture may hold only some. special
    is 1 where a token is [CLS], </s> or the like.
    """

    weights: np.ndarray
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    special_queries: np.ndarray
    special_keys: np.ndarray
    model: str
    notes: tuple[str, ...]

    def one(self, layer: int, head: int) -> np.ndarray:
        """The weights of one head, shape (queries, keys), float32."""
        for name, number, held in (("layer", layer, self.layers), ("head", head, self.heads)):
            if number not in held:
                raise not_there(name, number, held, "this capture")
        return np.asarray(self.weights[self.layers.index(layer), self.heads.index(head)], np.float32)


def heads_of(capture: Capture, array: str = "attention") -> Heads:
    """The capture's attention, checked: named axes, one token per row and column, weights from 0 to 1."""
    weights = capture[array]
    if tuple(capture.axes[array]) != AXES:
        raise DataError(f"array {array!r} has axes {capture.axes[array]}; attention has {AXES}")
    tokens = (tuple(capture.tokens), capture.made.get("special"))
    target = capture.made.get("target")
    aside = tokens if target is None else (tuple(target["tokens"]), target.get("special"))
    queries = aside if array.startswith(("decoder", "cross")) else tokens
    keys = aside if array.startswith("decoder") else tokens
    if weights.shape[2:] != (len(queries[0]), len(keys[0])):
        raise DataError(
            f"array {array!r} has shape {weights.shape}, but there are {len(queries[0])} query and "
            f"{len(keys[0])} key tokens"
        )
    if not weights.size:
        raise DataError(
            f"array {array!r} is empty (shape {weights.shape}); capture a text of at least one token"
        )
    low, high = float(weights.min()), float(weights.max())
    # Half precision rounds a weight of 1 up by a thousandth.
    if not (low >= 0 and high <= 1.01):
        raise DataError(f"array {array!r} holds weights from {low:g} to {high:g}; attention is from 0 to 1")
    return Heads(
        weights,
        _numbers(capture, "layers", array, weights.shape[0]),
        _numbers(capture, "heads", array, weights.shape[1]),
        queries[0],
        keys[0],
        _flags(queries),
        _flags(keys),
        model_title(str(capture.made.get("model", ""))),
        tuple(str(note) for note in capture.notes),
    )


def _numbers(capture: Capture, what: str, array: str, count: int) -> tuple[int, ...]:
    held = capture.made.get(what, {}).get(array, range(count))
    if len(held) != count:
        raise DataError(f"array {array!r} holds {count} {what}, but {len(held)} are numbered")
    return tuple(int(number) for number in held)


def _flags(side: tuple[tuple[str, ...], Sequence[bool] | None]) -> np.ndarray:
    tokens, special = side
    return np.zeros(len(tokens), np.uint8) if special is None else np.asarray(special, np.uint8)
