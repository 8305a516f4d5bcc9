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


@njit(**STRICT)
def largest_of_groups(group, member, values, rows, largest):
    """Fill rows[g] and largest[g] with the members of group g that have the largest values, and these.

    Entries are sorted by group. Of equal values the earlier comes first; what is left over stays as it was.
    """
    most = rows.shape[1]
    found = 0
    for k in range(group.size):
        g = group[k]
        if k == 0 or group[k - 1] != g:
            found = 0
        at = found
        while at > 0 and largest[g, at - 1] < values[k]:
            at -= 1
        if at == most:
            continue
        for back in range(min(found, most - 1), at, -1):
            rows[g, back] = rows[g, back - 1]
            largest[g, back] = largest[g, back - 1]
        rows[g, at] = member[k]
        largest[g, at] = values[k]
        found = min(found + 1, most)
