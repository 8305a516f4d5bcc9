"""What heads do, beside where they look: columns of an atlas, and their scatter."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._text_effects import text_effects
from langscape.data import Items, Progress, View
from langscape.declarations import Setting

LONGEST = 1500
"""Tokens above which shares are not computed: a layer's weights are there at once."""

Matters = Annotated[
    Literal["share", "estimate", "exact"],
    Setting(
        "Matters by",
        "How it is told what heads do: their share of the stream, from one run; an estimate from a few "
        "backward passes; or every head taken away, which takes a minute or more of a decoder.",
        labels={"share": "share of the stream", "exact": "exact, every head taken away"},
    ),
]


def with_effects(
    atlas: Any, network: Any, model: Any, text: Any, matters: str, progress: Progress | None
) -> Any:
    """An atlas with what its heads do: `share` where it can be told, and `matters` where it was asked for."""
    tokens = atlas.capture.tokens
    seen = atlas.capture.attention(atlas.side)
    ids = tokens.ids
    if network.kind not in ("decoder", "encoder") or ids is None or not 2 < len(ids) <= LONGEST:
        return atlas
    from langscape.models.effect_estimates import head_shares

    labels = np.array([f"{layer}.{head}" for layer in seen.layers for head in seen.heads])
    columns = dict(atlas.scores.columns)
    notes: list[str] = []
    if matters == "share":
        share = head_shares(network, ids.tolist())
        if share is None:
            return atlas
        named = {f"{layer}.{head}": value for (layer, head), value in np.ndenumerate(share)}
    else:
        found = text_effects(
            model, text, exact=matters == "exact", estimated=matters == "estimate",
            first_tokens=max(4, len(ids)), progress=progress,
        )  # fmt: skip
        named = dict(zip(found.names, found.share.tolist(), strict=True))
        values = found.effect if matters == "exact" else found.estimate
        does = dict(zip(found.names, values.tolist(), strict=True))
        columns["matters"] = np.array([does[name] for name in labels])
        columns["matters_by"] = np.full(len(labels), matters, object)
        notes.append(
            "What heads do is exact: each was replaced, alone, by its mean over the tokens but the first"
            if matters == "exact"
            else "What heads do is estimated from gradients: nothing was taken away"
        )
    if np.isfinite(list(named.values())).all():
        columns["share"] = np.array([named[name] for name in labels])
    return replace(atlas, scores=Items(list(atlas.scores.labels), columns), notes=(*atlas.notes, *notes))


def effects_view(scores: Items, tokens: int, title: str | None) -> View:
    """What each head attends to against what it does, from the columns of an atlas."""
    from langscape.views import effects

    columns, count = scores.columns, len(scores)
    blank, words = np.full(count, np.nan), np.full(count, "", object)
    how = str(columns["matters_by"][0]) if "matters_by" in columns else "share"
    values = columns.get("share" if how == "share" else "matters", blank)
    taken = {
        "part": np.full(count, "head", object), "layer": columns["layer"], "head": columns["head"],
        "matters": values, "matters_low": blank, "matters_high": blank, "found": words,
        "source": np.full(count, how, object), "effect": values if how == "exact" else blank,
        "loss_change": blank, "estimate": values if how == "estimate" else blank,
        "share": columns.get("share", blank), "interest": columns["interest"], "tags": columns["tags"],
    }  # fmt: skip
    measure = "share of the stream" if how == "share" else "what changes without a head"
    return effects(
        Items(list(scores.labels), taken), np.argsort(-np.nan_to_num(values, nan=-1), kind="stable"),
        title=title or "What heads attend to, and what they do", measure=measure,
        how=how, texts=1, tokens=tokens,
        notes=["A head at the lower right looks at much and does little"],
    )  # fmt: skip
