"""Starting, watching and comparing sweeps that are disturbed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import drive
import psutil

from langscape.execution.sweep import Sweep
from langscape.store.store import STRAY_AGE, Store

KILLS = int(os.environ.get("LANGSCAPE_KILLS", "50"))
"""How many kills the random tests make; `make soak` sets 200."""


def start(root: Path, count: int, pause: float, workers: int, *more: str) -> subprocess.Popen:
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.Popen(
        [sys.executable, drive.__file__, str(root), str(count), str(pause), str(workers), *more],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


OTHERS: set[int] = set()
"""Workers that were there when a test began, of a studio that tests of another folder share."""


def workers_of(pid: int) -> list[psutil.Process]:
    """The sweep workers below a process, and nothing else it may have started, such as a browser."""
    try:
        found = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [child for child in found if child.pid not in OTHERS and _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        said = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return "worker_main" in said or "dask_main" in said


def wait_until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def labels(store: Store) -> dict[str, tuple[int, int]]:
    """Every stored result, by the identity of its label: computing one again would change it."""
    found = {}
    for path in (store.root / "results").glob("??/*.json"):
        status = path.stat()
        found[path.stem] = (status.st_ino, status.st_mtime_ns)
    return found


def content(sweep: Sweep) -> list:
    return [value if isinstance(value, dict) else value["x"].tobytes() for _, value in sweep.results()]


def assert_clean(store: Store) -> None:
    """Nothing aside but what an hour will remove, and that is really removed."""
    for path in (store.root / "aside").iterdir():
        os.utime(path, (time.time() - STRAY_AGE - 60,) * 2)
    for path in (store.root / "locks").iterdir():
        os.utime(path, (time.time() - STRAY_AGE - 60,) * 2)
    Store(store.root)
    assert not list((store.root / "aside").iterdir())
    assert not list((store.root / "locks").iterdir())
