"""Sparse affinities: rows in order are joined with their transpose without sorting."""

import numpy as np
import scipy.sparse as sp

from langscape.kernels.sparse import column_sums, symmetric_in_order


def _rows(n: int, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), 0.0).astype(np.float32)
    dense[n // 2] = 0.0  # a row without entries
    return sp.csr_array(dense)


def test_a_matrix_joined_with_its_transpose_is_that_of_scipy_bit_for_bit():
    for seed in range(4):
        given = _rows(57, seed)
        starts, columns, values = symmetric_in_order(given.indptr, given.indices, given.data)
        wanted = sp.csr_array(given + given.T)
        wanted.sort_indices()
        assert np.array_equal(starts, wanted.indptr)
        assert np.array_equal(columns, wanted.indices)
        assert np.array_equal(values, wanted.data)


def test_columns_are_summed_in_float64():
    given = _rows(40, 5)
    sums = np.zeros(40)
    column_sums(given.indices, given.data, sums)
    assert np.allclose(sums, given.toarray().astype(np.float64).sum(axis=0), rtol=1e-12)
