"""Tasks on a Dask cluster: one that exists (`tcp://…`), or one started here for the length of a sweep.

A batch travels as JSON text, and so do its outcomes; data and results go by path through the store,
which every worker must see. Dask lets anyone who reaches its scheduler run code: a cluster started
here listens on loopback only.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from langscape.errors import LangscapeError, MissingError, SettingsError, StoreError
from langscape.execution.pool import Task
from langscape.execution.worker import Outcome, outcome, run_batch
from langscape.execution.worker_process import WorkerProcess
from langscape.store import disk
from langscape.store.store import Store

CONNECT_SECONDS = 10
"""Seconds that a scheduler may take to answer."""

WAIT_FOR_WORKERS = 30.0
"""Seconds that a cluster may take to show its first worker."""


class DaskCluster:
    """Batches as Dask tasks. A worker that dies costs what it was at; Dask gives its batch to another."""

    error: LangscapeError | None = None

    def __init__(self, store: Store, sweep: str, modules: Sequence[str], address: str, workers: int) -> None:
        distributed = _distributed()
        self._store, self._run = store, f"{sweep}.{uuid.uuid4().hex[:8]}"
        self._hello = {
            "root": str(store.root),
            "id": store.id,
            "modules": list(modules),
            "stop": [sweep, self._run],
        }
        self._done: queue.Queue[tuple[str, str | None, BaseException | None]] = queue.Queue()
        self._out: dict[Any, list[Task]] = {}
        self._processes: list[WorkerProcess] = []
        self._local = self._client = None
        self._deaths = 0
        self._looked = 0.0
        try:
            if address == "local":
                self._local = distributed.LocalCluster(
                    n_workers=0,
                    protocol="tcp://",
                    host="127.0.0.1",
                    silence_logs=50,
                    # no dashboard, and its port not the fixed one, which another cluster here may hold
                    scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                )
                address = self._local.scheduler_address
                self._processes = [self._start(address) for _ in range(workers)]
            self._address = address
            self._client = self._connect(distributed, address)
            self.workers = self._first_workers(workers)
        except BaseException:
            self.stop()
            raise

    def free(self) -> bool:
        """Whether some worker has nothing waiting behind the batch it is at."""
        return len(self._out) < 2 * self.workers

    def send(self, batch: Sequence[Task]) -> None:
        """Submit a batch."""
        assert self._client is not None
        text = json.dumps({**self._hello, "tasks": list(batch)})
        future = self._client.submit(run_batch, text, pure=False, key=f"langscape-{uuid.uuid4().hex}")
        self._out[future.key] = list(batch)
        # Outcomes lie in the memory of the worker until they are fetched, and are computed again if it dies
        # meanwhile: to wait for them here would keep us from starting the worker that must do it.
        self._client.loop.add_callback(self._fetch, self._client, future)

    def wait(self, seconds: float) -> list[Outcome]:
        """Outcomes since the last call; dead workers of our own cluster are replaced here."""
        self._look_after_workers()
        outcomes: list[Outcome] = []
        with suppress(queue.Empty):
            key, text, error = self._done.get(timeout=seconds)
            while True:
                outcomes += self._heard(key, text, error)
                key, text, error = self._done.get_nowait()
        return outcomes

    def stop(self) -> None:
        """Cancel what is under way; a cluster started here ends, another's workers stop at the next task."""
        if self._out and self._local is None:
            with suppress(StoreError):
                self._store.cancel(self._run)
        for process in self._processes:
            process.kill()
        for process in self._processes:
            self._bury(process)
        if self._processes:
            self._store.remove_aside(os.getpid())
        self._processes = []
        # A scheduler that is gone must not hold up the end: closing gets a few seconds, no more.
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(timeout=5)

    def _close(self) -> None:
        with suppress(Exception):
            if self._client is not None:
                self._client.close(timeout=2)
        with suppress(Exception):
            if self._local is not None:
                self._local.close(timeout=2)

    async def _fetch(self, client: Any, future: Any) -> None:
        """Runs in the client's own thread."""
        try:
            self._done.put((future.key, await client.gather(future, asynchronous=True), None))
        except BaseException as error:
            self._done.put((future.key, None, error))

    def _heard(self, key: str, text: str | None, error: BaseException | None) -> list[Outcome]:
        batch = self._out.pop(key, None)
        if batch is None:
            return []
        if text is not None:
            return json.loads(text)
        name = type(error).__name__
        if "Cancelled" in name:
            return [outcome(task, "back") for task in batch]
        if name == "KilledWorker":
            # Dask gave it to several workers, which all died; but it also counts deaths against what merely
            # stood in the dead worker's queue. Only a task that was out alone is surely the cause.
            sure = len(batch) == 1 and not self._out
            return [
                outcome(t, "failed" if sure else "suspect", "its Dask workers died while at it")
                for t in batch
            ]
        if isinstance(error, StoreError):
            raise error
        if isinstance(error, ImportError):
            raise MissingError(
                f"a Dask worker of {self._address} cannot import what the sweep needs ({error}); "
                "install the same langscape[cluster] on every machine"
            )
        return [outcome(task, "failed", f"{name}: {error}") for task in batch]

    def _look_after_workers(self) -> None:
        now = time.monotonic()
        if now - self._looked < 1.0:
            return
        self._looked = now
        for place, process in enumerate(self._processes):
            if process.code is not None:
                self._bury(process)
                self._deaths += 1
                if self._deaths > 1000:
                    raise StoreError("1000 Dask workers have died in one sweep; see above what they printed")
                self._processes[place] = self._start(self._address)
        if not self._processes and self._client is not None:
            if self._client.status != "running":
                raise SettingsError(
                    f"the Dask scheduler at {self._address} is gone; start it again and resume the sweep"
                )
            self.workers = max(1, self._count())

    def _start(self, address: str) -> WorkerProcess:
        folder = self._store.root / "aside" / f"dask.{disk.machine()}-{os.getpid()}.{self._run}"
        return WorkerProcess("dask_main", {"scheduler": address, "folder": str(folder)})

    def _bury(self, process: WorkerProcess) -> None:
        process.end()
        self._store.remove_aside(process.pid)

    def _connect(self, distributed: Any, address: str) -> Any:
        try:
            return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"no Dask scheduler answers at {address!r} ({error or 'timed out'}); start one with "
                "`dask scheduler` and `dask worker ADDRESS`, or use --cluster local"
            ) from None

    def _first_workers(self, wanted: int) -> int:
        until = time.monotonic() + WAIT_FOR_WORKERS
        while time.monotonic() < until:
            count = self._count()
            if count and (count >= wanted or not self._processes):
                return count
            dead = [process for process in self._processes if process.code is not None]
            if dead:
                raise StoreError(f"a Dask worker ended with {dead[0].ending} before it was ready")
            time.sleep(0.05)
        raise SettingsError(
            f"the Dask cluster at {self._address} shows no worker after {WAIT_FOR_WORKERS:g} s; "
            "start some with `dask worker ADDRESS`"
        )

    def _count(self) -> int:
        assert self._client is not None
        return len(self._client.nthreads())


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingError(
            "sweeps on a cluster need Dask, which is not installed; pip install 'langscape[cluster]'"
        ) from None
    return distributed
