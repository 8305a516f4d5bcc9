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

from langscape.affinity.points import Metric
from langscape.affinity.ranks import Ranked
from langscape.data import Affinities, Checkpoint, Items, Progress

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
    from langscape.kernels.sparse import reciprocal_pairs

    found = Ranked(X, perplexity, metric, items or labels, recall, seed, progress, checkpoint)
    n, reach = found.index.shape
    answers = reciprocal_pairs(found.index, min(reach, found.stretched(ANSWER)))
    rows = found.weight * (1.0 + answers)
    rows /= rows.sum(1, keepdims=True)
    named = np.bincount(found.index[:, : found.stretched(NAMED)].ravel(), minlength=n)
    share = (named + 1.0) ** 0.25
    rows *= (share / share.mean())[:, None]
    return found.affinities("reciprocal", rows, found.items.with_columns(answered=answers.sum(1)))
