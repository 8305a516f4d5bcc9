"""How much of a vector is the item's, and how much its context's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from langscape.metrics.null import Null

if TYPE_CHECKING:
    from langscape.data import Gaussians

DRAWS = 99


def explained_by_item(given: Gaussians, *, draws: int = DRAWS, seed: int = 0) -> tuple[float, Null] | None:
    """The share of the variance of all rows that is told by whose they are, and the same by chance.

    It is 1 − (variance within items) / (variance of all rows), both divided by their degrees of freedom, so
    that rows dealt at random among the items give 0 on average however few they are. None where rows are not
    known, where no item has two, or where there is one item alone.

    >>> from langscape.data import Gaussians, Items
    >>> rows = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> g = Gaussians([[0.05], [5.05], [9.0]], [[0.0]] * 3, Items(list("abc")), [2, 2, 1], samples=rows)
    >>> value, null = explained_by_item(g)
    >>> round(value, 3), abs(null.mean) < 0.2
    (1.0, True)
    """
    from scipy.sparse import csr_array

    counts = given.counts[given.counts > 0]
    n, items = int(counts.sum()), len(counts)
    if given.samples is None or n <= items or items < 2:
        return None
    X = given.samples.astype(np.float64)
    X = X - X.mean(axis=0)
    total = float((X * X).sum())
    if not total > 0:
        return None
    starts = np.concatenate([[0], np.cumsum(counts)])

    def explained(order: np.ndarray) -> float:
        sums = csr_array((np.ones(n), order, starts), shape=(items, n)) @ X
        within = total - float(((sums * sums).sum(axis=1) / counts).sum())
        return 1.0 - (within / (n - items)) / (total / (n - 1))

    rng = np.random.default_rng([seed, n, items])
    return explained(np.arange(n)), Null.of([explained(rng.permutation(n)) for _ in range(draws)])
