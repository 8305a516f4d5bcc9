import subprocess
import sys

import numba
import numpy as np
import pytest

from langscape import metrics
from langscape.errors import DataError


def spaces(n, dims=12, seed=0):
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal((n, dims)) * np.exp(2 * rng.standard_normal((n, 1)))).astype(np.float32)
    return vectors, vectors[:, :2]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_quality_holds_what_the_single_figures_say(metric):
    vectors, xy = spaces(150)
    figures, per_point = metrics.quality(vectors, xy, metric=metric)
    high = metrics.vectors(vectors, metric)
    singles = {
        "local": metrics.local(high, xy),
        "global": metrics.global_(high, xy),
        "ndcg": metrics.ndcg(high, xy),
        "trustworthiness": metrics.trustworthiness(high, xy),
    }
    for name, figure in singles.items():
        assert figures[name] == figure.mean
        np.testing.assert_array_equal(per_point[name], figure.per_point)
    assert figures["local_sd"] == singles["local"].sd
    assert figures["global_sd"] == singles["global"].sd
    assert figures["k"] == 10
    assert figures["rows"] == 150


def test_large_maps_are_judged_on_a_sample_against_all_points():
    vectors, xy = spaces(3000)
    figures, per_point = metrics.quality(vectors, xy, most_rows=200, seed=5)
    judged = np.isfinite(per_point["local"])
    assert figures["rows"] == judged.sum() == 200
    rows = np.flatnonzero(judged)
    assert figures["local"] == metrics.local(vectors, xy, rows=rows).mean
    every = metrics.local(vectors, xy)
    assert figures["local"] == pytest.approx(every.mean, abs=4 * every.sd / np.sqrt(200))


def test_the_number_of_threads_changes_no_bit():
    vectors, xy = spaces(900, dims=37)
    before = numba.get_num_threads()
    results = []
    try:
        for threads in range(1, before + 1):
            numba.set_num_threads(threads)
            figures, per_point = metrics.quality(vectors, xy)
            results.append((figures, {name: values.tobytes() for name, values in per_point.items()}))
    finally:
        numba.set_num_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 12, 21])
def test_small_maps_take_fewer_neighbours_and_never_give_nan(n):
    figures, per_point = metrics.quality(*spaces(n))
    if n < 3:
        assert figures == {}
        assert per_point == {}
    else:
        assert figures["k"] == min(10, (n - 1) // 2)
        assert np.isfinite(list(figures.values())).all()
        assert all(values.shape == (n,) and np.isfinite(values).all() for values in per_point.values())


def test_identical_points_and_nan_are_a_defined_result_and_an_error():
    figures, _ = metrics.quality(np.ones((40, 3)), np.ones((40, 2)))
    assert np.isfinite(list(figures.values())).all()
    with pytest.raises(DataError, match="nan"):
        metrics.quality(np.full((40, 3), np.nan), np.ones((40, 2)))


def test_importing_metrics_does_not_load_numba():
    code = "import sys, langscape.metrics; sys.exit('numba' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
