"""The store's index: sweeps and their tasks, jobs, inputs, and the hashes of input files.

Sweeps, jobs and inputs are records, a JSON file each (`records.py`), so that damage to one costs no other.
Hashes are a cache (`hashes.py`). Nothing here is needed to trust a result: labels beside the results say
what they are.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from langscape.store.hashes import Hashes
from langscape.store.records import Records

_LIVE = ("queued", "running")
_KINDS = ("sweeps", "tasks", "jobs", "inputs")


class Index:
    """What a store knows beside its results, shared by all threads and processes that use it."""

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        self._root = root
        self._sweeps, self._tasks, self._jobs, self._inputs = (Records(root, kind) for kind in _KINDS)
        self._hashes = None if read_only else Hashes(root, self._take_over)

    def close(self) -> None:
        """Close what is open; it opens again when needed."""
        if self._hashes is not None:
            self._hashes.close()

    def file_hash(self, path: str, size: int, mtime_ns: int, inode: int) -> str | None:
        """The remembered sha256 of a file that has not changed since."""
        return None if self._hashes is None else self._hashes.get(path, size, mtime_ns, inode)

    def remember_hash(self, path: str, size: int, mtime_ns: int, inode: int, sha256: str) -> None:
        """Keep the sha256 of a file as it is now."""
        if self._hashes is not None:
            self._hashes.put(path, size, mtime_ns, inode, sha256)

    def add_sweep(
        self, id: str, title: str, modules: Sequence[str], tasks: Iterable[tuple[str, str, str]], total: int
    ) -> None:
        """Record a sweep and its tasks (key, digest, recipe as JSON), unless it is there already."""
        with self._sweeps.lock(id):
            if self._sweep(id) is not None and self._tasks.get(id) is not None:
                return
            now = time.time()
            sweep = {
                "id": id, "title": title, "made": now, "changed": now, "state": "new", "total": total,
                "done": 0, "failed": 0, "rate": 0.0, "modules": json.dumps(list(modules)), "way": "{}",
            }  # fmt: skip
            self._tasks.put(id, {"sweep": sweep, "tasks": [list(task) for task in tasks]})
            self._sweeps.put(id, {**sweep, "errors": {}})

    def change_sweep(
        self,
        id: str,
        *,
        state: str | None = None,
        done: int | None = None,
        failed: int | None = None,
        rate: float | None = None,
        way: str | None = None,
    ) -> None:
        """Write down how a sweep stands; what is None stays as it was."""
        given = {"state": state, "done": done, "failed": failed, "rate": rate, "way": way}
        with self._sweeps.lock(id):
            sweep = self._sweep(id)
            if sweep is not None:
                changed = {name: value for name, value in given.items() if value is not None}
                self._sweeps.put(id, {**sweep, **changed, "changed": time.time()})

    def change_tasks(self, id: str, changes: Sequence[tuple[str, int, str, int]]) -> None:
        """Set (state, tries, error) of the tasks at those places; of those done, results tell."""
        with self._sweeps.lock(id):
            sweep = self._sweep(id)
            if sweep is None:
                return
            errors = dict(sweep["errors"])
            for state, tries, error, place in changes:
                errors.pop(str(place), None)
                if state == "failed":
                    errors[str(place)] = [tries, error]
            if errors != sweep["errors"]:
                self._sweeps.put(id, {**sweep, "errors": errors})

    def sweeps(self) -> list[dict[str, Any]]:
        """Every sweep, the latest first."""
        found = self._sweeps.all()
        for id in self._tasks.ids() - set(found):  # its record was lost or damaged; its tasks hold it too
            if (sweep := self._sweep(id)) is not None:
                found[id] = sweep
        for sweep in found.values():
            sweep.pop("errors")
        return sorted(found.values(), key=lambda sweep: sweep["changed"], reverse=True)

    def tasks(self, id: str, state: str | None = None) -> list[dict[str, Any]]:
        """The tasks of a sweep in their order."""
        sweep, known = self._sweep(id), self._tasks.get(id)
        if sweep is None or known is None:
            return []
        rows = []
        for place, (key, digest, recipe) in enumerate(known["tasks"]):
            tries, error = sweep["errors"].get(str(place), (0, ""))
            if str(place) in sweep["errors"]:
                stands = "failed"
            else:
                there = (self._root / "results" / digest[:2] / f"{digest}.json").is_file()
                stands = "done" if there else "waiting"
            if state in (None, stands):
                rows.append(
                    {"sweep": id, "place": place, "key": key, "digest": digest, "recipe": recipe,
                     "state": stands, "tries": tries, "error": error}
                )  # fmt: skip
        return rows

    def jobs(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Every job changed after that time, the oldest first."""
        found = (job for job in self._jobs.all().values() if job["changed"] > since)
        return sorted(found, key=lambda job: (job["made"], job["id"]))

    def job_ids(self) -> set[str]:
        """The ids of all jobs."""
        return set(self._jobs.all())

    def claim_job(self, id: str, owner: str, record: str) -> bool:
        """Take a job on, a new one or one that has ended; never one that somebody is at."""
        with self._jobs.lock(id):
            job, now = self._jobs.get(id), time.time()
            if job is not None and job["state"] in _LIVE:
                return False
            created = now if job is None else job["made"]
            self._jobs.put(
                id,
                {
                    "id": id,
                    "made": created,
                    "changed": now,
                    "state": "queued",
                    "owner": owner,
                    "record": record,
                },
            )
            return True

    def adopt_job(self, id: str, was: str, owner: str) -> bool:
        """Take over a live job of an owner who is gone; one of several who try gets it."""
        with self._jobs.lock(id):
            job = self._jobs.get(id)
            if job is None or job["owner"] != was or job["state"] not in _LIVE:
                return False
            self._jobs.put(id, {**job, "owner": owner, "state": "queued", "changed": time.time()})
            return True

    def change_job(self, id: str, owner: str, state: str, record: str) -> bool:
        """Write down how a job of ours stands; False if it is not ours any more."""
        with self._jobs.lock(id):
            job = self._jobs.get(id)
            if job is None or job["owner"] != owner:
                return False
            self._jobs.put(id, {**job, "state": state, "record": record, "changed": time.time()})
            return True

    def rename_job(self, id: str, record: str) -> bool:
        """Write down another record of a job that has ended, whoever did it; False for one under way."""
        with self._jobs.lock(id):
            job = self._jobs.get(id)
            if job is None or job["state"] in _LIVE:
                return False
            self._jobs.put(id, {**job, "record": record, "changed": time.time()})
            return True

    def forget_job(self, id: str) -> None:
        """Remove a job from the list; its result stays in the store."""
        with self._jobs.lock(id):
            self._jobs.remove(id)

    def inputs(self) -> list[dict[str, Any]]:
        """Every input that was given, the latest first."""
        return sorted(self._inputs.all().values(), key=lambda one: one["made"], reverse=True)

    def input(self, id: str) -> dict[str, Any] | None:
        """The input of that id."""
        return self._inputs.get(id)

    def add_input(self, id: str, record: str) -> None:
        """Write an input down, or give it a new time and record."""
        self._inputs.put(id, {"id": id, "made": time.time(), "record": record})

    def rename_input(self, id: str, record: str) -> None:
        """Write down another record of an input, which keeps its place in the list."""
        known = self._inputs.get(id)
        if known is not None:
            self._inputs.put(id, {**known, "record": record})

    def forget_input(self, id: str) -> None:
        """Remove an input from the list; its bytes stay in the store."""
        self._inputs.remove(id)

    def remove_damaged(self) -> list[str]:
        """Set records aside that do not match their hash; their names."""
        kinds = (self._sweeps, self._tasks, self._jobs, self._inputs)
        return [name for records in kinds for name in records.remove_damaged()]

    def _sweep(self, id: str) -> dict[str, Any] | None:
        sweep = self._sweeps.get(id)
        if sweep is None and (tasks := self._tasks.get(id)) is not None:
            sweep = {**tasks["sweep"], "state": "stopped", "errors": {}}
        return sweep

    def _take_over(self, path: Path) -> None:
        """Write down as records what an index of version 1, whole or damaged, still holds in tables."""
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as db:
            db.execute("pragma query_only = on")
            db.row_factory = sqlite3.Row
            for job in _rows(db, "select id, made, changed, state, owner, record from jobs"):
                if self._jobs.get(job["id"]) is None:
                    self._jobs.put(job["id"], job)
            for one in _rows(db, "select id, made, record from inputs"):
                if self._inputs.get(one["id"]) is None:
                    self._inputs.put(one["id"], one)
            tasks: dict[str, list[list[str]]] = {}
            errors: dict[str, dict[str, list[Any]]] = {}
            for task in _rows(db, "select * from tasks order by sweep, place"):
                tasks.setdefault(task["sweep"], []).append([task["key"], task["digest"], task["recipe"]])
                if task["state"] == "failed":
                    errors.setdefault(task["sweep"], {})[str(task["place"])] = [task["tries"], task["error"]]
            for sweep in _rows(db, "select * from sweeps"):
                id = sweep["id"]
                if self._sweep(id) is None and len(tasks.get(id, [])) == sweep["total"]:
                    self._tasks.put(id, {"sweep": sweep, "tasks": tasks[id]})
                    self._sweeps.put(id, {**sweep, "errors": errors.get(id, {})})


def _rows(db: sqlite3.Connection, query: str) -> list[dict[str, Any]]:
    """The rows that can be read, up to the first that cannot, where their text is whole."""
    found = []
    with suppress(sqlite3.Error, UnicodeDecodeError):  # SQLite quotes a damaged schema
        for row in db.execute(query):
            one = dict(row)
            with suppress(ValueError, TypeError, RecursionError):
                json.loads(one.get("record", "{}"))
                found.append(one)
    return found
