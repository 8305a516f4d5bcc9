"""Attraction and repulsion of an exact t-SNE step: all pairs, float32, 2, 3 or 4 dimensions.

Coordinates are dimension-major, (dims, m), so that the inner loop reads every coordinate with unit
stride. The width m is a multiple of 16: see `padded`.

What i does to j is the opposite of what j does to i, so `halves` looks at each pair once: rows two at
a time against the columns from their own block of 16 on, sums for the rows in registers and for the
columns in arrays, which saves a quarter of the time and half of the reading of P. Within a block pairs
are met twice and count half each. Below `FEW` points the closing of the row sums costs more than that
saves: `forces_few` meets every pair twice, a block of columns against all rows, and has no row sums.

Where vectors cannot be used, the plain twins of both meet every pair twice, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32 as f32
from numba import njit, types
from numba.extending import intrinsic

from langscape.kernels.dispatch import PLAIN, chosen
from langscape.kernels.maths import FAST, STRICT
from langscape.kernels.simd import FLOAT, INDEX, Lanes, wide

BLOCK = 16
"""Columns of a block; a power of two."""

FAR = 1e15
"""Where the points of a padded width lie: so far that q² and with it every force is 0 in float32."""

AWAY = 1e16
"""Where a row that is not there lies on the first axis: far from the points and from the padding.

On the others it lies at 0, so that it moves no point of a line off that line by a bit."""

TILE = 1024
"""Columns whose places and sums stay in a near cache while all rows pass by; a multiple of the block."""

FEW = 240
"""Points below which `forces_few` is faster."""


def padded(n: int) -> int:
    """The width to give n points so that the inner loop has no remainder."""
    return -(-n // BLOCK) * BLOCK


def widened(matrix: np.ndarray, filling: float) -> np.ndarray:
    """The matrix in float32, its columns filled up to the padded width."""
    wide = np.full((len(matrix), padded(matrix.shape[1])), filling, np.float32)
    wide[:, : matrix.shape[1]] = matrix
    return wide


def cuts(n: int) -> np.ndarray:
    """Rows where `halves` is split between threads: equal numbers of pairs, by the size alone."""
    parts = min(max(n // 256, 1), 64)
    share = np.arange(parts + 1) / parts
    rows = n * (share if PLAIN else 1 - np.sqrt(1 - share))
    at = np.round(rows / BLOCK).astype(np.int64) * BLOCK
    at[-1] = n
    return np.unique(at)


@njit(**STRICT)
def _rows_plain(P, Y, A, R, first, last):
    """Fill rows first..last of A and R, against all others; their part of Z. P and A are None alike.

    P being symmetric, rows are summed as columns: each entry is a sum of its own, and loops over entries are
    vectors without any sum being reordered.
    """
    dims, m = Y.shape
    count = last - first
    R[:, first:last] = f32(0)
    if A is not None:
        A[:, first:last] = f32(0)
    z = np.zeros(count, np.float32)
    q = np.empty(count, np.float32)
    for i in range(m if P is None else P.shape[0]):
        q[:] = f32(1)
        for d in range(dims):
            y = Y[d, first:last]
            for j in range(count):
                u = y[j] - Y[d, i]
                q[j] += u * u
        for j in range(count):
            q[j] = f32(1) / q[j]
            z[j] += q[j]
        for d in range(dims):
            y = Y[d, first:last]
            r = R[d, first:last]
            for j in range(count):
                r[j] += q[j] * q[j] * (y[j] - Y[d, i])
            if P is not None:
                p = P[i, first:last]
                a = A[d, first:last]
                for j in range(count):
                    a[j] += p[j] * q[j] * (y[j] - Y[d, i])
    return z.astype(np.float64).sum() - count


@njit(**FAST)
def _few_plain(P, Y, A, R):
    """Fill A and R, as wide as Y; return Z."""
    return _rows_plain(P, Y, A, R, 0, P.shape[0])


@njit(**FAST)
def _halves_plain(P, Y, A, R, C, first, last):
    """Sums of rows first..last into A and R, what they do to the columns into C; their part of Z.

    `first` is a multiple of the block. C is (2·dims, m), attraction first, and is overwritten from
    column `first` on; adding every C to A and R completes them. Where P is sparse, P and A are None: then
    repulsion alone is summed, and C is (dims, m).
    """
    C[:, first:] = f32(0)  # the rows are complete
    return _rows_plain(P, Y, A, R, first, last)


def _weights(lanes: Lanes, apart: Sequence[Any], share: float, p: Any) -> tuple[Any, list[Any]]:
    """Of sixteen pairs their part of Z, and what the differences are multiplied by in each force.

    That is attraction, unless p is None, and repulsion. The share is ½ where a pair is met twice.
    """
    build = lanes.build
    squares = lanes.number(1.0)
    for u in apart:
        squares = lanes.times_plus(u, u, squares)
    q = lanes.inverse(squares)
    counted = q if share == 1.0 else build.fmul(q, lanes.number(share))
    forces = [] if p is None else [build.fmul(p, counted)]
    return counted, [*forces, build.fmul(q, counted)]


def _pointers(context: Any, build: Any, types_: Sequence[Any], args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Where the data of contiguous arrays begin, None for what is None; and the width of the second, Y."""
    arrays = [
        None if t is types.none else context.make_array(t)(context, build, arg)
        for t, arg in zip(types_, args, strict=True)
    ]
    width = build.extract_value(arrays[1].shape, 1)  # type: ignore[union-attr]
    return [None if array is None else array.data for array in arrays], width


