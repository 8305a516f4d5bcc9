"""What runs in a worker process: tasks come as JSON lines, outcomes go back as JSON lines.

Results never travel: they are in the store before their outcome is sent. A worker ends at once
when the process that started it is gone.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

from langscape.data import Progress, Step
from langscape.errors import Cancelled, LangscapeError, StoreError
from langscape.store.recipe import Recipe
from langscape.store.registry import import_steps
from langscape.store.resolved_recipe import ResolvedRecipe
from langscape.store.store import Busy, Store

Outcome = dict[str, Any]


def perform(store: Store, task: Mapping[str, Any], progress: Progress | _Teller) -> Outcome:
    """Do one task and say how it ended: done, busy (another process is at it), stopped or failed.

    A task holds a recipe that is `named`; or, where somebody is told how far it is, a `recipe`.
    """
    started = time.perf_counter()
    state = error = kind = ""
    try:
        if isinstance(progress, _Teller):
            _name_and_make(store, task, progress)
        else:
            store.make(ResolvedRecipe.from_json(task["named"]), progress, wait=False)
        state = "done"
    except Busy:
        state = "busy"
    except LangscapeError as why:
        state = "stopped" if isinstance(why, Cancelled) else "failed"
        error, kind = str(why), type(why).__name__
    except MemoryError:
        state, error, kind = "failed", "there is too little memory for this", "MemoryError"
    except Exception as why:
        state, error, kind = "failed", f"{type(why).__name__}: {why}", "Exception"
    return outcome(task, state, error, kind, time.perf_counter() - started)


def outcome(
    task: Mapping[str, Any], state: str, error: str = "", kind: str = "", seconds: float = 0.0
) -> Outcome:
    """How a task ended; `kind` is the name of the error."""
    return {"key": task["key"], "state": state, "error": error, "kind": kind, "seconds": seconds}


def run_batch(text: str) -> str:
    """A batch on a Dask worker, which may be another machine: JSON in, outcomes as JSON out."""
    batch = json.loads(text)
    store = _shared_store(batch["root"], batch["id"])
    import_steps(batch["modules"])
    stop = StopWatch(store, batch["stop"])
    outcomes = []
    with _one_thread():
        for task in batch["tasks"]:
            outcomes.append(outcome(task, "stopped") if stop.is_set() else perform(store, task, stop))
    return json.dumps(outcomes)


def worker_main() -> None:
    """A worker of a pool: one task after the other; the model it used last stays open."""
    lines, answers = take_over_pipes()
    try:
        hello = json.loads(lines.get())
        store = _shared_store(hello["root"], hello["id"])
        import_steps(hello["modules"])
    except LangscapeError as error:
        send_answer(answers, {"refused": str(error)})
        return
    send_answer(answers, {"ready": os.getpid()})
    if hello["warm"]:
        # What cannot be made ready now says so when it is asked for.
        with suppress(Exception):
            from langscape.execution.warm import make_ready

            make_ready(hello["warm"])
    if hello["prepare"]:
        with suppress(Exception):
            module, _, function = hello["prepare"].partition(":")
            getattr(importlib.import_module(module), function)()
    while True:
        for task in json.loads(lines.get()):
            # a sweep's tasks are many and short: how far each of them is interests nobody
            progress = _ignore if "named" in task else _Teller(task["key"], answers)
            send_answer(answers, perform(store, task, progress))


def _name_and_make(store: Store, task: Mapping[str, Any], tell: _Teller) -> None:
    """What somebody waits for: named here, since a model may have to be fetched for it."""
    tell(Step(0, 0, "looking at model and inputs"))
    named = store.name(Recipe.from_json(task["recipe"]))
    tell.send({"digest": named.digest, "needs": named.digests()})
    try:
        store.make(named, tell, wait=False)
    except Busy:
        tell(Step(0, 0, "another process is computing this; waiting for it"))
        store.make(named, tell)
    # a kept result may have outlived what it was made from, which is looked at too
    for need in named.needs.values():
        store.make(need, tell)


class _Teller:
    """Progress that goes to the parent: first and last step of what is done, else at most eight a second."""

    def __init__(self, key: str, answers: IO[bytes]) -> None:
        self._key, self._answers, self._next, self._doing = key, answers, 0.0, ""

    def __call__(self, step: Step) -> None:
        """Called by a step that works."""
        now = time.monotonic()
        # the last one is always told: how long what follows it takes is timed from there
        if now < self._next and step.doing == self._doing and not 0 < step.total <= step.done:
            return
        self._next, self._doing = now + 0.125, step.doing
        figures = {name: value for name, value in step.figures.items() if math.isfinite(value)}
        message = {"doing": step.doing, "done": int(step.done), "total": int(step.total), "figures": figures}
        self.send({"step": {**message, "counts": step.counts}})

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell something of the task at once."""
        send_answer(self._answers, {"key": self._key, **message})


