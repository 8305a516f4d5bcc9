"""The attention view: one head's weights as a matrix, as lines between tokens, and token by token."""

from __future__ import annotations

from langscape.data import Capture, View
from langscape.views.heads import heads_of


def attention(
    capture: Capture, layer: int, head: int, *, array: str = "attention", title: str | None = None
) -> View:
    """One head's attention as a picture: who attends to whom, and who is attended to at all.

    Layers and heads are the model's own numbers, from 0. array names another one of the capture,
    "cross_attention" of an encoder–decoder for example.
    """
    heads = heads_of(capture, array)
    properties = {
        "title": title or f"Layer {layer}, head {head}",
        "subtitle": " · ".join(part for part in (heads.model, array.replace("_", " ")) if part),
        "layer": layer,
        "head": head,
        "queries": list(heads.queries),
        "keys": list(heads.keys),
        "notes": list(heads.notes),
    }
    arrays = {
        "attention": heads.one(layer, head),
        "special_queries": heads.special_queries,
        "special_keys": heads.special_keys,
    }
    return View("attention", properties, arrays)
