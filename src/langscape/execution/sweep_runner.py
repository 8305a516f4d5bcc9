"""One run of a sweep: tasks go out in batches, outcomes come back, until nothing is missing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langscape.data import Progress, Step
from langscape.errors import Cancelled, DataError, StoreError
from langscape.execution.pool import WAITING, Backend, InProcess, Pool
from langscape.execution.worker import Outcome
from langscape.store.resolved_recipe import ResolvedRecipe
from langscape.store.store import Store

if TYPE_CHECKING:
    from langscape.execution.sweep import Sweep

BATCH_SECONDS = 2.0
"""How much work one message to a worker should hold, once the time of a task is known."""

TRIES = 3
"""How often a task may take its worker down before it counts as failed."""


@dataclass(frozen=True)
class Report:
    """How a sweep ended: tasks done in all, how many of them now, and the errors of those that failed."""

    id: str
    total: int
    done: int
    computed: int
    failed: Mapping[str, str]
    seconds: float


class Run:
    """One run of a sweep: what waits, what is out, what has come back."""

    def __init__(self, sweep: Sweep, workers: int, cluster: str | None, progress: Progress | None) -> None:
        self.sweep, self.store, self.id = sweep, sweep.store, sweep.id
        self._workers, self._cluster, self._progress = workers, cluster, progress
        self._places = {key: place for place, key in enumerate(sweep.tasks)}
        self._tries: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._changes: list[tuple[str, int, str, int]] = []
        self._done = self._computed = 0
        self._pace = Pace()
        self._next_look = self._next_word = self._next_save = 0.0
        self._started = time.monotonic()

    def run(self) -> Report:
        """Do it; whatever ends it early leaves a sweep that can be resumed, and says so."""
        state = "stopped"
        backend: Backend | None = None
        try:
            missing = self._missing()
            if missing:
                inner = _waves(missing.values(), self.store)
                backend = self._open(max(len(missing), *(len(wave) for wave in inner), 1))
                for wave in inner:
                    self._work(backend, wave, "preparing inputs", counts=False)
                self._work(backend, missing, self.sweep.title, counts=True)
            state = "failed" if self._failed else "done"
        except KeyboardInterrupt:
            raise self._cancelled("stopped") from None
        except Cancelled:
            state = "cancelled"
            raise self._cancelled("cancelled") from None
        except StoreError as error:
            raise StoreError(f"{error}. Go on with `langscape sweep resume {self.id}`") from None
        finally:
            if backend is not None:
                backend.stop()
            # The results are the truth; an index that cannot be written now must not hide why we stopped.
            with suppress(StoreError):
                self._save(state)
        seconds = time.monotonic() - self._started
        return Report(self.id, len(self.sweep.tasks), self._done, self._computed, dict(self._failed), seconds)

    def _missing(self) -> dict[str, ResolvedRecipe]:
        missing = {}
        for count, (key, named) in enumerate(self.sweep.tasks.items()):
            if self.store.entry(named.digest) is None:
                missing[key] = named
            else:
                self._done += 1
                self._changes.append(("done", 0, "", self._places[key]))
            self._look()
            self._say("looking at what is there", count + 1)
        return missing

    def _open(self, tasks: int) -> Backend:
        workers = max(1, min(self._workers, tasks))
        modules = self.sweep.modules
        if self._cluster:
            from langscape.execution.cluster import DaskCluster

            return DaskCluster(self.store, self.id, modules, self._cluster, workers)
        if self._workers == 0:
            return InProcess(self.store, self.id)
        waiting = WAITING.get()
        pool = None if waiting is None else waiting.taken(self.store, modules, workers)
        return pool or Pool(self.store, modules, workers, ahead=1)

    def _work(
        self, backend: Backend, tasks: Mapping[str, ResolvedRecipe], doing: str, *, counts: bool
    ) -> None:
        waiting = deque({"key": key, "named": named.to_json()} for key, named in tasks.items())
        out: dict[str, dict[str, Any]] = {}
        busy: list[tuple[float, dict[str, Any]]] = []
        suspects: deque[dict[str, Any]] = deque()
        if counts:
            self._pace.begin()
        while waiting or out or busy or suspects:
            if suspects and not (waiting or out or busy):
                waiting.append(suspects.popleft())
            while waiting and backend.free():
                size = self._pace.batch(len(waiting), backend.workers)
                batch = [waiting.popleft() for _ in range(size)]
                out.update((task["key"], task) for task in batch)
                backend.send(batch)
            outcomes = backend.wait(0.1)
            if backend.error is not None:
                raise backend.error
            for outcome in outcomes:
                task = out.pop(outcome["key"])
                state = outcome["state"]
                if state == "busy":
                    busy.append((time.monotonic() + 0.2, task))
                elif state == "suspect":
                    suspects.append(task)
                elif state in ("back", "lost", "stopped") and self._again(outcome):
                    waiting.append(task)
                else:
                    self._finish(outcome, counts)
            now = time.monotonic()
            waiting.extend(task for due, task in busy if due <= now)
            busy = [(due, task) for due, task in busy if due > now]
            self._look()
            self._say(doing, self._done + len(self._failed))

    def _again(self, outcome: Outcome) -> bool:
        if outcome["state"] != "lost":
            return True
        key = outcome["key"]
        self._tries[key] = self._tries.get(key, 0) + 1
        return self._tries[key] < TRIES

    def _finish(self, outcome: Outcome, counts: bool) -> None:
        key, state = outcome["key"], outcome["state"]
        if outcome["kind"] == "StoreError":
            # A disk that is full for one task is full for all: the sweep stops, to be resumed.
            raise StoreError(outcome["error"])
        if state == "done":
            self._pace.took(outcome["seconds"])
        if not counts:
            if state != "done":
                # an error raised on purpose names the thing and the next step by itself
                on_purpose = outcome["kind"] not in ("Exception", "MemoryError", "Lost", "")
                reason = "" if on_purpose else "an input of the sweep cannot be made: "
                raise DataError(reason + outcome["error"])
            return
        if state == "done":
            self._done += 1
            self._computed += 1
            self._pace.finished()
        else:
            tried = f"{outcome['error']}, {TRIES} times" if state == "lost" else outcome["error"]
            self._failed[key] = tried
        reason = "done" if state == "done" else "failed"
        self._changes.append((reason, self._tries.get(key, 0), self._failed.get(key, ""), self._places[key]))

    def _look(self) -> None:
        """Obey a wish to cancel from another process, and let others see how far we are."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + 0.25
            if self.store.is_cancelled(self.id):
                raise Cancelled("cancelled")
        if now >= self._next_save:
            self._next_save = now + 1.0
            self._save("running")

    def _save(self, state: str) -> None:
        changes, self._changes = self._changes, []
        if changes:
            self.store.index.change_tasks(self.id, changes)
        self.store.index.change_sweep(
            self.id, state=state, done=self._done, failed=len(self._failed), rate=self._pace.rate
        )

    def _say(self, doing: str, done: int) -> None:
        now = time.monotonic()
        total = len(self.sweep.tasks)
        if self._progress is None or (now < self._next_word and done < total):
            return
        self._next_word = now + 0.2
        figures: dict[str, float] = {}
        if rate := self._pace.rate:
            figures = {"per second": rate, "seconds left": (total - done) / rate}
        if self._failed:
            figures["failed"] = len(self._failed)
        self._progress(Step(done, total, doing, figures))

    def _cancelled(self, how: str) -> Cancelled:
        return Cancelled(
            f"{how} with {self._done} of {len(self.sweep.tasks)} tasks done; they are kept. "
            f"Go on with `langscape sweep resume {self.id}`"
        )


