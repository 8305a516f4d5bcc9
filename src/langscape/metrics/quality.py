"""The scores that every map made from vectors carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data.plane import flat
from langscape.metrics.compare import compare
from langscape.metrics.null import Null
from langscape.metrics.point_scores import PointScores
from langscape.metrics.random_layout import random_layouts
from langscape.metrics.scores import TwoSpaces, applying, neighbours
from langscape.metrics.space import Metric, Space, chosen_rows, pair
from langscape.metrics.space import vectors as space_of

# Distances looked at in one call: 2,000 rows of a 10,000-point map, about half a second.
_PAIRS = 20_000_000
_LEAST_ROWS = 500


def quality(
    vectors: Any, xy: Any, metric: Metric = "euclidean", seed: int = 0, most_rows: int = 2000
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The scores of a map by name, and the same per point, shape (n,).

    They are those that the registry has for maps: local, global, ndcg, trustworthiness, continuity; some with
    their spread (local_sd), all with what random layouts have (local_null, and local_null_low to
    local_null_high, which nine in ten of them lie between) and, of a map in more than two dimensions, with
    what its flat picture has (flat_local); with the number of neighbours k (10, or fewer than half the
    points) and rows, the number of points judged.
    Maps of more than `most_rows` points are judged on a sample drawn by `seed`, against all
    points; the values of unjudged points are NaN. Fewer than 3 points have nothing to judge.
    """
    high, low = pair(space_of(vectors, metric), xy, least=1)
    n = high.n
    if n < 3:
        return {}, {}
    k = neighbours(n)
    rows = chosen_rows(n, None, min(most_rows, max(_LEAST_ROWS, _PAIRS // n)), seed)
    seen = _seen(high, low, rows, k)
    whole: dict[str, float] = {}
    beside: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    chance = random_layouts(high, low, k, seed)
    drawn, drawn_by_chance = None, []
    if np.ndim(xy) == 2 and np.shape(xy)[1] > 2:
        plane = space_of(flat(np.asarray(xy, np.float64)))
        drawn, drawn_by_chance = _seen(high, plane, rows, k), random_layouts(high, plane, k, seed)
    for score in applying("map", computed=True):
        compute: Any = score.computed["map"]
        measured = PointScores(score.name, compute(seen), rows, n, score.k and k)
        whole[score.name] = measured.mean
        if score.spread:
            beside[f"{score.name}_sd"] = measured.sd
        if score.null:
            dealt = [compute(one) for one in chance]
            beside |= Null.of([one.mean() for one in dealt]).beside(score.name)
            if score.name == "local":
                beside["dubious"] = float(np.quantile(np.concatenate(dealt), 0.95, method="higher"))
        if drawn is not None:
            beside[f"flat_{score.name}"] = float(compute(drawn).mean())
            beside |= Null.of([compute(one).mean() for one in drawn_by_chance]).beside(f"flat_{score.name}")
        per_point[score.name] = measured.everywhere()
    return {**whole, **beside, "k": float(k), "rows": float(len(rows))}, per_point


def _seen(high: Space, low: Space, rows: np.ndarray, k: int) -> TwoSpaces:
    return TwoSpaces(high, low, rows, *compare(high, low, rows, k))
