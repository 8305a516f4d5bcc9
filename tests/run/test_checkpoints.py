"""What a long computation keeps in the store while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from langscape.data import Progress
from langscape.errors import DataError
from langscape.io.map_file import read_map
from langscape.store import checkpoints
from langscape.store.checkpoints import StoredCheckpoint
from langscape.store.current import current_checkpoint
from langscape.store.recipe import Recipe
from langscape.store.registry import step
from langscape.store.store import Store

STATE = {"places": np.arange(6, dtype=np.float32).reshape(3, 2), "step": np.array([7])}


def test_what_was_kept_comes_back_with_its_bits(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    StoredCheckpoint(store.root, "ab").save("descent 0.0", STATE)
    found = StoredCheckpoint(store.root, "ab").load("descent 0.0")
    assert found is not None
    assert {name: (one.dtype, one.tolist()) for name, one in found.items()} == {
        name: (one.dtype, one.tolist()) for name, one in STATE.items()
    }
    assert StoredCheckpoint(store.root, "ab").load("descent 0.1") is None
    assert not list((store.root / "aside").iterdir())


@pytest.mark.parametrize("fault", ["bit", "cut", "version"])
def test_what_is_damaged_or_of_another_version_is_not_taken_up(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = StoredCheckpoint(Store(tmp_path / "store").root, "ab")
    kept.save("descent", STATE)
    (file,) = kept.folder.iterdir()
    data = bytearray(file.read_bytes())
    if fault == "bit":
        data[-3] ^= 1
    elif fault == "cut":
        data = data[:-1]
    else:
        monkeypatch.setattr("langscape.__version__", "0.0.1")
    file.write_bytes(data)
    assert kept.load("descent") is None
    assert not file.exists()


def test_it_is_due_when_twenty_seconds_have_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    kept = StoredCheckpoint(Store(tmp_path / "store").root, "ab")
    assert not kept.due()
    now[0] += 21
    assert kept.due()
    kept.save("descent", STATE)
    assert not kept.due()


class Ended(BaseException):
    """The process ends here."""


@step("checkpoints.count", version=1, defaults={"ends": "well"})
def count(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Any:
    kept = current_checkpoint()
    assert kept is not None
    before = kept.load("count")
    kept.save("count", {"done": np.array([1 if before is None else before["done"][0] + 1])})
    if before is None and settings["ends"] == "killed":
        raise Ended
    if settings["ends"] == "error":
        raise DataError("this cannot be done")
    return {"done": 1 if before is None else int(before["done"][0]) + 1}


def test_the_store_gives_it_and_forgets_it_with_the_result(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with pytest.raises(Ended):
        store.run(Recipe("checkpoints.count", {"ends": "killed"}))
    assert len(list((store.root / "checkpoints").iterdir())) == 1
    assert store.run(Recipe("checkpoints.count", {"ends": "killed"})) == {"done": 2}
    assert store.run(Recipe("checkpoints.count")) == {"done": 1}
    with pytest.raises(DataError):
        store.run(Recipe("checkpoints.count", {"ends": "error"}))
    assert not list((store.root / "checkpoints").iterdir())


def test_what_nobody_takes_up_goes_after_a_week_and_when_the_store_is_pruned(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    old, new = (StoredCheckpoint(store.root, digest) for digest in ("aa", "bb"))
    old.save("descent", STATE)
    new.save("descent", STATE)
    week = time.time() - checkpoints.KEPT_FOR - 60
    os.utime(old.folder, (week, week))
    store = Store(store.root)
    assert (old.folder.exists(), new.folder.exists()) == (False, True)
    held = sum(file.stat().st_size for file in new.folder.iterdir())
    assert store.prune(keep_bytes=10**9) == (0, held)
    assert not new.folder.exists()


RUN = """
import sys, langscape
from langscape.store import checkpoints
checkpoints.EVERY = float(sys.argv[3])
langscape.words(sys.argv[1], perplexity=5, steps=300).save(sys.argv[2])
"""


@pytest.mark.slow
def test_a_map_killed_while_it_descends_is_the_same_map_when_run_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(9, 8))[rng.integers(9, size=3000)] + rng.normal(size=(3000, 8))).astype("f4")
    np.savez(tmp_path / "words.npz", words=np.array([f"w{i}" for i in range(3000)]), vectors=X)

    def start(home: str, target: str, every: float = 20.0) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-c", RUN, *map(str, (tmp_path / "words.npz", tmp_path / target, every))]
        # compiled code is where this process has it: its folder is in the environment
        return subprocess.Popen(arguments, env={**os.environ, "LANGSCAPE_HOME": str(tmp_path / home)})

    killed = start("home", "killed.parquet", every=0.0)
    kept = tmp_path / "home" / "store" / "checkpoints"
    while killed.poll() is None and not list(kept.glob("*/descent*")):
        time.sleep(0.01)
    assert killed.poll() is None
    killed.kill()
    killed.wait()
    assert not (tmp_path / "killed.parquet").exists()
    assert start("home", "killed.parquet").wait() == 0
    assert start("other", "whole.parquet").wait() == 0
    again, whole = (read_map(tmp_path / name) for name in ("killed.parquet", "whole.parquet"))
    np.testing.assert_array_equal(again.xy, whole.xy)
    assert again.kl == whole.kl
    assert not list(kept.iterdir())
