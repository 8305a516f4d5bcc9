"""What runs in a worker process: tasks come as JSON lines, outcomes go back as JSON lines.

Results never travel: they are in the store before their outcome is sent. A worker ends at once
when the process that started it is gone.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
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

ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "RAYON")},
    "VECLIB_MAXIMUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "TOKENIZERS_PARALLELISM": "false",
}
"""One compute thread per worker; threads that wait must not spin on shared cores."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); from {} import {} as m; m()"
)


def start_worker(
    function: str,
    hello: Mapping[str, Any],
    *,
    answers: bool,
    threads: int = 1,
    module: str = __name__,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A new Python process running `function` of `module`, with our import path.

    Its first two lines of input are the import path and `hello`. It is spawned, never forked.
    """
    limits = {name: str(threads) if name.endswith("_THREADS") else one for name, one in ENVIRONMENT.items()}
    process = subprocess.Popen(
        [sys.executable, "-c", _START.format(module, function)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if answers else subprocess.DEVNULL,
        env={**os.environ, **limits, **(environment or {})},
        start_new_session=True,  # Ctrl-C in the terminal is for the parent alone
    )
    assert process.stdin is not None
    path = [entry or os.getcwd() for entry in sys.path]
    with suppress(BrokenPipeError):
        for line in (path, hello):
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
    return process


def perform(store: Store, task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Do one task and say how it ended: done, busy (someone else is at it), stopped, failed or full."""
    started = time.perf_counter()
    outcome: dict[str, Any] = {"key": task["key"], "state": "done", "error": ""}
    try:
        store.make(ResolvedRecipe.from_json(task["named"]), progress, wait=False)
    except Busy:
        outcome["state"] = "busy"
    except Cancelled:
        outcome["state"] = "stopped"
    except StoreError as error:
        # A disk that is full for one task is full for all: the sweep stops, to be resumed.
        outcome |= {"state": "full", "error": str(error)}
    except LangscapeError as error:
        outcome |= {"state": "failed", "error": str(error), "told": True}
    except Exception as error:
        outcome |= {"state": "failed", "error": f"{type(error).__name__}: {error}"}
    outcome["seconds"] = time.perf_counter() - started
    return outcome


def run_batch(text: str) -> str:
    """A batch on a Dask worker, which may be another machine: JSON in, outcomes as JSON out."""
    batch = json.loads(text)
    store = _shared_store(batch["root"], batch["id"])
    import_steps(batch["modules"])
    stop = StopWatch(store, batch["stop"])
    outcomes = []
    with _one_thread():
        for task in batch["tasks"]:
            if stop.is_set():
                outcomes.append({"key": task["key"], "state": "stopped", "error": "", "seconds": 0.0})
            else:
                outcomes.append(perform(store, task, stop))
    return json.dumps(outcomes)


def local_main() -> None:
    """A worker of the local pool."""
    lines, answers = take_over_pipes()
    try:
        hello = json.loads(lines.get())
        store = _shared_store(hello["root"], hello["id"])
        import_steps(hello["modules"])
    except LangscapeError as error:
        send_answer(answers, {"refused": str(error)})
        return
    send_answer(answers, {"ready": os.getpid()})
    while True:
        for task in json.loads(lines.get()):
            send_answer(answers, perform(store, task, _ignore))


def job_main() -> None:
    """A worker of a crew: one recipe at a time, telling how far it is; models stay open between them."""
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
    while True:
        task = json.loads(lines.get())
        send_answer(answers, _job(store, task, answers))


def _job(store: Store, task: Mapping[str, Any], answers: IO[bytes]) -> dict[str, Any]:
    """Name and make one recipe; naming happens here, for a model may have to be fetched for it."""
    key = task["key"]
    tell = _Teller(key, answers)
    started = time.perf_counter()
    try:
        tell(Step(0, 0, "looking at model and inputs"))
        named = store.name(Recipe.from_json(task["recipe"]))
        send_answer(answers, {"key": key, "digest": named.digest, "needs": named.digests()})
        try:
            store.make(named, tell, wait=False)
        except Busy:
            tell(Step(0, 0, "another process is computing this; waiting for it"))
            store.make(named, tell)
        for need in named.needs.values():
            store.make(
                need, tell
            )  # a kept result may have outlived what it was made from, which is looked at too
        said = {"state": "done", "error": "", "kind": ""}
    except LangscapeError as error:
        said = {"state": "failed", "error": str(error), "kind": type(error).__name__}
    except MemoryError:
        said = {"state": "failed", "error": "there is too little memory for this", "kind": "MemoryError"}
    except Exception as error:
        said = {"state": "failed", "error": f"{type(error).__name__}: {error}", "kind": "Exception"}
    return {"key": key, "seconds": time.perf_counter() - started, **said}


class _Teller:
    """Progress that goes to the parent: every new thing that is done, else at most eight times a second."""

    def __init__(self, key: str, answers: IO[bytes]) -> None:
        self._key, self._answers, self._next, self._doing = key, answers, 0.0, ""

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        if now < self._next and step.doing == self._doing:
            return
        self._next, self._doing = now + 0.125, step.doing
        figures = {name: value for name, value in step.figures.items() if math.isfinite(value)}
        said = {"doing": step.doing, "done": int(step.done), "total": int(step.total), "figures": figures}
        send_answer(self._answers, {"key": self._key, "step": said})


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
    """One line of JSON to the process that started this one."""
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


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
