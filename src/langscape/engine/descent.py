"""Running a plan from given starts: three engines with one shape.

Each is `(problem, starts, plan, settings, watch) → Landing`. `tasks` runs many small dense problems at
once, whole ones per thread; `rows` splits one exact problem by rows; `grid` is for large 2-D maps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from langscape.data import Progress, Step
from langscape.engine.schedule import Schedule

_CHECK = 250
"""Steps between two entries of a history: a KL costs as much as eight steps."""


@dataclass(frozen=True, eq=False)
class Landing:
    """Where one descent ended: coordinates (n, dims), its KL, and the history (checks, 2)."""

    xy: np.ndarray
    kl: float
    history: np.ndarray


@dataclass(eq=False)
class Watch:
    """Tells `progress` how far a run is, at most ten times a second, over all its descents."""

    total: int
    progress: Progress | None
    done: int = 0
    _last: float = field(default=0.0)

    def at(self, done: int, kl: float) -> None:
        """Report that `done` steps of the whole are behind us."""
        self.done = done
        now = time.monotonic()
        if self.progress is not None and (now - self._last > 0.1 or done >= self.total):
            self._last = now
            self.progress(Step(done, self.total, "t-SNE", {"KL": kl} if math.isfinite(kl) else {}))


class Stopped(Exception):
    """Raised through a descent by Ctrl-C; carries what stood at that moment."""

    def __init__(self, landings: list[Landing], step: int) -> None:
        super().__init__(step)
        self.landings = landings
        self.step = step


def _scalars(schedule: Schedule) -> tuple[bool, np.float32, np.float32]:
    return schedule.gains, np.float32(schedule.least_gain), np.float32(schedule.largest_step)


class Tasks:
    """Descents of many small dense problems by one schedule, whole ones per thread.

    starts[b] are the starts of problem b, arrays (n_b, dims). A task is one descent; tasks stand problem by
    problem, in the order of the starts.
    """

    def __init__(
        self,
        problems: Sequence[Any],
        starts: Sequence[Sequence[np.ndarray]],
        schedule: Schedule,
        floor: np.ndarray,
    ) -> None:
        from langscape.kernels.pairwise_forces import FAR, padded, widened

        self.schedule, self.floor, self.step = schedule, floor, 0
        self._dims = len(floor)
        self._sizes = np.array([len(P) for P in problems], np.int64)
        self._widths = np.array([padded(len(P)) for P in problems], np.int64)
        self._P = np.concatenate([widened(P, 0.0).ravel() for P in problems])
        self._P_start = _starts(self._sizes * self._widths)
        self._plans = np.stack([schedule.plan(int(n)) for n in self._sizes])
        self.problem = np.repeat(np.arange(len(problems)), [len(group) for group in starts])
        self._Y = np.concatenate([widened(Y.T, FAR).ravel() for group in starts for Y in group])
        self._V, self._G = np.zeros((2, self._dims * int(self._sizes[self.problem].sum())), np.float32)
        self._G += 1

    def advance(self, last: int, tell: Callable[[int], None]) -> None:
        """Run on to step `last`, telling after every few tenths of a second how many steps are done."""
        from langscape.kernels import exact

        pairs = float((self._sizes[self.problem] ** 2).sum())
        # a call lasts a few tenths of a second at most, so that Ctrl-C and the bar stay lively
        stride = max(1, int(4e8 / max(pairs, 1.0)))
        while self.step < last and self.problem.size:
            until = min(last, self.step + stride)
            exact.descend_tasks(
                *self._where, self._Y, self._V, self._G, *self._begins, self._dims, self._plans, self.step,
                until, *_scalars(self.schedule), self.floor,
            )  # fmt: skip
            self.step = until
            tell(self.step)

    def kls(self) -> np.ndarray:
        """(tasks,) the KL of each as it stands."""
        from langscape.kernels import exact

        found = np.empty(self.problem.size)
        exact.kl_tasks(*self._where, self._Y, self._begins[0], self._dims, found)
        return found

    def places(self) -> list[np.ndarray]:
        """The coordinates (n, dims) of each task as they stand."""
        found = []
        for begin, b in zip(self._begins[0], self.problem, strict=True):
            wide = self._Y[begin : begin + self._dims * self._widths[b]].reshape(self._dims, self._widths[b])
            found.append(wide[:, : self._sizes[b]].T.copy())
        return found

    @property
    def _where(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._P, self._P_start, self._sizes, self.problem

    @property
    def _begins(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the coordinates of each task begin, and its velocities."""
        wide, narrow = self._dims * self._widths[self.problem], self._dims * self._sizes[self.problem]
        return _starts(wide), _starts(narrow)


