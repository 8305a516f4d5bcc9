from __future__ import annotations

import numpy as np
import pytest

from langscape.metrics.first_columns import smallest_columns


@pytest.mark.parametrize("seed", range(40))
def test_the_first_columns_are_those_of_a_stable_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, width = rng.integers(1, 40, 2)
    k = int(rng.integers(1, width + 1))
    # few different values, so that most rows have equals where the selection ends
    values = rng.integers(0, rng.integers(1, 50), (n, width)).astype([np.float32, np.float64][seed % 2])
    values[rng.random(values.shape) < 0.1] = np.inf
    assert np.array_equal(smallest_columns(values, k), np.argsort(values, axis=1, kind="stable")[:, :k])


def test_no_rows_have_no_columns() -> None:
    assert smallest_columns(np.empty((0, 5)), 2).shape == (0, 2)
