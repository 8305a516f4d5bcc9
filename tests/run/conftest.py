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

from langscape.run.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """Counts of what was really computed, by line."""
    path = tmp_path / "log"
    monkeypatch.setenv("CHORES_LOG", str(path))
    return lambda: Counter(path.read_text().splitlines() if path.exists() else [])
