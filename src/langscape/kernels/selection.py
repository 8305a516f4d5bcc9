"""The smallest entries of every row of a block, with their columns in order."""

from __future__ import annotations

import numpy as np
from numba import njit

from langscape.kernels.maths import STRICT


def smallest_in_rows(rows: np.ndarray, keep: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns (rows, keep) of each row's smallest entries, in order of the columns, and these entries.

    The largest of them is found first and the row then read once, which takes less than half the time of
    finding columns and putting them in order. Of entries that equal the largest, the first columns are taken.

    >>> smallest_in_rows(np.array([[4.0, 1.0, 3.0, 1.0]]), 3)[0].tolist()
    [[1, 2, 3]]
    """
    rows = np.ascontiguousarray(rows)
    index, values = np.empty((len(rows), keep), np.int32), np.empty((len(rows), keep), rows.dtype)
    _collect(rows, np.partition(rows, keep - 1, axis=1)[:, keep - 1], index, values)
    return index, values


@njit(**STRICT)
def _collect(rows, largest, index, values):
    keep = index.shape[1]
    found = np.empty(rows.shape[1] + 1, np.int32)
    for i in range(rows.shape[0]):
        at = 0
        for j in range(rows.shape[1]):
            found[at] = j
            at += rows[i, j] <= largest[i]
        # ties with the largest may be too many: the last of them go
        tied = at - keep
        k = keep
        for back in range(at - 1, -1, -1):
            j = found[back]
            if tied > 0 and rows[i, j] == largest[i]:
                tied -= 1
            else:
                k -= 1
                index[i, k] = j
                values[i, k] = rows[i, j]
