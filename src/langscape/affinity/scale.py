"""Which c makes distance between queries and keys a proxy for attention, by three metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from langscape.affinity.head_vectors import HeadVectors, head_vectors, heads_of
from langscape.affinity.query_key import check_scale, norm_ratio
from langscape.data import Capture, Progress, Step, frozen
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun

CONSTANTS = (0.2, 0.4, 0.8, 1.0, 1.25, 2.5, 5.0)
"""The constants of the 2023 page."""

FINE = 97
"""Values of c, evenly spaced in log c from the least to the largest constant, of the fine search."""

ENOUGH = 0.1
"""The fine search looks only where so many queries count, as a share of the most that count for any c: among
97 values some have three queries that happen to agree, and such a c is worth nothing on other sentences."""

CLEAR = 2.0
"""Standard errors that a c must gain over c = 1 to be taken: with none, noise is taken too, and one head in
six is worse off on other sentences."""

BLOCKS = 20
"""Parts of the sentences of which each is left out once, to see how far a gain depends on them."""

Metric = Literal["weighted", "scaled", "norms"]
_METRICS = ("weighted", "scaled", "norms")


@noun
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
    held_out     (heads, 3) the metric on sentences that the choice had not seen: at c = 1, at the
                 constant and at the fine c that the other half of the sentences chose
    low, high    (heads,) the constants that are not clearly worse than the chosen one lie between these
    told         (heads,) whether some constant is clearly worse: where none is, the data cannot tell c
    clear        standard errors that c had to gain over c = 1; where none did, c is 1
    centred      whether keys were moved to the queries' centre before distances were taken
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
    held_out: np.ndarray
    low: np.ndarray
    high: np.ndarray
    told: np.ndarray
    clear: float = 0.0
    notes: tuple[str, ...] = ()
    centred: bool = True

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
    "held_out", "low", "high", "told",
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
    clear: float = CLEAR,
    centred: bool = True,
    special: Literal["keep", "drop"] = "keep",
    seed: int = 0,
    progress: Progress | None = None,
) -> Scales:
    """The c of every head by one of the 2023 page's metrics, with the number of counted queries per constant.

    "weighted": for each query, the correlation of dot product and distance over the keys of its sentence
    nearer than d, weighted by (d − distance)², averaged over queries; d is that percentile of the head's
    distances, pooled over all constants. "scaled": the sum of these over the number of counted queries of
    *all* heads for that constant. "norms": c = √(median‖q‖/median‖k‖).

    The one wins that is surely the lowest: lower than c = 1 after `clear` standard errors (a jackknife over
    twenty parts of the sentences) are taken off; where none is, c stays 1. `low` to `high` are the constants
    that are not worse than it by as many errors; where that is all of them, `told` is False, and c is 1
    because the sentences say nothing. clear=0 is the page's: the lowest wins. With its percentile of 0.5
    most counted queries have two keys, and a correlation of ±1; percentile=5, least_keys=3 gives a choice
    that also holds on sentences it has not seen.

    centred=True takes distances as the map has them, keys moved to the queries' centre; False takes q/c − ck
    as it is, which is how the author's notebook computes c.
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
    if not 0 <= clear < np.inf:
        raise SettingsError(f"clear {clear} must be 0 or more: standard errors that c must gain over c = 1")
    if not tried:
        raise SettingsError("constants is empty; give at least one value of c")
    chosen = heads_of(capture) if heads is None else [(int(a), int(b)) for a, b in heads]
    tell = progress or (lambda step: None)
    spaced = (
        np.geomspace(min(tried), max(tried), max(2, fine)) if min(tried) < max(tried) else np.array(tried)
    )
    settings = _Settings(
        metric, float(percentile), int(least_keys), np.array(tried), spaced, float(clear), centred
    )
    measured: tuple[list[_Measured], ...] = ([], [], [])
    ratios = []
    parts = _parts(capture, seed)
    for done, key in enumerate(chosen):
        one = head_vectors(capture, *key, special=special)
        ratios.append(norm_ratio(one.Q, one.K))
        for side, into in zip((None, 0, 1), measured, strict=True):
            into.append(_measured(one, parts, side, settings, (ratios[-1], 1.0)))
        tell(Step(done + 1, len(chosen), "choosing c"))
    return _chosen(settings, chosen, *measured, np.array(ratios), capture.notes)


@dataclass(frozen=True, eq=False)
class _Settings:
    metric: str
    percentile: float
    least: int
    constants: np.ndarray
    fine: np.ndarray
    clear: float
    centred: bool = True


@dataclass(frozen=True, eq=False)
class _Measured:
    """Sums of correlations and counted queries, (blocks, values), at every constant, fine and extra c."""

    threshold: float
    sums: np.ndarray
    counts: np.ndarray


