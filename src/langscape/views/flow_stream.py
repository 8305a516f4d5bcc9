"""The flow of a transformer: the residual stream of every token, and what each head and MLP adds to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data import Flow, View
from langscape.models.display_names import model_title
from langscape.views.flow import halves, quality, refuse_long

BUDGET = 11_500_000
"""Bytes, in base64, that a page's vectors may take; beyond, they are rounded and then heads left out."""


def stream_flow(found: Flow, *, title: str | None = None) -> View:
    """The picture of a transformer's run over one text."""
    layers, heads = found.vectors["attention"].shape[:2]
    width = found.vectors["stream"].shape[-1]
    arrays = {**found.arrays, "attention": found.vectors["attention"]}
    if "sources" in arrays:
        arrays["sources"] = halves(arrays["sources"])
    left_out = _stored(found, arrays)
    called = model_title(found.model)
    properties: dict[str, Any] = {
        "title": title or found.title,
        "subtitle": f"{called} · {layers} layers × {heads} heads · {width} dimensions",
        "model": found.kind,
        "tokens": list(found.tokens),
        "words": list(found.words),
        "vocabulary": found.vocabulary,
        "layers": layers,
        "heads": heads,
        "dims": width,
        "parts": list(found.parts),
        "post_norm": found.post_norm,
        "later": [name for name in arrays if name.startswith("heads_") and name != "heads_words"],
        "alarms": [dict(one) for one in found.alarms],
        "quality": quality(found, _meaning(found)),
        "notes": [
            *found.remarks,
            *left_out,
            "vectors take the mixed colours of the words they say; heads without words are grey",
            *_said(found),
        ],
        "choices": found.arrays["choices"].shape[1],
        "tokens_count": len(found.tokens),
    }
    return View("flow", properties, arrays)


def refuse_long_stream(stream: tuple[int, ...], attention: tuple[int, ...], split: int) -> None:
    """Refuse a prompt whose page would be too large.

    stream and attention are the shapes of these arrays; `split` words per token are split over all tokens.
    """
    nodes, tokens, width = stream
    layers, heads = attention[:2]
    # at least the stream and MLPs in halves, attention, and how heads split over tokens
    refuse_long(
        tokens, lambda n: 1.33 * n * (2 * (nodes + layers) * width + layers * heads * n * (4 + 2 * split))
    )


def _stored(found: Flow, arrays: dict[str, np.ndarray]) -> list[str]:
    """The vectors themselves, as exactly as a page can hold them, and a sentence on how exactly."""
    stream, mlp, heads, bias = (found.vectors[name] for name in ("stream", "mlp", "heads", "attention_bias"))
    plain = stream.size + mlp.size
    if bias.any():
        arrays["bias"] = bias[:, 0]
    rounded = 1.3 * (4 * plain + 2 * heads.size) > BUDGET
    arrays["stream"], arrays["mlp"] = (halves(stream), halves(mlp)) if rounded else (stream, mlp)
    if 1.3 * (2 * plain + 2 * heads.size) > BUDGET:
        arrays["together"] = halves(heads.sum(1))
        return [
            f"the vectors of all heads over {heads.shape[2]} tokens would not fit a "
            "page: those of a layer are shown together. What each head adds to a word’s score is all there"
        ]
    for layer in range(len(heads)):
        arrays[f"heads_{layer}"] = halves(heads[layer])
    return []


def _meaning(found: Flow) -> str:
    what = "logit" if found.kind == "decoder" else "dot product with a word’s embedding"
    return (
        f"Largest difference, over {found.arrays['score'].size:,} words and places, between the model’s own "
        f"{what} and the sum of what embedding, heads, MLPs and biases add to it."
    )


def _said(found: Flow) -> list[str]:
    """What adds up, and under which condition."""
    if found.kind == "encoder":
        notes = [
            f"no language head of {found.model} is read: words are those whose embeddings point most "
            "in a vector’s direction, and scores are dot products with them, not predictions"
        ]
        if found.post_norm:
            notes.append(
                "this model normalises its stream after every sum, so parts add up only with the scales "
                "of all norms frozen at what they were in this run; without a part they would differ"
            )
        return notes
    return [
        "what a part adds to a logit goes through the final norm with its scale frozen at what it was in "
        "this run; the lens at a node uses the node’s own scale"
    ]
