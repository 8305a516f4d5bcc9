"""A crew: worker processes kept warm for single jobs, each of which can be ended at once.

A sweep's pool is for thousands of small tasks; a crew is for somebody who waits. A worker does one
recipe at a time and tells how far it is. To cancel is to kill the process: nothing partial is ever in
the store, and another worker takes its place.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langscape.execution.backends import ending
from langscape.execution.worker import start_worker
from langscape.store.recipe import Recipe
from langscape.store.store import Store

Tell = Callable[[str, Mapping[str, Any]], None]
"""Called, from a thread of the crew, with a job's key and what its worker says of it.

A message has `step` (doing, done, total, figures), or `digest` once the recipe is named, or `state`:
done, failed (with `error` and `kind`), or lost (the worker's process ended).
"""

BOOT_TRIES = 5
"""Workers that may end before they are ready, before no more are started."""


class Crew:
    """`size` workers over one store. `warm` names the model that they open before they are asked."""

    def __init__(
        self,
        store: Store,
        tell: Tell,
        *,
        size: int = 2,
        warm: str = "",
        modules: Sequence[str] = ("langscape.declarations.running",),
    ) -> None:
        self._store, self._tell = store, tell
        self._hello = {"root": str(store.root), "id": store.id, "modules": list(modules), "warm": warm}
        self._threads = max(1, _cores() // size)
        self._mutex = threading.RLock()
        self._stopped = False
        self._stillborn = 0
        self.refused = ""
        self._workers = [self._hire() for _ in range(size)]

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        with self._mutex:
            return [worker.process.pid for worker in self._workers]

    def free(self) -> bool:
        """Whether a worker has nothing to do."""
        with self._mutex:
            return not self._stopped and bool(self._idle())

    def start(self, key: str, recipe: Recipe) -> bool:
        """Give a recipe to a free worker, one that is warm before one that is not; False if none is free."""
        with self._mutex:
            idle = self._idle()
            if self._stopped or not idle:
                return False
            worker = max(idle, key=lambda one: one.used)
            worker.send(key, recipe)
            return True

    def cancel(self, key: str) -> bool:
        """End the job's process now; False if nobody is at it. A new worker is on its way."""
        with self._mutex:
            worker = next((one for one in self._workers if one.key == key), None)
            if worker is None:
                return False
            worker.key, worker.gone = None, True  # its end is no loss to tell of
            worker.process.kill()
            return True

    def stop(self) -> None:
        """End all workers, leave nothing running and nothing aside."""
        with self._mutex:
            self._stopped = True
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.key = None
            worker.process.kill()
        for worker in workers:
            worker.end()
            self._store.remove_aside(worker.process.pid)

    def _idle(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.key is None and not worker.gone]

    def _hire(self) -> _Worker:
        process = start_worker("job_main", self._hello, answers=True, threads=self._threads)
        worker = _Worker(process)
        worker.listen(self._heard)
        return worker

    def _heard(self, worker: _Worker, message: dict[str, Any] | None) -> None:
        if message is None:
            self._replace(worker)
        elif "refused" in message:
            self.refused = message["refused"]
        elif "ready" in message:
            self._stillborn, worker.ready = 0, True
        else:
            with self._mutex:
                if worker.key != message["key"]:
                    return  # cancelled meanwhile
                if "state" in message:
                    worker.key, worker.used = None, worker.used + 1
            self._tell(message["key"], message)

    def _replace(self, worker: _Worker) -> None:
        with self._mutex:  # before its pipes are closed, so that nobody writes into them
            cancelled, worker.gone = worker.gone, True
        worker.end()
        self._store.remove_aside(worker.process.pid)
        with self._mutex:
            lost, worker.key = worker.key, None
            if not self._stopped and worker in self._workers:
                self._stillborn += not (worker.ready or cancelled)
                at = self._workers.index(worker)
                if self._stillborn < BOOT_TRIES:
                    self._workers[at] = self._hire()
                else:
                    del self._workers[at]
                    self.refused = self.refused or f"workers cannot be started ({ending(worker.process)})"
        if lost is not None:
            error = f"its worker process ended ({ending(worker.process)})"
            self._tell(lost, {"key": lost, "state": "lost", "error": error, "kind": "Lost", "seconds": 0.0})


class _Worker:
    """One process, the key of the job it is at, and the thread that hears it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.key: str | None = None
        self.ready = False
        self.gone = False  # killed or dead, and not replaced yet
        self.used = 0
        self._thread: threading.Thread | None = None

    def listen(self, heard: Callable[[_Worker, dict[str, Any] | None], None]) -> None:
        """Hand on every message; None at its end."""

        def run() -> None:
            assert self.process.stdout is not None
            for line in self.process.stdout:
                with suppress(ValueError):  # a line cut short by the worker's death
                    heard(self, json.loads(line))
            heard(self, None)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def send(self, key: str, recipe: Recipe) -> None:
        """Give it a recipe; if it has died, its end is heard soon."""
        self.key = key
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(json.dumps({"key": key, "recipe": recipe.to_json()}).encode() + b"\n")
            self.process.stdin.flush()

    def end(self) -> None:
        """Wait for a process that was killed or died, and close its pipes."""
        self.process.wait()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