def _measured(
    one: HeadVectors, parts: np.ndarray, side: int | None, settings: _Settings, extra: tuple[float, ...]
) -> _Measured:
    """What a head's queries say for every c; `side` takes only the sentences whose part is odd, or even."""
    every = np.concatenate([settings.constants, settings.fine, extra])
    pairs = one.pairs
    block = parts[one.queries.columns["sentence"]]
    kept = np.ones(len(pairs), bool) if side is None else block[pairs.query] % 2 == side
    sums, counts = np.zeros((BLOCKS, len(every))), np.zeros((BLOCKS, len(every)), np.int64)
    if not kept.any():
        return _Measured(np.nan, sums, counts)
    query, key, score = pairs.query[kept], pairs.key[kept], pairs.score[kept]
    rows, columns = np.unique(query), np.unique(key)
    Q, K = one.Q.astype(np.float64), one.K.astype(np.float64)
    if settings.centred:
        Q, K = Q - Q[rows].mean(axis=0), K - K[columns].mean(axis=0)
    # scaled and translated, q − k is (q − q̄)/c − c(k − k̄): three sums give the distance for every c
    a = np.einsum("ij,ij->i", Q, Q)[query]
    b = np.einsum("ij,ij->i", K, K)[key]
    g = np.einsum("ij,ij->i", Q[query], K[key])

    def squared(c: float) -> np.ndarray:
        return np.maximum(a / (c * c) + (c * c) * b - 2 * g, 0.0)

    pool = np.concatenate([squared(c) for c in settings.constants])
    limit = float(np.sqrt(np.percentile(pool, settings.percentile)))
    for at, c in enumerate(every):
        far = squared(c)
        near = np.flatnonzero(far < limit * limit)
        counted, value = _correlations(query[near], score[near], np.sqrt(far[near]), limit, settings.least)
        sums[:, at] = np.bincount(block[counted], value, minlength=BLOCKS)
        counts[:, at] = np.bincount(block[counted], minlength=BLOCKS)
    return _Measured(limit, sums, counts)


def _correlations(
    query: np.ndarray, x: np.ndarray, y: np.ndarray, limit: float, least: int
) -> tuple[np.ndarray, np.ndarray]:
    """The queries that count, and the weighted correlation of x with y of each."""
    if not len(query):
        return np.zeros(0, np.intp), np.zeros(0)
    asked, group, size = np.unique(query, return_inverse=True, return_counts=True)
    w = (limit - y) ** 2
    total = np.bincount(group, w)
    safe = np.where(total > 0, total, 1.0)
    dx = x - (np.bincount(group, w * x) / safe)[group]
    dy = y - (np.bincount(group, w * y) / safe)[group]
    cov, varx, vary = (np.bincount(group, w * v) / safe for v in (dx * dy, dx * dx, dy * dy))
    scale = np.sqrt(varx * vary)
    # keys at one distance, or of one product, have no correlation
    valid = (size >= least) & (total > 0) & (scale > 1e-12 * np.maximum(np.abs(cov), 1e-300)) & (scale > 0)
    return asked[valid], np.clip(cov[valid] / scale[valid], -1, 1)


def _parts(capture: Capture, seed: int) -> np.ndarray:
    """The part of every sentence, as even as can be: odd and even parts are two halves."""
    sides = [capture.tokens, *([] if capture.decoder_tokens is None else [capture.decoder_tokens])]
    n = 1 + max(int(side.sentence.max(initial=0)) for side in sides)
    part = np.empty(n, np.int64)
    part[np.random.default_rng(seed).permutation(n)] = np.arange(n) % BLOCKS
    return part


def _chosen(
    settings: _Settings,
    heads: list[tuple[int, int]],
    whole: list[_Measured],
    seen: list[_Measured],
    unseen: list[_Measured],
    ratios: np.ndarray,
    notes: tuple[str, ...],
) -> Scales:
    if not heads:
        raise DataError("there are no heads to choose c for")
    n, rows = len(settings.constants), np.arange(len(heads))
    grid = np.concatenate([settings.constants, settings.fine])
    of = "weighted" if settings.metric == "norms" else settings.metric
    means, values, test = _by("weighted", whole), _by(of, whole), _by(of, unseen)
    counts = _counts(whole)
    if settings.metric == "norms":
        at = fine_at = learned = learned_fine = np.full(len(heads), len(grid))
        c = fine_c = low = high = ratios
        told = np.ones(len(heads), bool)
    else:
        at, fine_at = _best(settings, whole)
        learned, learned_fine = _best(settings, seen)
        one = np.append(grid, [np.nan, 1.0])
        c = np.where(counts[:, :n].any(axis=1), one[at], np.nan)
        fine_c = np.where(counts[:, n : len(grid)].any(axis=1), one[fine_at], np.nan)
        low, high, told = _between(settings, whole, at, c)
    return Scales(
        settings.metric,
        settings.percentile,
        settings.least,
        tuple(settings.constants.tolist()),
        np.array(heads, np.int64),
        c,
        values[:, :n],
        counts[:, :n],
        np.array([m.threshold for m in whole]),
        fine_c,
        values[rows, fine_at],
        counts[rows, fine_at],
        np.column_stack([means[:, -1], means[rows, at], means[rows, fine_at]]),
        np.column_stack([test[:, -1], test[rows, learned], test[rows, learned_fine]]),
        low,
        high,
        told,
        settings.clear,
        notes,
        settings.centred,
    )


