"""Linear probes: what can be read off a model's vectors by a linear rule, judged on texts it has not seen.

A probe is a linear discriminant: class means under one shared covariance, shrunk towards its diagonal. What
it reads says something only beside what it would read anyway, so every probe has five nulls:

    majority   the commonest answer, always
    word       the commonest answer for the word that is read now: what needs no memory
    shuffled   a probe of answers dealt anew
    control    a probe of a made-up answer for every word (Hewitt & Liang 2019): what it learns by heart
    untrained  the same probe of a network that learned nothing, where there is one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langscape.errors import DataError

SHRINKAGES = (0.003, 0.03, 0.2)
"""Shares of the diagonal that are tried on a part of the training texts."""

DRAWS = 300
"""Draws of texts, from which the interval of an accuracy comes."""


@dataclass(frozen=True, eq=False)
class LinearProbe:
    """A linear rule: the scores of classes (n, class) are X @ weights + bias, in log chances."""

    weights: np.ndarray
    bias: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The scores of every class, (n, class)."""
        return X.astype(np.float64) @ self.weights + self.bias

    def answers(self, X: np.ndarray) -> np.ndarray:
        """The class of the highest score, (n,)."""
        return self.scores(X).argmax(1)

    def chances(self, X: np.ndarray) -> np.ndarray:
        """What the probe thinks of every class, (n, class), each row summing to 1."""
        scores = self.scores(X)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        return chances / chances.sum(1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, and rows held out; no text has rows in both."""

    train: np.ndarray
    test: np.ndarray


def split_by_text(texts: np.ndarray, seed: int, share: float = 0.33) -> Split:
    """A third of the texts held out, by chance; texts (n,) says which text each row is of.

    >>> split = split_by_text(np.array([0, 0, 1, 1, 2, 2]), 0)
    >>> sorted({*split.train.tolist(), *split.test.tolist()}), len(split.test)
    ([0, 1, 2, 3, 4, 5], 2)
    """
    known = np.unique(texts)
    if len(known) < 3:
        raise DataError(
            f"a probe needs at least 3 texts, since some are held out, and there are {len(known)}"
        )
    count = max(1, round(share * len(known)))
    held = np.isin(texts, np.random.default_rng(seed).permutation(known)[:count])
    return Split(np.flatnonzero(~held), np.flatnonzero(held))


def fit_probe(X: np.ndarray, y: np.ndarray, classes: int, shrinkage: float) -> LinearProbe:
    """The linear discriminant of rows (n, dim) and their classes (n,).

    >>> X = np.array([[0.0, 1], [0, -1], [4, 1], [4, -1]])
    >>> fit_probe(X, np.array([0, 0, 1, 1]), 2, 0.1).answers(X).tolist()
    [0, 0, 1, 1]
    """
    X = X.astype(np.float64)
    middle, spread = X.mean(0), X.std(0)
    spread = np.where(spread > 1e-8 * max(float(spread.max()), 1e-300), spread, np.inf)
    Z = (X - middle) / spread
    counts = np.bincount(y, minlength=classes).astype(np.float64)
    sums = np.zeros((classes, Z.shape[1]))
    np.add.at(sums, y, Z)
    means = sums / np.maximum(counts, 1)[:, None]
    within = (Z.T @ Z - (means * counts[:, None]).T @ means) / len(Z)
    within = (1 - shrinkage) * within + shrinkage * np.eye(len(within)) * max(
        float(np.trace(within)) / len(within), 1e-9
    )
    weights = np.linalg.solve(within, means.T)
    bias = -0.5 * np.einsum("cd,dc->c", means, weights)
    bias += np.where(counts > 0, np.log(np.maximum(counts, 1) / len(Z)), -np.inf)
    weights = weights / spread[:, None]
    return LinearProbe(weights, bias - middle @ weights)


def best_probe(X: np.ndarray, y: np.ndarray, classes: int, texts: np.ndarray, seed: int) -> LinearProbe:
    """The probe of some training rows, its shrinkage chosen on a quarter of their texts."""
    known = np.unique(texts)
    held = np.isin(texts, np.random.default_rng(seed + 1).permutation(known)[: max(1, len(known) // 4)])
    chosen = SHRINKAGES[0]
    if held.any() and not held.all():
        right = [
            float((fit_probe(X[~held], y[~held], classes, one).answers(X[held]) == y[held]).mean())
            for one in SHRINKAGES
        ]
        chosen = SHRINKAGES[int(np.argmax(right))]
    return fit_probe(X, y, classes, chosen)


def interval_over_texts(right: np.ndarray, texts: np.ndarray, seed: int) -> tuple[float, float]:
    """The 95 % interval of a mean over rows, texts drawn with replacement."""
    _, at = np.unique(texts, return_inverse=True)
    at = at.reshape(-1)
    hits, counts = np.bincount(at, weights=right), np.bincount(at)
    drawn = np.random.default_rng(seed).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), DRAWS)
    means = (drawn @ hits) / np.maximum(drawn @ counts, 1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def majority_accuracy(y: np.ndarray, split: Split) -> float:
    """How often the commonest answer of the training rows is right."""
    return float((y[split.test] == np.bincount(y[split.train]).argmax()).mean())


def word_accuracy(y: np.ndarray, words: Sequence[str], split: Split) -> tuple[float, np.ndarray]:
    """How often the commonest answer for the word that is read now is right, and where; no memory needed."""
    counts = np.zeros((len(set(words)), int(y.max()) + 1), int)
    number = {word: at for at, word in enumerate(sorted(set(words)))}
    read = np.array([number[word] for word in words])
    np.add.at(counts, (read[split.train], y[split.train]), 1)
    common = int(np.bincount(y[split.train]).argmax())
    said = np.where(counts.sum(1) > 0, counts.argmax(1), common)[read[split.test]]
    right = said == y[split.test]
    return float(right.mean()), right


def control_labels(y: np.ndarray, words: Sequence[str], seed: int) -> np.ndarray:
    """A made-up answer for every word, the same wherever it stands, as frequent as the true answers."""
    chance = np.random.default_rng(seed + 2)
    shares = np.bincount(y) / len(y)
    given = {word: int(chance.choice(len(shares), p=shares)) for word in sorted(set(words))}
    return np.array([given[word] for word in words])


def unit_accuracies(X: np.ndarray, y: np.ndarray, classes: int, split: Split) -> np.ndarray:
    """How often each unit alone is right, (unit,): a Gaussian for every class, on held-out rows."""
    train, test = X[split.train].astype(np.float64), X[split.test].astype(np.float64)
    answers = y[split.train]
    counts = np.bincount(answers, minlength=classes)
    best = np.full(test.shape, -np.inf)
    said = np.zeros(test.shape, int)
    floor = np.maximum(train.std(0) * 0.05, 1e-9)
    for one in np.flatnonzero(counts > 1):
        rows = train[answers == one]
        sd = np.maximum(rows.std(0), floor)
        score = -0.5 * ((test - rows.mean(0)) / sd) ** 2 - np.log(sd) + np.log(counts[one] / len(answers))
        better = score > best
        best[better], said[better] = score[better], one
    return (said == y[split.test][:, None]).mean(0)
