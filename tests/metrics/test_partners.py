"""The strongest partners of tokens, both ways."""

import numpy as np
import pytest

from langscape.errors import DataError
from langscape.metrics import strongest_partners


def test_partners_are_the_largest_weights_of_row_and_column_but_itself():
    rng = np.random.default_rng(0)
    A = rng.dirichlet(np.full(30, 0.1), size=30).astype(np.float32)
    found = strongest_partners(A)
    assert found.asks.shape == found.asked_weights.shape == (30, 10)
    for token in range(30):
        others = [other for other in range(30) if other != token]
        to = sorted(others, key=lambda other: -A[token, other])[:10]
        by = sorted(others, key=lambda other: -A[other, token])[:10]
        assert found.asks[token].tolist() == to
        assert found.asked[token].tolist() == by
        np.testing.assert_array_equal(found.asks_weights[token], A[token, to])
        np.testing.assert_array_equal(found.asked_weights[token], A[by, token])


def test_a_token_has_no_partner_without_weight():
    causal = np.tril(np.full((4, 4), 0.25))
    found = strongest_partners(causal, k=3)
    assert found.asks.tolist() == [[-1, -1, -1], [0, -1, -1], [0, 1, -1], [0, 1, 2]]
    assert found.asked.tolist() == [[1, 2, 3], [2, 3, -1], [3, -1, -1], [-1, -1, -1]]
    with pytest.raises(DataError, match=r"shape \(2, 3\)"):
        strongest_partners(np.ones((2, 3)))
