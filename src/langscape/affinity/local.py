"""Local perplexity (Claassen 2020, section 4.2.1): each word considers as many others as are like it.

A word's score is the number of words whose cosine similarity stands out from its own: at least
μ_i + k·σ_i of its similarities (eq. 4.2–4.3). Its `score` most similar words, weighted by similarity,
are averaged half and half with the ordinary conditional row of the global perplexity.

μ_i and σ_i need no pair: with u the unit vectors, μ_i = u_i·Σu/n and μ_i² + σ_i² = u_iᵀ(Σuuᵀ/n)u_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from langscape.affinity.given_vectors import given_vectors
from langscape.affinity.joint import joint_from_dense
from langscape.affinity.points import (
    EXACT_UP_TO,
    Metric,
    check_metric,
    checked_perplexity,
    conditional,
    neighbour_rows,
    perplexity_notes,
    unit_rows,
)
from langscape.data import Affinities, Checkpoint, Items, Progress
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import one_blas_thread

MOST = 100
"""Words that a word considers at most; of very many words hundreds stand out, of a few thousand a handful."""


def local(
    X: Any,
    perplexity: float | Sequence[float] | np.ndarray = 30.0,
    k: float = 2.0,
    at_least: int = 1,
    labels: Sequence[str] | None = None,
    *,
    metric: Metric = "euclidean",
    items: Items | None = None,
    recall: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Affinities:
    """The joint P with local perplexities; the column `score` of its items says how many words stand out.

    Of these, at least `at_least` and at most 100 are considered. 1 is Claassen's. 10 is nearly a
    constant: on GloVe vectors fewer stand out for four words in five. metric is that of
    the ordinary row; what stands out is told by the cosine, as in Claassen 2020.

    >>> import numpy as np
    >>> a = local(np.random.default_rng(0).normal(size=(40, 8)), perplexity=5)
    >>> int(a.items.columns["score"].max())
    3
    """
    given = given_vectors(X, seed)
    X, n = given.matrix, len(given.matrix)
    items = items or (Items(labels) if labels is not None else Items.numbered(n))
    if len(items) != n:
        raise DataError(f"{len(items)} labels for {n} rows; give one label per row")
    wanted = checked_perplexity(perplexity, n)
    check_metric(metric)
    if not np.isfinite(k):
        raise SettingsError(f"k {k} must be a number; 2 and 3 are usual")
    if at_least < 1:
        raise SettingsError(f"at_least {at_least} must be 1 or more")
    unit = unit_rows(X, items)
    space = unit if metric == "cosine" else X
    most = min(n - 1, max(MOST, at_least))
    shown = {"progress": progress, "checkpoint": checkpoint}
    own = _standing_out(unit, k, min(at_least, n - 1), most, recall, seed, **shown)
    if n <= EXACT_UP_TO:
        P, perplexities = conditional(space, wanted)
        P *= 0.5
        P += 0.5 * own.rows.toarray()
        joint: Any = joint_from_dense(P)
        reached = 1.0
    else:
        around = neighbour_rows(space, wanted, recall, seed, **shown)
        perplexities, reached = around.perplexity, around.recall
        both = csr_array(0.5 * around.matrix() + 0.5 * own.rows)
        joint = csr_array(both + both.T)
        joint.sort_indices()
        joint = csr_array(
            ((joint.data / joint.data.sum(dtype=np.float64)).astype(np.float32), joint.indices, joint.indptr),
            (n, n),
        )
    settings = {
        "affinity": "local",
        "perplexity": float(wanted[0]) if np.ptp(wanted) == 0 else "per point",
        "metric": metric,
        "k": float(k),
        "at_least": int(at_least),
        "recall": round(min(reached, own.recall), 4),
    }
    notes = (
        *given.notes,
        *_notes(own.scores, at_least, most),
        *perplexity_notes(wanted, perplexities, items),
    )
    return Affinities(joint, items.with_columns(score=own.scores), settings, X, metric, notes)


class _StandingOut(NamedTuple):
    """How many words stand out for each, the conditional rows over those considered, and the recall."""

    scores: np.ndarray
    rows: csr_array
    recall: float


def _notes(scores: np.ndarray, at_least: int, most: int) -> tuple[str, ...]:
    few, many = float(np.mean(scores < at_least)), float(np.mean(scores >= most))
    notes = []
    if at_least > 1 and few:
        notes.append(
            f"{100 * few:.0f} % of words have fewer than {at_least} that stand out: for them it is a constant"
        )
    if many and most < len(scores) - 1:
        notes.append(
            f"for {100 * many:.0f} % of words {most} or more stand out; the {most} most similar are taken"
        )
    return tuple(notes)


def _standing_out(
    unit: np.ndarray, k: float, at_least: int, most: int, recall: float, seed: int, **shown: Any
) -> _StandingOut:
    """Scores, and the conditional matrix that keeps each row's `score` most similar words."""
    from langscape.kernels.neighbours import nearest

    n = len(unit)
    # half the squared distance of unit vectors is 1 − cosine
    found = nearest(unit, most, recall=recall, seed=seed, doing="words that stand out", **shown)
    bar = _bars(unit, k)
    similar = 1.0 - found.squared.astype(np.float64) / 2.0
    # where the bar lies within rounding of a similarity, that word stands out, as in Claassen's ≥
    scores = (similar >= bar[:, None] - 1e-6).sum(1)
    kept = np.clip(scores, at_least, most)
    weight = np.where(np.arange(most) < kept[:, None], np.maximum(similar, 0.0), 0.0)
    total = weight.sum(1, keepdims=True)
    # a word with no positive similarity at all leans on its nearest alike
    weight = np.where(total > 0, weight / np.where(total > 0, total, 1.0), np.arange(most) == 0)
    row, column = np.nonzero(weight)
    entries = (weight[row, column], (row, found.index[row, column]))
    return _StandingOut(scores, csr_array(entries, shape=(n, n)), found.recall)


def _bars(unit: np.ndarray, k: float) -> np.ndarray:
    """μ_i + k·σ_i of each row's similarities with all others, the row itself left out."""
    U = np.asarray(unit, np.float64)
    n = len(U)
    with one_blas_thread():
        first = (U @ U.sum(0) - 1.0) / (n - 1)
        second = (np.einsum("ij,ij->i", U @ (U.T @ U), U) - 1.0) / (n - 1)
    return first + k * np.sqrt(np.maximum(second - first**2, 0.0))
