import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from langscape import affinity
from langscape.errors import DataError, SettingsError

rng = np.random.default_rng(0)


def test_a_stochastic_matrix_becomes_half_of_itself_and_its_transpose():
    A = rng.dirichlet(np.ones(20), size=20)
    want = (A + A.T) * (1 - np.eye(20))
    np.testing.assert_allclose(affinity.precomputed(A).P, want / want.sum(), rtol=1e-5)


def test_sparse_and_dense_weights_give_the_same_p():
    A = rng.random((30, 30)) * (rng.random((30, 30)) < 0.3)
    A[0, 1:] = 0.1
    A[1:, 0] = 0.1
    np.testing.assert_allclose(
        affinity.precomputed(csr_array(A)).P.toarray(), affinity.precomputed(A).P, rtol=1e-5
    )


def test_distances_give_what_the_points_give():
    X = rng.normal(size=(80, 4))
    P = affinity.precomputed(cdist(X, X), "distances", perplexity=12).P
    np.testing.assert_allclose(P, affinity.points(X, 12).P, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize(
    ("matrix", "kind", "said"),
    [
        (np.ones((3, 4)), "probabilities", "square"),
        (np.ones((1, 1)), "probabilities", "at least 2"),
        (np.array([[0, -1], [1, 0.0]]), "probabilities", "negative"),
        (np.array([[0, np.nan], [1, 0.0]]), "probabilities", "NaN"),
        (np.zeros((3, 3)), "probabilities", "no affinity"),
        (np.array([[0, 1, 0], [1, 0, 0], [0, 0, 5.0]]), "probabilities", "row 2"),
        (np.array([[0, 1], [2, 0.0]]), "distances", "symmetric"),
    ],
)
def test_a_matrix_that_cannot_be_used_is_named(matrix, kind, said):
    with pytest.raises(DataError, match=said):
        affinity.precomputed(matrix, kind, perplexity=1)


def test_an_unknown_kind_is_named():
    with pytest.raises(SettingsError, match="angles"):
        affinity.precomputed(np.ones((3, 3)), "angles")  # type: ignore[arg-type]
