"""Principal component analysis of points, or of distributions, whose ellipses then rotate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.data import Gaussians, Items, Map
from langscape.errors import DataError
from langscape.kernels.linear import one_blas_thread


def pca(
    means: Gaussians | Any,
    covariances: Any = None,
    *,
    labels: Sequence[str] | None = None,
    items: Items | None = None,
    center: bool = True,
    quality: bool = True,
) -> Map:
    """The map on the first two principal axes; of distributions, with their projected covariances as shapes.

    means alone (n, dim) give standard PCA. With covariances, (n, dim) or (n, dim, dim), or given `Gaussians`,
    the axes are the leading eigenvectors of Σ (μ μᵀ + Σ_i), and each shape is U Σ_i Uᵀ. Means are
    centred first; center=False takes the raw second moment.

    >>> m = pca([[0.0, 0, 0], [2, 0, 0], [0, 1, 0]], [[1.0, 1, 1]] * 3)
    >>> m.xy.shape, m.shapes.shape
    ((3, 2), (3, 2, 2))
    """
    given, spread = _given(means, covariances, labels, items)
    axes = principal(given.means, spread, center=center)
    X = given.means.astype(np.float64)
    xy = ((X - X.mean(axis=0) if center else X) @ axes.T).astype(np.float32)
    settings = {
        **given.metadata,
        "method": "pca" if spread is None else "distributional pca",
        "center": center,
        "shape": None if spread is None else "projected",
    }
    shapes = None if spread is None else given.projected(axes).astype(np.float32)
    figures: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    vectors = given.means
    if quality:
        from langscape.engine.context_ellipses import with_area, with_held_area
        from langscape.metrics import quality as measure

        if spread is not None:
            vectors = np.concatenate([given.means, np.sqrt(given.variances)], axis=1)
        figures, per_point = measure(vectors, xy)
        if shapes is not None:
            figures, per_point = with_area(figures, per_point, shapes, given)
            figures = with_held_area(figures, given, lambda half: np.linalg.det(half.projected(axes)))
    result = Map(
        xy,
        given.items,
        settings=settings,
        quality=figures,
        per_point=per_point,
        shapes=shapes,
        vectors=vectors,
        notes=given.notes,
    )
    if not quality:
        return result
    from langscape.metrics.true_neighbours import with_true_neighbours

    return with_true_neighbours(result)


def principal(means: Any, covariances: Any = None, dims: int = 2, *, center: bool = True) -> np.ndarray:
    """(dims, dim) orthonormal axes: of the means alone, or of the means and their covariances.

    covariances are variances (n, dim), full (n, dim, dim), or one sum (dim, dim) of all. An axis points to
    where its entry of largest magnitude is positive.
    """
    X = np.asarray(means, np.float64)
    X = X - X.mean(axis=0) if center else X
    dim = X.shape[1]
    if dims > dim:
        raise DataError(f"{dims} axes need at least {dims} dimensions, but there are {dim}")
    with one_blas_thread():
        M = X.T @ X
        if covariances is not None:
            S = np.asarray(covariances, np.float64)
            if S.shape == (len(X), dim):
                M[np.diag_indices(dim)] += S.sum(axis=0)
            elif S.shape in ((len(X), dim, dim), (dim, dim)):
                M += S.sum(axis=0) if S.ndim == 3 else S
            else:
                raise DataError(f"covariances have shape {S.shape} for means of shape {X.shape}")
        _, axes = np.linalg.eigh(M)
    axes = axes[:, ::-1][:, :dims].T
    peak = np.abs(axes).argmax(1)
    return axes * np.where(axes[np.arange(dims), peak] < 0, -1.0, 1.0)[:, None]


def _given(
    means: Any, covariances: Any, labels: Sequence[str] | None, items: Items | None
) -> tuple[Gaussians, np.ndarray | None]:
    """The distributions, and what `principal` takes as their covariances; None for points."""
    if isinstance(means, Gaussians):
        if means.factors is None:
            return means, means.variances
        F = means.factors.astype(np.float64)
        whole = np.einsum("ndf,nef->de", F, F, optimize=True)
        rest = np.maximum(means.variances.astype(np.float64) - np.einsum("ndf,ndf->nd", F, F), 0.0)
        return means, whole + np.diag(rest.sum(axis=0))
    from langscape.affinity.gaussians import as_gaussians as checked
    from langscape.affinity.given_vectors import checked_matrix

    X = checked_matrix(means)
    if covariances is None:
        items = items or (Items(labels) if labels is not None else Items.numbered(len(X)))
        if len(items) != len(X):
            raise DataError(f"{len(items)} labels for {len(X)} points; give one each")
        return Gaussians(X, np.zeros_like(X), items, np.zeros(len(X))), None
    given, full = checked(X, covariances, labels, items)
    return given, given.variances if full is None else full
