"""The scores that every map made from vectors carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.metrics.compare import compare
from langscape.metrics.point_scores import PointScores
from langscape.metrics.scores import TwoSpaces, applying, neighbours
from langscape.metrics.space import Metric, chosen_rows, pair
from langscape.metrics.space import vectors as space_of

# Distances looked at in one call: 2,000 rows of a 10,000-point map, about half a second.
_PAIRS = 20_000_000
_LEAST_ROWS = 500


def quality(
    vectors: Any, xy: Any, metric: Metric = "euclidean", seed: int = 0, most_rows: int = 2000
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The scores of a map by name, and the same per point, shape (n,).

    They are those that the registry has for maps: local, local_sd, global, global_sd, ndcg, trustworthiness;
    with the number of neighbours k (10, or fewer than half the points) and rows, the number of points judged.
    Maps of more than `most_rows` points are judged on a sample drawn by `seed`, against all
    points; the values of unjudged points are NaN. Fewer than 3 points have nothing to judge.
    """
    high, low = pair(space_of(vectors, metric), xy, least=1)
    n = high.n
    if n < 3:
        return {}, {}
    k = neighbours(n)
    rows = chosen_rows(n, None, min(most_rows, max(_LEAST_ROWS, _PAIRS // n)), seed)
    ranks, correlations = compare(high, low, rows, k)
    seen = TwoSpaces(high, low, rows, ranks, correlations)
    whole: dict[str, float] = {}
    spreads: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    for score in applying("map", computed=True):
        values = score.computed["map"](seen)  # type: ignore[misc]
        measured = PointScores(score.name, values, rows, n, score.k and k)
        whole[score.name] = measured.mean
        if score.spread:
            spreads[f"{score.name}_sd"] = measured.sd
        per_point[score.name] = measured.everywhere()
    return {**whole, **spreads, "k": float(k), "rows": float(len(rows))}, per_point
