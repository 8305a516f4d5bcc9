"""Repulsion of large 2-D maps on a grid: one charge, one kernel, one convolution per step.

With φ(y) = Σ_j 1/(1+‖y−y_j‖²) the repulsive force on point i is −½∇φ(y_i), and Z = Σ_i φ(y_i) − n.
So one particle–mesh pass gives all: spread unit charges by quartic B-splines, convolve with the
kernel by FFT (divided by the squared spline transform, which undoes the smearing of spreading and
gathering), gather value and derivative. The usual method convolves four charges with two kernels.

The kernel is taken relative to its value at the box's diagonal, c: near the start, when the map is
tiny, 1/(1+r²) is 1 everywhere and float32 would drown its slope; the constant adds c·n to φ and
nothing to the force.

A point also feels its own smeared charge, which on a loose map is most of the error. What it feels
depends only on where it lies within its cell, so it is tabulated and taken away again.

Points are (n, 2) here, since attraction reads both coordinates of scattered points.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import scipy.fft
from llvmlite import ir
from numba import float32 as f32
from numba import njit, prange, types
from numba.extending import intrinsic

from langscape.kernels.dispatch import chosen
from langscape.kernels.maths import FAST, QUICK, STRICT
from langscape.kernels.simd import INDEX, Lanes

SPACING, FINE = 0.45, 0.35
FINE_BELOW = 5000
CELLS = 32
COARSE = 0.75
"""The grid's spacing is SPACING, or the box over CELLS when the map is small; coarser costs KL.

A map that is too wide for that has a coarser grid: at COARSE the KL of 100,000 words is given 0.1 % too low,
at 1.2 it is 0.8 % too low, and fewer of their neighbours are kept.

