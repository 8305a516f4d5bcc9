"""Is the order of distances kept? Rank correlations, per point and over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.metrics.compare import compare
from langscape.metrics.null import Null
from langscape.metrics.point_scores import Correlation, PointScores
from langscape.metrics.space import chosen_rows, pair

_DRAWS = 99


def global_(
    high: Any, low: Any, *, rows: Any = None, most_rows: int | None = None, seed: int = 0
) -> PointScores:
    """Per point, the Spearman correlation of its distances to all others in both spaces, −1 to 1.

    A point with all others at one distance has no order to keep and gets 0.

    >>> float(global_([[0.0], [1.0], [3.0]], [[0.0], [10.0], [90.0]]))
    1.0
    """
    high, low = pair(high, low, least=3)
    rows = chosen_rows(high.n, rows, most_rows, seed)
    _, correlations = compare(high, low, rows, 1)
    return PointScores("global", correlations, rows, high.n)


def spearman_by_chance(high: Any, low: Any, *, most_rows: int = 200, seed: int = 0) -> Null:
    """`spearman` with the points of the second space dealt anew, of at most so many points.

    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> null = spearman_by_chance(X, X)
    >>> -0.1 < null.low < null.mean < null.high < 0.1
    True
    """
    from scipy.stats import rankdata

    high, low = pair(high, low, least=3)
    rows = chosen_rows(high.n, None, most_rows, seed)
    far = [space.squared(rows)[:, rows] for space in (high, low)]
    above = np.triu_indices(len(rows), 1)
    still = rankdata(far[0][above])
    places = np.zeros((len(rows), len(rows)))
    places[above] = rankdata(far[1][above])
    places += places.T
    still -= still.mean()
    middle = places[above].mean()
    spread = float(np.sqrt(np.einsum("i,i->", still, still) * ((places[above] - middle) ** 2).sum()))
    rng, found = np.random.default_rng(seed), []
    for _ in range(_DRAWS):
        turn = rng.permutation(len(rows))
        dealt = places[turn[above[0]], turn[above[1]]] - middle
        found.append(float(np.einsum("i,i->", still, dealt)) / spread if spread > 0 else 0.0)
    return Null.of(found)


def spearman(
    high: Any, low: Any, *, rows: Any = None, most_rows: int | None = 2000, seed: int = 0
) -> Correlation:
    """One Spearman correlation over the distances of all pairs (Christoffel 2023's ρ), −1 to 1.

    Above `most_rows` points, the pairs among a sample of that many are taken. Each pair
    counts once; distances that are not symmetric are read above the diagonal. All pairs at
    one distance have no order to keep: 0.
    """
    from scipy.stats import rankdata

    high, low = pair(high, low, least=3)
    rows = chosen_rows(high.n, rows, most_rows, seed)
    above = np.triu_indices(len(rows), 1)
    ranked = [rankdata(space.squared(rows)[:, rows][above]) for space in (high, low)]
    a, b = (ranks - ranks.mean() for ranks in ranked)
    # einsum, not @: its order of summation does not depend on the number of threads.
    spread = float(np.sqrt(np.einsum("i,i->", a, a)) * np.sqrt(np.einsum("i,i->", b, b)))
    value = float(np.einsum("i,i->", a, b)) / spread if spread > 0 else 0.0
    return Correlation(min(1.0, max(-1.0, value)), rows, high.n)