def tasks(
    problems: Sequence[Any],
    starts: Sequence[Sequence[np.ndarray]],
    schedule: Schedule,
    floor: np.ndarray,
    watch: Watch,
) -> list[list[Landing]]:
    """Descend every start of every dense problem; starts[b] are (n_b, dims) arrays."""
    running = Tasks(problems, starts, schedule, floor)
    checks: list[tuple[int, np.ndarray]] = []

    def tell(step: int) -> None:
        watch.at(step * running.problem.size, float(np.min(checks[-1][1])) if checks else math.nan)

    def landings() -> list[list[Landing]]:
        at = np.array([s for s, _ in checks], np.float64)
        seen = np.array([k for _, k in checks]).reshape(len(checks), running.problem.size)
        out: list[list[Landing]] = [[] for _ in problems]
        for t, (b, xy) in enumerate(zip(running.problem, running.places(), strict=True)):
            out[b].append(Landing(xy, float(seen[-1, t]), np.column_stack([at, seen[:, t]])))
        return out

    try:
        while running.step < schedule.steps:
            running.advance(min(schedule.steps, (running.step // _CHECK + 1) * _CHECK), tell)
            checks.append((running.step, running.kls()))
    except KeyboardInterrupt:
        checks.append((running.step, running.kls()))
        raise Stopped([landing for group in landings() for landing in group], running.step) from None
    return landings()


def _starts(lengths: np.ndarray) -> np.ndarray:
    """Where each of so many long pieces begins when they stand one after the other."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def rows(P: Any, start: np.ndarray, schedule: Schedule, floor: np.ndarray, watch: Watch) -> Landing:
    """Descend one exact problem, P dense or sparse, its rows split over threads."""
    from langscape.kernels import exact as kernels
    from langscape.kernels.pairwise_forces import FAR, widened

    exact: Any = kernels  # compiled: their signatures are not what pyright reads
    n, dims = start.shape
    sparse = not isinstance(P, np.ndarray)
    entries = _entries(P) if sparse else (widened(P, 0.0),)
    both = exact.Forces(n, dims)
    forces = both.sparse if sparse else both
    Y = widened(start.T, FAR)
    A, R = np.zeros_like(Y), np.zeros_like(Y)
    V, G = np.zeros((dims, n), np.float32), np.ones((dims, n), np.float32)
    plan = schedule.plan(n)
    history: list[tuple[float, float]] = []
    before = watch.done
    step = 0

    def kl() -> float:
        totals, parts = np.empty(n), np.empty(n)
        (exact.kl_rows_sparse if sparse else exact.kl_rows)(*entries, Y, totals, parts)
        return math.fsum(totals) + math.log(math.fsum(parts))

    try:
        for step in range(schedule.steps):
            if plan[3, step] > 0:
                V[:], G[:] = 0.0, 1.0
            Z = forces(*entries, Y, A, R)
            exact.update(Y, V, G, A, R, Z, *plan[:3, step], *_scalars(schedule), floor)
            if (step + 1) % _CHECK == 0 and step + 1 < schedule.steps:
                history.append((step + 1, kl()))
            watch.at(before + step + 1, history[-1][1] if history else math.nan)
    except KeyboardInterrupt:
        raise Stopped([Landing(Y[:, :n].T.copy(), kl(), np.array(history).reshape(-1, 2))], step) from None
    final = kl()
    return Landing(Y[:, :n].T.copy(), final, np.array([*history, (schedule.steps, final)], np.float64))


def bures(P: np.ndarray, start: np.ndarray, schedule: Schedule, floor: float, watch: Watch) -> Landing:
    """Descend one dense problem between Gaussians in the plane; places are (n, 5), see the kernel."""
    from langscape.kernels import bures as kernels

    kernel: Any = kernels
    n = len(start)
    P = np.ascontiguousarray(P, np.float32)
    Y = np.ascontiguousarray(start.T, np.float32)
    V, G, A, R = np.zeros_like(Y), np.ones_like(Y), np.empty_like(Y), np.empty_like(Y)
    shares = np.empty((n + kernel.ROWS - 1) // kernel.ROWS)
    plan = schedule.plan(n)
    history: list[tuple[float, float]] = []
    before = watch.done

    def kl() -> float:
        totals, parts = np.empty(n), np.empty(n)
        kernel.kl_rows(P, Y, totals, parts)
        return math.fsum(totals) + math.log(math.fsum(parts))

    for step in range(schedule.steps):
        if plan[3, step] > 0:
            V[:], G[:] = 0.0, 1.0
        Z = kernel.forces_rows(P, Y, A, R, shares)
        kernel.update(Y, V, G, A, R, Z, *plan[:3, step], *_scalars(schedule), np.float32(floor))
        if (step + 1) % _CHECK == 0 and step + 1 < schedule.steps:
            history.append((step + 1, kl()))
        watch.at(before + step + 1, history[-1][1] if history else math.nan)
    final = kl()
    return Landing(Y.T.copy(), final, np.array([*history, (schedule.steps, final)], np.float64))


def grid(P: Any, start: np.ndarray, schedule: Schedule, watch: Watch) -> Landing:
    """Descend one large 2-D problem with repulsion on a grid; P is sparse."""
    import numba

    from langscape.kernels import grid as kernels
    from langscape.kernels import sparse_attraction as sparse_kernels

    kernel: Any = kernels
    sparse_kernel: Any = sparse_kernels
    n = len(start)
    sparse = _Reordered(P, start, parts=64 * max(2, numba.get_num_threads()))
    repulsion = kernel.Repulsion(n, threads=numba.get_num_threads())
    Y = np.ascontiguousarray(start[sparse.order], np.float32)
    V, G, A, R = np.zeros_like(Y), np.ones_like(Y), np.empty_like(Y), np.empty_like(Y)
    sums = np.empty(((n + kernel.CHUNK - 1) // kernel.CHUNK, 2))
    plan = schedule.plan(n)
    early = schedule.early_steps
    sorts = {early // 2, early, early + 50, early + 150}
    history: list[tuple[float, float]] = []
    before = watch.done
    step = 0

    def kl() -> float:
        Z = repulsion(Y, R)
        totals = np.empty(len(sparse.cuts) - 1)
        sparse_kernel.divergences(*sparse.csr, Y, totals, sparse.cuts)
        return math.fsum(totals) + math.log(Z)

    try:
        for step in range(schedule.steps):
            if plan[3, step] > 0:
                V[:], G[:] = 0.0, 1.0
            if step in sorts:
                order = sparse.sort(Y)
                Y, V, G = Y[order], V[order], G[order]
            Z = repulsion(Y, R)
            sparse_kernel.attraction(*sparse.csr, Y, A, sparse.cuts)
            kernel.update(Y, V, G, A, R, Z, *plan[:3, step], *_scalars(schedule), sums)
            if (step + 1) % _CHECK == 0 and step + 1 < schedule.steps:
                history.append((step + 1, kl()))
            watch.at(before + step + 1, history[-1][1] if history else math.nan)
    except KeyboardInterrupt:
        raise Stopped([Landing(sparse.restored(Y), kl(), np.array(history).reshape(-1, 2))], step) from None
    final = kl()
    return Landing(sparse.restored(Y), final, np.array([*history, (schedule.steps, final)], np.float64))


def _entries(P: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR parts with unsigned indices: signed ones make Numba check for wrap-around, 3.5 times slower."""
    wide = np.uint32 if P.nnz < 2**32 else np.uint64
    return P.indptr.astype(wide), P.indices.astype(np.uint32), P.data.astype(np.float32)


class _Reordered:
    """A sparse P whose rows follow the map's own neighbourhoods, in whole groups, and the way back."""

    def __init__(self, P: Any, start: np.ndarray, parts: int) -> None:
        self.order = np.arange(len(start))
        self.parts = parts
        self._lengths = np.diff(P.indptr).astype(np.int64)
        self.csr = _entries(P)
        self.sort(np.ascontiguousarray(start, np.float32))

    def sort(self, Y: np.ndarray) -> np.ndarray:
        """Rename rows and columns so that points near on the map Y are near in memory; what went where."""
        from langscape.kernels import sparse_attraction as kernel
        from langscape.kernels.grid import hilbert_order

        order = hilbert_order(Y)
        place = np.empty(len(order), np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        starts = kernel.grouped_starts(self._lengths[order])
        columns, values = np.empty(int(starts[-1]), np.uint32), np.empty(int(starts[-1]), np.float32)
        old_starts, old_columns, old_values = self.csr
        kernel.permute_rows(
            old_starts, self._lengths, old_columns, old_values, order, place, starts, columns, values
        )
        self.csr = (starts, columns, values)
        self._lengths = self._lengths[order]
        self.order = self.order[order]
        ends = np.linspace(0, int(starts[-1]), self.parts + 1)
        self.cuts = np.searchsorted(starts, ends).clip(0, len(order)).astype(np.int64)
        self.cuts[-1] = len(order)
        return order

    def restored(self, Y: np.ndarray) -> np.ndarray:
        out = np.empty_like(Y)
        out[self.order] = Y
        return out
