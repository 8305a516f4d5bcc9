from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import rankdata

from langscape.kernels.groups import ranks_and_places
from langscape.kernels.selection import smallest_in_rows


@pytest.mark.parametrize("levels", [3, 10_000], ids=["many ties", "few ties"])
@pytest.mark.parametrize("keep", [1, 7, 60])
def test_the_smallest_of_a_row_are_those_of_a_stable_sort(keep, levels):
    rows = np.random.default_rng(keep).integers(0, levels, (40, 60)).astype(np.float32)
    index, values = smallest_in_rows(rows, keep)
    expected = np.sort(np.argsort(rows, axis=1, kind="stable")[:, :keep], axis=1)
    assert np.array_equal(index, expected)
    assert np.array_equal(values, np.take_along_axis(rows, expected, axis=1))


def test_ranks_within_groups_are_scipys_and_places_those_of_a_stable_sort():
    rng = np.random.default_rng(0)
    starts = np.cumsum([0, 5, 1, 40, 0, 13])
    values = rng.integers(0, 6, starts[-1]).astype(np.float64)
    ranks, places = np.empty(len(values)), np.empty(len(values), np.intp)
    ranks_and_places(values, starts, ranks, places)
    for first, last in pairwise(starts):
        group = values[first:last]
        np.testing.assert_array_equal(ranks[first:last], rankdata(group) - 1 if len(group) else [])
        assert np.array_equal(places[first:last][np.argsort(group, kind="stable")], np.arange(len(group)))
