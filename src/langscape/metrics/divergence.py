"""What t-SNE minimised: the Kullback–Leibler divergence of P and the map's Q, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Affinities
from langscape.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def kl(P: np.ndarray | csr_array | Affinities, xy: Any) -> float:
    """KL(P‖Q) in nats, exact, whatever made the map: Σ p log(p/q) with q ∝ 1/(1 + ‖y_i − y_j‖²).

    P is the unexaggerated joint P, (n, n), dense or CSR, zero on the diagonal, summing to 1, or the
    Affinities that hold it; xy is (n, dims). Time grows with n², memory does not: the normaliser is
    summed row by row.
    """
    costs, total, normaliser = _parts(_joint(P), xy)
    # log Z enters once per unit of P: Σ p (log p + log(1 + d²) + log Z).
    return float(costs.sum() + total * normaliser)


def kl_points(P: np.ndarray | csr_array | Affinities, xy: Any) -> np.ndarray:
    """What each point has of the map's KL, (n,): Σ_j p_ij log(p_ij/q_ij). Large is badly placed; sums to KL.

    A point that is farther from its neighbours than it should be has more; one may be below 0.
    """
    P = _joint(P)
    costs, _, normaliser = _parts(P, xy)
    return costs + np.asarray(P.sum(axis=1), np.float64).ravel() * normaliser


def _joint(given: np.ndarray | csr_array | Affinities) -> np.ndarray | csr_array:
    return given.P if isinstance(given, Affinities) else given


def _parts(P: np.ndarray | csr_array, xy: Any) -> tuple[np.ndarray, float, float]:
    """Σ_j p (log p + log(1 + d²)) per point, the sum of P, and log Z."""
    from langscape.kernels.linear import blocks, side_by_side
    from langscape.metrics import kernels

    xy = np.asarray(xy, dtype=np.float64)
    if xy.ndim != 2 or 0 in xy.shape:
        raise DataError(f"coordinates have shape {xy.shape}, but (points, dims) is needed")
    if not np.isfinite(xy).all():
        raise DataError("coordinates hold NaN or infinity; this is not a finished map")
    n = len(xy)
    if P.shape != (n, n):
        raise DataError(f"P has shape {P.shape}, but there are coordinates of {n} points")
    total = float(P.sum(dtype=np.float64))
    if not abs(total - 1.0) < 1e-3:
        raise DataError(f"P sums to {total:g}, but a joint P sums to 1; divide it by its sum")
    if np.any(P.diagonal()):
        raise DataError("P has entries on its diagonal; a point is not its own neighbour, set them to 0")
    columns = np.ascontiguousarray(xy.T)
    near = np.empty(n)
    costs = np.empty(n)

    def work(part: slice) -> None:
        kernels.normaliser_rows(columns, part.start, part.stop, near)
        if isinstance(P, np.ndarray):
            kernels.dense_rows(P, columns, part.start, part.stop, costs)
        else:
            kernels.sparse_rows(P.data, P.indices, P.indptr, columns, part.start, part.stop, costs)

    side_by_side(work, blocks(n))
    return costs, total, float(np.log(2.0 * near.sum()))
