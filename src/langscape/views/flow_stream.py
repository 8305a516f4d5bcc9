"""The flow of a transformer: the residual stream of every token, and what each head and MLP adds to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data import Flow, View
from langscape.models.display_names import model_title
from langscape.views.flow import halves, quality

BUDGET = 11_500_000
"""Bytes, in base64, that a page's vectors may take; beyond, they are rounded."""


def stream_flow(found: Flow, *, title: str | None = None) -> View:
    """The picture of a transformer's run over one text."""
    layers, heads = found.vectors["attention"].shape[:2]
    width = found.vectors["stream"].shape[-1]
    arrays = {**found.arrays, "attention": halves(found.vectors["attention"])}
    for name in ("sources", "query_key", "all_neurons"):
        if name in arrays:
            arrays[name] = halves(np.nan_to_num(arrays[name], nan=-np.inf))
    _stored(found, arrays)
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
            *_left_out(found),
            "vectors take the mixed colours of the words they say; heads without words are grey",
            *_said(found),
        ],
        "choices": found.arrays["choices"].shape[1],
        "sums": bool(np.isfinite(found.arrays["part_heads"]).all()),
    }
    return View("flow", properties, arrays)


def _stored(found: Flow, arrays: dict[str, np.ndarray]) -> None:
    """The vectors themselves, as exactly as a page can hold them."""
    stream, mlp, heads, bias = (found.vectors[name] for name in ("stream", "mlp", "heads", "attention_bias"))
    if bias.any():
        arrays["bias"] = bias[:, 0]
    rounded = 1.3 * (4 * (stream.size + mlp.size) + 2 * heads.size) > BUDGET
    arrays["stream"], arrays["mlp"] = (halves(stream), halves(mlp)) if rounded else (stream, mlp)
    for layer in range(len(heads)):
        arrays[f"heads_{layer}"] = halves(heads[layer])


def _left_out(found: Flow) -> list[str]:
    looked, count = found.arrays["looked"], len(found.tokens)
    if len(looked) == count:
        return []
    return [
        f"of {count:,} tokens {len(looked)} are shown whole, those from {looked[0]} to {looked[-1]}: a "
        "page of all would be too large. Name another token to look at it"
    ]


def _meaning(found: Flow) -> str:
    what = "score, the dot product with its embedding," if found.kind == "encoder" else "logit"
    return (
        f"A word’s {what} is the sum of what embedding, heads, MLPs and biases add to it, the scales of "
        "norms frozen. The page adds them up again and compares with the model’s own: this is the largest "
        f"difference over {found.arrays['score'].size:,} of them, the first words at every token. The "
        f"largest of these is {found.scores['largest']:.3g} in size."
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
    notes = [
        "direct, “logit added”, is what a part itself adds to a word’s logit; total is what the word loses "
        "when the part is taken away at every token but the first, and the model goes on without it: “nats "
        "lost” of its log-probability, and “logit lost”, which between two words is a loss of the lead"
    ]
    if found.kind == "masked":
        notes.append(
            "the language head of this model has a layer of its own: parts add up with its non-linearity "
            "and all scales of norms held at what they were in this run"
        )
        return notes
    return [
        *notes,
        "what a part adds to a logit goes through the final norm with its scale frozen at what it was in "
        "this run; the lens at a node uses the node’s own scale",
    ]
