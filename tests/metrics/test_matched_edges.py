"""As much weight is taken at a role's edges as at others, row by row, and never where a head parks it."""

import numpy as np

from langscape.metrics.heads import role_edges
from langscape.metrics.matched_edges import matched_edges


def test_every_row_loses_as_much_at_the_role_as_elsewhere_and_never_more_than_an_edge_holds():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(12, 0.3), 12)
    role = role_edges(weights[None, None])["previous-token"]
    sinks = np.arange(12) == 4
    found = matched_edges(weights, role, sinks=sinks, draws=5, rng=rng)
    for one in (found.other, *found.mixed):
        np.testing.assert_allclose(one.sum(axis=1), found.role.sum(axis=1))
        assert (one <= weights + 1e-12).all()
    assert not found.other[:, sinks].any()
    assert not found.other[role].any()
    assert not found.role[~role].any()
    assert 0 < found.share < 1
    # a row whose queries have no such key loses nothing
    assert not found.role[~role.any(axis=1)].any()


def test_a_role_is_counted_at_the_edges_that_its_score_counts():
    edges = role_edges(np.full((1, 1, 6, 6), 1 / 6), ids=[1, 2, 3, 1, 2, 3])
    assert np.argwhere(edges["same-token"]).tolist() == [[1, 4], [2, 5], [4, 1], [5, 2]]
    assert "diffuse" not in edges
