"""Order within groups of a long column: the rank and the place of every value among those of its group."""

from __future__ import annotations

import numpy as np
from numba import njit

from langscape.kernels.maths import STRICT


@njit(**STRICT)
def ranks_and_places(values, starts, ranks, places):
    """Fill ranks and places of every value within its group, from 0, the smallest first.

    Group g is values[starts[g]:starts[g + 1]]. Equal values share their mean rank; of their places the
    earlier comes first.
    """
    for g in range(starts.size - 1):
        first = starts[g]
        group = values[first : starts[g + 1]]
        order = np.argsort(group, kind="mergesort")
        i = 0
        while i < group.size:
            j = i + 1
            while j < group.size and group[order[j]] == group[order[i]]:
                j += 1
            for k in range(i, j):
                ranks[first + order[k]] = (i + j - 1) / 2
                places[first + order[k]] = k
            i = j
