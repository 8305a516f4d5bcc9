"""Where tasks run: in this process, in local worker processes, or on a Dask cluster.

A backend takes batches while `free()`, and `wait` returns the outcomes that have come in. An outcome
is a mapping with key, state, seconds and error; the states are those of `worker.perform`, and
    lost     the worker died while at it
    back     the worker died before it began; nothing was tried
    suspect  workers died, and it may be the cause: to be tried again when nothing else is out
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from langscape.errors import MissingError, StoreError
from langscape.execution.worker import StopWatch, perform, start_worker
from langscape.store.store import Store

Outcome = dict[str, Any]
Task = dict[str, Any]


class Backend(Protocol):
    """What a sweep needs of a place to run tasks."""

    workers: int

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


class LocalPool:
    """Worker processes of our own. One that dies costs the task it was at; another takes its place."""

    BOOT_TRIES = 20
    """Workers that may die in a row before one is ready, before we say that they cannot be started."""

    def __init__(self, store: Store, modules: Sequence[str], workers: int) -> None:
        self.workers = workers
        self._store = store
        self._hello = {"root": str(store.root), "id": store.id, "modules": list(modules)}
        self._messages: queue.Queue[tuple[_Worker, Any]] = queue.Queue()
        self._stillborn = 0
        self._pool: list[_Worker] = []
        try:
            for _ in range(workers):
                self._pool.append(_Worker(self._hello, self._messages))
        except BaseException:
            self.stop()
            raise

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid for worker in self._pool]

    def free(self) -> bool:
        """Whether a worker has nothing waiting behind the batch it is at."""
        return any(worker.batches < 2 for worker in self._pool)

    def send(self, batch: Sequence[Task]) -> None:
        """Give the batch to the worker with the fewest tasks."""
        min(self._pool, key=lambda worker: len(worker.tasks)).send(batch)

    def wait(self, seconds: float) -> list[Outcome]:
        """Outcomes since the last call; dead workers are replaced here."""
        outcomes: list[Outcome] = []
        with suppress(queue.Empty):
            worker, message = self._messages.get(timeout=seconds)
            while True:
                outcomes += self._heard(worker, message)
                worker, message = self._messages.get_nowait()
        return outcomes

    def stop(self) -> None:
        """Kill all workers and remove what they left aside."""
        for worker in self._pool:
            worker.process.kill()
        for worker in self._pool:
            worker.end()
            self._store.remove_aside(worker.process.pid)
        self._pool = []

    def _heard(self, worker: _Worker, message: Any) -> list[Outcome]:
        if message is None:
            return self._replace(worker)
        if "refused" in message:
            raise MissingError(message["refused"])
        if "ready" in message:
            worker.ready = True
            return []
        self._stillborn = 0
        worker.answered()
        return [message]

    def _replace(self, worker: _Worker) -> list[Outcome]:
        if worker not in self._pool:
            return []
        worker.end()
        self._store.remove_aside(worker.process.pid)
        self._stillborn += not worker.ready
        if self._stillborn >= self.BOOT_TRIES:
            raise StoreError(
                f"{self._stillborn} worker processes in a row ended before they were ready "
                f"({ending(worker.process)}); see what they printed, or use workers=0 to run in this process"
            )
        outcomes = [outcome(task, "back") for task in worker.tasks]
        if worker.ready and outcomes:
            outcomes[0] |= {"state": "lost", "error": f"its worker process ended ({ending(worker.process)})"}
        self._pool[self._pool.index(worker)] = _Worker(self._hello, self._messages)
        return outcomes


class _Worker:
    """One process, the tasks it was given and has not answered, and the thread that hears it."""

    def __init__(self, hello: dict[str, Any], messages: queue.Queue[tuple[_Worker, Any]]) -> None:
        self.tasks: deque[Task] = deque()
        self.ready = False
        self._sizes: deque[int] = deque()
        self.process = start_worker("local_main", hello, answers=True)
        self._thread = threading.Thread(target=self._listen, args=(messages,), daemon=True)
        self._thread.start()

    @property
    def batches(self) -> int:
        """Batches not finished yet."""
        return len(self._sizes)

    def send(self, batch: Sequence[Task]) -> None:
        """Give it a batch; if it has died, its end is heard soon and the tasks come back."""
        self.tasks.extend(batch)
        self._sizes.append(len(batch))
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(list(batch)).encode() + b"\n")
            self.process.stdin.flush()

    def answered(self) -> None:
        """One task less to wait for; a worker does them in order."""
        self.tasks.popleft()
        self._sizes[0] -= 1
        if not self._sizes[0]:
            self._sizes.popleft()

    def end(self) -> None:
        """Wait for a process that was killed or died, and close its pipes."""
        self.process.wait()
        self._thread.join(timeout=5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _listen(self, messages: queue.Queue[tuple[_Worker, Any]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # a line cut short by the worker's death
                messages.put((self, json.loads(line)))
        messages.put((self, None))


def outcome(task: Task, state: str, error: str = "") -> Outcome:
    """The outcome of a task that no worker spoke about."""
    return {"key": task["key"], "state": state, "error": error, "seconds": 0.0}


def ending(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, in words."""
    code = process.returncode
    if code is not None and code < 0:
        why = "; too little memory is the usual cause" if code == -9 else ""
        return f"signal {-code}{why}"
    return f"exit code {code}"
