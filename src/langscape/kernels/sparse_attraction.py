"""Attraction of large 2-D maps over a sparse P whose rows are filled up to groups of sixteen entries.

The scattered points of a group are read one by one, both coordinates as 64 bits, and put side by side
before anything is computed. Left to itself LLVM takes the processor's gather instructions, which on many
machines are slower than that by half; Numba has no vectors, so a row's sum is spelled out here. Its plain
twin leaves it to LLVM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32 as f32
from numba import njit, prange, types
from numba.extending import intrinsic

from langscape.kernels.dispatch import chosen
from langscape.kernels.maths import FAST, QUICK, STRICT, log
from langscape.kernels.simd import INDEX, Lanes

GROUP = 16
"""Entries taken at once: rows start and end at multiples of it."""

_AHEAD = 512
"""So many entries ahead P is asked for: the processor's own guess stops at the end of each page."""


def _scattered(lanes: Lanes, places: Any, columns: Any, k: Any) -> list[Any]:
    """x and y of the points that entries k, k+1, … of `columns` name.

    Within four points, the first two go to one vector and the others to a second: from there a single
    shuffle of each 128 bits brings all x into order, and one all y.
    """
    build = lanes.build
    pairs = []
    for lane in range(GROUP):
        j = build.load(build.gep(columns, [build.add(k, INDEX(lane))]))
        pairs.append(build.load(build.gep(places, [build.zext(j, INDEX)])))
    halves = []
    for first in (0, 2):
        of_fours = [pair for at in range(first, GROUP, 4) for pair in pairs[at : at + 2]]
        halves.append(build.bitcast(lanes.side_by_side(of_fours), lanes.type))
    return [
        lanes.mixed(
            *halves, [i for at in range(d, GROUP, 4) for i in (at, at + 2, GROUP + at, GROUP + at + 2)]
        )
        for d in (0, 1)
    ]


@njit(**STRICT)
def _row_plain(Y, columns, values, start, stop, x, y):
    """(Σ q·(x−x_j), Σ q·(y−y_j)) over entries start to stop, with q = p/(1+d²); all arrays contiguous."""
    a = f32(0)
    b = f32(0)
    for k in range(start, stop):
        u = x - Y[columns[k], 0]
        v = y - Y[columns[k], 1]
        q = values[k] / (f32(1) + u * u + v * v)
        a += q * u
        b += q * v
    return a, b


@intrinsic
def _row_vectors(typingctx, Y, columns, values, start, stop, x, y):
    arrays = (Y, columns, values)
    signature = types.UniTuple(f32, 2)(*arrays, types.uint64, types.uint64, f32, f32)

    def code(context, build, signature, args):
        data = [context.make_array(t)(context, build, a).data for t, a in zip(arrays, args, strict=False)]
        places = build.bitcast(data[0], INDEX.as_pointer())
        lanes = Lanes(build, GROUP)
        here = [lanes.everywhere(value) for value in args[5:7]]

        def body(k: Any, sums: list[Any]) -> list[Any]:
            u, v = (
                build.fsub(a, b) for a, b in zip(here, _scattered(lanes, places, data[1], k), strict=True)
            )
            squares = lanes.times_plus(u, u, lanes.times_plus(v, v, lanes.number(1.0)))
            for entries in data[1:]:
                lanes.ask_for(entries, build.add(k, INDEX(_AHEAD)))
            # coordinates are finite (the grid's box has been looked at): an estimate and one step serve
            q = build.fdiv(lanes.load(data[2], k), squares, flags=("fast",))
            return [lanes.times_plus(q, w, sum_) for w, sum_ in zip((u, v), sums, strict=True)]

        sums = lanes.loop(args[3], args[4], GROUP, [lanes.number(0.0)] * 2, body)
        return context.make_tuple(build, signature.return_type, [lanes.sum(total) for total in sums])

    return signature, code


_row = chosen(_row_vectors, _row_plain)


@njit(parallel=True, **QUICK)
def attraction(starts, columns, values, Y, A, cuts):
    """A_i = Σ_j p_ij (y_i−y_j)/(1+d²) over a grouped P; cuts split the rows by entries, since hubs exist."""
    for t in prange(cuts.size - 1):
        for i in range(cuts[t], cuts[t + 1]):
            A[i, 0], A[i, 1] = _row(Y, columns, values, starts[i], starts[i + 1], Y[i, 0], Y[i, 1])


@njit(parallel=True, **QUICK)
def divergences(starts, columns, values, Y, totals, cuts):
    """totals[t] = Σ p log(p(1+d²)) over block t: all that the KL needs beside log Z."""
    for t in prange(cuts.size - 1):
        total = 0.0
        for i in range(cuts[t], cuts[t + 1]):
            for k in range(starts[i], starts[i + 1]):
                j = columns[k]
                u = float(Y[i, 0]) - float(Y[j, 0])
                v = float(Y[i, 1]) - float(Y[j, 1])
                p = float(values[k])
                # 0 log 0 = 0: the floor only keeps the logarithm finite
                total += p * log(max(p, 1e-300) * (1.0 + u * u + v * v))
        totals[t] = total


def grouped_starts(lengths: np.ndarray) -> np.ndarray:
    """Where rows of so many entries begin, and the last ends, when each is filled up to whole groups."""
    starts = np.concatenate([[0], np.cumsum(-(-lengths.astype(np.int64) // GROUP) * GROUP)])
    return starts.astype(np.uint32 if starts[-1] < 2**32 else np.uint64)


@njit(parallel=True, **FAST)
def permute_rows(starts, lengths, columns, values, order, place, new_starts, new_columns, new_values):
    """The same sparse matrix with rows and columns renamed, rows filled up with zeros at their own point."""
    for i in prange(order.size):
        k = new_starts[i]
        first = starts[order[i]]
        for q in range(first, first + lengths[order[i]]):
            new_columns[k] = place[columns[q]]
            new_values[k] = values[q]
            k += 1
        while k < new_starts[i + 1]:
            new_columns[k] = i
            new_values[k] = f32(0)
            k += 1
