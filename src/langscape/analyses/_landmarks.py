"""Which words carry the map when there are too many for one: the most frequent, a random draw, or k-means."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from langscape.analyses._packed_vectors import packed_notes, packed_rows, read_packed
from langscape.data import Progress
from langscape.errors import SettingsError
from langscape.sources import Vectors

SAMPLES = ("frequency", "random", "kmeans")
_PART = 50_000
_PER_CENTRE = 5


def landmarks(path: Path, count: int, sample: str, seed: int, progress: Progress | None = None) -> Vectors:
    """`count` words of a packed file. "frequency" takes the first rows: vector files list common words first.

    "kmeans" takes the word nearest to each of `count` centres, fitted on five times as many random words,
    so that landmarks cover the space evenly. Memory stays that of the chosen and sampled rows.
    """
    if sample not in SAMPLES:
        raise SettingsError(f"sample {sample!r} is not known; use one of {', '.join(SAMPLES)}")
    rows = packed_rows(path)
    if count >= rows:
        raise SettingsError(
            f"{count:,} landmarks were asked for, but there are {rows:,} words; ask for fewer"
        )
    chosen = _chosen(path, count, sample, seed, rows)
    return Vectors(chosen.words, chosen.matrix, notes=packed_notes(path))


def _chosen(path: Path, count: int, sample: str, seed: int, rows: int) -> Vectors:
    if sample == "frequency":
        return Vectors(*read_packed(path, 0, count))
    rng = np.random.default_rng(seed)
    drawn = count if sample == "random" else min(rows, _PER_CENTRE * count)
    some = _rows(path, np.sort(rng.choice(rows, drawn, replace=False)), rows)
    if sample == "random":
        return some
    return some.rows(_central(some.matrix, count, seed))


def _rows(path: Path, wanted: np.ndarray, rows: int) -> Vectors:
    words: list[str] = []
    parts = []
    for first in range(0, rows, _PART):
        here = wanted[(wanted >= first) & (wanted < first + _PART)] - first
        if len(here):
            names, matrix = read_packed(path, first, _PART)
            words += [names[i] for i in here]
            parts.append(matrix[here])
    return Vectors(words, np.concatenate(parts))


def _central(X: np.ndarray, count: int, seed: int) -> np.ndarray:
    """The rows nearest to k-means centres of the directions; a row stands for one centre only."""
    import faiss

    from langscape.kernels.neighbours import nearest_to

    unit = np.ascontiguousarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12), np.float32)
    means = faiss.Kmeans(
        unit.shape[1], count, niter=6, seed=seed + 1, max_points_per_centroid=_PER_CENTRE + 1
    )
    means.cp.min_points_per_centroid = 1
    means.train(unit)
    taken = np.unique(nearest_to(unit, np.asarray(means.centroids), 1)[1][:, 0])
    others = np.setdiff1d(np.arange(len(X)), taken)
    short = count - len(taken)
    return np.sort(np.concatenate([taken, np.random.default_rng(seed).choice(others, short, replace=False)]))
