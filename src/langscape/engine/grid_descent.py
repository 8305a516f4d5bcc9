"""The descent of a large 2-D map: attraction over a sparse P, repulsion on a grid, kept while it runs.

A checkpoint holds all that the next step depends on, so that a descent taken up after its process was killed
ends at the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from langscape.data import Checkpoint
from langscape.engine.descent import CHECK_EVERY, Landing, Stopped, Watch, unsigned, update_scalars
from langscape.engine.schedule import Schedule

_PARTS = 512
"""Blocks of rows that threads share: of any number of threads the same, or the sum of the KL would differ."""


def descend_grid(
    P: Any,
    start: np.ndarray,
    schedule: Schedule,
    watch: Watch,
    checkpoint: Checkpoint | None = None,
    name: str = "descent",
) -> Landing:
    """Descend one large 2-D problem with repulsion on a grid; P is sparse.

    What `checkpoint` has under that name is where it begins.
    """
    running = _Running(P, start, schedule)
    if checkpoint is not None and (kept := checkpoint.load(name)) is not None:
        running.restore(kept)
    before, steps = watch.done, schedule.steps
    try:
        while running.step < steps and not schedule.at_rest(running.history):
            running.advance()
            if running.step % CHECK_EVERY == 0 and running.step < steps:
                running.history.append((running.step, running.kl()))
            watch.at(before + running.step, running.history[-1][1] if running.history else math.nan)
            if checkpoint is not None and checkpoint.due():
                checkpoint.save(name, running.state())
            if watch.asks_at(running.step) and watch.ends(running.step, running.kl_now(), running.xy()):
                break
    except KeyboardInterrupt:
        raise Stopped([running.landing()], running.step) from None
    if not running.history or running.history[-1][0] != running.step:
        running.history.append((running.step, running.kl()))
    watch.at(before + steps, running.history[-1][1])
    return running.landing()


class _Running:
    """One descent as it stands: places, velocities and gains in the order of the map's own neighbourhoods."""

    def __init__(self, P: Any, start: np.ndarray, schedule: Schedule) -> None:
        import numba

        from langscape.kernels import grid as kernels
        from langscape.kernels import sparse_attraction as sparse_kernels

        self._kernel: Any = kernels  # compiled: their signatures are not what pyright reads
        self._sparse_kernel: Any = sparse_kernels
        threads = numba.get_num_threads()
        n = len(start)
        self._sparse = _Reordered(P, start)
        self._repulsion = kernels.Repulsion(n, threads=threads)
        self._Y = np.ascontiguousarray(start[self._sparse.order], np.float32)
        self._V, self._G = np.zeros_like(self._Y), np.ones_like(self._Y)
        self._A, self._R = np.empty_like(self._Y), np.empty_like(self._Y)
        self._sums = np.empty(((n + kernels.CHUNK - 1) // kernels.CHUNK, 2))
        self._schedule, self._plan = schedule, schedule.plan(n)
        early = schedule.early_steps
        self._sorts = {early // 2, early, early + 50, early + 150, schedule.expansion_step}
        self.history: list[tuple[float, float]] = []
        self.step = 0

    def advance(self) -> None:
        """One step."""
        plan, step, sparse = self._plan, self.step, self._sparse
        if plan[3, step] > 0:
            self._V[:], self._G[:] = 0.0, 1.0
            self._Y *= np.float32(min(plan[3, step], max(self._repulsion.room(self._Y), 1.0)))
        if step in self._sorts:
            order = sparse.sort(self._Y)
            self._Y, self._V, self._G = self._Y[order], self._V[order], self._G[order]
        Z = self._repulsion(self._Y, self._R)
        self._sparse_kernel.attraction(*sparse.csr, self._Y, self._A, sparse.cuts)
        self._kernel.update(
            self._Y, self._V, self._G, self._A, self._R, Z, *plan[:3, step],
            *update_scalars(self._schedule), self._sums,
        )  # fmt: skip
        self.step += 1

    def kl(self) -> float:
        """The KL as it stands."""
        Z = self._repulsion(self._Y, self._R)
        totals = np.empty(len(self._sparse.cuts) - 1)
        self._sparse_kernel.divergences(*self._sparse.csr, self._Y, totals, self._sparse.cuts)
        return math.fsum(totals) + math.log(Z)

    def kl_now(self) -> float:
        """The same; the next step has the bits that it would have had without."""
        kl = self.kl()
        self._repulsion.again()
        return kl

    def xy(self) -> np.ndarray:
        """The places in the order of the problem."""
        return self._sparse.restored(self._Y)

    def landing(self) -> Landing:
        """Where it stands, in the order of the problem."""
        history = np.array(self.history, np.float64).reshape(-1, 2)
        kl = self.history[-1][1] if self.history and self.history[-1][0] == self.step else self.kl()
        return Landing(self.xy(), kl, history)

    def state(self) -> dict[str, np.ndarray]:
        """All that the next step depends on, by name."""
        return {
            "Y": self._Y, "V": self._V, "G": self._G, "order": self._sparse.order.astype(np.int64),
            "grid": self._repulsion.state(), "step": np.array([self.step]),
            "history": np.array(self.history, np.float64).reshape(-1, 2),
        }  # fmt: skip

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up what `state` gave."""
        at = np.empty(len(self._sparse.order), np.int64)
        at[self._sparse.order] = np.arange(len(at))
        self._sparse.arrange(at[state["order"]])
        self._Y, self._V, self._G = (np.ascontiguousarray(state[name], np.float32) for name in "YVG")
        self._repulsion.restore(state["grid"])
        self.step = int(state["step"][0])
        self.history = [(float(step), float(kl)) for step, kl in state["history"]]


class _Reordered:
    """A sparse P whose rows follow the map's own neighbourhoods, in whole groups, and the way back.

    Every order is made from the P that was given and takes the place of the one before: P is held twice.
    """

    def __init__(self, P: Any, start: np.ndarray) -> None:
        from langscape.kernels.sparse_attraction import grouped_starts

        self.order = np.arange(len(start))
        self._given = _read_only(P)
        self._lengths = np.diff(P.indptr).astype(np.int64)
        entries = int(grouped_starts(self._lengths)[-1])
        self._columns, self._values = np.empty(entries, np.uint32), np.empty(entries, np.float32)
        self.sort(np.ascontiguousarray(start, np.float32))

    def sort(self, Y: np.ndarray) -> np.ndarray:
        """Rename rows and columns so that points near on the map Y are near in memory; what went where."""
        from langscape.kernels.grid import hilbert_order

        order = hilbert_order(Y)
        self.arrange(order)
        return order

    def arrange(self, order: np.ndarray) -> None:
        """Rename rows and columns: what is at order[i] goes to i. A row keeps the order of its entries."""
        from langscape.kernels import sparse_attraction as kernel

        self.order = self.order[order]
        place = np.empty(len(order), np.uint32)
        place[self.order] = np.arange(len(order), dtype=np.uint32)
        starts = kernel.grouped_starts(self._lengths[self.order])
        old_starts, old_columns, old_values = self._given
        kernel.permute_rows(
            old_starts, self._lengths, old_columns, old_values, self.order, place, starts,
            self._columns, self._values,
        )  # fmt: skip
        self.csr = (starts, self._columns, self._values)
        ends = np.linspace(0, int(starts[-1]), _PARTS + 1)
        self.cuts = np.searchsorted(starts, ends).clip(0, len(order)).astype(np.int64)
        self.cuts[-1] = len(order)

    def restored(self, Y: np.ndarray) -> np.ndarray:
        out = np.empty_like(Y)
        out[self.order] = Y
        return out


def _read_only(P: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR parts of P itself, read-only, as `entries_of` types them; copied only where the type differs."""
    wide = np.uint32 if P.nnz < 2**32 else np.uint64
    parts = (P.indptr.astype(wide), unsigned(P.indices), np.asarray(P.data, np.float32).view())
    for part in parts:
        part.flags.writeable = False
    return parts
