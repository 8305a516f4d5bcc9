"""Sweeps: many recipes, each computed once, wherever there is room, surviving whatever dies meanwhile.

A task counts as done when its result is in the store, so a sweep that is run again does only what is
missing: after Ctrl-C, after a crash, after a full disk, or just to look at it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Progress, Step
from langscape.errors import Cancelled, DataError, FileError, SettingsError, StoreError
from langscape.run import disk, locks
from langscape.run.backends import Backend, InProcess, LocalPool, Outcome
from langscape.run.recipe import Recipe, canonical
from langscape.run.registry import find_step, import_steps
from langscape.run.results import Table
from langscape.run.store import Named, Store

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


class Sweep:
    """Keyed tasks, each a recipe; the same tasks are the same sweep, with the same id."""

    def __init__(self, tasks: Mapping[str, Recipe], *, store: Store | None = None, title: str = "") -> None:
        if not tasks:
            raise SettingsError("a sweep has no tasks; give at least one recipe")
        self.store = store or Store()
        self.title = title or next(iter(tasks.values())).step
        self.tasks = {str(key): self.store.name(recipe) for key, recipe in tasks.items()}
        keyed = canonical([[key, named.digest] for key, named in self.tasks.items()])
        self.id = hashlib.sha256(keyed.encode()).hexdigest()[:10]

    @classmethod
    def open(cls, id: str, store: Store | None = None) -> Sweep:
        """The sweep of that id (or the start of one), as it was recorded."""
        store = store or Store()
        record = find_sweep(store, id)
        modules = json.loads(record["modules"])
        if "__main__" in modules:
            raise SettingsError(f"sweep {record['id']} has steps defined in a script; run that script again")
        import_steps(modules)
        rows = store.index.tasks(record["id"])
        tasks = {row["key"]: Recipe.from_json(json.loads(row["recipe"])) for row in rows}
        sweep = cls(tasks, store=store, title=record["title"])
        if sweep.id != record["id"]:
            raise DataError(
                f"an input or a step of sweep {record['id']} has changed since it was started, so its "
                "results would be others; start it again with the command or script that made it"
            )
        return sweep

    def run(
        self, *, workers: int | None = None, cluster: str | None = None, progress: Progress | None = None
    ) -> Report:
        """Compute what is missing and report.

        `workers=0` runs in this process, `workers=n` in n processes (one for each core if not said);
        `cluster` is the address of a Dask scheduler, or "local" for one started here.
        """
        workers = _workers(workers)
        if workers or cluster:
            _needs_modules(self.tasks.values())
        self._record({"workers": workers, "cluster": cluster})
        self.store.clear_cancel(self.id)
        with locks.held(self.store.running(self.id), shared=True):
            return _Run(self, workers, cluster, progress).run()

    def results(self) -> Iterator[tuple[str, Any]]:
        """Key and result of every task, in order; one that is missing is computed here and now."""
        for key, named in self.tasks.items():
            yield key, self.store.load(self.store.make(named))

    def table(self) -> Table:
        """The figures of every task as one table, a row each, `key` first."""
        rows = []
        for key, value in self.results():
            if not isinstance(value, Mapping):
                wrong = type(value).__name__
                raise DataError(f"task {key!r} gives a {wrong}; only tasks that give figures make a table")
            rows.append({"key": key, **value})
        names = list(dict.fromkeys(name for row in rows for name in row))
        return Table({name: _column([row.get(name) for row in rows]) for name in names}, {"sweep": self.id})

    def dataset(self, folder: str | Path) -> Path:
        """The results of every task as one Parquet dataset: a folder of parts, in order, whole or not there.

        Parts share their bytes with the store where the disk allows it. Any Parquet tool reads the folder.
        """
        folder = Path(folder)
        if folder.exists():
            raise FileError(f"{folder} exists already; remove it, or name another folder")
        with disk.writing(f"the dataset {folder}", folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            try:
                for place, (key, named) in enumerate(self.tasks.items()):
                    entry = self.store.make(named)
                    if entry.path is None or entry.path.suffix != ".parquet":
                        raise DataError(
                            f"task {key!r} gives {entry.kind}; only maps and tables make a dataset"
                        )
                    disk.link(entry.path, aside / f"part-{place:05d}.parquet")
                aside.chmod(0o755)
                disk.sync(aside)
                aside.rename(folder)
                disk.sync(folder.parent)
            finally:
                disk.remove(aside)
        return folder

    def _record(self, way: Mapping[str, Any]) -> None:
        modules = sorted({find_step(named.recipe.step).module for named in _all(self.tasks.values())})
        rows = ((key, named.digest, named.recipe.text) for key, named in self.tasks.items())
        self.store.index.add_sweep(self.id, self.title, modules, rows, len(self.tasks))
        self.store.index.change_sweep(self.id, state="running", way=json.dumps(dict(way)))


def find_sweep(store: Store, id: str) -> dict[str, Any]:
    """The record of the sweep whose id starts so, with `state` as it is now."""
    found = [record for record in statuses(store) if id and record["id"].startswith(id)]
    if len(found) != 1:
        known = ", ".join(record["id"] for record in statuses(store)[:8]) or "none"
        problem = "is the start of several sweeps" if found else "is no sweep of this store"
        raise SettingsError(f"{id!r} {problem}; the latest are {known}")
    return found[0]


def statuses(store: Store) -> list[dict[str, Any]]:
    """Every recorded sweep, the latest first; one whose process has died is `stopped`."""
    records = store.index.sweeps()
    for record in records:
        if record["state"] == "running" and locks.is_free(store.running(record["id"])):
            record["state"] = "stopped"
    return records


class _Run:
    """One run of a sweep: what waits, what is out, what has come back."""

    def __init__(self, sweep: Sweep, workers: int, cluster: str | None, progress: Progress | None) -> None:
        self.sweep, self.store, self.id = sweep, sweep.store, sweep.id
        self._workers, self._cluster, self._progress = workers, cluster, progress
        self._places = {key: place for place, key in enumerate(sweep.tasks)}
        self._tries: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._changes: list[tuple[str, int, str, int]] = []
        self._done = self._computed = 0
        self._pace = _Pace()
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

    def _missing(self) -> dict[str, Named]:
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
        modules = sorted({find_step(named.recipe.step).module for named in _all(self.sweep.tasks.values())})
        if self._cluster:
            from langscape.run.cluster import DaskCluster

            return DaskCluster(self.store, self.id, modules, self._cluster, workers)
        if self._workers == 0:
            return InProcess(self.store, self.id)
        return LocalPool(self.store, modules, workers)

    def _work(self, backend: Backend, tasks: Mapping[str, Named], doing: str, *, counts: bool) -> None:
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
            for outcome in backend.wait(0.1):
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
        if state == "full":
            raise StoreError(outcome["error"])
        if state == "done":
            self._pace.took(outcome["seconds"])
        if not counts:
            if state != "done":
                raise DataError(f"an input of the sweep cannot be made: {outcome['error']}")
            return
        if state == "done":
            self._done += 1
            self._computed += 1
            self._pace.finished()
        else:
            tried = f"{outcome['error']}, {TRIES} times" if state == "lost" else outcome["error"]
            self._failed[key] = tried
        said = "done" if state == "done" else "failed"
        self._changes.append((said, self._tries.get(key, 0), self._failed.get(key, ""), self._places[key]))

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


class _Pace:
    """How long a task takes, hence how many make a batch; and how fast the sweep goes."""

    def __init__(self) -> None:
        self._mean = 0.0
        self._times: deque[float] = deque(maxlen=2000)

    def begin(self) -> None:
        self._times.append(time.monotonic())

    def took(self, seconds: float) -> None:
        self._mean = seconds if not self._mean else 0.8 * self._mean + 0.2 * seconds

    def finished(self) -> None:
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


def _waves(tasks: Iterable[Named], store: Store) -> list[dict[str, Named]]:
    """Recipes that the tasks need and that are not stored, in waves: what a wave needs is in earlier ones."""
    depths: dict[str, tuple[int, Named]] = {}

    def visit(named: Named) -> int:
        depth = max((visit(need) for need in named.needs.values()), default=0)
        for need in named.needs.values():
            held = depths.get(need.digest)
            if held is None or held[0] < depth:
                depths[need.digest] = (depth, need)
        return depth + 1

    for named in tasks:
        visit(named)
    waves: dict[int, dict[str, Named]] = {}
    for digest, (depth, named) in depths.items():
        if store.entry(digest) is None:
            waves.setdefault(depth, {})[digest] = named
    return [waves[depth] for depth in sorted(waves)]


def _all(tasks: Iterable[Named]) -> Iterator[Named]:
    for named in tasks:
        yield named
        yield from _all(named.needs.values())


def _workers(workers: int | None) -> int:
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 <= workers <= 1024:
        raise SettingsError(f"workers is {workers!r}; expected 0 (in this process) to 1024")
    return workers


def _needs_modules(tasks: Iterable[Named]) -> None:
    for named in _all(tasks):
        if find_step(named.recipe.step).module == "__main__":
            raise SettingsError(
                f"step {named.recipe.step!r} is defined in the script itself, which workers cannot import; "
                "move it to a module beside the script, or use workers=0"
            )


def _column(values: list[Any]) -> np.ndarray:
    """A column of figures: numbers with NaN where a task gave none; anything else stays as it is."""
    kinds = {type(value) for value in values}
    if type(None) in kinds and kinds <= {int, float, type(None)}:
        return np.array([float("nan") if value is None else value for value in values])
    return np.array(values, dtype=None if kinds <= {int, float} or len(kinds) == 1 else object)