def _best(settings: _Settings, measured: list[_Measured]) -> tuple[np.ndarray, np.ndarray]:
    """Places of the c of every head, among the constants and among the fine values; the last is c = 1."""
    n, fine = len(settings.constants), len(settings.constants) + len(settings.fine)
    values = _sure(settings, measured) if settings.clear else _by(settings.metric, measured)
    searched = _enough(values, _counts(measured))
    return _least(values, slice(0, n)), _least(searched, slice(n, fine))


def _sure(settings: _Settings, measured: list[_Measured]) -> np.ndarray:
    """By how much each c of each head is lower than c = 1 at least, negative; NaN where that is not clear.

    What may be chance is taken off: `clear` standard errors of the difference, found by leaving out each
    block of sentences once (the jackknife).
    """
    last = np.full(len(measured), measured[0].counts.shape[1] - 1)
    gain, error, many = _gains(settings, measured, last)
    bound = gain + settings.clear * error
    with np.errstate(invalid="ignore"):
        return np.where((bound < 0) & (many > 1), bound, np.nan)


def _between(
    settings: _Settings, measured: list[_Measured], at: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least and the largest constant not clearly worse than the chosen, and whether any is worse."""
    worse, error, many = _gains(settings, measured, at)
    n = len(settings.constants)
    with np.errstate(invalid="ignore"):
        out = (worse - settings.clear * error > 0) & ((many > 1) | (settings.clear == 0))
    seen = np.isfinite(worse[:, :n])
    left = seen & ~out[:, :n]
    low = np.where(left, settings.constants, np.inf).min(axis=1, initial=np.inf)
    high = np.where(left, settings.constants, -np.inf).max(axis=1, initial=-np.inf)
    known = np.isfinite(c)
    return (
        np.where(known, np.fmin(low, c), np.nan),
        np.where(known, np.fmax(high, c), np.nan),
        known & (out[:, :n] & seen).any(axis=1),
    )


def _gains(
    settings: _Settings, measured: list[_Measured], at: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By how much each c of a head is higher than that at place `at`, the standard error, parts behind it."""
    rows = np.arange(len(measured))

    def less(values: np.ndarray) -> np.ndarray:
        return values - values[rows, at][:, None]

    gain = less(_by(settings.metric, measured))
    without = np.stack([less(_by(settings.metric, measured, block)) for block in range(BLOCKS)])
    used = np.stack([m.counts[:, -1] > 0 for m in measured], axis=1)[:, :, None]
    many = np.maximum(used.sum(axis=0), 1)
    mean = np.where(used, without, 0).sum(axis=0) / many
    error = np.sqrt((many - 1) / many * np.where(used, (without - mean) ** 2, 0).sum(axis=0))
    return gain, error, many


def _by(metric: str, measured: list[_Measured], without: int | None = None) -> np.ndarray:
    """The metric of every head at every c; NaN where no query counted. `without` leaves out a block."""
    sums = np.stack([m.sums.sum(axis=0) for m in measured])
    counts = _counts(measured)
    if without is not None:
        sums = sums - np.stack([m.sums[without] for m in measured])
        counts = counts - np.stack([m.counts[without] for m in measured])
    over = counts if metric == "weighted" else np.broadcast_to(counts.sum(axis=0), counts.shape)
    return np.where(counts > 0, sums / np.maximum(over, 1), np.nan)


def _counts(measured: list[_Measured]) -> np.ndarray:
    return np.stack([m.counts.sum(axis=0) for m in measured])


def _enough(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The values that at least a tenth of the head's counted queries stand behind; the others are NaN."""
    return np.where(counts >= ENOUGH * counts.max(axis=1, keepdims=True), values, np.nan)


def _least(values: np.ndarray, part: slice) -> np.ndarray:
    """The place of the least value within the part; the last place of all where there is none."""
    within = np.where(np.isnan(values[:, part]), np.inf, values[:, part])
    return np.where(np.isinf(within).all(axis=1), values.shape[1] - 1, part.start + within.argmin(axis=1))
