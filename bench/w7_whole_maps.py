"""W7: whole 2-D maps of 341,479 words and of a million, by the default schedule, with all their scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import KDTree

from bench import ours, peers
from bench.data import mixed_words, word_vectors
from bench.large import PERPLEXITY
from bench.report import OURS, Bar, Report
from bench.timing import Clock, Contender, Landed, alternate
from langscape import affinity, metrics
from langscape.engine import Schedule, embed
from langscape.engine.initial import start as start_of
from langscape.kernels.neighbours import nearest_to
from langscape.metrics.null import LEAST_DRAWS
from langscape.metrics.true_neighbours import true_neighbours

MOST_MEMORY = 6000
"""MB that a map of a million may take."""

_JUDGED = 2000


def run(*, quick: bool, long: bool = False) -> Report:
    """All of GloVe, and a million vectors of which the others are made; openTSNE for the first if `long`."""
    real, n, steps = (4000, 8000, 100) if quick else (341_479, 1_000_000, 1000)
    ours.warm(2500, 2, sparse=True)
    million = f"langscape, {n:,} words"
    notes: list[str] = []
    contenders = [
        _whole(OURS, lambda: word_vectors(real), steps, notes),
        _whole(million, lambda: mixed_words(real, n), steps, notes),
    ]
    if long:
        contenders.append(_opentsne(lambda: word_vectors(real), quick, notes))
    turns = alternate(contenders, 1)
    report = Report(
        "W7",
        f"{real:,} and {n:,} word vectors × 100 → 2-D, {steps:,} steps",
        f"Our defaults, from vectors to a map with its scores. The first {real:,} are GloVe vectors; the "
        f"other {n - real:,} of the million are made: each lies between a real word and one of its ten "
        "nearest, with noise as long as these two are apart. openTSNE, 250 + 500 steps at its own rates, is "
        "run by `python -m bench W7 --long`.",
        turns,
        notes=notes,
    )
    if not quick:
        report.bars = [Bar("MB that the million takes", MOST_MEMORY, turns[million].peak, at_most=True)]
    return report


def _whole(name: str, vectors: Callable[[], np.ndarray], steps: int, notes: list[str]) -> Contender:
    def run(clock: Clock, repeat: int) -> Landed:
        with clock("vectors"):
            X = vectors()
        with clock("neighbours"):
            P = affinity.points(X, PERPLEXITY, method="neighbours")
        with clock("optimiser"):
            map = embed(P, schedule=Schedule(steps=steps), quality=False)
        with clock("scores"):
            metrics.quality(X, map.xy)
        with clock("true neighbours"):
            true = true_neighbours(X)
        kept, chance = kept_of_sample(X, map.xy)
        notes.append(
            f"{name}: KL {map.kl:.4f}; {100 * kept:.1f} % of the ten nearest kept on {_JUDGED:,} words among "
            f"all ({100 * chance:.3f} % with places dealt anew); neighbours found at a recall of "
            f"{P.settings['recall']}, true ones at {true.recall:.3f}."
        )
        return Landed(map.xy, steps)

    return Contender(name, run)


def _opentsne(vectors: Callable[[], np.ndarray], quick: bool, notes: list[str]) -> Contender:
    def run(clock: Clock, repeat: int) -> Landed:
        X = vectors()
        early, after = (50, 100) if quick else (250, 500)
        common = affinity.points(X, PERPLEXITY, method="neighbours")
        rates = (max(200.0, len(X) / 12) / 4, max(200.0, len(X)) / 4)
        schedule = Schedule(steps=early + after, early_steps=early, learning_rate=rates, momentum=(0.8, 0.8))
        with clock("neighbours"):
            peers.opentsne_neighbours(X, PERPLEXITY)
        with clock("optimiser"):
            xy, steps = peers.opentsne(common.P, start_of(common, "pca", 2, 0), schedule, "fft")
        kept, _ = kept_of_sample(X, xy)
        notes.append(f"openTSNE: {100 * kept:.1f} % of the ten nearest kept on {_JUDGED:,} words among all.")
        return Landed(xy, steps)

    return Contender("openTSNE (interpolation)", run)


def kept_of_sample(X: np.ndarray, xy: np.ndarray, k: int = 10) -> tuple[float, float]:
    """The share of the k nearest kept of 2,000 items among all, found by comparing all, and by chance."""
    rows = np.sort(np.random.default_rng(1).choice(len(X), min(_JUDGED, len(X)), replace=False))
    true = _others(nearest_to(X, X[rows], k + 1)[1], rows, k)
    near = _others(np.asarray(KDTree(xy).query(xy[rows], k + 1)[1]), rows, k)
    rng = np.random.default_rng(0)
    dealt = [near[rng.permutation(len(rows))] for _ in range(LEAST_DRAWS)]
    return _shared(true, near), float(np.mean([_shared(true, one) for one in dealt]))


def _shared(true: np.ndarray, near: np.ndarray) -> float:
    return float((true[:, :, None] == near[:, None, :]).any(2).mean())


def _others(found: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    own = found == rows[:, None]
    own[~own.any(1), -1] = True
    return found[~own].reshape(len(rows), k)
