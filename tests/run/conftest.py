from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

# chores must be importable by name, here and in worker processes.
sys.path.insert(0, os.path.dirname(__file__))

import chores  # noqa: F401
import drive
from watching import OTHERS, content, workers_of

from langscape.execution.sweep import Sweep
from langscape.store.store import Store


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.clear()
    OTHERS.update(process.pid for process in workers_of(os.getpid()))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """Counts of what was really computed, by line."""
    path = tmp_path / "log"
    monkeypatch.setenv("CHORES_LOG", str(path))
    return lambda: Counter(path.read_text().splitlines() if path.exists() else [])


@pytest.fixture
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list]:
    """The results of the same tasks computed in peace, in this process, without their pauses."""

    def run(count: int, rows: int = 500) -> list:
        monkeypatch.delenv("CHORES_LOG", raising=False)
        sweep = Sweep(drive.tasks(count, 0.0, rows), store=Store(tmp_path / "peace"))
        sweep.run(workers=0)
        return content(sweep)

    return run
