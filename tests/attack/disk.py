"""A disk that is full, and one that cannot be written to."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.attack import specimens
from tests.attack.budget import Budget
from tests.attack.existing import run_tests
from tests.attack.report import Row

from langscape.errors import LangscapeError
from langscape.io.map_file import read_map, save_map
from langscape.sources import Vectors, write_vectors
from langscape.store.recipe import Recipe
from langscape.store.store import Store
from langscape.views import scatter, write


def run(budget: Budget) -> Iterator[Row]:
    """Full first, then read-only."""
    if budget.every:
        passed, findings = run_tests(["tests/run/test_full_disk.py"])
        yield Row(
            "disk",
            "A sweep on a disk that fills up stops with one clear error and goes on when there is room",
            f"{passed} tests of sweeps, results and stores on a small file system",
            "nothing partial, nothing lost" if not findings else "broken",
            findings,
        )
    try:
        with small_disk() as place:
            yield full(place)
        with small_disk() as place:
            yield read_only(place)
    except Unmountable as error:
        said = f"not tried: a small file system cannot be mounted here ({error}); run as root"
        yield Row(
            "disk",
            "A full or read-only disk is met with one clear error",
            "0",
            said,
            [] if not budget.every else [said],
        )


class Unmountable(Exception):
    """A file system of its own needs rights that are not here."""


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of 2 MB in memory."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, text=True
        )
        if done.returncode:
            raise Unmountable(done.stderr.strip())
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def outputs(place: Path) -> dict[str, Callable[[], Any]]:
    """Everything that writes a file where the user says."""
    drawn = specimens.a_map()
    view = scatter(drawn, title="Eight words")
    vectors = Vectors(specimens.WORDS, specimens.numbers(8, 3))
    plain = Vectors([word.replace(" ", "_") for word in specimens.WORDS], specimens.numbers(8, 3))
    from langscape.io.gaussian_file import read_gaussians

    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside) / "g.safetensors"
        path.write_bytes(specimens.gaussian_file())
        gaussians = read_gaussians(path)
    made: dict[str, Callable[[], Any]] = {
        "map": lambda: save_map(drawn, place / "m.parquet"),
        "Gaussians": lambda: gaussians.save(place / "g.safetensors"),
    }
    for suffix in (".html", ".svg", ".png", ".pdf", ".csv", ".parquet"):
        made[f"view as {suffix}"] = lambda suffix=suffix: write(view, place / f"view{suffix}")
    for suffix in (".txt", ".npz", ".parquet", ".safetensors"):
        made[f"vectors as {suffix}"] = lambda suffix=suffix: write_vectors(place / f"v{suffix}", vectors)
    made["vectors as .bin"] = lambda: write_vectors(place / "v.bin", plain)
    return made


def _tried(place: Path, writers: dict[str, Callable[[], Any]]) -> tuple[int, list[str]]:
    """How many said clearly that they cannot write, and what else happened."""
    before = sorted(path.name for path in place.iterdir())
    clear, findings = 0, []
    for name, make in writers.items():
        try:
            make()
            findings.append(f"{name}: wrote where nothing can be written")
        except LangscapeError as error:
            clear += 1
            findings += [f"{name}: says it in several lines: {str(error)[:200]!r}"] * ("\n" in str(error))
        except Exception as error:
            findings.append(f"{name}: {type(error).__name__}: {str(error)[:150]}")
        left = sorted(path.name for path in place.iterdir())
        findings += [f"{name}: left {sorted(set(left) - set(before))}"] * (left != before)
    return clear, findings


def full(place: Path) -> Row:
    """Every writer on a disk without a free byte."""
    with (place / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    writers = outputs(place)
    clear, findings = _tried(place, writers)
    return Row(
        "disk",
        "On a full disk every writer says so in one line and leaves nothing behind",
        f"{len(writers)} writers",
        f"{clear} clear errors, nothing left",
        findings,
    )


def read_only(place: Path) -> Row:
    """A store and files on a disk that was written to before and cannot be now."""
    import chores  # noqa: F401

    store = Store(place / "store")
    store.run(Recipe("chores.square", {"n": 3}))
    store.run(Recipe("chores.map"))
    store.index.close()
    save_map(specimens.a_map(), place / "old.parquet")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    writers = outputs(place)
    clear, findings = _tried(place, writers)
    tried, good = len(writers), clear
    reads: dict[str, Callable[[], Any]] = {
        "a map": lambda: len(read_map(place / "old.parquet")) == 8,
        "opening the store": lambda: Store(place / "store").size()[0] == 2,
        "a result": lambda: (
            (Store(place / "store").get(Recipe("chores.square", {"n": 3})) or {}).get("square") == 9
        ),
        "a kept map": lambda: len(Store(place / "store").get(Recipe("chores.map")) or ()) == 5,
        "its list": lambda: len(list(Store(place / "store").entries())) == 2,
        "its sweeps": lambda: Store(place / "store").index.sweeps() == [],
    }
    for name, read in reads.items():
        try:
            right = read()
            findings += [f"{name}: is not what was there"] * (not right)
            good += bool(right)
        except Exception as error:
            findings.append(f"{name}: {type(error).__name__}: {str(error)[:150]}")
    try:
        Store(place / "store").run(Recipe("chores.square", {"n": 4}))
        findings.append("a new result: was kept where nothing can be written")
    except LangscapeError:
        good += 1
    except Exception as error:
        findings.append(f"a new result: {type(error).__name__}: {str(error)[:150]}")
    return Row(
        "disk",
        "A read-only disk can be read, and every writer says in one line that it cannot be written",
        f"{tried} writers, {len(reads)} readers and a computation",
        f"{good} as promised",
        findings,
    )
