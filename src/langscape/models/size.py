"""How many layers and heads a model has, by its config.json alone: neither weights nor torch are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from langscape.models.config import is_lstm, read_config
from langscape.models.open import folder_of


class Size(NamedTuple):
    """Layers that attend, and heads of each. Hidden states are one more than the layers."""

    layers: int
    heads: int


def model_size(name: str | os.PathLike[str], side: str | None = None) -> Size | None:
    """The size of a model by its name or folder; None where it has no heads, or does not say how many.

    Of an encoder–decoder, side is "encoder" (also when left out), "decoder" or "cross".

    >>> from langscape.models import get_model
    >>> _ = get_model("default")
    >>> model_size("default")
    Size(layers=6, heads=12)
    """
    folder = folder_of(os.fspath(name))
    return None if is_lstm(folder) else size_of(read_config(folder), side)


def size_of(config: Mapping[str, Any], side: str | None = None) -> Size | None:
    """The size that a config.json tells, whatever its family calls layers and heads."""
    layers: tuple[str, ...] = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
    heads: tuple[str, ...] = ("num_attention_heads", "num_heads", "n_heads", "n_head")
    if config.get("is_encoder_decoder"):
        if side in ("decoder", "cross"):
            layers = ("decoder_layers", "num_decoder_layers", *layers)
            heads = ("decoder_attention_heads", *heads)
        else:
            layers, heads = ("encoder_layers", *layers), ("encoder_attention_heads", *heads)
    numbers = [
        next((config[name] for name in names if isinstance(config.get(name), int)), None)
        for names in (layers, heads)
    ]
    return Size(*numbers) if all(numbers) else None  # type: ignore[arg-type]
