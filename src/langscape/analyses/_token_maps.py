"""Maps of a text's tokens by hidden states."""

from __future__ import annotations

from typing import Literal

import numpy as np

from langscape.analyses._map_trust import hidden_kept
from langscape.analyses._restarts import embed_best, head_schedules
from langscape.data import Affinities, Capture, Map, Progress, Side

Special = Literal["keep", "drop"]


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


def _mapped(problem: Affinities, restarts: int, steps: int, seed: int, progress: Progress | None) -> Map:
    from langscape.metrics import quality
    from langscape.metrics.true_neighbours import with_true_neighbours

    (map,), figures = embed_best([problem], len(problem), restarts, steps, seed, progress)
    scores: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    if problem.vectors is not None:
        scores, per_point = quality(problem.vectors, map.xy, metric=problem.metric)  # type: ignore[arg-type]
    if restarts > 1:
        spread = {name: float(figures[name][0]) for name in figures if name.startswith("stability")}
        scores = {**scores, **spread}
    return with_true_neighbours(map.but(quality=scores, per_point=per_point))
