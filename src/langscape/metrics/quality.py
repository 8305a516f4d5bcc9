"""The scores that every map made from vectors carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data.plane import flat
from langscape.metrics.compare import compare
from langscape.metrics.point_scores import PointScores
from langscape.metrics.scores import TwoSpaces, applying, neighbours
from langscape.metrics.space import Metric, Space, chosen_rows, pair
from langscape.metrics.space import vectors as space_of

# Distances looked at in one call: 2,000 rows of a 10,000-point map, about half a second.
_PAIRS = 20_000_000
_LEAST_ROWS = 500
# The null is a mean over points that are all alike: fewer do.
_NULL_PAIRS, _NULL_ROWS, _NULL_LEAST = 2_000_000, 400, 50


def quality(
    vectors: Any, xy: Any, metric: Metric = "euclidean", seed: int = 0, most_rows: int = 2000
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The scores of a map by name, and the same per point, shape (n,).

    They are those that the registry has for maps: local, global, ndcg, trustworthiness, continuity; some with
    their spread (local_sd), all with what a random layout has (local_null) and, of a map in more than two
    dimensions, with what its flat picture has (flat_local); with the number of neighbours k (10, or fewer
    than half the points) and rows, the number of points judged.
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
    chance = random_layout(high, low, k, seed)
    drawn = None
    if np.ndim(xy) == 2 and np.shape(xy)[1] > 2:
        drawn = _seen(high, space_of(flat(np.asarray(xy, np.float64))), rows, k)
    for score in applying("map", computed=True):
        compute: Any = score.computed["map"]
        measured = PointScores(score.name, compute(seen), rows, n, score.k and k)
        whole[score.name] = measured.mean
        if score.spread:
            beside[f"{score.name}_sd"] = measured.sd
        if score.null:
            dealt = compute(chance)
            beside[f"{score.name}_null"] = float(dealt.mean())
            if score.name == "local":
                beside["dubious"] = float(np.quantile(dealt, 0.95, method="higher"))
        if drawn is not None:
            beside[f"flat_{score.name}"] = float(compute(drawn).mean())
        per_point[score.name] = measured.everywhere()
    return {**whole, **beside, "k": float(k), "rows": float(len(rows))}, per_point


def random_layout(high: Space, low: Space, k: int, seed: int = 0) -> TwoSpaces:
    """The same map with its places dealt anew among the points: what a picture without the information is.

    Of a large map so many points are judged that it takes little beside the map itself; a small one is dealt
    several times.
    """
    n = high.n
    rng = np.random.default_rng(seed)
    rows = chosen_rows(n, None, max(_NULL_LEAST, min(_NULL_ROWS, _NULL_PAIRS // n)), seed)
    rounds = max(1, min(20, 3 * _NULL_ROWS // n))
    dealt = [_seen(high, low.dealt(rng.permutation(n)), rows, k) for _ in range(rounds)]
    return TwoSpaces(
        high,
        low,
        np.tile(rows, rounds),
        np.concatenate([one.ranks for one in dealt]),
        np.concatenate([one.correlations for one in dealt]),
        np.concatenate([one.places_on_map() for one in dealt]),
    )


def _seen(high: Space, low: Space, rows: np.ndarray, k: int) -> TwoSpaces:
    return TwoSpaces(high, low, rows, *compare(high, low, rows, k))
