"""What is computed for one model: queries and keys, the choice of c, maps by distance and by attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.affinity import Scales, align_query_key, head_vectors, heads_of
from langscape.analyses._query_key import (
    maps_of,
    query_key_choice,
    query_key_collect,
    sample_text,
)
from langscape.analyses._query_key_tables import class_tables, pairing
from langscape.analyses.query_key_constants import QueryKeyConstants, query_key_constants
from langscape.data import Capture, Map, Progress
from langscape.declarations.running import using
from langscape.metrics import ClassTable
from langscape.store import Store

METRICS = ("weighted", "scaled", "norms")
CHOICES = {(0.5, 2): 0.0, (5.0, 3): 2.0}
"""Percentile and least number of keys: the document's, and the one that holds on unseen sentences. With each,
how many standard errors c must gain over c = 1: in the document the lowest wins."""

SHORT = ("harbour", "orchard", "pattern")
"""Sample texts of about 420 tokens together, over which the two kinds of map are compared."""

Key = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """How much is run: tokens read for the choice of c, heads compared, heads shown under six constants."""

    tokens: int = 2000
    compared: int = 18
    shown: tuple[Key, ...] = ((1, 2), (3, 3))
    steps: int = 300
    tagger: str | None = None

    @property
    def column(self) -> str:
        """The column whose classes are tabled."""
        return "part of speech" if self.tagger else "class"


QUICK = Plan(tokens=400, compared=6, shown=((1, 2),), steps=250)


@dataclass(frozen=True, eq=False)
class Results:
    """Everything the page shows of one model.

    scales     by metric, percentile and least number of keys
    panels     per head shown: its maps under six constants, the chosen one marked
    compared   by (kind of map, special tokens): the figures of every compared head; only "keep" where the
               model has none
    invariance the largest difference of an attention weight after scaling and translation
    column     by what tokens are classed: "class", or "part of speech" by a tagger
    """

    model: str
    capture: Capture
    scales: Mapping[tuple[str, float, int], Scales]
    panels: Mapping[Key, QueryKeyConstants]
    compared: Mapping[tuple[str, str], Sequence[Mapping[str, float]]]
    best: tuple[Key, Map]
    classes: Mapping[Key, ClassTable]
    pairs: list[dict[str, Any]]
    invariance: float
    column: str = "class"

    def mean(self, kind: str, special: str, figure: str) -> float:
        """The mean of a figure over the compared heads."""
        return float(np.mean([one[figure] for one in self.compared[kind, special]]))


def run(
    model: str,
    plan: Plan,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
) -> Results:
    """Compute what is missing for one model, and gather it."""
    with using(store or Store()):
        return _run(model, plan, workers, progress)


def _run(model: str, plan: Plan, workers: int | None, progress: Progress | None) -> Results:
    kind, _, pipeline = (plan.tagger or "none").partition(":")
    reading: dict[str, Any] = {
        "model": model, "tokens": plan.tokens, "tagger": kind, "pipeline": pipeline or None,
    }  # fmt: skip
    short: dict[str, Any] = {"model": model, "text": sample_text(SHORT)}
    capture = query_key_collect(**reading, progress=progress)
    little = query_key_collect(**short, progress=progress)

    def chosen(metric: str, percentile: float, least: int, clear: float) -> Scales:
        how: dict[str, Any] = {"metric": metric, "percentile": percentile, "least_keys": least}
        return query_key_choice(**reading, **how, clear=clear, special="keep", progress=progress)

    scales = {
        (metric, percentile, least): chosen(metric, percentile, least, clear)
        for metric in METRICS
        for (percentile, least), clear in CHOICES.items()
    }
    # the document draws with UMAP by cosine distance, special tokens and all, and the lowest c wins
    document: dict[str, Any] = {
        "method": "umap", "metric": "cosine", "special": "keep", "choose": "scaled", "percentile": 0.5,
        "least_keys": 2, "clear": 0.0,
    }  # fmt: skip
    panels = {
        (layer, head): query_key_constants(
            **reading, **document, layer=layer, head=head, workers=0, progress=progress
        )
        for layer, head in plan.shown
    }
    heads = _spread(heads_of(capture), plan.compared)
    compared = {}
    has_special = bool(capture.tokens.special.any())
    for special in ("keep", "drop") if has_special else ("keep",):
        for by in ("distance", "attention"):
            settings = {"by": by, "special": special, "steps": plan.steps}
            wanted = [{**settings, "layer": layer, "head": head} for layer, head in heads]
            maps = maps_of(little, short, wanted, title="query–key maps", workers=workers, progress=progress)
            compared[by, special] = [dict(one.quality) for one in maps]
    judged = compared["attention", "drop" if has_special else "keep"]
    shown = heads[int(np.argmax([one["order"] for one in judged]))]
    wanted = [{"steps": plan.steps, "layer": shown[0], "head": shown[1]}]
    (best,) = maps_of(capture, reading, wanted, title="the best head", progress=progress)
    found = pairing(best, head_vectors(capture, *shown, special="drop"))
    return Results(
        model,
        capture,
        scales,
        panels,
        compared,
        (shown, best),
        class_tables(capture, plan.column),
        found.strongest(10),
        _invariance(capture, heads),
        plan.column,
    )


def _spread(heads: Sequence[Key], count: int) -> list[Key]:
    """So many heads, evenly over all of them."""
    at = np.unique(np.linspace(0, len(heads) - 1, min(count, len(heads))).round().astype(int))
    return [heads[i] for i in at]


def _invariance(capture: Capture, heads: Sequence[Key]) -> float:
    """The largest change of an attention weight over all constants, on the first sentence, in float64."""
    worst = 0.0
    for key in heads:
        one = head_vectors(capture, *key)
        rows = np.flatnonzero(one.queries.columns["sentence"] == 0)
        Q, K = (side.astype(np.float64) for side in (one.Q, one.K))
        before = _softmax(Q[rows] @ K[rows].T * one.scaling)
        for c in (0.2, 1.0, 5.0):
            scaled, moved = align_query_key(Q, K, c)
            after = _softmax(scaled[rows] @ moved[rows].T * one.scaling)
            worst = max(worst, float(np.abs(after - before).max()))
    return worst


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
