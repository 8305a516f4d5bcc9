"""A disk that fills up: one clear error, nothing partial, and on with it once there is room."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import drive
import pytest
from tests.commands import run
from watching import assert_clean, content, labels, start

from langscape.errors import StoreError
from langscape.execution.sweep import Sweep, find_sweep, statuses
from langscape.store import locks
from langscape.store.recipe import Recipe
from langscape.store.store import Store

FULL = "no space left for the result of chores"


class SmallDisk:
    """A file system in memory of a few megabytes that can be made to grow."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)], check=True, capture_output=True
        )

    def grow(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=64m", str(self.path)], check=True)

    def close(self) -> None:
        """Let nothing be written any more."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)

    def fill(self) -> Path:
        filler = self.path / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (65536, 4096):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    pass
        return filler


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallDisk]:
    place = tmp_path / "small"
    place.mkdir()
    try:
        disk = SmallDisk(place)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a file system: run as root, in a container that may mount")
    yield disk
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_sweep_that_fills_the_disk_stops_clearly_and_goes_on_when_there_is_room(
    small: SmallDisk, workers: int, undisturbed: Callable
) -> None:
    count = 600  # every tenth holds 16 kB of arrays, every other a label of a page
    store = Store(small.path / "store")
    sweep = Sweep(drive.tasks(count, 0.0), store=store)
    with pytest.raises(StoreError, match=rf"{FULL}.*langscape store prune.*sweep resume {sweep.id}"):
        sweep.run(workers=workers)
    assert not list((store.root / "aside").iterdir())
    checked = store.check()
    assert checked.damaged == ()
    assert 20 < checked.good < count
    kept = labels(store)
    small.grow()
    assert find_sweep(store, sweep.id)["state"] == "stopped"
    report = Sweep.open(sweep.id, store).run(workers=workers)
    assert (report.done, report.failed) == (count, {})
    assert kept.items() <= labels(store).items()
    assert content(sweep) == undisturbed(count)
    assert_clean(store)
    store.index.close()


@pytest.mark.parametrize("step", ["chores.square", "chores.noise", "chores.table", "chores.map"])
def test_every_kind_of_result_leaves_nothing_partial_on_a_full_disk(small: SmallDisk, step: str) -> None:
    store = Store(small.path / "store")
    filler = small.fill()
    with pytest.raises(StoreError, match="no space left"):
        store.run(Recipe(step))
    assert not list((store.root / "aside").iterdir())
    assert not [path for path in (store.root / "results").rglob("*") if path.is_file()]
    filler.unlink()
    assert store.run(Recipe(step)) is not None


def test_a_store_cannot_be_opened_on_a_full_disk_without_saying_so(small: SmallDisk) -> None:
    small.fill()
    with pytest.raises(StoreError, match="no space left for the store"):
        Store(small.path / "store")


@pytest.mark.slow
def test_a_limit_on_files_is_met_like_a_full_disk(store: Store, undisturbed: Callable) -> None:
    """Runs wherever mounting is refused: no file may pass 1 MB, and every tenth task wants 3.2 MB."""
    limited = start(store.root, 60, 0.0, 2, "--rows", "100000", "--limit", "1000000")
    said = limited.communicate(timeout=60)[0]
    assert limited.returncode == 1
    assert f"StoreError: {FULL}" in said
    assert "sweep resume" in said
    assert not list((store.root / "aside").iterdir())
    assert store.check().damaged == ()
    kept = labels(store)
    free = start(store.root, 60, 0.0, 2, "--rows", "100000")
    assert free.communicate(timeout=60)[0] == "done 60 failed 0\n"
    assert kept.items() <= labels(store).items()
    assert content(Sweep(drive.tasks(60, 0.0, 100_000), store=store)) == undisturbed(60, 100_000)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE is tried on Linux")
@pytest.mark.parametrize("step", ["chores.noise", "chores.table"])
def test_a_result_larger_than_the_limit_leaves_nothing_partial(tmp_path: Path, step: str) -> None:
    code = (
        "import chores, resource, sys\n"
        "from langscape.store.store import Store; from langscape.store.recipe import Recipe\n"
        "store = Store(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "from langscape.errors import StoreError\n"
        "try: store.run(Recipe(sys.argv[2], {'rows': 100_000}))\n"
        "except StoreError as error: print(error)"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    root = tmp_path / "store"
    run = subprocess.run(
        [sys.executable, "-c", code, str(root), step],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert FULL in run.stdout, run.stderr
    assert not list((root / "aside").iterdir())
    assert not [file for file in (root / "results").rglob("*") if file.is_file()]


def test_a_store_that_cannot_be_written_can_be_read_and_says_what_it_refuses(
    small: SmallDisk, tmp_path: Path
) -> None:
    store = Store(small.path / "store")
    recipes = [Recipe("chores.square", {"n": 3}), Recipe("chores.noise", {"rows": 4})]
    for recipe in recipes:
        store.run(recipe)
    Sweep(drive.tasks(3, 0.0), store=store).run(workers=0)
    store.index.add_input("in-1", "{}")
    store.index.close()
    (store.root / "locks" / "sweep-of-the-dead").touch()
    small.close()
    opened = Store(store.root)
    assert opened.read_only
    assert opened.id == store.id
    assert all(opened.get(recipe) is not None for recipe in recipes)
    assert opened.run(recipes[0]) == {"n": 3, "square": 9, "root": 3**0.5}
    assert opened.get(Recipe("chores.square", {"n": 99})) is None
    assert (opened.size()[0], len(list(opened.entries()))) == (5, 5)
    assert [sweep["state"] for sweep in statuses(opened)] == ["done"]
    assert locks.is_free(store.root / "locks" / "sweep-of-the-dead")
    assert opened.index.input("in-1") is not None
    checked = opened.check()
    assert (checked.good, checked.damaged, checked.strays) == (5, (), 0)
    text = tmp_path / "text.txt"
    text.write_text("one\n")
    for use in (
        lambda: opened.run(Recipe("chores.square", {"n": 99})),
        lambda: opened.run(Recipe("chores.lines", {}, {"text": text})),
        lambda: opened.keep(b"x"),
        lambda: opened.prune(keep_bytes=0),
        lambda: opened.cancel("abc"),
        lambda: opened.index.add_input("in-2", "{}"),
        lambda: opened.index.claim_job("a", "me", "{}"),
        lambda: Sweep(drive.tasks(2, 0.0), store=opened).run(workers=0),
    ):
        with pytest.raises(StoreError, match=r"read-only.*what it holds can be read\. Set LANGSCAPE_HOME"):
            use()
    with pytest.raises(StoreError, match="read-only, so what the studio computes cannot be kept in it"):
        run("studio", "--store", store.root, "--no-open")
