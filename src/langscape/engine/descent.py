"""Running a plan from given starts: engines with one shape.

Each is `(problem, starts, plan, settings, watch) → Landing`. `tasks` runs many small dense problems at
once, whole ones per thread; `rows` splits one exact problem by rows. Large 2-D maps are `grid_descent`'s.
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

CHECK_EVERY = 250
"""Steps between two entries of a history: a KL costs as much as eight steps."""


@dataclass(frozen=True, eq=False)
class Landing:
    """Where one descent ended: coordinates (n, dims), its KL, and the history (checks, 2)."""

    xy: np.ndarray
    kl: float
    history: np.ndarray


Callback = Callable[[int, float, np.ndarray], bool | None]
"""Called with the step, the KL and the places (n, dims); a true answer ends the descent there."""


@dataclass(eq=False)
class Watch:
    """Tells `progress` how far a run is, at most ten times a second, over all its descents.

    `callback` is asked every so many steps of each descent.
    """

    total: int
    progress: Progress | None
    callback: Callback | None = None
    every: int = 50
    done: int = 0
    _last: float = field(default=0.0)

    def at(self, done: int, kl: float) -> None:
        """Report that `done` steps of the whole are behind us."""
        self.done = done
        now = time.monotonic()
        if self.progress is not None and (now - self._last > 0.1 or done >= self.total):
            self._last = now
            figures = {"KL": kl} if math.isfinite(kl) else {}
            self.progress(Step(done, self.total, "t-SNE", figures, counts=False))

    def asks_at(self, step: int) -> bool:
        """Whether the callback is to be asked after so many steps."""
        return self.callback is not None and step % self.every == 0

    def ends(self, step: int, kl: float, xy: np.ndarray) -> bool:
        """What the callback says: whether the descent is to end here."""
        return self.callback is not None and bool(self.callback(step, kl, xy))


class Stopped(Exception):
    """Raised through a descent by Ctrl-C; carries what stood at that moment."""

    def __init__(self, landings: list[Landing], step: int) -> None:
        super().__init__(step)
        self.landings = landings
        self.step = step


def update_scalars(schedule: Schedule) -> tuple[bool, np.float32, np.float32]:
    """What every update of places takes of a schedule, beside its plan."""
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
                until, *update_scalars(self.schedule), self.floor,
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
            strides = [CHECK_EVERY, *([watch.every] if watch.callback is not None else [])]
            running.advance(min(schedule.steps, *((running.step // one + 1) * one for one in strides)), tell)
            if running.step % CHECK_EVERY == 0 or running.step == schedule.steps:
                checks.append((running.step, running.kls()))
                if schedule.at_rest([(step, kls) for step, kls in checks]):
                    break
            if watch.asks_at(running.step):
                kls = running.kls()
                best = int(np.argmin(kls))
                if watch.ends(running.step, float(kls[best]), running.places()[best]):
                    break
        if checks[-1:] == [] or checks[-1][0] != running.step:
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
    entries = entries_of(P) if sparse else (widened(P, 0.0),)
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
                Y[:, :n] *= plan[3, step]
            Z = forces(*entries, Y, A, R)
            exact.update(Y, V, G, A, R, Z, *plan[:3, step], *update_scalars(schedule), floor)
            if (step + 1) % CHECK_EVERY == 0 or step + 1 == schedule.steps:
                history.append((step + 1, kl()))
            watch.at(before + step + 1, history[-1][1] if history else math.nan)
            if schedule.at_rest(history) or (
                watch.asks_at(step + 1) and watch.ends(step + 1, kl(), Y[:, :n].T.copy())
            ):
                break
    except KeyboardInterrupt:
        raise Stopped([Landing(Y[:, :n].T.copy(), kl(), np.array(history).reshape(-1, 2))], step) from None
    if not history or history[-1][0] != step + 1:
        history.append((step + 1, kl()))
    watch.at(before + schedule.steps, history[-1][1])
    return Landing(Y[:, :n].T.copy(), history[-1][1], np.array(history, np.float64))


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
            Y[:2] *= plan[3, step]  # the places alone, not the shapes
        Z = kernel.forces_rows(P, Y, A, R, shares)
        kernel.update(Y, V, G, A, R, Z, *plan[:3, step], *update_scalars(schedule), np.float32(floor))
        if (step + 1) % CHECK_EVERY == 0 and step + 1 < schedule.steps:
            history.append((step + 1, kl()))
        watch.at(before + step + 1, history[-1][1] if history else math.nan)
    final = kl()
    return Landing(Y.T.copy(), final, np.array([*history, (schedule.steps, final)], np.float64))


def entries_of(P: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR parts with unsigned indices: signed ones make Numba check for wrap-around, 3.5 times slower."""
    wide = np.uint32 if P.nnz < 2**32 else np.uint64
    return P.indptr.astype(wide), unsigned(P.indices).copy(), P.data.astype(np.float32)


def unsigned(indices: np.ndarray) -> np.ndarray:
    """Indices of 32 bits, none below 0, as unsigned ones: the same memory where it has that width already."""
    return indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
