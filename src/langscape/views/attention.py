"""The attention view: one head's weights as a matrix, as lines between tokens, and token by token; or the
difference of two heads that read the same tokens."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from langscape.data import Capture, Side, View
from langscape.metrics.scores import SCORES, Null
from langscape.views.heads import heads_of, model_of
from langscape.views.token_names import cut_words, raw_names
from langscape.views.trust import beside_null


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


def attention_difference(
    first: Capture,
    second: Capture,
    places: tuple[tuple[int, int], tuple[int, int]],
    elsewhere: np.ndarray,
    scores: Mapping[str, float],
    *,
    names: tuple[str, str],
    title: str,
    subtitle: str = "",
) -> View:
    """The second head's attention less the first one's, over the same tokens; the picture holds both.

    places are layer and head in each capture, elsewhere (tokens,) the share of each one's attention that goes
    to other keys, scores its mean with its null, names what the two are called.
    """
    plain = attention(first, *places[0], title=title)
    score = SCORES["attention_elsewhere"]
    properties = {
        **plain.properties,
        "subtitle": subtitle or f"attention of {names[1]} less that of {names[0]}",
        "names": list(names),
        "own_tokens": False,
        "quality": [beside_null(score, scores[score.name], Null.read(scores, score.name))],
        "notes": list(dict.fromkeys((*first.notes, *second.notes))),
    }
    arrays = {
        **plain.arrays,
        "second": second.attention().one(*places[1]),
        "elsewhere": np.asarray(elsewhere, np.float32),
    }
    return View(plain.kind, properties, arrays)
