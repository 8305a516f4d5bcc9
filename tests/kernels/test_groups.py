"""The largest of every group, found in one pass."""

import numpy as np

from langscape.kernels.groups import largest_of_groups


def test_the_largest_of_each_group_are_those_of_a_stable_sort():
    rng = np.random.default_rng(2)
    group = np.sort(rng.integers(0, 30, 400))
    member, values = rng.permutation(400), rng.integers(0, 9, 400) / 8.0  # many are equal
    rows, largest = np.full((31, 5), -1, np.int32), np.zeros((31, 5))
    largest_of_groups(group, member, values, rows, largest)
    for g in range(31):
        here = np.flatnonzero(group == g)
        order = here[np.argsort(-values[here], kind="stable")][:5]
        assert rows[g].tolist() == [*member[order], *[-1] * (5 - len(order))]
        assert largest[g, : len(order)].tolist() == values[order].tolist()