Below FINE_BELOW points it is FINE: 2,600 words then end 0.3 % above the exact engine's KL, not 1 %,
for a fifth more time.
"""

_ORDER = 5
_MARGIN = _ORDER + 2
_OWN = 64  # entries along a cell's side in the table of what a point feels of itself
_PARTS = 4  # partial grids, added in order: a fixed number, so that bits do not depend on threads
CHUNK = 2048
# the quartic B-spline at the integers: its transform is what spreading and gathering multiply by
_AT_0, _AT_1, _AT_2 = 115 / 192, 19 / 96, 1 / 384


# polynomials in u of the quartic B-spline at the five nodes around a point u ∈ [−½, ½) off the middle one:
# a row for each node, the constant first
_WEIGHTS = np.array(
    [
        [1 / 384, -1 / 48, 1 / 16, -1 / 12, 1 / 24],
        [19 / 96, -11 / 24, 1 / 4, 1 / 6, -1 / 6],
        [115 / 192, 0, -5 / 8, 0, 1 / 4],
        [19 / 96, 11 / 24, 1 / 4, -1 / 6, -1 / 6],
        [1 / 384, 1 / 48, 1 / 16, 1 / 12, 1 / 24],
    ]
)
_SLOPES = _WEIGHTS[:, 1:] * np.arange(1, 5)
_WEIGHTS_32, _SLOPES_32 = _WEIGHTS.astype(np.float32), _SLOPES.astype(np.float32)
_LANES = 8  # the five nodes and three that nothing is added to or taken from


def _polynomial(lanes: Lanes, coefficients: np.ndarray, u: Any) -> Any:
    """One polynomial in each lane, at the same u."""
    filled = np.pad(coefficients, ((0, _LANES - len(coefficients)), (0, 0))).T
    powers = [ir.Constant(lanes.type, [float(np.float32(c)) for c in row]) for row in filled]
    value = powers[-1]
    for lower in powers[-2::-1]:
        value = lanes.times_plus(value, u, lower)
    return value


def _nodes_of(lanes: Lanes, grid: Any, cx: Any, cy: Any) -> list[tuple[Any, Any]]:
    """Pointer and index of the first node in each of the five rows around node (cx, cy)."""
    build = lanes.build
    width = build.extract_value(grid.shape, 1)
    first = build.sub(build.mul(build.sub(cx, INDEX(2)), width), build.sub(INDEX(2), cy))
    return [(grid.data, build.add(first, build.mul(INDEX(a), width))) for a in range(5)]


def _lane(lanes: Lanes, vector: Any, lane: int) -> Any:
    return lanes.mixed(vector, vector, [lane] * _LANES)


@njit(**STRICT)
def _spline(coefficients, node, u):
    value = f32(0)
    for c in range(coefficients.shape[1] - 1, -1, -1):
        value = value * u + coefficients[node, c]
    return value


@njit(**STRICT)
def _splines(table, u):
    """The five polynomials of a table at u."""
    return (
        _spline(table, 0, u),
        _spline(table, 1, u),
        _spline(table, 2, u),
        _spline(table, 3, u),
        _spline(table, 4, u),
    )


@njit(**STRICT)
def _spread_plain(grid, cx, cy, ux, uy):
    """Add a unit charge near node (cx, cy) of a contiguous grid, (ux, uy) off it."""
    w, v = _splines(_WEIGHTS_32, ux), _splines(_WEIGHTS_32, uy)
    for a in range(5):
        for b in range(5):
            grid[cx - 2 + a, cy - 2 + b] += w[a] * v[b]


@njit(**STRICT)
def _gather_plain(grid, cx, cy, ux, uy):
    """Value and both slopes, per cell, of a contiguous grid near node (cx, cy), (ux, uy) off it."""
    w, v = _splines(_WEIGHTS_32, ux), _splines(_WEIGHTS_32, uy)
    dw, dv = _splines(_SLOPES_32, ux), _splines(_SLOPES_32, uy)
    value = slope_x = slope_y = f32(0)
    for a in range(5):
        for b in range(5):
            node = grid[cx - 2 + a, cy - 2 + b]
            value += w[a] * v[b] * node
            slope_x += dw[a] * v[b] * node
            slope_y += w[a] * dv[b] * node
    return value, slope_x, slope_y


@intrinsic
def _spread_vectors(typingctx, grid, cx, cy, ux, uy):
    signature = types.void(grid, types.int64, types.int64, f32, f32)

    def code(context, build, signature, args):
        lanes = Lanes(build, _LANES)
        array = context.make_array(signature.args[0])(context, build, args[0])
        w, v = (_polynomial(lanes, _WEIGHTS, lanes.everywhere(u)) for u in args[3:])
        for a, node in enumerate(_nodes_of(lanes, array, args[1], args[2])):
            lanes.store(lanes.times_plus(_lane(lanes, w, a), v, lanes.load(*node)), *node)
        return context.get_dummy_value()

    return signature, code


@intrinsic
def _gather_vectors(typingctx, grid, cx, cy, ux, uy):
    signature = types.UniTuple(f32, 3)(grid, types.int64, types.int64, f32, f32)

    def code(context, build, signature, args):
        lanes = Lanes(build, _LANES)
        array = context.make_array(signature.args[0])(context, build, args[0])
        places = [lanes.everywhere(u) for u in args[3:]]
        (w, v), (dw, dv) = ([_polynomial(lanes, c, u) for u in places] for c in (_WEIGHTS, _SLOPES))
        along = sloped = lanes.number(0.0)
        for a, node in enumerate(_nodes_of(lanes, array, args[1], args[2])):
            row = lanes.load(*node)
            along = lanes.times_plus(_lane(lanes, w, a), row, along)
            sloped = lanes.times_plus(_lane(lanes, dw, a), row, sloped)
        products = (build.fmul(along, v), build.fmul(sloped, v), build.fmul(along, dv))
        return context.make_tuple(build, signature.return_type, [lanes.sum(p) for p in products])

    return signature, code


_spread_one = chosen(_spread_vectors, _spread_plain)
gather_one = chosen(_gather_vectors, _gather_plain)
"""Value and both slopes, per cell, of a grid's field near one of its nodes."""


