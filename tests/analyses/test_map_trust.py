"""Maps of hidden states and of heads say what they keep, and maps of shuffled data are not called good."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from langscape.affinity import hidden, precomputed
from langscape.analyses._map_trust import head_map_line, map_heads
from langscape.analyses._token_maps import map_hidden
from langscape.data import Capture, Items, Map
from langscape.metrics import kept
from langscape.metrics.kept import shuffled_distances, shuffled_states
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES


def verdict(map: Map) -> str:
    return SCORES["kept"].verdict(map.quality["kept"], Null.read(map.quality, "kept"))


def states_on_a_ring(n: int = 80) -> np.ndarray:
    """Tokens around a circle that is turned into twelve dimensions."""
    rng = np.random.default_rng(0)
    angle = rng.permutation(n) * 2 * np.pi / n
    return np.c_[np.cos(angle), np.sin(angle)] @ np.linalg.qr(rng.normal(size=(12, 12)))[0][:2]


def capture_of(states: np.ndarray) -> Capture:
    axes = {"hidden": ("layer", "token", "dim")}
    return Capture([f"t{at}" for at in range(len(states))], {"hidden": states[None]}, axes)


def apart(n: int = 40) -> np.ndarray:
    """Distances between heads in five groups."""
    group = np.arange(n) % 5
    noise = np.random.default_rng(1).random((n, n)) * 0.2
    D = (group[:, None] != group) * 0.7 + (noise + noise.T)
    np.fill_diagonal(D, 0)
    return D


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_hidden_states_with_structure_are_kept_and_the_same_values_shuffled_are_not(metric):
    states = states_on_a_ring()
    how = {"perplexity": 8, "metric": metric, "restarts": 2, "steps": 250}
    made = map_hidden(capture_of(states), 0, **how)
    near = hidden(capture_of(states), 0, 8, metric=metric)
    np.testing.assert_array_equal(made.per_point["kept"], kept(near.P, made.xy).per_point)
    assert made.quality["kept"] == pytest.approx(made.per_point["kept"].mean())
    assert made.quality["kept_null"] > 10 / 79  # t-SNE draws together what it can
    assert verdict(made) == "good"
    assert verdict(map_hidden(capture_of(shuffled_states(states, 9)), 0, **how)) == "not to be read"


def test_the_map_of_heads_keeps_planted_groups_and_nothing_of_dealt_distances():
    made = map_heads(apart(), Items.numbered(40))
    assert made is not None
    P = precomputed(apart(), "distances", perplexity=10.0).P
    assert made.quality["kept"] == kept(P, made.xy).mean
    assert verdict(made) == "good"
    dealt = map_heads(shuffled_distances(apart(), 7), Items.numbered(40))
    assert dealt is not None
    assert verdict(dealt) == "not to be read"
    assert "far better than shuffled data" in head_map_line(made)[0]
    assert map_heads(apart(3), Items.numbered(3)) is None
    assert head_map_line(None) == []


def test_shuffling_keeps_the_values_and_what_a_distance_is():
    states = states_on_a_ring()
    dealt = shuffled_states(states, 1)
    np.testing.assert_array_equal(np.sort(dealt, axis=0), np.sort(states, axis=0))
    assert not np.allclose(np.sort(dealt @ dealt.T), np.sort(states @ states.T))
    D = shuffled_distances(apart(), 1)
    np.testing.assert_array_equal(D, D.T)
    assert not np.diag(D).any()
    np.testing.assert_array_equal(np.sort(D, axis=None), np.sort(apart(), axis=None))


def test_kept_of_a_sparse_matrix_is_that_of_the_whole_one():
    rng = np.random.default_rng(2)
    P = rng.random((50, 50)) * (rng.random((50, 50)) < 0.15)
    P, xy = P + P.T, rng.normal(size=(50, 2))
    np.testing.assert_array_equal(kept(csr_array(P), xy).per_point, kept(P, xy).per_point)
