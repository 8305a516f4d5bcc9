"""Attraction of large 2-D maps over a sparse P whose rows are filled up to groups of sixteen entries.

The scattered points of a group are read one by one, both coordinates as 64 bits, and put side by side
before anything is computed. Left to itself LLVM takes the processor's gather instructions, which on many
machines are slower than that by half; Numba has no vectors, so a row's sum is spelled out here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32 as f32
from numba import njit, prange, types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from langscape.kernels.maths import FAST, QUICK, log

GROUP = 16
"""Entries taken at once: rows start and end at multiples of it."""

_AHEAD = 512
"""So many entries ahead P is asked for: the processor's own guess stops at the end of each page."""

_INDEX, _FLOAT = ir.IntType(64), ir.FloatType()
_LANES = ir.VectorType(_FLOAT, GROUP)
_NUMBERED = ir.VectorType(ir.IntType(32), GROUP)


def _constant(value: float) -> ir.Constant:
    return ir.Constant(_LANES, [value] * GROUP)


def _all_lanes(build: Any, value: Any) -> Any:
    """One number in every lane."""
    nothing = ir.Constant(_LANES, ir.Undefined)
    first = build.insert_element(nothing, value, ir.IntType(32)(0))
    return build.shuffle_vector(first, nothing, ir.Constant(_NUMBERED, [0] * GROUP))


def _scattered(build: Any, places: Any, columns: Any, k: Any) -> tuple[Any, Any]:
    """x and y of the points that entries k, k+1, … of `columns` name.

    Within four points, the first two go to one vector and the others to a second: from there a single
    shuffle of each 128 bits brings all x into order, and one all y.
    """
    pairs = []
    for lane in range(GROUP):
        j = build.load(build.gep(columns, [build.add(k, _INDEX(lane))]))
        pairs.append(build.load(build.gep(places, [build.zext(j, _INDEX)])))
    half = ir.VectorType(_INDEX, GROUP // 2)
    halves = []
    for first in (0, 2):
        wanted = [pair for at in range(first, GROUP, 4) for pair in pairs[at : at + 2]]
        vector = ir.Constant(half, ir.Undefined)
        for lane, pair in enumerate(wanted):
            vector = build.insert_element(vector, pair, ir.IntType(32)(lane))
        halves.append(build.bitcast(vector, _LANES))

    def coordinate(d: int) -> Any:
        order = [i for at in range(d, GROUP, 4) for i in (at, at + 2, GROUP + at, GROUP + at + 2)]
        return build.shuffle_vector(*halves, ir.Constant(_NUMBERED, order))

    return coordinate(0), coordinate(1)


def _ask_for(build: Any, pointer: Any) -> None:
    """Have the line of memory at `pointer` brought near; harmless beyond an array's end."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = get_or_insert_function(build.module, kind, "llvm.prefetch.p0i8")
    build.call(prefetch, [build.bitcast(pointer, byte), number(0), number(3), number(1)])


def _sum(build: Any, vector: Any) -> Any:
    """All lanes added, always in the same order."""
    width = GROUP
    while width > 1:
        width //= 2
        nothing = ir.Constant(vector.type, ir.Undefined)
        numbers = ir.VectorType(ir.IntType(32), width)
        low = build.shuffle_vector(vector, nothing, ir.Constant(numbers, list(range(width))))
        high = build.shuffle_vector(vector, nothing, ir.Constant(numbers, list(range(width, 2 * width))))
        vector = build.fadd(low, high)
    return build.extract_element(vector, ir.IntType(32)(0))


@intrinsic
def _row(typingctx, places, columns, values, start, stop, x, y):
    """(Σ q·(x−x_j), Σ q·(y−y_j)) over entries start to stop, with q = p/(1+d²); all arrays contiguous."""
    arrays = (places, columns, values)
    signature = types.UniTuple(f32, 2)(*arrays, types.uint64, types.uint64, f32, f32)

    def code(context, build, signature, args):
        data = [context.make_array(t)(context, build, a).data for t, a in zip(arrays, args, strict=False)]
        start, stop = args[3:5]
        xs, ys = (_all_lanes(build, value) for value in args[5:7])
        before = build.block
        loop, after = build.append_basic_block(), build.append_basic_block()
        build.cbranch(build.icmp_unsigned("<", start, stop), loop, after)

        build.position_at_end(loop)
        k, ax, ay = build.phi(_INDEX), build.phi(_LANES), build.phi(_LANES)
        px, py = _scattered(build, data[0], data[1], k)
        p = build.load(build.bitcast(build.gep(data[2], [k]), _LANES.as_pointer()))
        p.align = 4
        for entries in data[1:]:
            _ask_for(build, build.gep(entries, [build.add(k, _INDEX(_AHEAD))]))
        fast = {"flags": ("fast",)}
        u, v = build.fsub(xs, px, **fast), build.fsub(ys, py, **fast)
        squares = build.fadd(build.fmul(u, u, **fast), build.fmul(v, v, **fast), **fast)
        q = build.fdiv(p, build.fadd(_constant(1.0), squares, **fast), **fast)
        sums = [build.fadd(a, build.fmul(q, w, **fast), **fast) for a, w in ((ax, u), (ay, v))]
        following = build.add(k, _INDEX(GROUP))
        for phi, first, later in ((k, start, following), (ax, None, sums[0]), (ay, None, sums[1])):
            phi.add_incoming(_constant(0.0) if first is None else first, before)
            phi.add_incoming(later, loop)
        build.cbranch(build.icmp_unsigned("<", following, stop), loop, after)

        build.position_at_end(after)
        totals = []
        for later in sums:
            total = build.phi(_LANES)
            total.add_incoming(_constant(0.0), before)
            total.add_incoming(later, loop)
            totals.append(total)
        return context.make_tuple(build, signature.return_type, [_sum(build, total) for total in totals])

    return signature, code


@njit(parallel=True, **QUICK)
def attraction(starts, columns, values, Y, A, cuts):
    """A_i = Σ_j p_ij (y_i−y_j)/(1+d²) over a grouped P; cuts split the rows by entries, since hubs exist."""
    places = Y.reshape(-1).view(np.uint64)
    for t in prange(cuts.size - 1):
        for i in range(cuts[t], cuts[t + 1]):
            A[i, 0], A[i, 1] = _row(places, columns, values, starts[i], starts[i + 1], Y[i, 0], Y[i, 1])


@njit(parallel=True, **QUICK)
def log_terms(starts, columns, values, Y, totals, cuts):
    """totals[t] = Σ p log(1+d²) over block t: with Z, all that the KL needs beside Σ p log p."""
    for t in prange(cuts.size - 1):
        total = 0.0
        for i in range(cuts[t], cuts[t + 1]):
            for k in range(starts[i], starts[i + 1]):
                j = columns[k]
                u = float(Y[i, 0]) - float(Y[j, 0])
                v = float(Y[i, 1]) - float(Y[j, 1])
                total += values[k] * log(1.0 + u * u + v * v)
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
