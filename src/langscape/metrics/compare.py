"""The one computation behind the neighbour and rank figures: two orders of the same points, row by row."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from langscape.metrics.space import Space

# Values held at once by one thread, for each of the two spaces: 8 MB.
_BLOCK = 1 << 20


def compare(high: Space, low: Space, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks and correlations of the judged rows.

    ranks (rows, k): the place in the high space, 0 the nearest, of the t-th nearest point in
    the low one. correlations (rows,): Spearman's, of the distances to all other points.
    """
    from langscape.metrics import kernels

    n = high.n
    ranks = np.empty((len(rows), k), np.uint32)
    correlations = np.empty(len(rows))

    def work(first: int, last: int) -> None:
        some = rows[first:last]
        kernels.compare_rows(
            high.squared(some), low.squared(some), some, n, ranks[first:last], correlations[first:last]
        )

    in_blocks(work, len(rows), max(1, min(64, _BLOCK // n)))
    return ranks, np.clip(correlations, -1.0, 1.0)


def in_blocks(work: Callable[[int, int], None], rows: int, block: int) -> None:
    """Call work(first, last) for blocks of rows, side by side on the threads numba may use."""
    import numba

    firsts = range(0, rows, block)
    threads = min(numba.get_num_threads(), len(firsts))
    if threads < 2:
        for first in firsts:
            work(first, min(first + block, rows))
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda first: work(first, min(first + block, rows)), firsts):
            pass
