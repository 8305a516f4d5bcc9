"""The attention view: one head's weights as a matrix, as lines between tokens, and token by token."""

from __future__ import annotations

import numpy as np

from langscape.data import Capture, Side, View
from langscape.views.heads import heads_of, model_of
from langscape.views.token_names import cut_words, raw_names


def attention(
    capture: Capture, layer: int, head: int, *, side: Side | None = None, title: str | None = None
) -> View:
    """One head's attention as a picture: who attends to whom, and who is attended to at all.

    Layers and heads are the model's own numbers, from 0. side says whose of an encoder–decoder: "cross"
    has the decoder's tokens as queries and the encoder's as keys.
    """
    heads = heads_of(capture, side)
    properties = {
        "title": title or f"Layer {layer}, head {head}",
        "subtitle": " · ".join(part for part in (model_of(capture), heads.name.replace("_", " ")) if part),
        "layer": layer,
        "head": head,
        # joined tokens are none of the model's own: what is asked of one cannot be numbered
        "own_tokens": heads.name == "attention" and heads.queries.ids is not None,
        "queries": list(heads.queries.readable),
        "keys": list(heads.keys.readable),
        "raw_tokens": raw_names(heads.queries.readable, heads.queries)
        | raw_names(heads.keys.readable, heads.keys),
        "query_words": cut_words(heads.queries),
        "key_words": cut_words(heads.keys),
        "notes": list(capture.notes),
    }
    arrays = {
        "attention": heads.one(layer, head),
        "special_queries": heads.queries.special.astype(np.uint8),
        "special_keys": heads.keys.special.astype(np.uint8),
    }
    return View("attention", properties, arrays)
