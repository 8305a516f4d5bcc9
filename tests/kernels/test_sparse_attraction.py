"""Attraction over grouped rows against the formula, entry by entry."""

import numpy as np
import pytest
import scipy.sparse as sp

from langscape.kernels import sparse_attraction


def grouped(P: sp.csr_array, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P with rows and columns in the given order, filled up."""
    lengths = np.diff(P.indptr).astype(np.int64)
    place = np.argsort(order).astype(np.uint32)
    starts = sparse_attraction.grouped_starts(lengths[order])
    columns, values = np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.float32)
    given = (P.indptr.astype(np.uint32), lengths, P.indices.astype(np.uint32), P.data.astype(np.float32))
    sparse_attraction.permute_rows(*given, order, place, starts, columns, values)
    return starts, columns, values


@pytest.fixture(name="case")
def _case() -> tuple[sp.csr_array, np.ndarray]:
    """Rows of 0, 1, 15, 16, 17 and all entries among common ones, and points far apart."""
    rng = np.random.default_rng(4)
    n = 130
    dense = np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), 0.0)
    for row, count in ((0, 0), (1, 1), (2, 15), (3, 16), (4, 17), (5, n)):
        dense[row] = 0.0
        dense[row, :count] = rng.random(count)
    Y = (rng.normal(size=(n, 2)) * np.geomspace(1e-4, 50, n)[:, None]).astype(np.float32)
    return sp.csr_array(dense.astype(np.float32)), Y


@pytest.mark.parametrize("parts", [1, 7])
def test_attraction_and_divergence_equal_the_formula_in_any_order(case, parts):
    P, Y = case
    apart = Y[:, None].astype(np.float64) - Y[None]
    squares = (apart**2).sum(-1)
    pulls = P.toarray() / (1 + squares)
    want = (pulls[..., None] * apart).sum(1)
    order = np.random.default_rng(1).permutation(len(Y))
    entries = grouped(P, order)
    moved = np.ascontiguousarray(Y[order])
    cuts = np.linspace(0, len(Y), parts + 1).astype(np.int64)
    A, totals = np.full_like(Y, np.nan), np.empty(parts)
    sparse_attraction.attraction(*entries, moved, A, cuts)
    sparse_attraction.divergences(*entries, moved, totals, cuts)
    scale = (pulls[..., None] * np.abs(apart)).sum(1)[order] + 1e-12
    assert (np.abs(A - want[order]) / scale).max() < 1e-5
    p = P.toarray()[P.toarray() > 0]
    assert totals.sum() == pytest.approx((p * np.log(p * (1 + squares[P.toarray() > 0]))).sum(), rel=1e-6)


def test_rows_are_filled_up_with_nothing(case):
    P, _ = case
    starts, columns, values = grouped(P, np.arange(P.shape[0]))
    assert not (starts % sparse_attraction.GROUP).any()
    assert columns.max() < P.shape[0]
    rows = np.repeat(np.arange(P.shape[0]), np.diff(starts.astype(int)))
    assert (sp.csr_array((values, (rows, columns)), shape=P.shape) != P).nnz == 0


def test_starts_outgrow_32_bits_with_the_entries():
    assert sparse_attraction.grouped_starts(np.array([2**31, 2**31 - 16])).dtype == np.uint32
    assert sparse_attraction.grouped_starts(np.array([2**31, 2**31 - 15])).dtype == np.uint64
