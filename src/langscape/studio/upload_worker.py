"""Processes with limits that look at what users give: a file that lies can cost a process, never the studio.

Each has limits of memory, CPU time, bytes written and seconds, which grow with the file. One is always
ready, so that an ordinary file is looked at within milliseconds; one that was ended is replaced.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from langscape import errors
from langscape.errors import FileError, LangscapeError
from langscape.execution.worker import send_answer, take_over_pipes
from langscape.execution.worker_process import WorkerProcess
from langscape.memory_limits import size
from langscape.studio.problem import Problem

MEMORY, MEMORY_PER_BYTE = 1_000_000_000, 4
"""Bytes that looking at a file may take beside what is loaded, and further ones for each byte of the file."""

SECONDS, BYTES_PER_SECOND = 9.0, 25_000_000
"""How long looking may last, and the bytes for which a further second is given."""

WRITTEN = 200_000_000
"""Bytes that may be written: lists are put into a plain form."""

PROCESSES = 2
"""Files that are looked at at once; others wait."""

_BOOT = 120.0
_MODULE = __name__
# Arrow's own allocator reserves gigabytes of addresses at once, and each arena of malloc 64 MB
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}


class UploadWorkers:
    """At most PROCESSES processes that look at files, started when they are needed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._closed = False

    def start(self) -> None:
        """Have one process start, without waiting for it."""
        with self._changed:
            if not self._closed and not self._all:
                self._idle.append(self._started())

    @property
    def pids(self) -> list[int]:
        """Process ids of those that run."""
        with self._changed:
            return [one.process.pid for one in self._all]

    def look(self, kind: str, file: Path, name: str) -> dict[str, Any]:
        """What the file is, as `looking.KINDS` says it; an error of ours for all that can go wrong.

        `name` is the user's name for it, and stands in errors.
        """
        for _ in range(PROCESSES):
            with suppress(_Gone):
                return self._look(kind, file, name)
        raise Problem("lost", f"{name} cannot be looked at: processes that read files end before they begin")

    def _look(self, kind: str, file: Path, name: str) -> dict[str, Any]:
        with self._changed:
            while not self._closed and not self._idle and len(self._all) >= PROCESSES:
                self._changed.wait()
            if self._closed:
                raise Problem("not_ready", "the studio is about to end")
            worker = self._idle.pop() if self._idle else self._started()
        good = False
        try:
            found = worker.look(kind, file, name)
            good = True
        finally:
            with self._changed:
                if not good:
                    self._all.discard(worker)
                if good and not self._closed:
                    self._idle.append(worker)
                elif not self._closed:
                    self._idle.append(self._started())
                self._changed.notify()
            if not good:
                worker.process.end()
        return _result(found)

    def close(self) -> None:
        """End every process."""
        with self._changed:
            self._closed = True
            running, self._all, self._idle = self._all, set(), []
            self._changed.notify_all()
        for one in running:
            one.process.end()

    def _started(self) -> _Process:
        started = _Process()
        self._all.add(started)
        return started


class _Gone(Exception):
    """The process ended before it began with the file."""


class _Process:
    """One process, and what was heard of it."""

    def __init__(self) -> None:
        self._ready = self._begun = False
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.process = WorkerProcess(
            "look_main", {}, self._heard.put, module=_MODULE, environment=_ENVIRONMENT
        )

    def look(self, kind: str, file: Path, name: str) -> dict[str, Any]:
        """The answer of the process; an error where it ends, or has to be ended."""
        if not self._ready:
            self._await(_BOOT, name)
            self._ready = True
        bytes_ = file.stat().st_size
        seconds = SECONDS + bytes_ / BYTES_PER_SECOND
        task = {"kind": kind, "file": str(file), "name": name, "bytes": bytes_, "seconds": seconds}
        self.process.send(task)
        self._await(_BOOT, name)
        # CPU time is counted by the system; this is for a process that waits
        return self._await(seconds + 1, name)

    def _await(self, seconds: float, name: str) -> dict[str, Any]:
        try:
            message = self._heard.get(timeout=seconds)
        except queue.Empty:
            raise _too_long(name, seconds) from None
        if message is not None:
            self._begun = "begun" in message
            return message
        if not self._begun:
            raise _Gone
        ending = self.process.ending
        if "SIGXCPU" in ending:
            raise _too_long(name, seconds)
        raise FileError(
            f"{name} cannot be looked at: its reader ended with {ending}; the file is damaged, or takes too "
            "much memory"
        )


