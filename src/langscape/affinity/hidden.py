"""Affinities of tokens from the hidden states of one layer: whose vectors are near."""

from __future__ import annotations

from typing import Literal

import numpy as np

from langscape.affinity.points import Metric, points
from langscape.affinity.tokens import place, run_facts, token_items
from langscape.data import Affinities, Capture, Side
from langscape.errors import DataError, SettingsError


def hidden(
    capture: Capture,
    layer: int,
    perplexity: float = 20.0,
    special: Literal["keep", "drop"] = "keep",
    *,
    metric: Metric = "euclidean",
    side: Side | None = None,
) -> Affinities:
    """The joint P of the tokens' hidden states at a layer; layer 0 is the embedding, the last the output.

    "drop" leaves special tokens out. `side` says whose of an encoder–decoder: the encoder's if none is
    named. Items are the tokens, with columns position, special and text. 20 is the perplexity of the
    Müller 2023.

    >>> from langscape.data import Capture
    >>> states = np.random.default_rng(0).normal(size=(2, 9, 4))
    >>> seen = Capture([f"t{i}" for i in range(9)], {"hidden": states}, {"hidden": ("layer", "token", "dim")})
    >>> hidden(seen, 1, perplexity=3).P.shape
    (9, 9)
    """
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    of = capture.name_of("hidden", side)
    if capture.axes[of] != ("layer", "token", "dim"):
        raise DataError(f"{of} has axes {capture.axes[of]}; hidden states have layer, token and dim")
    X = capture[of][place(capture, of, "layer", layer)]
    items = token_items(capture.tokens_along(of, "token"))
    kept = np.arange(len(items))
    if special == "drop":
        kept = kept[~items.columns["special"].astype(bool)]
    near = points(X[kept], perplexity, metric, items=items.take(kept))
    settings = {**near.settings, "affinity": "hidden", "of": of, "layer": layer, "special": special}
    return Affinities(
        near.P,
        near.items,
        {**settings, **run_facts(capture)},
        near.vectors,
        near.metric,
        (*capture.notes, *near.notes),
    )
