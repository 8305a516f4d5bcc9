"""Made-up distributions of which the truth is known."""

from __future__ import annotations

import numpy as np

from langscape.data import Gaussians, Items


def opposite(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Figure 4.1's two distributions: equal means, opposite covariances, a little noise on the diagonals."""
    noise = np.random.default_rng(seed).uniform(0.0, 1e-3, (2, 4))
    return np.zeros((2, 4)), np.array([[1.0, 1, 10, 10], [10, 10, 1, 1]]) + noise


def toward_a_neighbour(
    n: int = 300, dim: int = 20, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means, roots of covariances, total variances, and the item that 60 % of each points to.

    Deviations lie over a decade. The means lie near a plane, so that a map can show where the others are.
    """
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n, dim)) * np.r_[4.0, 4.0, np.full(dim - 2, 0.25)]
    gaps = ((means[:, None] - means[None]) ** 2).sum(-1)
    near = np.take_along_axis(np.argsort(gaps, axis=1), 1 + rng.integers(0, 5, (n, 1)), axis=1)[:, 0]
    total = 10.0 ** rng.uniform(-2, 0, n)
    away = means[near] - means
    u = away / np.linalg.norm(away, axis=1, keepdims=True)
    along = np.einsum("ni,nj->nij", u, u)
    S = total[:, None, None] * (0.6 * along + 0.4 / (dim - 1) * (np.eye(dim) - along))
    return means, np.linalg.cholesky(S + 1e-12 * np.eye(dim)), total, near


def round_ones(n: int = 300, dim: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Means and roots of covariances that are the same in every direction."""
    rng = np.random.default_rng(seed)
    sizes = np.sqrt(rng.uniform(0.1, 1.0, n))
    return rng.normal(size=(n, dim)), sizes[:, None, None] * np.eye(dim)


def sampled(means: np.ndarray, roots: np.ndarray, count: int = 100, seed: int = 0) -> Gaussians:
    """The Gaussians as estimated from `count` draws of each."""
    rng = np.random.default_rng([seed, count])
    X = [
        mean + rng.normal(size=(count, root.shape[1])) @ root.T
        for mean, root in zip(means, roots, strict=True)
    ]
    n = len(means)
    return Gaussians(
        np.stack([x.mean(axis=0) for x in X]),
        np.stack([x.var(axis=0) for x in X]),
        Items.numbered(n),
        np.full(n, count),
        samples=np.concatenate(X),
    )
