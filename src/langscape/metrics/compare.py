"""The one computation behind the neighbour and rank figures: two orders of the same points, row by row."""

from __future__ import annotations

import numpy as np

from langscape.metrics.space import GROUP, Space

# Values held at once by one thread, for each of the two spaces: 8 MB.
_BLOCK = 1 << 20


def compare(high: Space, low: Space, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks and correlations of the judged rows.

    ranks (rows, k): the place in the high space, 0 the nearest, of the t-th nearest point in
    the low one. correlations (rows,): Spearman's, of the distances to all other points.
    """
    from langscape.kernels.linear import blocks, side_by_side
    from langscape.metrics import kernels

    n = high.n
    ranks = np.empty((len(rows), k), np.uint32)
    correlations = np.empty(len(rows))

    def work(part: slice) -> None:
        some = rows[part]
        kernels.compare_rows(high.squared(some), low.squared(some), some, n, ranks[part], correlations[part])

    side_by_side(work, blocks(len(rows), max(GROUP, min(64, _BLOCK // n))))
    return ranks, np.clip(correlations, -1.0, 1.0)
