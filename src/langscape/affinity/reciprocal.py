"""Affinities by ranks and reciprocal neighbours: what a word weighs depends on who answers it.

Three things differ from a perplexity. A neighbour weighs by its rank, not its distance, so that every word
has the same few nearest and a long, light tail. It weighs twice where the word is among its own nearest too,
so that words in tight groups hold together. And a word's whole row weighs as the fourth root of how many
words name it among their nearest: words that nobody names are placed, but hardly pull.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.affinity.given_vectors import given_vectors
from langscape.affinity.joint import joint_from_neighbours
from langscape.affinity.points import EXACT_UP_TO, Metric, check_metric, checked_perplexity, unit_rows
from langscape.data import Affinities, Checkpoint, Items, Progress
from langscape.errors import DataError

STEPS = ((3, 0.693), (5, 0.36), (10, 0.16), (25, 0.06), (50, 0.02))
"""Ranks up to which a neighbour has a weight, at perplexity 30.

The weights are Σ 1/k over those k of 3, 5, 10, 25 and 50 among whose nearest the neighbour is: what it counts
for where the share kept of the k nearest is averaged over the five.
"""

ANSWER, NAMED = 25, 10
"""Nearest among which a word must be for a neighbour to answer it, and to be counted as named."""


def reciprocal(
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
    """The joint P of the rows of X by ranks and reciprocal neighbours; the cost is linear in their number.

    perplexity stretches all ranks: at 30 a word's 50 nearest count. The column `answered` of the items says
    how many of a word's nearest name it in turn.

    >>> import numpy as np
    >>> a = reciprocal(np.random.default_rng(0).normal(size=(80, 4)), perplexity=10)
    >>> round(float(a.P.sum()), 5), a.settings["neighbours"]
    (1.0, 17)
    """
    from langscape.kernels.neighbours import nearest
    from langscape.kernels.sparse import reciprocal_pairs

    given = given_vectors(X, seed)
    X, n = given.matrix, len(given.matrix)
    items = items or (Items(labels) if labels is not None else Items.numbered(n))
    if len(items) != n:
        raise DataError(f"{len(items)} labels for {n} rows; give one label per row")
    stretch = float(checked_perplexity(perplexity, n)[0]) / 30.0
    check_metric(metric)
    space = unit_rows(X, items) if metric == "cosine" else X
    steps = [(max(1, round(rank * stretch)), weight) for rank, weight in STEPS]
    reach = min(n - 1, steps[-1][0])
    found = nearest(space, reach, recall=recall, seed=seed, progress=progress, checkpoint=checkpoint)
    rank = np.arange(1, reach + 1)
    weight = np.zeros(reach)
    for last, value in reversed(steps):
        weight[rank <= last] = value
    answers = reciprocal_pairs(found.index, min(reach, max(1, round(ANSWER * stretch))))
    rows = weight * (1.0 + answers)
    rows /= rows.sum(1, keepdims=True)
    named = np.bincount(found.index[:, : max(1, round(NAMED * stretch))].ravel(), minlength=n)
    share = (named + 1.0) ** 0.25
    rows *= (share / share.mean())[:, None]
    P: Any = joint_from_neighbours(rows.astype(np.float32), found.index)
    if n <= EXACT_UP_TO:
        P = P.toarray()
    settings = {
        "affinity": "reciprocal", "perplexity": 30.0 * stretch, "metric": metric,
        "neighbours": reach, "recall": round(found.recall, 4),
    }  # fmt: skip
    items = items.with_columns(answered=answers.sum(1))
    return Affinities(P, items, settings, vectors=X, metric=metric, notes=given.notes)
