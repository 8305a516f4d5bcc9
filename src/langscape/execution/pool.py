"""Where tasks run: in this process, in worker processes of our own, or (`cluster.py`) on a Dask cluster.

A task is a mapping with a key and what `worker.perform` takes. A backend takes batches of them while
`free()`, and `wait` returns what was heard of them: an outcome has key, state, error, kind and seconds. The
states are those of `worker.perform`, and
    lost     the worker died while at it
    back     the worker died before it began; nothing was tried
    suspect  workers died, and it may be the cause: to be tried again when nothing else is out
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Protocol

from langscape.errors import LangscapeError, MissingError, StoreError
from langscape.execution.worker import Outcome, StopWatch, outcome, perform
from langscape.execution.worker_process import WorkerProcess
from langscape.faces import VARIABLE, Face, face
from langscape.store.store import Store

Task = dict[str, Any]

BOOT_TRIES = 20
"""Workers that may die in a row before one is ready, before we say that they cannot be started."""


class Backend(Protocol):
    """What a sweep needs of a place to run tasks."""

    workers: int
    error: LangscapeError | None

    def free(self) -> bool:
        """Whether another batch is wanted now."""
        ...

    def send(self, batch: Sequence[Task]) -> None:
        """Take a batch."""
        ...

    def wait(self, seconds: float) -> list[Outcome]:
        """Outcomes since the last call; returns as soon as there is one, or after `seconds`."""
        ...

    def stop(self) -> None:
        """End all workers, leave nothing running and nothing aside."""
        ...


class InProcess:
    """Tasks one after the other in this very process."""

    workers = 1
    error: LangscapeError | None = None

    def __init__(self, store: Store, sweep: str) -> None:
        self._store, self._stop = store, StopWatch(store, [sweep])
        self._waiting: deque[Task] = deque()

    def free(self) -> bool:
        """Whether another batch is wanted now."""
        return not self._waiting

    def send(self, batch: Sequence[Task]) -> None:
        """Take a batch."""
        self._waiting.extend(batch)

    def wait(self, seconds: float) -> list[Outcome]:
        """Do one task."""
        if self._waiting:
            return [perform(self._store, self._waiting.popleft(), self._stop)]
        time.sleep(seconds)
        return []

    def stop(self) -> None:
        """Nothing to end."""
        self._waiting.clear()


class Pool:
    """Worker processes over one store. One that dies costs the task it was at; another takes its place.

    A sweep sends batches, and keeps one waiting behind that which a worker is at (`ahead`). The studio sends
    single recipes, whose workers tell how far they are and keep the model `warm` open, and cancels them.
    `prepare`, "module:function", is called by each worker before its first task.
    `error` is why no more workers are started. One thread waits; others may send, cancel and ask meanwhile.
    """

    def __init__(
        self,
        store: Store,
        modules: Sequence[str],
        workers: int,
        *,
        ahead: int = 0,
        threads: int = 1,
        warm: str = "",
        prepare: str = "",
        speaking_to: Face | None = None,
    ) -> None:
        self.workers = workers
        self._environment = {VARIABLE: speaking_to or face()}
        self.error: LangscapeError | None = None
        self._store, self._ahead, self._threads = store, ahead, threads
        self._hello = {
            "root": str(store.root), "id": store.id, "modules": list(modules), "warm": warm,
            "prepare": prepare,
        }  # fmt: skip
        self._messages: queue.Queue[tuple[_Worker, dict[str, Any] | None] | None] = queue.Queue()
        self._mutex = threading.RLock()
        self._stillborn = 0
        self._workers: list[_Worker] = []
        try:
            for _ in range(workers):
                self._workers.append(self._started())
        except BaseException:
            self.stop()
            raise

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        with self._mutex:
            return [worker.process.pid for worker in self._workers]

    def free(self) -> bool:
        """Whether another batch is wanted now."""
        with self._mutex:
            return self.error is None and any(len(one.batches) <= self._ahead for one in self._open())

    def send(self, batch: Sequence[Task]) -> None:
        """Give the batch to the worker with the fewest tasks, to one that is warm before one that is not."""
        with self._mutex:
            worker = min(self._open(), key=lambda one: (len(one.tasks), -one.answered))
            worker.batches.append(deque(batch))
            worker.process.send(list(batch))

    def cancel(self, key: str) -> bool:
        """End the worker that has this task, now; False if none has. Other tasks it had come back."""
        with self._mutex:
            worker = next((one for one in self._open() if one.forget(key)), None)
            if worker is not None:
                worker.process.kill()
            return worker is not None

    def wait(self, seconds: float) -> list[Outcome]:
        """What was heard of tasks since the last call; dead workers are replaced here."""
        heard: list[Outcome] = []
        with suppress(queue.Empty):
            message = self._messages.get(timeout=seconds)
            while True:
                if message is not None:
                    heard += self._heard(*message)
                message = self._messages.get_nowait()
        return heard

    def wake(self) -> None:
        """Have `wait` return now."""
        self._messages.put(None)

    def stop(self) -> None:
        """Kill all workers and remove what they left aside."""
        with self._mutex:
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            self._bury(worker)

    def _open(self) -> list[_Worker]:
        return [worker for worker in self._workers if not worker.cancelled]

    def _started(self) -> _Worker:
        worker = _Worker()
        worker.process = WorkerProcess(
            "worker_main",
            self._hello,
            lambda message: self._messages.put((worker, message)),
            threads=self._threads,
            environment=self._environment,
        )
        return worker

    def _heard(self, worker: _Worker, message: dict[str, Any] | None) -> list[Outcome]:
        with self._mutex:
            if worker not in self._workers:
                return []
            if message is None:
                return self._replace(worker)
            if "refused" in message:
                self.error = MissingError(message["refused"])
            elif "ready" in message:
                self._stillborn, worker.ready = 0, True
            elif not worker.cancelled:
                if "state" in message:
                    worker.answer()
                return [message]
            return []

    def _replace(self, worker: _Worker) -> list[Outcome]:
        self._bury(worker)
        self._workers.remove(worker)
        self._stillborn += not (worker.ready or worker.cancelled)
        ending = worker.process.ending
        if self._stillborn >= BOOT_TRIES and self.error is None:
            self.error = StoreError(
                f"{self._stillborn} worker processes in a row ended before they were ready ({ending}); "
                "see what they printed"
            )
        if self.error is None:
            self._workers.append(self._started())
        outcomes = [outcome(task, "back") for task in worker.tasks]
        if outcomes and worker.ready and not worker.cancelled:
            outcomes[0] |= {"state": "lost", "error": f"its worker process ended ({ending})", "kind": "Lost"}
        return outcomes

    def _bury(self, worker: _Worker) -> None:
        worker.process.end()
        self._store.remove_aside(worker.process.pid)


class WaitingPool:
    """Workers that were started before their sweep, to load code while other things are done; one sweep's."""

    def __init__(self, store: Store, modules: Sequence[str], workers: int, prepare: str = "") -> None:
        self._root, self._modules = store.root, set(modules)
        self._pool: Pool | None = Pool(store, modules, workers, ahead=1, prepare=prepare)

    def taken(self, store: Store, modules: Sequence[str], workers: int) -> Pool | None:
        """The pool, for a sweep that it serves; None where it serves another, or was taken."""
        pool = self._pool
        serves = store.root == self._root and set(modules) <= self._modules
        if pool is None or not serves or pool.workers != workers:
            return None
        self._pool = None
        return pool

    def stop(self) -> None:
        """End the workers, unless a sweep has them."""
        if self._pool is not None:
            self._pool.stop()


WAITING: ContextVar[WaitingPool | None] = ContextVar("waiting_workers", default=None)
"""Workers that the next sweep may take."""


class _Worker:
    """A process of a pool, and the batches it was given and has not answered, in order."""

    process: WorkerProcess

    def __init__(self) -> None:
        self.batches: deque[deque[Task]] = deque()
        self.ready = self.cancelled = False
        self.answered = 0

    @property
    def tasks(self) -> list[Task]:
        """All that it has not answered; it is at the first."""
        return [task for batch in self.batches for task in batch]

    def answer(self) -> None:
        """It has done the task it was at."""
        self.answered += 1
        self.batches[0].popleft()
        if not self.batches[0]:
            self.batches.popleft()

    def forget(self, key: str) -> bool:
        """Take the task away, if it has it, since it is to be ended for it."""
        tasks = self.tasks
        rest = deque(task for task in tasks if task["key"] != key)
        self.cancelled = len(rest) < len(tasks)
        if self.cancelled:
            self.batches = deque([rest])
        return self.cancelled


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
