"""How many layers and heads a model has, by its configuration alone: known before its weights are read."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from langscape.models.config import is_lstm
from langscape.models.open import config_of, folder_of


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
    called = os.fspath(name)
    folder = folder_of(called)
    return None if is_lstm(folder) else size_of(config_of(folder, called), side)


def size_of(config: Any, side: str | None = None) -> Size | None:
    """The size that a transformers configuration tells."""
    layers, heads = ("num_hidden_layers",), ("num_attention_heads",)
    if getattr(config, "is_encoder_decoder", False):
        if side in ("decoder", "cross"):
            layers = ("decoder_layers", "num_decoder_layers", *layers)
            heads = ("decoder_attention_heads", *heads)
        else:
            layers, heads = ("encoder_layers", *layers), ("encoder_attention_heads", *heads)
    told = [
        next((getattr(config, name) for name in names if isinstance(getattr(config, name, None), int)), None)
        for names in (layers, heads)
    ]
    return Size(*told) if all(told) else None  # type: ignore[arg-type]
