"""Pages tell true distances from vectors in a byte a number."""

import numpy as np
import pytest

from langscape.data import Items, Map
from langscape.metrics.true_neighbours import with_true_neighbours
from langscape.views import scatter
from langscape.views.vector_sketch import BYTES, sketch_of


def made(n: int, dim: int, metric: str = "euclidean", spread: float = 1.0) -> Map:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, dim)) * spread ** np.arange(dim) + 5
    return with_true_neighbours(Map(X[:, :2].astype(np.float32), Items.numbered(n), vectors=X, metric=metric))


def true_squared(map: Map) -> np.ndarray:
    X = np.asarray(map.vectors, np.float64)
    if map.metric == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return ((X[:, None] - X[None]) ** 2).sum(axis=-1)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_told_from_bytes_are_true_to_a_percent(metric):
    map = made(80, 12, metric)
    found = sketch_of(map)
    every = np.arange(80)
    told, true = found.squared(every, every), true_squared(map)
    assert (found.bytes.dtype, found.bytes.shape, found.rest.max() < 1e-9) == (np.uint8, (80, 12), True)
    apart = ~np.eye(80, dtype=bool)
    off = np.abs(np.sqrt(told[apart] / true[apart]) - 1)
    assert np.median(off) < 0.01
    assert found.error == pytest.approx(np.median(off), abs=0.003)


def test_where_there_is_no_room_for_all_axes_what_is_left_out_adds_up():
    map = made(100, 60, spread=0.97)
    found = sketch_of(map, most=100 * 25)
    assert found.bytes.shape == (100, 25)
    every, apart = np.arange(100), ~np.eye(100, dtype=bool)
    told, true = np.sqrt(found.squared(every, every)[apart]), np.sqrt(true_squared(map)[apart])
    without = np.sqrt(np.maximum(told**2 - (found.rest[:, None] + found.rest)[apart], 0))
    assert abs(np.median(told / true) - 1) < 0.02 < abs(np.median(without / true) - 1)
    assert np.corrcoef(told, true)[0, 1] > 0.9


def test_what_would_say_too_little_is_not_carried():
    map = made(100, 60)
    assert sketch_of(map, most=100 * 50) is not None
    assert sketch_of(map, most=100 * 10) is None  # all directions count alike: ten of sixty say little
    assert sketch_of(map, most=199) is None
    assert sketch_of(map.but(vectors=None)) is None


def test_a_picture_carries_them_and_says_how_far_they_are_off():
    map = made(60, 8)
    view = scatter(map)
    assert view.arrays["sketch"].nbytes <= BYTES
    assert view.properties["sketch_error"] < 0.01
    assert not {"sketch", "sketch_scales", "sketch_rest"} & set(scatter(map.but(vectors=None)).arrays)
