"""What may be given to `capture` (texts, token ids, images) as rows that are ready to run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from langscape.errors import DataError, SettingsError
from langscape.models.generate import continuation, seeded
from langscape.models.layout import image_shape
from langscape.models.tokens import Long, TokenizedText, extended, split

if TYPE_CHECKING:
    from langscape.models.model import Model


@dataclass(frozen=True)
class Reading:
    """How texts are read: what happens to long ones, and what is generated behind them."""

    long: Long = "error"
    overlap: int = 0
    generate: int = 0
    sample_seed: int | None = None
    first_tokens: int | None = None


@dataclass(frozen=True, eq=False)
class Row:
    """One run over one text or image; `target` is the decoder's side of an encoder–decoder."""

    source: TokenizedText
    target: TokenizedText | None = None
    pixels: np.ndarray | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """How many source and target tokens it has."""
        return len(self.source), 0 if self.target is None else len(self.target)


def ids_of_encoding(given: Any) -> Any:
    """The token ids in what a tokenizer gave, without padding; anything else as it is.

    One text is a row of ids, several are a list of them.
    """
    if not isinstance(given, Mapping) and not (hasattr(given, "keys") and hasattr(given, "data")):
        return given
    if "input_ids" not in given:
        raise DataError(f"a {type(given).__name__} without input_ids is no text; give what a tokenizer gave")
    ids, mask = given["input_ids"], given.get("attention_mask")
    if len(ids) and np.ndim(ids[0]) == 0:
        ids, mask = [ids], None if mask is None else [mask]
    rows = [np.asarray(row) for row in ids]
    if mask is not None:
        rows = [row[np.asarray(seen, bool)] for row, seen in zip(rows, mask, strict=True)]
    return rows[0] if len(rows) == 1 else rows


def is_one(model: Model, given: Any) -> bool:
    """Whether one text, one row of token ids or one image was given, not several."""
    if isinstance(given, str):
        return True
    if isinstance(given, (np.ndarray, torch.Tensor)):
        return given.ndim == (3 if model.kind == "vision" else 1)
    if isinstance(given, Sequence):
        return len(given) > 0 and isinstance(given[0], (int, np.integer))
    return False


def rows(
    model: Model, given: Iterable[Any], targets: Iterable[Any] | None, reading: Reading
) -> Iterator[Row]:
    """Every row of the texts, in order; a text cut into windows gives several."""
    if reading.generate < 0:
        raise SettingsError(f"generate {reading.generate} is not possible; 0 is none")
    if reading.generate and (model.kind in ("encoder", "vision") or not model.layout.vocabulary):
        raise SettingsError(
            f'{model.name} cannot continue a text; generate needs a decoder such as "decoder"'
        )
    if targets is not None and model.kind != "encoder-decoder":
        raise SettingsError(f"target is for encoder–decoders, but {model.name} is of kind {model.kind}")
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise DataError(f"{type(given).__name__} is not a list of texts")
    partners = iter(targets) if targets is not None else None
    for one in given:
        partner = None
        if partners is not None:
            partner = next(partners, None)
            if partner is None:
                raise DataError("there are fewer targets than texts; give one target per text")
        if model.kind == "vision":
            yield _image(model, one)
        elif model.kind == "encoder-decoder":
            yield from _pairs(model, one, partner, reading)
        else:
            for tokens in _split(model, one, reading, reading.generate):
                more = _continued(model, tokens.ids, reading)
                yield Row(extended(model, tokens, more))


def continued(model: Model, text: str, count: int) -> str:
    """A text with the tokens behind it that a decoder writes, the likeliest each time."""
    row = next(iter(rows(model, [text], None, Reading(generate=count))))
    tokens = row.source
    parts = zip(tokens.texts, tokens.special, strict=True)
    return text + "".join(part for part, special in [*parts][len(tokens) - tokens.generated :] if not special)


def _split(model: Model, text: Any, reading: Reading, room: int) -> list[TokenizedText]:
    return split(model, text, reading.long, reading.overlap, room, reading.first_tokens)


def _continued(
    model: Model, ids: Sequence[int], reading: Reading, source: Sequence[int] | None = None
) -> list[int]:
    if not reading.generate:
        return []
    with model.running():
        return continuation(model.network, ids, reading.generate, seeded(reading.sample_seed), source)


def _pairs(model: Model, text: Any, target: Any, reading: Reading) -> Iterator[Row]:
    for source in _split(model, text, reading, 0):
        decoded = _target(model, target, reading.generate)
        more = _continued(model, decoded.ids, reading, source.ids)
        yield Row(source, extended(model, decoded, more))


def _target(model: Model, target: Any, room: int) -> TokenizedText:
    """The decoder's input: its start token, then the target without its end."""
    network: Any = model.network
    start = getattr(network.config, "decoder_start_token_id", None)
    start = getattr(network.config, "bos_token_id", None) if start is None else start
    if start is None:
        raise DataError(f"the configuration of {model.name} names no decoder_start_token_id")
    before = replace(split(model, [start])[0], special=(True,), words=(None,), texts=("",), offsets=((0, 0),))
    if target is None:
        note = "no target was given, so the decoder saw its start token"
        return before if room else replace(before, notes=(f"{note} alone",))
    tokens = split(model, target, room=room + 1)[0]
    end = getattr(network.config, "eos_token_id", None)
    last = len(tokens) - (len(tokens) > 1 and tokens.ids[-1] == end)
    fields = ("ids", "shown", "texts", "special", "words", "offsets")
    joined = {name: getattr(before, name) + getattr(tokens, name)[:last] for name in fields}
    return replace(tokens, **joined)


def _image(model: Model, given: Any) -> Row:
    """An image as the model takes it, (channels, height, width) floats; its tokens are patches."""
    config: Any = model.network.config
    expected = image_shape(config)
    _, height, width = expected
    try:
        pixels = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise DataError(
            f"{model.name} takes images as arrays of shape {expected}, not text or names"
        ) from None
    if pixels.shape != expected or not np.isfinite(pixels).all():
        raise DataError(
            f"{model.name} takes finite images of shape {expected}, but this one has {pixels.shape}"
        )
    count = model.layout.tokens or 0
    patch = config.patch_size
    tall, wide = patch if isinstance(patch, (tuple, list)) else (patch, patch)
    across = width // wide
    extra = count - (height // tall) * across
    if extra < 0:
        raise DataError(f"{model.name} makes {count} tokens of its patches; such models cannot be captured")
    marks = ["[CLS]", *(f"[EXTRA {i}]" for i in range(1, extra))][:extra]
    shown = (*marks, *(f"patch {i // across},{i % across}" for i in range(count - extra)))
    special = tuple(i < extra for i in range(count))
    words = tuple(None if i < extra else i - extra for i in range(count))
    digest = hashlib.sha256(pixels.tobytes()).hexdigest()
    none = ((0, 0),) * count
    return Row(TokenizedText(tuple(range(count)), shown, shown, special, words, none, digest), None, pixels)
