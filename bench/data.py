"""What the workloads run on: real word vectors, fetched once and never committed, and made-up likenesses."""

from __future__ import annotations

import numpy as np
from papers.fetch import glove

from langscape.sources import read_vectors


def word_vectors(n: int) -> np.ndarray:
    """GloVe vectors of the n most frequent words, (n, 100) float32; fetched once, 118 MB."""
    return np.array(read_vectors(glove(), limit=n).matrix)


def words_600(dim: int = 300) -> np.ndarray:
    """600 sample words, their 100 dimensions turned into a space of `dim`: every distance stays as it was."""
    from langscape.sources import samples

    vectors = np.asarray(samples.words(groups_only=True).matrix, np.float64)[:600]
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((dim, vectors.shape[1])))
    return (vectors @ turn.T).astype(np.float32)


def attention_joint(n: int, seed: int) -> np.ndarray:
    """A joint P (n, n) like a trained head's: most weight on a few related tokens, some on two sinks."""
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((8, 16))
    tokens = topics[rng.integers(0, 8, n)] + 0.6 * rng.standard_normal((n, 16))
    logits = 1.2 * tokens @ (tokens + 0.3 * rng.standard_normal(tokens.shape)).T
    logits -= np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 20
    logits[:, [0, n - 1]] += np.quantile(logits, 0.95)
    attention = np.exp(logits - logits.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    P = attention + attention.T
    np.fill_diagonal(P, 0)
    return P / P.sum()


def word_gaussians(n: int = 3195, dim: int = 768, seed: int = 0) -> np.ndarray:
    """Rows (μ, √s) of n words, (n, 2·dim): 60 themes in 40 directions, spreads that follow them."""
    rng = np.random.default_rng(seed)
    themes = rng.standard_normal((60, 40))
    theme = rng.integers(0, 60, n)
    inner = 2.0 * themes[theme] + rng.standard_normal((n, 40)) * np.exp(0.3 * rng.standard_normal((n, 1)))
    means = inner @ rng.standard_normal((40, dim)) / np.sqrt(40) + 0.1 * rng.standard_normal((n, dim))
    width = np.exp(0.2 * (themes @ rng.standard_normal((40, dim)))[theme] / np.sqrt(40))
    deviations = 0.3 * width * np.exp(0.1 * rng.standard_normal((n, dim)))
    return np.hstack([means, deviations]).astype(np.float32)


def mixed_words(real: int, n: int) -> np.ndarray:
    """Vectors of the `real` most frequent words and, up to n, made ones, (n, 100) float32, real ones first.

    A made one lies between a real word and one of its ten nearest, with noise as long as these two are apart:
    about as far from its nearest as real words are from theirs. GloVe has 341,479 words.
    """
    from langscape.kernels.neighbours import nearest

    X = word_vectors(real)
    rng = np.random.default_rng(0)
    near = nearest(X, 10, recall=0.5).index  # near ones, not the very nearest, are enough
    out = np.empty((n, X.shape[1]), np.float32)
    out[: len(X)] = X
    for start in range(len(X), n, 65_536):
        made = out[start : start + 65_536]
        one = rng.integers(0, len(X), len(made))
        other = near[one, rng.integers(0, 10, len(made))]
        apart = X[other] - X[one]
        noise = rng.standard_normal(made.shape, np.float32)
        noise *= np.linalg.norm(apart, axis=1, keepdims=True) / np.sqrt(np.float32(X.shape[1]))
        made[:] = X[one] + rng.random((len(made), 1), np.float32) * apart + noise
    return out
