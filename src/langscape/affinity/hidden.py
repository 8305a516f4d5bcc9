"""Affinities of tokens from the hidden states of one layer: whose vectors are near."""

from __future__ import annotations

from typing import Literal

import numpy as np

from langscape.affinity.points import Metric, points
from langscape.affinity.tokens import array_named, place, token_items
from langscape.data import Affinities, Capture
from langscape.errors import DataError, SettingsError


def hidden(
    capture: Capture,
    layer: int,
    perplexity: float = 20.0,
    special: Literal["keep", "drop"] = "keep",
    *,
    metric: Metric = "euclidean",
    of: str = "hidden",
) -> Affinities:
    """The joint P of the tokens' hidden states at a layer; layer 0 is the embedding, the last the output.

    "drop" leaves special tokens out. `of` names the array: an encoder–decoder has several. Items are the
    tokens, with columns position, special and text. 20 is the perplexity of document 000.

    >>> from langscape.data import Capture
    >>> states = np.random.default_rng(0).normal(size=(2, 9, 4))
    >>> seen = Capture([f"t{i}" for i in range(9)], {"hidden": states}, {"hidden": ("layer", "token", "dim")})
    >>> hidden(seen, 1, perplexity=3).P.shape
    (9, 9)
    """
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    states = array_named(capture, of)
    if capture.axes[of] != ("layer", "token", "dim"):
        raise DataError(f"{of} has axes {capture.axes[of]}; hidden states have layer, token and dim")
    X = states[place(capture, of, "layer", layer)]
    items = token_items(capture, of)
    kept = np.arange(len(items))
    if special == "drop":
        kept = kept[~items.columns["special"].astype(bool)]
    made = points(X[kept], perplexity, metric, items=items.take(kept))
    told = {name: capture.made[name] for name in ("model", "revision", "text_digest") if name in capture.made}
    about = {**made.made, "affinity": "hidden", "of": of, "layer": layer, "special": special, **told}
    return Affinities(made.P, made.items, about, made.vectors, made.metric, (*capture.notes, *made.notes))