def _all_rows(dims: int) -> Any:
    """The inner loop of `forces_few` as code for so many dimensions."""

    @intrinsic
    def columns(typingctx, P, Y, A, R, n, j):
        """What all n rows do to the block of columns from j on, into A and R; their part of Z."""
        signature = f32(P, Y, A, R, types.uint64, types.uint64)

        def code(context, build, signature, args):
            lanes = Lanes(build, BLOCK)
            (p, y, *into), m = _pointers(context, build, signature.args[:4], args[:4])
            n, j = args[4:6]
            line = [build.mul(INDEX(d), m) for d in range(dims)]
            here = [lanes.load(y, build.add(start, j)) for start in line]

            def against(i: Any, sums: list[Any]) -> list[Any]:
                z, *sums = sums
                places = [build.load(build.gep(y, [build.add(start, i)])) for start in line]
                apart = [build.fsub(a, lanes.everywhere(b)) for a, b in zip(here, places, strict=True)]
                part, forces = _weights(lanes, apart, 1.0, lanes.load(p, build.add(build.mul(i, m), j)))
                products = [(force, u) for force in forces for u in apart]
                added = [lanes.times_plus(*both, sum_) for both, sum_ in zip(products, sums, strict=True)]
                return [build.fadd(z, part), *added]

            z, *sums = lanes.loop(INDEX(0), n, 1, [lanes.number(0.0)] * (1 + 2 * dims), against)
            for c, sum_ in enumerate(sums):
                lanes.store(sum_, into[c // dims], build.add(line[c % dims], j))
            return lanes.sum(z)

        return signature, code

    return columns


_columns_2, _columns_3, _columns_4 = (_all_rows(dims) for dims in (2, 3, 4))


@njit(**FAST)
def _few_vectors(P, Y, A, R):
    dims, m = Y.shape
    n = P.shape[0]
    z = 0.0
    for j in range(0, m, BLOCK):
        if dims == 2:
            z += _columns_2(P, Y, A, R, n, j)
        elif dims == 3:
            z += _columns_3(P, Y, A, R, n, j)
        else:
            z += _columns_4(P, Y, A, R, n, j)
    return z - n


def _two_rows(dims: int) -> Any:
    """The inner loop of `halves` as code for so many dimensions."""

    @intrinsic
    def rows(typingctx, P, Y, A, R, C, i, k, start, stop):
        """Add sums of rows i and k over the columns start to stop to A and R, and take them from C; their Z.

        k = i says that there is no second row. P and A are None without attraction.
        """
        signature = f32(P, Y, A, R, C, *[types.uint64] * 4)
        pulls = P is not types.none
        sums_of_a_row = dims * (2 if pulls else 1)

        def code(context, build, signature, args):
            width = BLOCK if wide() else BLOCK // 2
            lanes = Lanes(build, width)
            (p, y, *into, columns), m = _pointers(context, build, signature.args[:5], args[:5])
            line = [build.mul(INDEX(d), m) for d in range(sums_of_a_row)]
            two_rows = build.mul(INDEX(2), m)  # the next two pass the same columns
            numbers, (start, stop) = args[5:7], args[7:9]
            missing = build.icmp_unsigned("==", *numbers)
            here = []
            for number in numbers:
                places = [build.load(build.gep(y, [build.add(line[d], number)])) for d in range(dims)]
                if number is numbers[1]:
                    beyond = [ir.Constant(FLOAT, AWAY)] + [ir.Constant(FLOAT, 0.0)] * (dims - 1)
                    places = [build.select(missing, *both) for both in zip(beyond, places, strict=True)]
                here.append([lanes.everywhere(place) for place in places])

            def against(share: float) -> Any:
                def block(j: Any, sums: list[Any]) -> list[Any]:
                    z, *sums = sums
                    at_j = [build.add(start, j) for start in line]
                    there = [lanes.load(y, at) for at in at_j[:dims]]
                    changed = [lanes.load(columns, at) for at in at_j]
                    for row, number in enumerate(numbers):
                        entries = None
                        if pulls:
                            at = build.add(build.mul(number, m), j)
                            entries = lanes.load(p, at)
                            lanes.ask_for(p, build.add(at, two_rows))
                        apart = [build.fsub(a, b) for a, b in zip(here[row], there, strict=True)]
                        part, forces = _weights(lanes, apart, share, entries)
                        z = build.fadd(z, part)
                        for c in range(sums_of_a_row):
                            force, u, own = forces[c // dims], apart[c % dims], row * sums_of_a_row + c
                            sums[own] = lanes.times_plus(force, u, sums[own])
                            changed[c] = lanes.times_plus(build.fneg(force), u, changed[c])
                    for value, at in zip(changed, at_j, strict=True):
                        lanes.store(value, columns, at)
                    return [z, *sums]

                return block

            own = build.icmp_unsigned("==", start, build.and_(numbers[0], INDEX(-BLOCK)))
            beside = build.select(own, build.add(start, INDEX(BLOCK)), start)
            sums = [lanes.number(0.0)] * (1 + 2 * sums_of_a_row)
            sums = lanes.loop(start, beside, width, sums, against(0.5))
            z, *sums = lanes.loop(beside, stop, width, sums, against(1.0))
            into = [pointer for pointer in into if pointer is not None]
            for row in (0, 1):
                for c in range(sums_of_a_row):
                    place = build.gep(into[c // dims], [build.add(line[c % dims], numbers[row])])
                    added = lanes.sum(sums[row * sums_of_a_row + c])
                    if row == 1:
                        added = build.select(missing, ir.Constant(FLOAT, 0.0), added)
                    build.store(build.fadd(build.load(place), added), place)
            return lanes.sum(z)

        return signature, code

    return rows


_rows_2, _rows_3, _rows_4 = (_two_rows(dims) for dims in (2, 3, 4))


@njit(**FAST)
def _halves_vectors(P, Y, A, R, C, first, last):
    dims, m = Y.shape
    if A is not None:
        A[:, first:last] = f32(0)
    R[:, first:last] = f32(0)
    C[:, first:] = f32(0)
    z = 0.0
    for tile in range(first // TILE * TILE, m, TILE):
        stop = min(tile + TILE, m)
        for i in range(first, min(last, stop), 2):
            k, start = min(i + 1, last - 1), max(i // BLOCK * BLOCK, tile)
            if dims == 2:
                z += _rows_2(P, Y, A, R, C, i, k, start, stop)
            elif dims == 3:
                z += _rows_3(P, Y, A, R, C, i, k, start, stop)
            else:
                z += _rows_4(P, Y, A, R, C, i, k, start, stop)
    return 2.0 * z - (last - first)


forces_few = chosen(_few_vectors, _few_plain)
halves = chosen(_halves_vectors, _halves_plain)


@njit(**FAST)
def attraction(starts, columns, values, Y, A, first, last):
    """Fill A for rows first..last from a sparse P (CSR with unsigned indices), any dimension."""
    dims = Y.shape[0]
    u = np.empty(dims, np.float32)
    for i in range(first, last):
        for d in range(dims):
            A[d, i] = f32(0)
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            s = f32(1)
            for d in range(dims):
                u[d] = Y[d, i] - Y[d, j]
                s += u[d] * u[d]
            pq = values[k] / s
            for d in range(dims):
                A[d, i] += pq * u[d]
