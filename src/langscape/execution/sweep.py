"""Sweeps: many recipes, each computed once, wherever there is room, surviving whatever dies meanwhile.

A task counts as done when its result is in the store, so a sweep that is run again does only what is
missing: after Ctrl-C, after a crash, after a full disk, or just to look at it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Progress
from langscape.errors import DataError, FileError, SettingsError
from langscape.execution.pool import cores
from langscape.execution.sweep_runner import Report, Run, with_needs
from langscape.io.atomic_write import work_folder
from langscape.store import disk, locks
from langscape.store.recipe import Recipe, canonical
from langscape.store.registry import find_step, import_steps
from langscape.store.results import Table
from langscape.store.store import Store


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

    @property
    def modules(self) -> list[str]:
        """The modules that register the steps of the tasks and of what they need."""
        return sorted({find_step(named.recipe.step).module for named in with_needs(self.tasks.values())})

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
        `cluster` is the address of a Dask scheduler, or "local" for one started here, with a worker for each
        core where `workers` is 0 or not said.
        """
        workers = _workers(workers) or (cores() if cluster else 0)
        if workers or cluster:
            self._refuse_script()
        self._record({"workers": workers, "cluster": cluster})
        self.store.clear_cancel(self.id)
        with locks.held(self.store.running(self.id), shared=True):
            return Run(self, workers, cluster, progress).run()

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
            with work_folder(folder.parent, folder.name) as aside:
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
        return folder

    def _refuse_script(self) -> None:
        for named in with_needs(self.tasks.values()):
            if find_step(named.recipe.step).module == "__main__":
                raise SettingsError(
                    f"step {named.recipe.step!r} is defined in the script itself, which workers cannot "
                    "import; move it to a module beside the script, or use workers=0"
                )

    def _record(self, way: Mapping[str, Any]) -> None:
        rows = ((key, named.digest, named.recipe.text) for key, named in self.tasks.items())
        self.store.index.add_sweep(self.id, self.title, self.modules, rows, len(self.tasks))
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


def _workers(workers: int | None) -> int:
    if workers is None:
        return cores()
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 <= workers <= 1024:
        raise SettingsError(f"workers is {workers!r}; expected 0 (in this process) to 1024")
    return workers


def _column(values: list[Any]) -> np.ndarray:
    """A column of figures: numbers with NaN where a task gave none; anything else stays as it is."""
    kinds = {type(value) for value in values}
    if type(None) in kinds and kinds <= {int, float, type(None)}:
        return np.array([float("nan") if value is None else value for value in values])
    return np.array(values, dtype=None if kinds <= {int, float} or len(kinds) == 1 else object)
