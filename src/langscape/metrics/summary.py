"""The figures that every map made from vectors carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.metrics.compare import compare
from langscape.metrics.figure import Figure
from langscape.metrics.neighbours import local_of, ndcg_of, trustworthiness_of
from langscape.metrics.space import Metric, chosen_rows, pair
from langscape.metrics.space import vectors as space_of

K = 10
# Distances looked at in one call: 2,000 rows of a 10,000-point map, about half a second.
_PAIRS = 20_000_000
_LEAST_ROWS = 500


def quality(
    vectors: Any, xy: Any, metric: Metric = "euclidean", seed: int = 0, most_rows: int = 2000
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The figures of a map by name, and the same per point, shape (n,).

    Figures: local, local_sd, global, global_sd, ndcg, trustworthiness, the number of
    neighbours k (10, or fewer than half the points), and rows, the number of points judged.
    Maps of more than `most_rows` points are judged on a sample drawn by `seed`, against all
    points; the values of unjudged points are NaN. Fewer than 3 points have nothing to judge.
    """
    high, low = pair(space_of(vectors, metric), xy, least=1)
    n = high.n
    if n < 3:
        return {}, {}
    k = min(K, (n - 1) // 2)
    rows = chosen_rows(n, None, min(most_rows, max(_LEAST_ROWS, _PAIRS // n)), seed)
    ranks, correlations = compare(high, low, rows, k)
    figures = [
        Figure("local", local_of(ranks), rows, n, k),
        Figure("global", correlations, rows, n),
        Figure("ndcg", ndcg_of(ranks, k), rows, n, k),
        Figure("trustworthiness", trustworthiness_of(ranks, n), rows, n, k),
    ]
    whole = {figure.name: figure.mean for figure in figures}
    whole |= {f"{figure.name}_sd": figure.sd for figure in figures[:2]}
    whole |= {"k": float(k), "rows": float(len(rows))}
    return whole, {figure.name: figure.everywhere() for figure in figures}
