"""Which neighbours a word should consider: rules word by word beside constants, over sizes and seeds.

    python -m papers.words.rules
    python -m papers.words.rules --sizes 1000 5000 --seeds 1 --words thesis_words.csv
    python -m papers.words.rules --skip 100000 --sizes 10000
    python -m papers.words.rules --vectors other.safetensors --sizes 5000

Every rule makes a map of the same words, the most frequent of GloVe (fetched once, 118 MB), of a list, or the
first of another file of vectors, by the default schedule, and
is judged by the share kept of the k nearest for k = 3, 5, 10, 25 and 50, their mean, and global quality.
A rule is worth having where its mean is above that of every constant, and its global quality no more than two
points below plain t-SNE.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from langscape import affinity
from langscape.affinity.joint import joint_from_neighbours
from langscape.cli.terminal import say
from langscape.data import Affinities, Items
from langscape.engine import embed
from langscape.engine.initial import start
from langscape.kernels.neighbours import nearest_to
from langscape.kernels.rank_agreement import in_common, rank_correlations
from langscape.sources import read_vectors, read_word_list
from papers import command
from papers.fetch import glove

KS = (3, 5, 10, 25, 50)
SIZES = (1000, 5000, 10_000, 20_000, 100_000)
_JUDGED, _AGAINST = 2000, 1000


def _constant(count: int) -> Callable[[np.ndarray], Affinities]:
    """Half the row of perplexity 30, half the same number of nearest words for every word."""

    def rule(X: np.ndarray) -> Affinities:
        from langscape.affinity.points import neighbour_rows

        near = neighbour_rows(X, np.full(len(X), 30.0), 0.95, 0)
        rows = 0.5 * near.P
        rows[:, :count] += 0.5 / count
        return _made(rows, near.index, X)

    return rule


def _made(rows: np.ndarray, index: np.ndarray, X: np.ndarray) -> Affinities:
    P: Any = joint_from_neighbours(np.ascontiguousarray(rows, np.float32), index)
    return Affinities(P.toarray() if len(X) <= 2500 else P, Items.numbered(len(X)), {}, vectors=X)


RULES: dict[str, Callable[[np.ndarray], Affinities]] = {
    "plain, perplexity 30": lambda X: affinity.points(X, 30.0),
    "plain, perplexity 10": lambda X: affinity.points(X, 10.0),
    "constant: ten nearest": _constant(10),
    "constant: five nearest": _constant(5),
    "constant: weights by rank": lambda X: affinity.ranks(X),
    "Claassen's, k = 3": lambda X: affinity.local(X, 30.0, k=3.0),
    "Claassen's, k = 2": lambda X: affinity.local(X, 30.0, k=2.0),
    "Claassen's, k = 3, at least 10": lambda X: affinity.local(X, 30.0, k=3.0, at_least=10),
    "reciprocal": lambda X: affinity.reciprocal(X),
}
"""The last is word by word, from the nearest alone; constants are the same for every word."""


class Judge:
    """Judges maps of the vectors X: what is true of them is found once."""

    def __init__(self, X: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        self._rows = np.sort(rng.choice(len(X), min(len(X), _JUDGED), replace=False))
        self._against = np.sort(rng.choice(len(X), min(len(X), _AGAINST), replace=False))
        self._true = _others(nearest_to(X, X[self._rows], max(KS) + 1)[1], self._rows, max(KS))
        self._far = self._distances(X)

    def _distances(self, Y: np.ndarray) -> np.ndarray:
        return np.stack([((Y[self._against] - Y[row]) ** 2).sum(-1) for row in self._rows[:500]])

    def __call__(self, xy: np.ndarray) -> dict[str, float]:
        """Shares kept of the k nearest of 2,000 words among all, their mean, and global, in per cent."""
        from scipy.spatial import KDTree

        drawn = np.asarray(KDTree(xy).query(xy[self._rows], max(KS) + 1)[1])
        drawn = _others(drawn, self._rows, max(KS))
        found = {str(k): 100 * float(in_common(self._true[:, :k], drawn[:, :k]).mean()) / k for k in KS}
        found["mean"] = float(np.mean([found[str(k)] for k in KS]))
        found["global"] = 100 * float(np.nanmean(rank_correlations(self._far, self._distances(xy))))
        return found


def _others(found: np.ndarray, rows: np.ndarray, most: int) -> np.ndarray:
    own = found == rows[:, None]
    own[~own.any(1), -1] = True
    return found[~own].reshape(len(rows), most)


def measure(near: Affinities, judge: Judge, seed: int) -> dict[str, float]:
    """One map by a rule, from a PCA start that the seed shakes a little."""
    began = time.process_time()
    first = start(near, "pca", 2, seed)
    first = first + np.random.default_rng(seed).normal(scale=1e-5, size=first.shape).astype(np.float32)
    made = embed(near, initial=first, quality=False, seed=seed)
    return {"cpu": time.process_time() - began, **judge(made.xy)}


def main(arguments: list[str] | None = None) -> None:
    """Measure every rule at every size and print the table."""
    read = command.options("words-rules", __doc__, "one seed, the two smallest sizes")
    read.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of most frequent words")
    read.add_argument("--seeds", type=int, default=3)
    read.add_argument("--words", type=Path, help="a list of words, measured before the sizes")
    read.add_argument("--vectors", type=Path, help="a file of vectors instead of GloVe")
    read.add_argument("--skip", type=int, default=0, help="leave out so many vectors at the beginning")
    read.add_argument("--rules", nargs="+", choices=list(RULES), default=list(RULES))
    asked = read.parse_args(arguments)
    sizes, seeds = (asked.sizes[:2], 1) if asked.quick else (asked.sizes, asked.seeds)
    file = asked.vectors or glove()
    given = [] if asked.words is None else [list(dict.fromkeys(read_word_list(asked.words).words))]
    lines = ["| words | rule | 3 | 5 | 10 | 25 | 50 | mean | global | CPU s |", "|---|---|" + "---|" * 8]
    say(*lines)
    for one in [*given, *sizes]:
        if isinstance(one, list):
            X = read_vectors(file, words=one).matrix
        else:
            X = read_vectors(file, limit=asked.skip + one).matrix[asked.skip :]
        judge = Judge(X)
        for name in asked.rules:
            began = time.process_time()
            near = RULES[name](X)
            before = time.process_time() - began
            found = [measure(near, judge, seed) for seed in range(seeds)]
            figures = {key: float(np.median([row[key] for row in found])) for key in found[0]}
            shares = " | ".join(f"{figures[str(k)]:.1f}" for k in KS)
            lines.append(
                f"| {len(X):,} | {name} | {shares} | {figures['mean']:.2f} | {figures['global']:.1f} "
                f"| {before + figures['cpu']:.1f} |"
            )
            say(lines[-1])
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "rules.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    say(str(asked.out / "rules.md"))


if __name__ == "__main__":
    command.run(main)
