"""Small steps for the tests, in a module that worker processes can import.

CHORES_LOG names a file that gets a line for every task really computed, so that tests can count.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Capture, Items, Map, Progress, Step
from langscape.errors import DataError
from langscape.io.codec import read_noun
from langscape.store.registry import step
from langscape.store.results import Arrays, Table


def note(text: str) -> None:
    """One whole line, even when several processes write."""
    log = os.environ.get("CHORES_LOG")
    if log:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{text}\n".encode())
        os.close(handle)


def prepare() -> None:
    """What workers call before their first task."""
    note("prepared")


@step("chores.square", version=1, defaults={"n": 0, "pause": 0.0})
def square(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    n = settings["n"]
    time.sleep(settings["pause"])
    held = os.environ.get("CHORES_HELD", "")
    while n >= 20 and os.path.exists(held):
        time.sleep(0.02)
    note(f"square {n}")
    return {"n": n, "square": n * n, "root": n**0.5}


@step("chores.patient", version=1, defaults={"n": 0, "seconds": 1.0})
def patient(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """Takes its time, and says so now and then."""
    until = time.monotonic() + settings["seconds"]
    note(f"begin {settings['n']}")
    while time.monotonic() < until:
        time.sleep(0.05)
        progress(Step(1, 2))
    note(f"patient {settings['n']}")
    return {"n": settings["n"]}


@step("chores.noise", version=1, defaults={"seed": 0, "rows": 10})
def noise(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    note(f"noise {settings['seed']}")
    rng = np.random.default_rng(settings["seed"])
    return Arrays(
        {"x": rng.normal(size=(settings["rows"], 8)).astype(np.float32)}, {"seed": settings["seed"]}
    )


@step("chores.table", version=1, defaults={"rows": 3, "start": 0})
def table(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    rows = np.arange(settings["start"], settings["start"] + settings["rows"])
    return Table({"row": rows, "word": [f"wörd {i}" for i in rows], "x": rows / 7}, {"made": "here"})


@step("chores.map", version=1, defaults={"n": 5})
def small_map(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    n = settings["n"]
    return Map(np.arange(2.0 * n).reshape(n, 2), Items.numbered(n), kl=0.5)


@step("chores.total", version=1, defaults={"column": 0})
def total(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """Needs the result of `chores.noise`."""
    from langscape.store.results import read

    note("total")
    return {"total": float(read("arrays", inputs["noise"])["x"][:, settings["column"]].sum())}


@step("chores.lines", version=1, defaults={})
def lines(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    note("lines")
    return {"lines": len(inputs["text"].read_bytes().splitlines())}


@step("chores.meddler", version=1, defaults={})
def meddler(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """Changes its own input while working."""
    inputs["text"].write_text("something else altogether\n")
    return {}


@step("chores.broken", version=1, defaults={"how": "data"})
def broken(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Any:
    how = settings["how"]
    if how == "data":
        raise DataError("row 3 is empty; fill it")
    if how == "bug":
        return {"x": 1 / 0}
    if how == "nan":
        return {"x": float("nan")}
    if how == "type":
        return "text"
    if how == "print":
        print("this is no answer")
        return {"x": 1}
    note("dies")
    os.kill(os.getpid(), signal.SIGKILL)


@step("chores.tokens", version=1)
def tokens(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Capture:
    """A noun whose class has a version of its own."""
    note("tokens")
    return Capture(["a", "b"], {}, {})


@step("chores.count", version=1)
def count(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """Reads what another step stored."""
    found = read_noun(inputs["tokens"])
    note("count")
    return {"tokens": len(found.tokens)}