class Pace:
    """How long a task takes, hence how many make a batch; and how fast the sweep goes."""

    def __init__(self) -> None:
        self._mean = 0.0
        self._times: deque[float] = deque(maxlen=2000)

    def begin(self) -> None:
        """The clock starts."""
        self._times.append(time.monotonic())

    def took(self, seconds: float) -> None:
        """A task took so long."""
        self._mean = seconds if not self._mean else 0.8 * self._mean + 0.2 * seconds

    def finished(self) -> None:
        """A task of the sweep is done."""
        self._times.append(time.monotonic())

    @property
    def rate(self) -> float:
        """Tasks a second over the last two thousand, or since the beginning."""
        if len(self._times) < 2:
            return 0.0
        return (len(self._times) - 1) / max(time.monotonic() - self._times[0], 1e-9)

    def batch(self, waiting: int, workers: int) -> int:
        """About BATCH_SECONDS of work; fewer towards the end, so that all workers finish together."""
        if not self._mean:
            return 1
        return max(1, min(int(BATCH_SECONDS / self._mean), waiting // (3 * workers), 2000))


def _waves(tasks: Iterable[ResolvedRecipe], store: Store) -> list[dict[str, ResolvedRecipe]]:
    """Recipes that the tasks need and that are not stored, in waves: what a wave needs is in earlier ones."""
    depths: dict[str, tuple[int, ResolvedRecipe]] = {}

    def visit(named: ResolvedRecipe) -> int:
        depth = max((visit(need) for need in named.needs.values()), default=0)
        for need in named.needs.values():
            known = depths.get(need.digest)
            if known is None or known[0] < depth:
                depths[need.digest] = (depth, need)
        return depth + 1

    for named in tasks:
        visit(named)
    waves: dict[int, dict[str, ResolvedRecipe]] = {}
    for digest, (depth, named) in depths.items():
        if store.entry(digest) is None:
            waves.setdefault(depth, {})[digest] = named
    return [waves[depth] for depth in sorted(waves)]


def with_needs(tasks: Iterable[ResolvedRecipe]) -> Iterator[ResolvedRecipe]:
    """The tasks, and everything they need."""
    for named in tasks:
        yield named
        yield from with_needs(named.needs.values())
