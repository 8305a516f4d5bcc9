"""Affinities of distributions by perplexity, from their 2-Wasserstein distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from langscape.affinity.given_vectors import checked_matrix
from langscape.affinity.joint import joint_from_dense
from langscape.affinity.points import checked_perplexity, perplexity_notes, points
from langscape.data import Affinities, Gaussians, Items
from langscape.errors import DataError, SettingsError

FULL_UP_TO = 600
"""Distributions with full covariances: every pair needs the root of a matrix."""


def gaussians(
    given: Gaussians | Any,
    covariances: Any = None,
    perplexity: float | Sequence[float] | np.ndarray = 30.0,
    labels: Sequence[str] | None = None,
    *,
    items: Items | None = None,
    distance: Literal["wasserstein", "euclidean"] = "wasserstein",
    method: Literal["auto", "exact", "neighbours"] = "auto",
    seed: int = 0,
) -> Affinities:
    """The joint P of Gaussians, or of means (n, dim) and covariances: variances (n, dim) or (n, dim, dim).

    With variances, W₂² is the squared Euclidean distance of the rows (μ, √s), which `vectors` then holds.
    Full covariances take the Bures distance. distance="euclidean" leaves the covariances out of P.

    >>> a = gaussians([[0.0], [1.0], [5.0]], [[1.0], [1.0], [0.0]], perplexity=1.5)
    >>> a.vectors.tolist()
    [[0.0, 1.0], [1.0, 1.0], [5.0, 0.0]]
    """
    given, full = as_gaussians(given, covariances, labels, items)
    if distance not in ("wasserstein", "euclidean"):
        raise SettingsError(f'distance {distance!r} is not known; use "wasserstein" or "euclidean"')
    how: dict[str, Any] = {"items": given.items, "method": method, "seed": seed}
    if distance == "euclidean":
        near = points(given.means, perplexity, **how)
    elif full is None:
        near = points(joined(given), perplexity, **how)
    else:
        near = _full(given, full, perplexity)
    settings = {**near.settings, "affinity": "gaussians", "distance": distance}
    return Affinities(
        near.P, given.items, settings, near.vectors, near.metric, (*given.notes, *near.notes), gaussians=given
    )


def joined(given: Gaussians) -> np.ndarray:
    """(n, 2·dim): rows (μ, √s), between which Euclidean distance is the 2-Wasserstein distance."""
    return np.concatenate([given.means, np.sqrt(given.variances)], axis=1)


def as_gaussians(
    given: Any, covariances: Any, labels: Sequence[str] | None, items: Items | None
) -> tuple[Gaussians, np.ndarray | None]:
    """What was given as Gaussians, and its full covariances (n, dim, dim) where there are such."""
    if isinstance(given, Gaussians):
        if covariances is not None:
            raise SettingsError(
                "Gaussians carry their covariances; give either them, or means and covariances"
            )
        checked_matrix(given.means)
        return given, None
    if covariances is None:
        raise SettingsError("covariances are missing; give variances (n, dim), or use affinity.points")
    means = checked_matrix(given)
    S = np.asarray(covariances, np.float64)
    n, dim = means.shape
    items = items or (Items(labels) if labels is not None else Items.numbered(n))
    if len(items) != n:
        raise DataError(f"{len(items)} labels for {n} distributions; give one each")
    if S.shape == (n, dim):
        return Gaussians(means, S, items, np.zeros(n)), None
    if S.shape != (n, dim, dim):
        raise DataError(f"covariances have shape {S.shape}; expected {(n, dim)} or {(n, dim, dim)}")
    if not np.isfinite(S).all() or not np.allclose(S, S.transpose(0, 2, 1), atol=1e-8 * np.abs(S).max()):
        raise DataError("some covariances hold NaN or infinity, or are not symmetric")
    values, axes = np.linalg.eigh(S)
    bad = np.flatnonzero(values[:, 0] < -1e-8 * np.maximum(values[:, -1], 1e-300))
    if len(bad):
        raise DataError(f"the covariance of {items.labels[bad[0]]!r} has an eigenvalue below 0")
    F = axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    variances = np.maximum(np.einsum("ndd->nd", S), 0.0)
    return Gaussians(means, variances, items, np.zeros(n), factors=F), S


def _full(given: Gaussians, S: np.ndarray, perplexity: Any) -> Affinities:
    """P from the Bures distances of full covariances, all pairs."""
    from langscape.kernels.perplexity import conditional_rows

    n = len(given)
    if n > FULL_UP_TO:
        raise SettingsError(
            f"full covariances take {FULL_UP_TO} distributions at most, not {n:,}: each pair needs the root "
            "of a matrix. Give their variances, (n, dim)"
        )
    wanted = checked_perplexity(perplexity, n)
    values, axes = np.linalg.eigh(S)
    roots = np.einsum("nij,nj,nkj->nik", axes, np.sqrt(np.maximum(values, 0.0)), axes, optimize=True)
    traces = np.einsum("ndd->n", S)
    X = given.means.astype(np.float64)
    D = np.zeros((n, n))
    for i in range(n - 1):
        inner = np.linalg.eigvalsh(roots[i] @ S[i + 1 :] @ roots[i])
        bures = traces[i] + traces[i + 1 :] - 2.0 * np.sqrt(np.maximum(inner, 0.0)).sum(-1)
        D[i, i + 1 :] = ((X[i + 1 :] - X[i]) ** 2).sum(1) + np.maximum(bures, 0.0)
    D += D.T
    P = np.empty((n, n), np.float32)
    betas, reached = np.empty((2, n))
    conditional_rows(D, 0, np.log(wanted), True, P, betas, reached)
    one = float(wanted[0]) if np.ptp(wanted) == 0 else "per point"
    settings = {"perplexity": one, "metric": "bures-wasserstein", "neighbours": "all"}
    return Affinities(
        joint_from_dense(P),
        given.items,
        settings,
        notes=perplexity_notes(wanted, np.exp(reached), given.items),
    )
