"""What the parts of a model do on one text, kept in the store; several make effects over a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import check_reads_text
from langscape.data import Progress, Tokens
from langscape.declarations import Input, Setting, analysis
from langscape.declarations.running import opened
from langscape.declarations.settings import Model, Seed, Text
from langscape.errors import DataError
from langscape.io.codec import noun

How = Annotated[
    Literal["share", "estimate", "screen", "exact"],
    Setting(
        "How",
        "Share: from one run, how much of the stream a part makes. Estimate: from a few backward passes. "
        "Screen: the estimate, and the parts that it and the share put first taken away. Exact: every part.",
        labels={"screen": "screen and verify", "exact": "exact, every part"},
    ),
]
PartKinds = Annotated[
    Literal["heads", "mlps", "layers", "all"],
    Setting("Parts", "Which parts are taken away.", labels={"mlps": "MLPs", "all": "heads, MLPs and layers"}),
]
Corpus = Annotated[
    str | Path | Sequence[str] | Sequence[Path] | None,
    Input(
        "corpus",
        "Texts",
        "Several texts instead of one: a text file, a folder, a .csv or .parquet with a column of texts, or "
        "a packaged corpus (`langscape corpora`).",
        many=True,
        listed=True,
    ),
]
Draws = Annotated[
    int, Setting("Draws", "Backward passes of the estimate; more make it steadier.", ge=1, le=200)
]
EffectTokens = Annotated[
    int, Setting("First tokens", "Of each text, no more than so many tokens are read.", ge=4, le=4096)
]
WhatIsMeasured = Annotated[
    Literal["auto", "words", "states", "pooled", "classes"],
    Setting(
        "Measure",
        "What is compared with the unedited run. Words: the next token of a decoder. States: how far the "
        "last hidden states move. Pooled: how far the text’s vector moves, pooled as the model itself does. "
        "Classes: what a classifier of texts says. Auto: words of a decoder, states of an encoder.",
        labels={
            "auto": "next words, or states of an encoder",
            "words": "next words",
            "states": "last hidden states",
            "pooled": "the text’s pooled vector",
            "classes": "classes of a classifier",
        },
    ),
]
Chosen = Annotated[list[str] | None, Setting("Chosen", "Only these parts are taken away.")]
Exact = Annotated[bool, Setting("Exact", "Whether parts are taken away.")]
Estimated = Annotated[bool, Setting("Estimated", "Whether effects are estimated.")]

_KINDS = {"heads": ("head",), "mlps": ("mlp",), "layers": ("layer",), "all": ("head", "mlp", "layer")}


@noun
@dataclass(frozen=True, eq=False)
class TextEffects:
    """One text: a value for every part, NaN where it was not computed.

    names are those of the parts, kinds "head", "mlp" or "layer"; interest and tags are those of an atlas, of
    heads alone. measure says what is compared, in words ("" for shares), and floor is what rounding makes
    of an edit that changes nothing. cut says whether the text goes on after the tokens that were read.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    layers: np.ndarray
    heads: np.ndarray
    effect: np.ndarray
    loss_change: np.ndarray
    estimate: np.ndarray
    share: np.ndarray
    interest: np.ndarray
    tags: tuple[str, ...]
    floor: float
    tokens: int
    measure: str = ""
    notes: tuple[str, ...] = ()
    cut: bool = False


def unedited_run(model: Any, text: Any, first_tokens: int) -> Any:
    """The run of a model over the start of a text, which edited runs are compared with (`Unedited`)."""
    from langscape.models.unedited import read_unedited

    network = opened(model)
    check_reads_text(network)
    return read_unedited(network, text, first_tokens)


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over texts (the first axis) with the ends of its 95 % interval; NaN of one text."""
    from scipy.stats import t

    count = len(values)
    mean = values.mean(axis=0)
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = t.ppf(0.975, count - 1) * values.std(axis=0, ddof=1) / count**0.5
    return mean, np.maximum(mean - half, 0), mean + half


@analysis(version=6, name="effects.text", hidden=True)
def text_effects(
    model: Model = "default",
    text: Text = None,
    *,
    parts: PartKinds = "heads",
    exact: Exact = False,
    estimated: Estimated = False,
    chosen: Chosen = None,
    draws: Draws = 4,
    measure: WhatIsMeasured = "auto",
    first_tokens: EffectTokens = 64,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> TextEffects:
    """What each part does on one text."""
    from langscape.models.effect_estimates import estimated_effects, shares
    from langscape.models.effect_measures import Effect, Measure
    from langscape.models.effects import exact_effects, parts_of
    from langscape.models.residual import stream

    run = unedited_run(model, text, first_tokens)
    named = parts_of(run.model, _KINDS[parts])
    blank = np.full(len(named), np.nan)
    compared = Measure(run, measure) if exact or estimated else None
    estimate = estimated_effects(run, named, compared, draws=draws, seed=seed) if estimated else blank
    found = Effect(blank.copy(), blank.copy())
    if exact:
        taken = [at for at, one in enumerate(named) if chosen is None or str(one) in chosen]
        some = exact_effects(run, [named[at] for at in taken], compared, progress=progress)
        found.effect[taken], found.loss_change[taken] = some
    notes: list[str] = []
    try:
        share = shares(stream(run.model, run.ids.tolist()), named)
    except DataError as error:
        share, notes = blank, [f"the share is not known: {error}"]
    interest, tags = attends(run, named)
    return TextEffects(
        tuple(str(one) for one in named),
        tuple(one.kind for one in named),
        np.array([one.layer for one in named]),
        np.array([one.head for one in named]),
        found.effect,
        found.loss_change,
        estimate,
        share,
        interest,
        tags,
        float("nan") if compared is None else compared.floor,
        run.tokens,
        "" if compared is None else compared.said,
        tuple(notes),
        bool(run.row.source.notes),
    )


def attends(run: Any, named: Sequence[Any]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Interest and names of these parts, from where heads look; MLPs and layers have none."""
    scores, tags = looks(run)
    values, names = np.full(len(named), np.nan), [""] * len(named)
    for at, one in enumerate(named):
        if one.kind == "head":
            values[at], names[at] = scores["interest"][one.layer, one.head], str(tags[one.layer, one.head])
    return values, tuple(names)


def looks(run: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Scores of where every head looks, and its names, (layer, head) each."""
    weights = np.concatenate([one.float().cpu().numpy() for one in run.weights])
    return look_scores(weights, run.row.source.tokens())


def look_scores(weights: np.ndarray, tokens: Tokens) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The same of weights (layer, head, query, key) over tokens."""
    from langscape.metrics import even_scores, find_sinks, head_scores, name_heads, shuffled_scores
    from langscape.metrics.sinks import separators_of

    ids = None if tokens.ids is None else list(tokens.ids)
    known: dict[str, Any] = {"ids": ids, "special": tokens.special, "separators": separators_of(tokens)}
    sinks = find_sinks(weights, separators=known["separators"])
    scores = head_scores(weights, **known, sinks=sinks)
    return scores, name_heads(scores, even_scores(weights, **known), shuffled_scores(weights, **known))
