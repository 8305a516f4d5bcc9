"""A studio in a process of its own, and what can be seen of it from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import psutil
from tests.studio.conftest import Apart, Client


class Studio:
    """A studio over a store, without examples or a model; stopped at the end of the block."""

    def __init__(self, store: Path) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the studio
        self._apart = Apart(store, stderr=self._said)
        self.process = psutil.Process(self._apart.process.pid)

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._apart.kill()
        self._said.close()

    def errors(self) -> str:
        """What it wrote to standard error so far."""
        self._said.seek(0)
        return self._said.read()

    @property
    def address(self) -> str:
        """What it printed for a browser."""
        return self._apart.address

    @property
    def client(self) -> Client:
        """Asks it, as a script does."""
        return self._apart.client

    def kill(self) -> None:
        """End it at once."""
        self._apart.kill()

    def memory(self) -> int:
        """Bytes that its own process holds."""
        return self.process.memory_info().rss

    def files(self) -> int:
        """How many files and connections its own process has open."""
        return self.process.num_fds()

    def watch_memory(self) -> Callable[[], int]:
        """Begin to watch; the function that comes back ends that and gives the most that was held."""
        most, done = [self.memory()], threading.Event()

        def watch() -> None:
            while not done.wait(0.02):
                most.append(self.memory())

        watching = threading.Thread(target=watch)
        watching.start()

        def end() -> int:
            done.set()
            watching.join()
            return max(most)

        return end


def wait_until(true: Callable[[], object], seconds: float = 60) -> None:
    """Return once it is so."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            raise AssertionError(f"waited {seconds:g} s in vain")
        time.sleep(0.02)


def start_sweep(root: Path, count: int) -> subprocess.Popen[str]:
    """A sweep of small tasks over the store, in a process of its own."""
    from tests.attack.runner import ROOT

    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests/run/drive.py"), str(root), str(count), "0.02", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
