"""Maps of a text's tokens by hidden states, and of many texts by what a layer makes of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from langscape.analyses._map_trust import hidden_kept
from langscape.analyses._restarts import embed_best, head_schedules
from langscape.data import Affinities, Capture, Items, Map, Progress, Side, Step
from langscape.errors import DataError, SettingsError, not_there

Special = Literal["keep", "drop"]
Pool = Literal["auto", "first", "mean"]


def map_hidden(
    capture: Capture,
    layer: int | None = None,
    *,
    perplexity: float = 20.0,
    special: Special = "drop",
    metric: Literal["euclidean", "cosine"] = "euclidean",
    restarts: int = 8,
    steps: int = 1000,
    seed: int = 0,
    side: Side | None = None,
    progress: Progress | None = None,
) -> Map:
    """The tokens by their hidden states at a layer, the last if none is named; 0 is the embedding."""
    from langscape.affinity import hidden

    if layer is None:
        layer = capture.layers_of(capture.name_of("hidden", side))[-1]
    near = hidden(capture, layer, perplexity, special, metric=metric, side=side)
    schedules = head_schedules(len(near), steps)
    return hidden_kept(_mapped(near, restarts, steps, seed, progress), near, schedules, seed)


def map_texts(
    model: Any,
    texts: Items | Sequence[str],
    layer: int | None = None,
    *,
    pool: Pool = "auto",
    perplexity: float = 20.0,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    restarts: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Map:
    """Words or whole texts, each by one hidden state of its own run: a map of what a layer makes of them.

    With pool="auto" that is the state of the first special token ([CLS], <s>); of models that have none, the
    mean over the text's tokens, and the map says so. Items carry their columns, group for one, to the map.
    """
    from langscape.affinity import points
    from langscape.engine import Schedule, embed

    items = texts if isinstance(texts, Items) else Items(list(texts))
    X, layer, notes = text_vectors(model, items.labels, layer, pool=pool, progress=progress)
    near = points(X, perplexity, metric, items=items, seed=seed)
    metadata = {"model": model.name, "revision": model.revision, "layer": layer, "pool": notes[0]}
    near = replace(near, settings={**near.settings, **metadata}, notes=tuple(notes[1:]))
    found = embed(near, restarts=restarts, seed=seed, progress=progress)
    return hidden_kept(found, near, [Schedule()], seed)


def text_vectors(
    model: Any,
    texts: Sequence[str],
    layer: int | None = None,
    *,
    pool: Pool = "auto",
    progress: Progress | None = None,
) -> tuple[np.ndarray, int, list[str]]:
    """(texts, dim): one hidden state per text at a layer; the layer; and how it was taken, with notes."""
    from langscape.models import capture_each

    if pool not in ("auto", "first", "mean"):
        raise SettingsError(f'pool {pool!r} is not known; use "auto", "first" or "mean"')
    if model.kind == "vision":
        raise SettingsError(f"{model.name} reads images; texts need a model that reads text")
    if len(texts) < 2:
        raise DataError(f"a map needs at least 2 texts, not {len(texts)}")
    role = "encoder" if model.kind == "encoder-decoder" else "self"
    last = model.layout.hidden[role][0] - 1
    wanted = last if layer is None else layer
    if not 0 <= wanted <= last:
        raise not_there("hidden layer", wanted, range(last + 1), model.name)
    tell = progress or (lambda step: None)
    rows: list[np.ndarray] = []
    taken = pool
    for seen in capture_each(model, texts, ("hidden",), [wanted]):
        states, special = seen[seen.name_of("hidden")][0], seen.tokens.special
        if taken == "auto":
            taken = "first" if special[0] else "mean"
        rows.append(states[0] if taken == "first" else states[~special].mean(axis=0))
        tell(Step(len(rows), len(texts), "reading texts"))
    X = np.stack(rows)
    if np.ptp(X, axis=0).max() == 0:
        raise SettingsError(
            f"at layer {wanted} the first token is the same for every text, since it has seen none yet; "
            'choose layer 1 or higher, or pool "mean"'
        )
    notes = [taken]
    if pool == "auto" and taken == "mean":
        notes.append(f"{model.name} puts no special token first: texts stand at the mean of their tokens")
    return X, wanted, notes


def _mapped(problem: Affinities, restarts: int, steps: int, seed: int, progress: Progress | None) -> Map:
    from langscape.metrics import quality
    from langscape.metrics.true_neighbours import with_true_neighbours

    (map,), figures = embed_best([problem], len(problem), restarts, steps, seed, progress)
    scores: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    if problem.vectors is not None:
        scores, per_point = quality(problem.vectors, map.xy, metric=problem.metric)  # type: ignore[arg-type]
    if restarts > 1:
        scores = {**scores, **{name: float(figures[name][0]) for name in ("stability", "stability_null")}}
    return with_true_neighbours(map.but(quality=scores, per_point=per_point))
