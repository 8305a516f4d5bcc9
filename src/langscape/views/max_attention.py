"""The maximum-attention view: for every head, how strongly each token is attended to at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from langscape.data import Capture, Side, View
from langscape.errors import SettingsError, not_there
from langscape.views.heads import heads_of, model_of
from langscape.views.token_names import raw_names


def max_attention(
    capture: Capture,
    *,
    layers: Sequence[int] | None = None,
    show: Literal["maximum", "mean"] = "maximum",
    side: Side | None = None,
    title: str | None = None,
) -> View:
    """Heads × tokens, layer by layer: the largest weight any query gives a token, and the mean over queries.

    layers are the model's own numbers, from 0; without them, all that the capture holds. show
    says which of the two a figure draws and the page shows first. side says whose of an encoder–decoder.
    """
    if show not in ("maximum", "mean"):
        raise SettingsError(f'show {show!r} is neither "maximum" nor "mean"')
    heads = heads_of(capture, side)
    wanted = list(heads.layers) if layers is None else [int(layer) for layer in layers]
    absent = [layer for layer in wanted if layer not in heads.layers]
    if absent:
        raise not_there("layer", absent[0], heads.layers, "this capture")
    if not wanted:
        raise SettingsError("layers is empty; leave it out for all that the capture holds")
    weights = np.asarray(heads.weights[[heads.layers.index(layer) for layer in wanted]], np.float32)
    properties = {
        "title": title or f"{show.capitalize()} attention",
        "show": show,
        "subtitle": " · ".join(part for part in (model_of(capture), heads.name.replace("_", " ")) if part),
        "layers": wanted,
        "heads": list(heads.heads),
        "keys": list(heads.keys.readable),
        "raw_tokens": raw_names(heads.keys.readable, heads.keys),
        "notes": list(capture.notes),
    }
    arrays = {
        "maximum": weights.max(axis=2),
        "mean": weights.mean(axis=2),
        "special_keys": heads.keys.special.astype(np.uint8),
    }
    return View("max_attention", properties, arrays)
