"""One run of a model over text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data.noun import Noun, frozen
from langscape.data.shown import Shown, some
from langscape.data.tokens import Tokens
from langscape.errors import DataError, SettingsError, not_there

if TYPE_CHECKING:
    from langscape.data.view import View

Side = Literal["encoder", "decoder", "cross"]
"""Whose arrays in an encoder–decoder; "cross" is the decoder's attention to the encoder's tokens."""

TOKEN_AXES = ("token", "query", "key", "step")
"""The axes that run over tokens."""


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of a capture: weights[layer, head, query, key], and the tokens of both axes.

    name is the array's in the capture; layers and heads are the model's own numbers, from 0. Where a capture
    keeps only the strongest keys of each query, `array` holds their weights and `ranked` which they are, both
    (layer, head, query, rank); all others count as 0. Of models that have learned sinks, `learned_sink`
    (layer, head, query) is the share of each row that goes there; the weights of the row sum to the rest.
    """

    name: str
    array: np.ndarray
    queries: Tokens
    keys: Tokens
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    ranked: np.ndarray | None = None
    learned_sink: np.ndarray | None = None

    @cached_property
    def weights(self) -> np.ndarray:
        """All weights, (layer, head, query, key); of strongest keys alone, made here in full."""
        if self.ranked is None:
            return self.array
        return _spread(self.array, self.ranked, len(self.keys))

    def one(self, layer: int, head: int) -> np.ndarray:
        """The weights of one head, (query, key), as float32."""
        for noun, number, known in (("layer", layer, self.layers), ("head", head, self.heads)):
            if number not in known:
                raise not_there(noun, number, known, "this capture")
        place = self.layers.index(layer), self.heads.index(head)
        if self.ranked is not None:
            return _spread(self.array[place], self.ranked[place], len(self.keys))
        return np.asarray(self.array[place], np.float32)

    def parked_by_design(self, layer: int, head: int) -> np.ndarray:
        """(query,) what each token of a head gives to its learned sink; 0 in models that have none."""
        if self.learned_sink is None:
            return np.zeros(len(self.queries), np.float32)
        place = self.layers.index(layer), self.heads.index(head)
        return np.asarray(self.learned_sink[place], np.float32)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Capture(Noun, Shown):
    """One run of a model over text: its tokens, and named arrays with named axes.

    `capture["attention"]` is the array, `capture.axes["attention"]` names its axes, for
    example `("layer", "head", "query", "key")`. Tokens may be given as plain strings. An encoder–decoder
    has `decoder_tokens` beside its encoder's `tokens`, and arrays of each side: "encoder_attention",
    "decoder_attention", "cross_attention". metadata are facts about the run: the model, its revision, the
    layers and heads of each array, and the query rows where not all are held. What a model
    could not give stands in `notes`.

    >>> axes = {"attention": ("layer", "head", "query", "key")}
    >>> seen = Capture(["a", "lamp"], {"attention": np.full((1, 1, 2, 2), 0.5)}, axes)
    >>> seen.attention().keys, seen.attention().weights.shape
    (Tokens(['a', 'lamp']), (1, 1, 2, 2))
    """

    tokens: Tokens
    arrays: Mapping[str, np.ndarray]
    axes: Mapping[str, tuple[str, ...]]
    metadata: Mapping[str, Any]
    notes: tuple[str, ...]
    decoder_tokens: Tokens | None

    codec_version = 2

    def __init__(
        self,
        tokens: Sequence[str],
        arrays: Mapping[str, np.ndarray],
        axes: Mapping[str, tuple[str, ...]],
        metadata: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        decoder_tokens: Sequence[str] | None = None,
    ) -> None:
        frozen_arrays = {
            "tokens": _of_side(tokens, None if decoder_tokens is None else "encoder"),
            "arrays": MappingProxyType({name: frozen(array) for name, array in arrays.items()}),
            "axes": MappingProxyType({name: tuple(one) for name, one in axes.items()}),
            "metadata": MappingProxyType(dict(metadata or {})),
            "notes": tuple(notes),
            "decoder_tokens": None if decoder_tokens is None else _of_side(decoder_tokens, "decoder"),
        }
        for name, value in frozen_arrays.items():
            object.__setattr__(self, name, value)
        for name, array in self.arrays.items():
            self._check(name, array.shape)

    def __repr__(self) -> str:
        model = f" by {self.metadata['model']}" if self.metadata.get("model") else ""
        lines = [f"Capture of {len(self.tokens):,} tokens{model}: {some(self.tokens, 6)}"]
        for name, array in self.arrays.items():
            lines.append(f"  {name} ({', '.join(map(str, array.shape))}): {', '.join(self.axes[name])}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def view(self, *, layer: int | None = None, head: int | None = None, side: Side | None = None) -> View:
        """The attention of one head as a picture, the first if none is named."""
        from langscape.views import attention

        seen = self.attention(side)
        chosen = seen.layers[0] if layer is None else layer, seen.heads[0] if head is None else head
        return attention(self, *chosen, side=side)

    @classmethod
    def of_tensors(cls, **tensors: Any) -> Capture:
        """The capture of tensors that you hold: `attention=outputs.attentions`, `hidden=`, `q=` and `k=`.

        `langscape.data.tensors.capture_of` says what each may be, and what `tokens`, `batch` and `rows` do.
        """
        from langscape.data.tensors import capture_of

        return capture_of(**tensors)

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.arrays[name]
        except KeyError:
            known = ", ".join(sorted(self.arrays)) or "nothing"
            notes = " ".join(self.notes)
            raise DataError(f"this capture holds {known}, but not {name!r}. {notes}".rstrip()) from None

    def but(self, **changes: Any) -> Capture:
        """A copy with some fields replaced."""
        names = ("tokens", "arrays", "axes", "metadata", "notes", "decoder_tokens")
        return Capture(**{**{name: getattr(self, name) for name in names}, **changes})

    def only(self, *names: str) -> Capture:
        """The capture with no other arrays than these."""
        arrays = {name: self[name] for name in names}
        return self.but(arrays=arrays, axes={name: self.axes[name] for name in names})

    def attention(self, side: Side | None = None) -> Attention:
        """The attention of a side with the tokens of its queries and keys; the encoder's if none is named."""
        name = self.name_of("attention", side)
        ranked = self.arrays.get(f"{name}_keys") if self.axes[name][-1:] == ("rank",) else None
        if self.axes[name] != ("layer", "head", "query", "key" if ranked is None else "rank"):
            raise DataError(
                f"array {name!r} has axes {self.axes[name]}; attention has layer, head, query and key"
            )
        return Attention(
            name,
            self[name],
            self.tokens_along(name, "query"),
            self.tokens_along(name, "key"),
            self.layers_of(name),
            self.heads_of(name),
            ranked,
            self.arrays.get(f"{name}_sink"),
        )

    def name_of(self, what: str, side: Side | None = None) -> str:
        """The name of a side's array, such as "hidden" or "q".

        Where no side is named, that of the only side, else of the encoder, else of what there is.
        """
        if side is None:
            names = [what, *(f"{one}_{what}" for one in ("encoder", "decoder", "cross"))]
        elif what in self.arrays:
            raise SettingsError(f"side {side} is for encoder–decoders; this model has one side only")
        else:
            names = [f"{side}_{what}"]
        found = next((name for name in names if name in self.arrays), names[0])
        self[found]  # says what there is instead
        return found

    def tokens_of(self, side: Literal["encoder", "decoder"] | None = None) -> Tokens:
        """The tokens of a side: the encoder's, or all there are, if none is named."""
        if side is not None and self.decoder_tokens is None:
            raise SettingsError(f"side {side} is for encoder–decoders; this model has one side only")
        return self.decoder_tokens if side == "decoder" else self.tokens  # type: ignore[return-value]

    def tokens_along(self, name: str, axis: str) -> Tokens:
        """The tokens that an axis of an array runs over."""
        decoder = name.startswith("decoder_") or (name.startswith("cross_") and axis == "query")
        if decoder and self.decoder_tokens is None:
            raise DataError(f"array {name!r} is of a decoder, whose tokens are missing; give decoder_tokens")
        tokens = self.tokens_of("decoder") if decoder else self.tokens
        rows = self.metadata.get("rows", {}).get(name) if axis == "query" else None
        return tokens if rows is None else tokens.take(rows)

    def layers_of(self, name: str) -> tuple[int, ...]:
        """The model's own numbers of the layers that an array holds."""
        return self._numbers("layers", name, 0)

    def heads_of(self, name: str) -> tuple[int, ...]:
        """The model's own numbers of the heads that an array holds."""
        return self._numbers("heads", name, 1)

    def _numbers(self, noun: str, name: str, axis: int) -> tuple[int, ...]:
        count = self[name].shape[axis]
        numbers = self.metadata.get(noun, {}).get(name, range(count))
        if len(numbers) != count:
            raise DataError(f"array {name!r} holds {count} {noun}, but {len(numbers)} are numbered")
        return tuple(int(number) for number in numbers)

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        axes = self.axes.get(name, ())
        if len(axes) != len(shape):
            raise DataError(f"array {name!r} has {len(shape)} axes but {self.axes.get(name)} are named")
        for axis, length in zip(axes, shape, strict=True):
            if axis in TOKEN_AXES:
                tokens = self.tokens_along(name, axis)
                if length != len(tokens):
                    whose = f" of the {tokens.side}" if tokens.side else ""
                    raise DataError(
                        f"array {name!r} has shape {shape}: {length} along {axis!r}, but there are "
                        f"{len(tokens)} tokens{whose}; give one for each"
                    )


def _spread(weights: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """Weights by key, 0 where none is kept; float32, (…, query, key)."""
    full = np.zeros((*weights.shape[:-1], count), np.float32)
    np.put_along_axis(full, keys.astype(np.intp), weights.astype(np.float32), axis=-1)
    return full


def _of_side(tokens: Sequence[str], side: Literal["encoder", "decoder"] | None) -> Tokens:
    if not isinstance(tokens, Tokens):
        return Tokens(tokens, side=side)
    return tokens if side is None or tokens.side == side else tokens.but(side=side)
