"""Distances between Gaussians, and figures of maps that draw them as ellipses. All distances are squared."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.null import Null


def euclidean2(mean_a: Any, mean_b: Any) -> float:
    """The squared Euclidean distance of two means."""
    a, b = _vector(mean_a, "mean_a"), _vector(mean_b, "mean_b")
    _same(a, b)
    return float(((a - b) ** 2).sum())


def hellinger2(variances_a: Any, variances_b: Any) -> float:
    """The squared Hellinger distance of two diagonals of variances: Σ (√a − √b)².

    >>> hellinger2([4.0, 1.0], [9.0, 1.0])
    1.0
    """
    a, b = _variances(variances_a, "variances_a"), _variances(variances_b, "variances_b")
    _same(a, b)
    return float(((np.sqrt(a) - np.sqrt(b)) ** 2).sum())


def wasserstein2(mean_a: Any, cov_a: Any, mean_b: Any, cov_b: Any) -> float:
    """The squared 2-Wasserstein distance of two Gaussians (Christoffel 2023, eq. 2.5–2.7).

    A covariance is a vector of variances or a symmetric matrix without negative eigenvalues; zeros
    are welcome. Two vectors take the diagonal formula.

    >>> wasserstein2([0, 0], [1, 4], [3, 4], [1, 9])
    26.0
    """
    a, b = _covariance(cov_a, "cov_a"), _covariance(cov_b, "cov_b")
    means = euclidean2(mean_a, mean_b)
    for cov, name in ((a, "cov_a"), (b, "cov_b")):
        if len(cov) != len(np.asarray(mean_a)):
            raise DataError(f"{name} is of {len(cov)} dimensions and the means of {len(np.asarray(mean_a))}")
    if a.ndim == b.ndim == 1:
        return means + hellinger2(a, b)
    a, b = (np.diag(cov) if cov.ndim == 1 else cov for cov in (a, b))
    return means + bures2(a, b)


def bures2(a: np.ndarray, b: np.ndarray) -> float:
    """The squared Bures distance of two covariance matrices: tr A + tr B − 2 tr (A^½ B A^½)^½."""
    root = _root(a)
    inner = np.linalg.eigvalsh(root @ b @ root)
    return max(float(np.trace(a) + np.trace(b) - 2.0 * np.sqrt(np.maximum(inner, 0.0)).sum()), 0.0)


def ellipse_distances(xy: Any, shapes: Any) -> np.ndarray:
    """(n, n) squared 2-Wasserstein distances between the ellipses of a map, places (n, 2), shapes (n, 2, 2).

    In the plane (tr (A^½ B A^½)^½)² = tr AB + 2 √(det A det B), so no roots of matrices are needed.
    """
    Y, S = np.asarray(xy, np.float64), np.asarray(shapes, np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2 or S.shape != (len(Y), 2, 2):
        raise DataError(f"places {Y.shape} and shapes {S.shape} must be (n, 2) and (n, 2, 2)")
    out = ((Y[:, None, :] - Y[None, :, :]) ** 2).sum(-1)
    trace = S[:, 0, 0] + S[:, 1, 1]
    root = np.sqrt(np.maximum(S[:, 0, 0] * S[:, 1, 1] - S[:, 0, 1] * S[:, 1, 0], 0.0))
    crossed = np.einsum("iab,jba->ij", S, S) + 2.0 * np.outer(root, root)
    out += trace[:, None] + trace[None, :] - 2.0 * np.sqrt(np.maximum(crossed, 0.0))
    out = np.maximum(0.5 * (out + out.T), 0.0)
    np.fill_diagonal(out, 0.0)
    return out


def reconstruction(means: Any, variances: Any, axes: Any) -> tuple[float, float]:
    """Euclidean and Wasserstein reconstruction error of orthonormal axes U (k, dim), as in Christoffel 2023.

    Means are centred. With P = UᵀU the Bures part B²(Σ, PΣP) is tr Σ − tr PΣ: all of a distribution
    that leaves the plane is lost. variances are (n, dim), or (n, dim, dim) for full covariances.

    >>> reconstruction([[1.0, 0.0], [-1.0, 0.0]], [[2.0, 3.0], [2.0, 3.0]], [[1.0, 0.0]])
    (0.0, 3.0)
    """
    X = np.asarray(means, np.float64)
    U = np.asarray(axes, np.float64)
    S = np.asarray(variances, np.float64)
    if U.ndim != 2 or X.ndim != 2 or U.shape[1] != X.shape[1] or S.shape[:2] != X.shape:
        raise DataError(f"means {X.shape}, variances {S.shape} and axes {U.shape} do not belong together")
    if not np.allclose(U @ U.T, np.eye(len(U)), atol=1e-6):
        raise DataError("the axes are not orthonormal; take those of engine.principal")
    X = X - X.mean(axis=0)
    lost = float((X**2).sum() - ((X @ U.T) ** 2).sum()) / len(X)
    if S.ndim == 2:
        kept, whole = np.einsum("kd,nd,kd->", U, S, U, optimize=True), S.sum()
    else:
        kept, whole = np.einsum("kd,nde,ke->", U, S, U, optimize=True), np.einsum("ndd->", S)
    return max(lost, 0.0), max(lost, 0.0) + max(float(whole - kept) / len(X), 0.0)


def area_variance(shapes: Any, spread: Any) -> float:
    """Does a big ellipse mean an uncertain word? Rank correlation of area and total variance, −1 to 1.

    shapes are (n, 2, 2) covariances and spread (n,) the high-dimensional total variances. Where all
    areas or all variances are equal there is no order to keep: 0.
    """
    return float(_area_variance(shapes, spread, None))


def area_variance_by_chance(pairs: Any, draws: int = 199, seed: int = 0) -> Null:
    """The same with the variances dealt anew among the items.

    Of two pairs it is their mean, and the pairs are those of two halves: areas of the first with variances of
    the second, and the other way round. The second half is then dealt anew as a whole, as its areas and
    variances belong together.

    >>> shapes = np.linspace(1, 2, 30)[:, None, None] * np.eye(2)
    >>> 0.2 < area_variance_by_chance([(shapes, np.arange(30))]).high < 0.4
    True
    """
    pairs = list(pairs)
    rng = np.random.default_rng(seed)
    n = len(pairs[0][1])
    orders = rng.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)
    dealt = (orders, np.argsort(orders, axis=1))
    found = [
        _area_variance(shapes, spread, order)
        for (shapes, spread), order in zip(pairs, dealt[: len(pairs)], strict=True)
    ]
    return Null.of(np.mean(found, axis=0))


def _area_variance(shapes: Any, spread: Any, orders: np.ndarray | None) -> Any:
    """The rank correlation, or one for each order in which variances are dealt."""
    from scipy.stats import rankdata

    S, t = np.asarray(shapes, np.float64), np.asarray(spread, np.float64)
    if S.ndim != 3 or S.shape[1:] != (2, 2) or t.shape != (len(S),):
        raise DataError(f"shapes {S.shape} and spread {t.shape} must be (n, 2, 2) and (n,)")
    areas = np.maximum(S[:, 0, 0] * S[:, 1, 1] - S[:, 0, 1] * S[:, 1, 0], 0.0)
    a, b = (rankdata(values) - (len(t) + 1) / 2 for values in (areas, t))
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    together = (a * (b if orders is None else b[orders])).sum(axis=-1)
    return np.clip(together / size, -1.0, 1.0) if size > 0 else 0.0 * together


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _vector(given: Any, name: str) -> np.ndarray:
    try:
        vector = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise DataError(f"{name} has shape {vector.shape}; expected a vector of finite numbers")
    return vector


def _variances(given: Any, name: str) -> np.ndarray:
    vector = _vector(given, name)
    if (vector < 0).any():
        raise DataError(f"{name} holds {vector.min():g}; variances are 0 or more")
    return vector


def _covariance(given: Any, name: str) -> np.ndarray:
    array = np.asarray(given, np.float64)
    if array.ndim == 1:
        return _variances(array, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.isfinite(array).all():
        raise DataError(f"{name} has shape {array.shape}; expected a vector of variances or a square matrix")
    scale = float(np.abs(array).max()) or 1.0
    if not np.allclose(array, array.T, atol=1e-9 * scale):
        raise DataError(f"{name} is not symmetric; expected a covariance matrix")
    least = float(np.linalg.eigvalsh(array)[0])
    if least < -1e-8 * scale * len(array):
        raise DataError(f"{name} has the eigenvalue {least:.3g}; a covariance has none below 0")
    return 0.5 * (array + array.T)


def _same(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != b.shape:
        raise DataError(f"the two are of {len(a)} and {len(b)} dimensions; they must be of the same")