@njit(parallel=True, **FAST)
def _spread(Y, left, bottom, per_unit, grids):
    n = Y.shape[0]
    parts = grids.shape[0]
    for t in prange(parts):
        grid = grids[t]
        grid[:] = f32(0)
        for i in range(t * n // parts, (t + 1) * n // parts):
            x = (Y[i, 0] - left) * per_unit
            y = (Y[i, 1] - bottom) * per_unit
            cx = int(x + f32(0.5))
            cy = int(y + f32(0.5))
            _spread_one(grid, cx, cy, x - f32(cx), y - f32(cy))


@njit(parallel=True, **FAST)
def _gather(Y, left, bottom, per_unit, phi, own, R, shares):
    """Fill R = −½∇φ; shares[b] is the sum of φ over chunk b, both without each point's own part."""
    n = Y.shape[0]
    for chunk in prange(shares.size):
        share = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            x = (Y[i, 0] - left) * per_unit
            y = (Y[i, 1] - bottom) * per_unit
            cx = int(x + f32(0.5))
            cy = int(y + f32(0.5))
            ux = x - f32(cx)
            uy = y - f32(cy)
            value, gx, gy = gather_one(phi, cx, cy, ux, uy)
            at = own[min(int((ux + f32(0.5)) * _OWN), _OWN - 1), min(int((uy + f32(0.5)) * _OWN), _OWN - 1)]
            share += value - at[0]
            R[i, 0] = f32(-0.5) * (gx - at[1]) * per_unit
            R[i, 1] = f32(-0.5) * (gy - at[2]) * per_unit
        shares[chunk] = share


@njit(parallel=True, **FAST)
def _add_parts(grids, out):
    for i in prange(grids.shape[1]):
        for j in range(grids.shape[2]):
            s = grids[0, i, j]
            for t in range(1, grids.shape[0]):
                s += grids[t, i, j]
            out[i, j] = s


@njit(parallel=True, **FAST)
def _multiply(F, K):
    for i in prange(F.shape[0]):
        for j in range(F.shape[1]):
            F[i, j] *= K[i, j]


@njit(**FAST)
def _finite(numbers):
    total = 0.0
    for i in range(numbers.size):
        total += abs(numbers[i])
    return math.isfinite(total)


@njit(**QUICK)
def _corners(Y):
    x0 = x1 = Y[0, 0]
    y0 = y1 = Y[0, 1]
    for i in range(Y.shape[0]):
        x0 = min(x0, Y[i, 0])
        x1 = max(x1, Y[i, 0])
        y0 = min(y0, Y[i, 1])
        y1 = max(y1, Y[i, 1])
    return x0, x1, y0, y1


def _box(Y: np.ndarray) -> tuple[float, float, float, float]:
    """Left, right, bottom, top of the points."""
    if not _finite(Y.reshape(-1)):
        raise FloatingPointError("a coordinate is not finite")
    x0, x1, y0, y1 = _corners(Y)
    return float(x0), float(x1), float(y0), float(y1)


class Repulsion:
    """Repulsive forces of a 2-D map; keeps the grid and the kernel's transform between steps."""

    def __init__(self, n: int, threads: int = 1) -> None:
        self.threads = threads
        self._finest = FINE if n < FINE_BELOW else SPACING
        self._shares = np.empty((n + CHUNK - 1) // CHUNK)
        self._size = (0, 0)
        self._spacing = math.inf
        self._slack = _SLACK[0]
        self._age = 0

    def __call__(self, Y: np.ndarray, R: np.ndarray) -> float:
        """Fill R, (n, 2), with Σ_j (y_i−y_j)/(1+d²)²; return Z."""
        left, bottom = self._fit(Y)
        per_unit = np.float32(1.0 / self._spacing)
        _spread(Y, left, bottom, per_unit, self._grids)
        _add_parts(self._grids, self._charge)
        phi = self._convolve(self._charge)
        _gather(Y, left, bottom, per_unit, phi, self._own, R, self._shares)
        n = len(Y)
        return math.fsum(self._shares) + self._constant * n * (n - 1)

    def field(self, Y: np.ndarray) -> tuple[np.ndarray, np.float32, np.float32, np.float32, float]:
        """Σ_j 1/(1+‖y−y_j‖²) less a constant at the nodes; left, bottom, nodes a unit, that constant."""
        left, bottom = self._fit(Y)
        per_unit = np.float32(1.0 / self._spacing)
        _spread(Y, left, bottom, per_unit, self._grids)
        _add_parts(self._grids, self._charge)
        phi = np.ascontiguousarray(self._convolve(self._charge)[:, : self._size[1]])
        return phi, left, bottom, per_unit, self._constant * len(Y)

    def room(self, Y: np.ndarray) -> float:
        """How many times as wide the points may become before the grid is too coarse for them."""
        x0, x1, y0, y1 = _box(Y)
        return COARSE * _LARGEST / max(x1 - x0, y1 - y0, 1e-20)

    def again(self) -> None:
        """Forget that the forces were asked for: the next call has the bits it would have had."""
        self._age -= 1

    def state(self) -> np.ndarray:
        """What the next step depends on beside the points: how large the grid is, and when it was built."""
        return np.array([*self._size, self._spacing, self._slack, self._age], np.float64)

    def restore(self, state: np.ndarray) -> None:
        """Take up a state, so that the next step has the same bits as if nothing had been between."""
        if state[0] > 0:
            self._build((int(state[0]), int(state[1])), float(state[2]))
        self._slack, self._age = float(state[3]), int(state[4])

    def _fit(self, Y: np.ndarray) -> tuple[np.float32, np.float32]:
        """Make the grid cover every point; rebuild it only when the box has changed much."""
        x0, x1, y0, y1 = _box(Y)
        width, height = x1 - x0, y1 - y0
        # a cell is never so small that float32 cannot tell a point's place in it
        extent = max(width, height, 1e-4 * max(abs(x0), abs(x1), abs(y0), abs(y1)), 1e-20)
        spacing = max(min(self._finest, extent / CELLS), extent / _LARGEST)
        need = _nodes(width, height, spacing)
        self._age += 1
        if (
            self._spacing > 1.25 * spacing
            or any(a > b for a, b in zip(_nodes(width, height, self._spacing), self._size, strict=True))
            or math.prod(self._size) > max(2 * math.prod(need), _SMALL)
        ):
            self._rebuild(need, spacing)
        return (
            np.float32((x0 + x1) / 2 - self._spacing * (self._size[0] - 1) / 2),
            np.float32((y0 + y1) / 2 - self._spacing * (self._size[1] - 1) / 2),
        )

    def _rebuild(self, need: tuple[int, int], spacing: float) -> None:
        # so much slack that a growing map does not rebuild at every step, and a slow one is not large
        faster, slower = self._age < 8, self._age > 24
        least, most = _SLACK
        self._slack = min(max(self._slack * (1.5 if faster else 1 / 1.5 if slower else 1), least), most)
        self._age = 0
        across, along = (
            scipy.fft.next_fast_len(math.ceil((1 + self._slack) * side), real=True) for side in need
        )
        self._build((across, along), spacing)

    def _build(self, size: tuple[int, int], spacing: float) -> None:
        self._size, self._padded = size, (2 * size[0], 2 * size[1])
        self._spacing = spacing
        self._grids = np.zeros((_PARTS, *size), np.float32)
        self._charge = np.zeros((size[0], self._padded[1]), np.float32)
        far = spacing * math.hypot(*size)
        self._constant = 1.0 / (1.0 + far * far)
        self._kernel = self._transform(far * far)

    def _transform(self, far2: float) -> np.ndarray:
        """The kernel's transform over the squared spline transform, real and float32.

        The kernel is even in both directions, so a cosine transform of a quarter of it is enough.
        """
        rows, columns = (side // 2 + 1 for side in self._padded)
        across, along = np.arange(rows) * self._spacing, np.arange(columns) * self._spacing
        r2 = across[:, None] ** 2 + along[None, :] ** 2
        # 1/(1+r²) − 1/(1+far²), written so that nothing cancels when both are near 1
        kernel = (far2 - r2) / ((1.0 + r2) * (1.0 + far2))
        quarter = scipy.fft.dctn(kernel, type=1, overwrite_x=True)
        smear = [_spline_transform(np.arange(side // 2 + 1) / side) for side in self._padded]
        quarter /= (smear[0][:, None] * smear[1][None, :]) ** 2
        self._own = _own_field(_corner(quarter, self._padded))
        return np.concatenate([quarter, quarter[-2:0:-1]]).astype(np.float32)

    def _convolve(self, charge: np.ndarray) -> np.ndarray:
        """Only the nonzero rows are transformed forward, only the needed ones back."""
        rows, columns = self._padded
        workers = self.threads
        F = scipy.fft.rfft(charge, axis=1, workers=workers)
        F = scipy.fft.fft(F, n=rows, axis=0, workers=workers, overwrite_x=True)
        _multiply(F, self._kernel)
        F = scipy.fft.ifft(F, axis=0, workers=workers, overwrite_x=True)
        return scipy.fft.irfft(F[: self._size[0]], n=columns, axis=1, workers=workers)


_SMALL = 100 * 100
"""Nodes below which a grid is never too large."""

_SLACK = (0.03, 0.25)
"""The share by which a new grid is wider than the map, at least and at most."""

_LARGEST = 1500
"""Cells along a side at most: a map that wide gets a coarser grid rather than all the memory."""


def _nodes(width: float, height: float, spacing: float) -> tuple[int, int]:
    """How many nodes a box needs each way, with the margin that splines reach into."""
    across, along = (math.ceil(side / spacing) + 2 * _MARGIN + 1 for side in (width, height))
    return across, along


def _corner(quarter: np.ndarray, padded: tuple[int, ...]) -> np.ndarray:
    """The 5 × 5 corner of the inverse transform: what a unit makes 0 to 4 nodes away."""
    across, along = (_cosines(side) for side in padded)
    return across @ quarter @ along.T


def _cosines(side: int) -> np.ndarray:
    """(5, side/2 + 1): the weights of an even transform in its inverse at 0 to 4."""
    frequency = np.arange(side // 2 + 1)
    twice = np.where((frequency == 0) | (frequency == side // 2), 1.0, 2.0)
    return twice * np.cos(2.0 * np.pi * np.arange(5)[:, None] * frequency / side) / side


@cache
def _pairs_of_nodes() -> tuple[np.ndarray, np.ndarray]:
    """C and D, (5, _OWN): sums of w_a·w_b and of w'_a·w_b over nodes p apart, by the place in a cell."""
    u = (np.arange(_OWN) + 0.5) / _OWN - 0.5
    w, dw = (np.polynomial.polynomial.polyval(u, c.T) for c in (_WEIGHTS, _SLOPES))
    apart = [[(a, b) for a in range(5) for b in range(5) if abs(a - b) == p] for p in range(5)]
    C = np.array([sum(w[a] * w[b] for a, b in pairs) for pairs in apart], np.float64)
    D = np.array([sum(dw[a] * w[b] for a, b in pairs) for pairs in apart], np.float64)
    return C, D


def _own_field(response: np.ndarray) -> np.ndarray:
    """(_OWN, _OWN, 3) float32: value and two slopes (per cell) of a unit charge's field at the charge itself.

    response[p, q] is what a unit at one node makes p and q nodes away; the value is
    Σ_pq C_p C_q response[p, q].
    """
    C, D = _pairs_of_nodes()
    return np.stack([C.T @ response @ C, D.T @ response @ C, C.T @ response @ D], -1).astype(np.float32)


def _spline_transform(frequency: np.ndarray) -> np.ndarray:
    angle = 2.0 * np.pi * frequency
    return _AT_0 + 2.0 * _AT_1 * np.cos(angle) + 2.0 * _AT_2 * np.cos(2.0 * angle)


@njit(parallel=True, **FAST)
def update(Y, V, G, A, R, Z, exaggeration, rate, momentum, gains, least_gain, largest_step, sums):
    """One step of momentum with gains, as in the exact engine; sums (chunks, 2) hold partial means."""
    n = Y.shape[0]
    inverse = f32(1.0 / Z)
    for chunk in prange(sums.shape[0]):
        sx = 0.0
        sy = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            length = f32(0)
            for d in range(2):
                g = f32(4) * (exaggeration * A[i, d] - R[i, d] * inverse)
                k = f32(1)
                if gains:
                    k = G[i, d] + f32(0.2) if V[i, d] * g < f32(0) else G[i, d] * f32(0.8)
                    k = max(k, least_gain)
                    G[i, d] = k
                V[i, d] = momentum * V[i, d] - rate * k * g
                length += V[i, d] * V[i, d]
            if largest_step > 0 and length > largest_step * largest_step:
                k = largest_step / math.sqrt(length)
                V[i, 0] *= k
                V[i, 1] *= k
            Y[i, 0] += V[i, 0]
            Y[i, 1] += V[i, 1]
            sx += Y[i, 0]
            sy += Y[i, 1]
        sums[chunk, 0] = sx
        sums[chunk, 1] = sy
    mx = 0.0
    my = 0.0
    for chunk in range(sums.shape[0]):
        mx += sums[chunk, 0]
        my += sums[chunk, 1]
    cx = f32(mx / n)
    cy = f32(my / n)
    for i in prange(n):
        Y[i, 0] -= cx
        Y[i, 1] -= cy


@njit(**FAST)
def hilbert_keys(Y, x0, y0, scale, bits):
    """Each point's place along a Hilbert curve: points near on the map get near in memory."""
    keys = np.empty(Y.shape[0], np.int64)
    top = (1 << bits) - 1
    for i in range(Y.shape[0]):
        x = min(max(int((Y[i, 0] - x0) * scale), 0), top)
        y = min(max(int((Y[i, 1] - y0) * scale), 0), top)
        key = 0
        s = 1 << (bits - 1)
        while s > 0:
            rx = 1 if (x & s) else 0
            ry = 1 if (y & s) else 0
            key += s * s * ((3 * rx) ^ ry)
            if ry == 0:
                if rx == 1:
                    x = top - x
                    y = top - y
                x, y = y, x
            s >>= 1
        keys[i] = key
    return keys


def hilbert_order(Y: np.ndarray) -> np.ndarray:
    """The points' order along a Hilbert curve through the map."""
    x0, x1, y0, y1 = _box(Y)
    return np.argsort(hilbert_keys(Y, x0, y0, 4095.0 / max(x1 - x0, y1 - y0, 1e-30), 12), kind="stable")