def dask_main() -> None:
    """A Dask worker of a cluster started for one sweep: no nanny, no dashboard, one thread, loopback only."""
    lines, _ = take_over_pipes()
    hello = json.loads(lines.get())
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
    import asyncio

    from distributed import Worker

    async def work() -> None:
        async with Worker(
            hello["scheduler"],
            nthreads=1,
            host="127.0.0.1",
            dashboard=False,
            memory_limit=0,
            local_directory=hello["folder"],
            name=str(os.getpid()),
        ) as worker:
            await worker.finished()

    asyncio.run(work())


class StopWatch:
    """Progress that raises Cancelled once the sweep is to stop; looks at most every half second."""

    def __init__(self, store: Store, names: list[str]) -> None:
        self._store, self._names, self._next, self._stopped = store, names, 0.0, False

    def is_set(self) -> bool:
        """Whether the sweep is to stop."""
        now = time.monotonic()
        if not self._stopped and now >= self._next:
            self._next = now + 0.5
            self._stopped = any(self._store.is_cancelled(name) for name in self._names)
        return self._stopped

    def __call__(self, step: Step) -> None:
        """Called by a step that works; ends it if the sweep is to stop."""
        if self.is_set():
            raise Cancelled("the sweep was cancelled")


def take_over_pipes() -> tuple[queue.Queue[bytes], IO[bytes]]:
    """Lines of stdin as a queue, and stdout for answers only; end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a step prints must not be taken for an answer
    lines: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        os._exit(0)

    def watch(parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
    return lines, answers


def send_answer(answers: IO[bytes], message: Mapping[str, Any]) -> None:
    """One line of JSON to the process that started this one; where that is gone, this one ends too."""
    try:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()
    except BrokenPipeError:
        os._exit(0)


def _shared_store(root: str, id: str) -> Store:
    key = (root, id)
    if key not in _STORES:
        if not os.path.isfile(os.path.join(root, "store.json")):
            raise StoreError(
                f"the worker on {os.uname().nodename} cannot see the store {root}; put the store on a disk "
                "that all machines share (LANGSCAPE_HOME), under the same path"
            )
        store = Store(root)
        if store.id != id:
            raise StoreError(
                f"the worker on {os.uname().nodename} sees another store at {root}; put the store on a disk "
                "that all machines share (LANGSCAPE_HOME)"
            )
        _STORES[key] = store
    return _STORES[key]


_STORES: dict[tuple[str, str], Store] = {}


def _one_thread() -> Any:
    """Limit the compute threads of a worker that was started by others, with threads of its own choosing."""
    from threadpoolctl import threadpool_limits

    os.environ["NUMBA_NUM_THREADS"] = "1"  # for a numba that is imported later
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.set_num_threads(1)
    return threadpool_limits(1)


def _ignore(step: Step) -> None:
    """Progress of a local worker: it is stopped by its parent, not by itself."""
