"""Runs a sweep of squares as a process of its own, so that tests can kill it.

python drive.py STORE TASKS PAUSE WORKERS [CLUSTER] [--limit BYTES]
"""

from __future__ import annotations

import os
import resource
import sys

sys.path.insert(0, os.path.dirname(__file__))

import chores  # noqa: F401

from langscape.errors import LangscapeError
from langscape.run.recipe import Recipe
from langscape.run.store import Store
from langscape.run.sweep import Sweep


def tasks(count: int, pause: float) -> dict[str, Recipe]:
    """Figures, and every tenth task arrays, so that both ways of storing are hit."""
    return {
        f"{i}": Recipe("chores.noise", {"seed": i, "rows": 500})
        if i % 10 == 0
        else Recipe("chores.square", {"n": i, "pause": pause})
        for i in range(count)
    }


def main() -> None:
    args = sys.argv[1:]
    if "--limit" in args:
        place = args.index("--limit")
        bytes_ = int(args[place + 1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))
        del args[place : place + 2]
    root, count, pause, workers, *cluster = args
    sweep = Sweep(tasks(int(count), float(pause)), store=Store(root))
    try:
        report = sweep.run(workers=int(workers), cluster=cluster[0] if cluster else None)
        print(f"done {report.done} failed {len(report.failed)}")
    except LangscapeError as error:
        print(f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
