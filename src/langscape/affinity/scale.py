"""Which c makes distance between queries and keys a proxy for attention: document 001's three metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from langscape.affinity.head_vectors import HeadVectors, head_vectors, heads_of
from langscape.affinity.query_key import check_scale, norm_ratio
from langscape.data import Capture, Progress, Step, frozen
from langscape.errors import DataError, SettingsError

CONSTANTS = (0.2, 0.4, 0.8, 1.0, 1.25, 2.5, 5.0)
"""The constants of the document."""

FINE = 97
"""Values of c, evenly spaced in log c from the least to the largest constant, of the fine search."""

ENOUGH = 0.1
"""The fine search looks only where so many queries count, as a share of the most that count for any c: among
97 values some have three queries that happen to agree, and such a c is worth nothing on other sentences."""

Metric = Literal["weighted", "scaled", "norms"]
_METRICS = ("weighted", "scaled", "norms")


@dataclass(frozen=True, eq=False)
class Scales:
    """The chosen c of every head, and what it was chosen by; rows are `heads`.

    heads        (heads, 2) layer and head, the model's own numbers
    c            (heads,) the constant chosen, NaN where no query counted for any
    values       (heads, constants) the metric, −1 is best, NaN where no query counted
    counted      (heads, constants) queries with at least `least_keys` keys nearer than the threshold
    threshold    (heads,) the distance below which pairs count
    fine_c, fine_value, fine_counted (heads,) the best of the continuous range
    correlation  (heads, 3) mean weighted correlation at c = 1, at c and at fine_c
    held         (heads, 3) the metric on sentences that the choice had not seen: at c = 1, at the
                 constant and at the fine c that the other half of the sentences chose
    """

    metric: str
    percentile: float
    least_keys: int
    constants: tuple[float, ...]
    heads: np.ndarray
    c: np.ndarray
    values: np.ndarray
    counted: np.ndarray
    threshold: np.ndarray
    fine_c: np.ndarray
    fine_value: np.ndarray
    fine_counted: np.ndarray
    correlation: np.ndarray
    held: np.ndarray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def of(self, layer: int, head: int) -> int:
        """The row of a head."""
        row = np.flatnonzero((self.heads == [layer, head]).all(axis=1))
        if not len(row):
            raise SettingsError(f"no c was chosen for head {layer}.{head}; it is not among the heads given")
        return int(row[0])

    def grid(self, name: str = "c") -> tuple[np.ndarray, list[int], list[int]]:
        """A figure of every head as (layers, heads), NaN where there is none, and the numbers of both."""
        layers, heads = (sorted(set(self.heads[:, at].tolist())) for at in (0, 1))
        grid = np.full((len(layers), len(heads)), np.nan)
        for value, (layer, head) in zip(getattr(self, name), self.heads.tolist(), strict=True):
            grid[layers.index(layer), heads.index(head)] = value
        return grid, layers, heads


ARRAYS = (
    "heads", "c", "values", "counted", "threshold", "fine_c", "fine_value", "fine_counted", "correlation",
    "held",
)  # fmt: skip


def choose_scale(
    capture: Capture,
    metric: Metric = "scaled",
    percentile: float = 0.5,
    least_keys: int = 2,
    *,
    heads: Sequence[tuple[int, int]] | None = None,
    constants: Sequence[float] = CONSTANTS,
    fine: int = FINE,
    special: Literal["keep", "drop"] = "keep",
    seed: int = 0,
    progress: Progress | None = None,
) -> Scales:
    """The c of every head by one of the document's metrics, with the number of counted queries per constant.

    "weighted": for each query, the correlation of dot product and distance over the keys of its sentence
    nearer than d, weighted by (d − distance)², averaged over queries; d is that percentile of the head's
    distances, pooled over all constants. "scaled": the sum of these over the number of counted queries of
    *all* heads for that constant. "norms": c = √(median‖q‖/median‖k‖). The lowest wins.

    With the document's percentile of 0.5 most counted queries have two keys, and a correlation of ±1;
    percentile=5, least_keys=3 gives a choice that also holds on sentences it has not seen.
    """
    if metric not in _METRICS:
        raise SettingsError(f"metric {metric!r} is not known; use {', '.join(_METRICS)}")
    if not 0 < percentile <= 100:
        raise SettingsError(f"percentile {percentile} must be above 0 and at most 100")
    if least_keys < 2:
        raise SettingsError(f"least_keys {least_keys} is too few; a correlation needs at least 2 keys")
    tried = tuple(float(c) for c in constants)
    for c in tried:
        check_scale(c)
    if not tried:
        raise SettingsError("constants is empty; give at least one value of c")
    chosen = heads_of(capture) if heads is None else [(int(a), int(b)) for a, b in heads]
    tell = progress or (lambda step: None)
    spaced = (
        np.geomspace(min(tried), max(tried), max(2, fine)) if min(tried) < max(tried) else np.array(tried)
    )
    settings = (float(percentile), int(least_keys), np.array(tried), spaced)
    whole, seen, unseen, ratios = [], [], [], []
    sides = _halves(capture, seed)
    for done, key in enumerate(chosen):
        one = head_vectors(capture, *key, special=special)
        ratios.append(norm_ratio(one.Q, one.K))
        whole.append(_measured(one, None, settings, (ratios[-1], 1.0)))
        for side, into in zip(sides, (seen, unseen), strict=True):
            into.append(_measured(one, side, settings, (ratios[-1], 1.0)))
        tell(Step(done + 1, len(chosen), "choosing c"))
    return _chosen(metric, settings, chosen, whole, seen, unseen, np.array(ratios), capture.notes)


@dataclass(frozen=True, eq=False)
class _Measured:
    """Sums of correlations and counted queries at every constant, fine value and extra value of c."""

    threshold: float
    sums: np.ndarray
    counts: np.ndarray


def _measured(
    one: HeadVectors, side: np.ndarray | None, settings: Any, extra: tuple[float, ...]
) -> _Measured:
    percentile, least, constants, fine = settings
    every = np.concatenate([constants, fine, extra])
    pairs = one.pairs
    kept = np.ones(len(pairs), bool) if side is None else side[one.queries.columns["sentence"][pairs.query]]
    if not kept.any():
        return _Measured(np.nan, np.zeros(len(every)), np.zeros(len(every), np.int64))
    query, key, score = pairs.query[kept], pairs.key[kept], pairs.score[kept]
    rows, columns = np.unique(query), np.unique(key)
    Q, K = one.Q.astype(np.float64), one.K.astype(np.float64)
    Q, K = Q - Q[rows].mean(axis=0), K - K[columns].mean(axis=0)
    # scaled and translated, q − k is (q − q̄)/c − c(k − k̄): three sums give the distance for every c
    a = np.einsum("ij,ij->i", Q, Q)[query]
    b = np.einsum("ij,ij->i", K, K)[key]
    g = np.einsum("ij,ij->i", Q[query], K[key])

    def squared(c: float) -> np.ndarray:
        return np.maximum(a / (c * c) + (c * c) * b - 2 * g, 0.0)

    pool = np.concatenate([squared(c) for c in constants])
    limit = float(np.sqrt(np.percentile(pool, percentile)))
    sums, counts = np.zeros(len(every)), np.zeros(len(every), np.int64)
    for at, c in enumerate(every):
        far = squared(c)
        near = np.flatnonzero(far < limit * limit)
        sums[at], counts[at] = _correlations(query[near], score[near], np.sqrt(far[near]), limit, least)
    return _Measured(limit, sums, counts)


def _correlations(
    query: np.ndarray, x: np.ndarray, y: np.ndarray, limit: float, least: int
) -> tuple[float, int]:
    """Sum over queries of the weighted correlation of x with y, and how many queries counted."""
    if not len(query):
        return 0.0, 0
    _, group, size = np.unique(query, return_inverse=True, return_counts=True)
    w = (limit - y) ** 2
    total = np.bincount(group, w)
    safe = np.where(total > 0, total, 1.0)
    dx = x - (np.bincount(group, w * x) / safe)[group]
    dy = y - (np.bincount(group, w * y) / safe)[group]
    cov, varx, vary = (np.bincount(group, w * v) / safe for v in (dx * dy, dx * dx, dy * dy))
    scale = np.sqrt(varx * vary)
    # keys at one distance, or of one product, have no correlation
    valid = (size >= least) & (total > 0) & (scale > 1e-12 * np.maximum(np.abs(cov), 1e-300)) & (scale > 0)
    return float(np.clip(cov[valid] / scale[valid], -1, 1).sum()), int(valid.sum())


def _halves(capture: Capture, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of the sentences, as a truth value per sentence."""
    sentence = np.asarray(capture.made.get("sentence", [0]))
    n = int(sentence.max()) + 1
    if "target" in capture.made:
        n = max(n, int(np.max(capture.made["target"].get("sentence", [0]))) + 1)
    first = np.zeros(n, bool)
    first[np.random.default_rng(seed).permutation(n)[: (n + 1) // 2]] = True
    return first, ~first


def _chosen(
    metric: str,
    settings: Any,
    heads: list[tuple[int, int]],
    whole: list[_Measured],
    seen: list[_Measured],
    unseen: list[_Measured],
    ratios: np.ndarray,
    notes: tuple[str, ...],
) -> Scales:
    percentile, least, constants, fine = settings
    if not heads:
        raise DataError("there are no heads to choose c for")
    n, rows = len(constants), np.arange(len(heads))
    grid = np.concatenate([constants, fine])
    one = len(grid) + 1
    means = _by("weighted", whole)
    values = _by("weighted" if metric == "norms" else metric, whole)
    counts = np.stack([m.counts for m in whole])
    if metric == "norms":
        at = fine_at = np.full(len(heads), len(grid))
        c = fine_c = ratios
        learned = learned_fine = at
    else:
        at = _least(values[:, :n])
        fine_at = n + _least(_enough(values, counts)[:, n : len(grid)])
        some, some_fine = counts[:, :n].any(axis=1), counts[:, n : len(grid)].any(axis=1)
        c = np.where(some, grid[at], np.nan)
        fine_c = np.where(some_fine, grid[fine_at], np.nan)
        half = _by(metric, seen)
        learned = _least(half[:, :n])
        half = _enough(half, np.stack([m.counts for m in seen]))
        learned_fine = n + _least(half[:, n : len(grid)])
    test = _by("weighted" if metric == "norms" else metric, unseen)
    return Scales(
        metric,
        percentile,
        least,
        tuple(constants.tolist()),
        np.array(heads, np.int64),
        c,
        values[:, :n],
        counts[:, :n],
        np.array([m.threshold for m in whole]),
        fine_c,
        values[rows, fine_at],
        counts[rows, fine_at],
        np.column_stack([means[:, one], means[rows, at], means[rows, fine_at]]),
        np.column_stack([test[:, one], test[rows, learned], test[rows, learned_fine]]),
        notes,
    )


def _by(metric: str, measured: list[_Measured]) -> np.ndarray:
    """The metric of every head at every c; NaN where no query of the head counted."""
    sums, counts = np.stack([m.sums for m in measured]), np.stack([m.counts for m in measured])
    over = counts if metric == "weighted" else np.broadcast_to(counts.sum(axis=0), counts.shape)
    return np.where(counts > 0, sums / np.maximum(over, 1), np.nan)


def _enough(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The values that at least a tenth of the head's counted queries stand behind; the others are NaN."""
    return np.where(counts >= ENOUGH * counts.max(axis=1, keepdims=True), values, np.nan)


def _least(values: np.ndarray) -> np.ndarray:
    return np.argmin(np.where(np.isnan(values), np.inf, values), axis=1)
