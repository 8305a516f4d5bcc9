"""Affinities by ranks alone: every item weighs its nearest by their order, the same for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.affinity.given_vectors import GivenVectors, given_vectors
from langscape.affinity.joint import joint_from_neighbours
from langscape.affinity.points import EXACT_UP_TO, Metric, check_metric, checked_perplexity, unit_rows
from langscape.data import Affinities, Checkpoint, Items, Progress
from langscape.errors import DataError

STEPS = ((3, 0.693), (5, 0.36), (10, 0.16), (25, 0.06), (50, 0.02))
"""Ranks up to which a neighbour has a weight, at perplexity 30.

The weights are Σ 1/k over those k of 3, 5, 10, 25 and 50 among whose nearest the neighbour is: what it counts
for where the share kept of the k nearest is averaged over the five.
"""


def ranks(
    X: Any,
    perplexity: float = 30.0,
    metric: Metric = "euclidean",
    labels: Sequence[str] | None = None,
    *,
    items: Items | None = None,
    recall: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Affinities:
    """The joint P of the rows of X by the ranks of their nearest; the cost is linear in their number.

    perplexity stretches all ranks: at 30 an item's 50 nearest count.

    >>> import numpy as np
    >>> a = ranks(np.random.default_rng(0).normal(size=(80, 4)), perplexity=10)
    >>> round(float(a.P.sum()), 5), a.settings["neighbours"]
    (1.0, 17)
    """
    found = Ranked(X, perplexity, metric, items or labels, recall, seed, progress, checkpoint)
    return found.affinities(
        "ranks", np.tile(found.weight / found.weight.sum(), (len(found.index), 1)), found.items
    )


class Ranked:
    """The nearest of every row, and what each weighs by its rank.

    index    (n, reach) the nearest of each row, nearest first
    weight   (reach,) what each of them weighs
    stretch  by how much ranks are stretched: perplexity / 30
    """

    def __init__(
        self,
        X: Any,
        perplexity: float,
        metric: Metric,
        named: Items | Sequence[str] | None,
        recall: float,
        seed: int,
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        from langscape.kernels.neighbours import nearest

        self._given: GivenVectors = given_vectors(X, seed)
        X, n = self._given.matrix, len(self._given.matrix)
        self.items = (
            named if isinstance(named, Items) else Items.numbered(n) if named is None else Items(named)
        )
        if len(self.items) != n:
            raise DataError(f"{len(self.items)} labels for {n} rows; give one label per row")
        self.stretch = float(checked_perplexity(perplexity, n)[0]) / 30.0
        check_metric(metric)
        self._metric: Metric = metric
        steps = [(self.stretched(rank), value) for rank, value in STEPS]
        reach = min(n - 1, steps[-1][0])
        space = unit_rows(X, self.items) if metric == "cosine" else X
        how: dict[str, Any] = {"recall": recall, "seed": seed, "progress": progress, "checkpoint": checkpoint}
        found = nearest(space, reach, **how)
        self.index, self._recall = found.index, found.recall
        weight = np.zeros(reach)
        for last, value in reversed(steps):
            weight[:last] = value
        self.weight = weight

    def stretched(self, rank: int) -> int:
        """A rank at this perplexity."""
        return max(1, round(rank * self.stretch))

    def affinities(self, name: str, rows: np.ndarray, items: Items) -> Affinities:
        """The joint P of rows that weigh the nearest so."""
        n, reach = self.index.shape
        P: Any = joint_from_neighbours(rows.astype(np.float32), self.index)
        if n <= EXACT_UP_TO:
            P = P.toarray()
        settings = {
            "affinity": name, "perplexity": 30.0 * self.stretch, "metric": self._metric,
            "neighbours": reach, "recall": round(self._recall, 4),
        }  # fmt: skip
        given = self._given
        return Affinities(P, items, settings, vectors=given.matrix, metric=self._metric, notes=given.notes)
