"""From conditional rows to the joint P: symmetric, zero diagonal, sum 1."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from langscape.errors import DataError
from langscape.kernels.sparse import symmetric_dense, symmetric_neighbours


def joint_from_dense(conditional: np.ndarray) -> np.ndarray:
    """(P + Pᵀ)/Σ with a zero diagonal, float32; the matrix given is overwritten."""
    total = symmetric_dense(conditional)
    if not total > 0:
        raise DataError("every affinity is zero: no item has a neighbour")
    conditional /= np.float32(total)
    return conditional


def joint_from_neighbours(conditional: np.ndarray, index: np.ndarray) -> csr_array:
    """The same for rows over listed neighbours, (n, k) each; a CSR matrix with sorted rows."""
    starts, columns, values = symmetric_neighbours(conditional, np.ascontiguousarray(index, np.int32))
    values /= values.sum(dtype=np.float64)
    n = len(index)
    return csr_array((values, columns, starts), shape=(n, n))