def look_main() -> None:
    """What runs in the process: readers are loaded, then files are looked at one after the other."""
    lines, answers = take_over_pipes()
    lines.get()
    _load_readers()
    send_answer(answers, {"ready": os.getpid()})
    while True:
        task = json.loads(lines.get())
        send_answer(answers, {"begun": True})
        send_answer(answers, _looked(task))


def _looked(task: dict[str, Any]) -> dict[str, Any]:
    from langscape.studio.looking import KINDS

    file, name = task["file"], task["name"]
    memory = MEMORY + MEMORY_PER_BYTE * task["bytes"]
    try:
        with _limits(memory, task["seconds"]):
            return {"summary": KINDS[task["kind"]].look(Path(file), name)}
    except Problem as problem:
        return {"problem": [problem.code, problem.message, problem.hint]}
    except LangscapeError as error:
        return {"kind": type(error).__name__, "error": str(error).replace(file, name)}
    except MemoryError:
        return {"kind": "FileError", "error": f"{name} takes more than {size(memory)} of memory to look at"}
    except Exception as error:
        traceback.print_exc()  # a fault of ours, or a way to be broken that no reader knows yet
        reason = f"{type(error).__name__}: {error}".replace(file, name).splitlines()[0][:200]
        return {"kind": "FileError", "error": f"{name} is damaged, or not what it is given as ({reason})"}


def _result(found: dict[str, Any]) -> dict[str, Any]:
    if "problem" in found:
        raise Problem(*found["problem"])
    if "error" in found:
        raise getattr(errors, found["kind"])(found["error"])
    return found["summary"]


@contextmanager
def _limits(memory: int, seconds: float) -> Iterator[None]:
    """Limits of this process for one file; those of memory and writing end with it."""
    try:
        import resource
    except ImportError:  # not on Windows: the seconds alone are watched there, from outside
        yield
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    in_use = _address_space()
    before = {}
    for which, most in (
        (resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1),
        (resource.RLIMIT_AS, in_use + memory if in_use else resource.RLIM_INFINITY),
        (resource.RLIMIT_FSIZE, WRITTEN),
        (resource.RLIMIT_CORE, 0),
    ):
        soft, hard = before[which] = resource.getrlimit(which)
        kept = [one for one in (most, soft, hard) if one != resource.RLIM_INFINITY]
        with suppress(ValueError, OSError):
            resource.setrlimit(which, (min(kept, default=resource.RLIM_INFINITY), hard))
    try:
        yield
    finally:
        for which, pair in before.items():
            with suppress(ValueError, OSError):
                resource.setrlimit(which, pair)


def _address_space() -> int:
    """Bytes of addresses this process has taken, with all its libraries; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _load_readers() -> None:
    """Import what readers use, so that files alone count, and no file waits for it."""
    import pyarrow as pa
    import pyarrow.parquet

    import langscape.io.gaussian_file
    import langscape.io.map_file
    import langscape.io.sql
    import langscape.sources.gather
    import langscape.sources.npz
    import langscape.sources.parquet
    import langscape.sources.text
    import langscape.sources.wordlist
    import langscape.studio.looking

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    langscape.io.sql.warm()


def _too_long(name: str, seconds: float) -> FileError:
    return FileError(
        f"{name} takes more than {seconds:.0f} seconds to look at, which no file of its size needs; "
        "the file is damaged, or made to"
    )
