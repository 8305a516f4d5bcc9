"""Joint affinities: the properties every engine relies on, and clear words for what cannot be used."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from langscape import affinity
from langscape.affinity.points import conditional, neighbour_rows
from langscape.errors import DataError, SettingsError
from langscape.kernels import reference

rng = np.random.default_rng(0)


def dense(P) -> np.ndarray:
    return np.asarray(P if isinstance(P, np.ndarray) else P.toarray(), np.float64)


@pytest.mark.parametrize("n", [2, 3, 50, 1100])
def test_exact_p_equals_the_plain_formula(n):
    X = rng.normal(size=(n, 5))
    perplexity = min(15.0, (n - 1) / 1.5) if n > 2 else 1.0
    a = affinity.points(X, perplexity)
    C = reference.conditional(reference.squared_distances(X), perplexity)
    want = (C + C.T) / (2 * n)
    np.testing.assert_allclose(dense(a.P), want, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("method", ["exact", "neighbours"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_p_is_symmetric_with_a_zero_diagonal_and_sums_to_one(method, metric):
    a = affinity.points(rng.normal(size=(400, 8)), 20, metric, method=method)
    P = dense(a.P)
    assert np.array_equal(P, P.T)
    assert np.diag(P).max() == 0
    assert P.sum() == pytest.approx(1.0, abs=1e-5)
    assert P.min() >= 0


def test_neighbours_hold_nearly_all_of_the_exact_p():
    X = rng.normal(size=(500, 10))
    full, near = (dense(affinity.points(X, 20, method=m).P) for m in ("exact", "neighbours"))
    assert np.minimum(full, near).sum() > 0.85


def test_cosine_is_euclidean_on_unit_vectors():
    X = rng.normal(size=(90, 6))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(
        affinity.points(X, 10, "cosine").P, affinity.points(unit, 10).P, rtol=1e-5, atol=1e-9
    )


def test_one_perplexity_per_point_is_taken_row_by_row():
    X = rng.normal(size=(120, 4))
    same = affinity.points(X, np.full(120, 12.0)).P
    assert np.array_equal(same, affinity.points(X, 12.0).P)
    assert not np.allclose(affinity.points(X, rng.uniform(3, 40, 120)).P, same)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 60), st.integers(1, 6), st.integers(0, 3))
def test_duplicates_and_constant_columns_still_give_a_proper_p(seed, n, dim, kinds):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, dim))
    if kinds:
        X = X[r.integers(0, kinds, n)]  # many exact duplicates
    P = affinity.points(X, min(3.0, n - 1)).P
    assert np.isfinite(P).all()
    assert P.sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("X", "kwargs", "said"),
    [
        (np.full((5, 2), np.nan), {}, "NaN"),
        (np.array([[1.0, np.inf], [0, 0], [1, 1]]), {"perplexity": 1}, "row 0"),
        (np.array([[1.0, -1e300], [0, 0], [1, 1]]), {"perplexity": 1}, r"up to 1.0e\+300"),
        (np.zeros((1, 3)), {}, "at least 2"),
        (np.zeros((0, 3)), {}, "at least 2"),
        (np.zeros(5), {}, "shape"),
        (np.zeros((4, 0)), {}, "at least 2 items with 1 dimension"),
        ([["a", "b"], ["c", "d"]], {}, "not numbers"),
        (np.eye(5) * 1j, {"perplexity": 1}, r"complex numbers.*give X\.real"),
        (np.zeros((5, 2)), {"perplexity": 1, "labels": ["a"]}, "1 labels for 5 rows"),
        (np.zeros((5, 2)), {"perplexity": 1, "metric": "cosine"}, "all zeros"),
    ],
)
def test_data_that_cannot_be_used_is_named(X, kwargs, said):
    with pytest.raises(DataError, match=said):
        affinity.points(X, **kwargs)


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"perplexity": 30}, "only 9"),
        ({"perplexity": 0.5}, "at least 1"),
        ({"perplexity": -1}, "perplexity -1 is not possible"),
        ({"perplexity": float("nan")}, "at least 1"),
        ({"perplexity": None}, "perplexity None is not possible; it must be a number of at least 1"),
        ({"perplexity": "many"}, "perplexity 'many'"),
        ({"perplexity": [3.0, 4.0]}, "one per item"),
        ({"perplexity": 3, "metric": "manhattan"}, "manhattan"),
        ({"perplexity": 3, "method": "fast"}, "fast"),
    ],
)
def test_settings_that_do_not_fit_say_what_would(kwargs, said):
    with pytest.raises(SettingsError, match=said):
        affinity.points(rng.normal(size=(10, 3)), **kwargs)


def test_what_was_given_is_never_changed():
    X = rng.normal(size=(40, 3))
    before = X.copy()
    a = affinity.points(X, 5)
    assert np.array_equal(X, before)
    with pytest.raises(ValueError, match="read-only"):
        a.P[0, 1] = 1  # type: ignore[index]


def perplexity_of(P: np.ndarray) -> np.ndarray:
    rows = P / P.sum(1, keepdims=True)
    return np.exp(-np.where(rows > 0, rows * np.log(np.maximum(rows, 1e-300)), 0).sum(1))


@pytest.mark.parametrize("far", [1e8, 1e12])
def test_one_outlier_does_not_change_the_perplexity_of_the_others(far):
    X = rng.normal(size=(1500, 20))
    X[3] = far
    wanted = np.full(1500, 10.0)
    rows, reached = conditional(X, wanted)
    np.testing.assert_allclose(reached, 10.0, rtol=1e-3)
    np.testing.assert_allclose(perplexity_of(rows.astype(float)), 10.0, rtol=1e-3)
    without = conditional(np.delete(X, 3, axis=0), wanted[1:])[0]
    np.testing.assert_allclose(np.delete(np.delete(rows, 3, 0), 3, 1), without, atol=0.02)
    near = neighbour_rows(X, wanted, 0.95, 0)
    alone = neighbour_rows(np.delete(X, 3, axis=0), wanted[1:], 0.95, 0)
    index = np.delete(near.index, 3, 0)
    same = (index - (index > 3) == alone.index).mean()
    assert same > 0.99


def test_a_perplexity_that_is_not_reached_is_said():
    X = rng.normal(size=(200, 4))
    X[:60] = X[0]
    found = affinity.points(X, 10, labels=[f"w{i}" for i in range(200)])
    assert "perplexity 10 was not reached by 60 of 200 items" in found.notes[0]
    assert "with 59, since more items than that are equally near" in found.notes[0]
    assert affinity.points(rng.normal(size=(200, 4)), 10).notes == ()


def test_sparse_vectors_are_reduced_and_that_is_said():
    from scipy.sparse import random

    dense_part = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 2000))
    dense_part[np.abs(dense_part) < 3] = 0
    found = affinity.points(csr_array(dense_part), 10)
    assert found.vectors.shape == (300, 100)
    assert "2,000 sparse dimensions were reduced to 100 by truncated SVD" in found.notes[0]
    few = affinity.points(random(60, 20, 0.5, random_state=0), 5)
    assert few.vectors.shape == (60, 20)
    assert few.notes == ()


def test_tensors_of_any_precision_and_with_gradients_are_read():
    import torch

    X = torch.tensor(rng.normal(size=(50, 4)), dtype=torch.float32)
    plain = affinity.points(X.numpy(), 5).P
    np.testing.assert_array_equal(affinity.points(X.requires_grad_(), 5).P, plain)
    coarse = X.detach().bfloat16()
    np.testing.assert_array_equal(affinity.points(coarse, 5).P, affinity.points(coarse.float().numpy(), 5).P)


def test_masked_and_ragged_rows_are_named():
    X = np.ma.array(rng.normal(size=(20, 3)), mask=False)
    assert affinity.points(X, 5).vectors.shape == (20, 3)
    X[4, 1] = np.ma.masked
    with pytest.raises(DataError, match=r"1 of 20 rows hold masked values .the first is row 4.*filled"):
        affinity.points(X, 5)
    with pytest.raises(DataError, match="1 of 3 rows differ in length: most have 2 numbers, row 1 has 3"):
        affinity.points([[1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 1.0]], 1)
