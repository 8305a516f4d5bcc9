"""Runs a sweep of squares as a process of its own, so that tests can kill it.

python drive.py STORE TASKS PAUSE WORKERS [CLUSTER] [--rows N] [--limit BYTES]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys

sys.path.insert(0, os.path.dirname(__file__))

import chores  # noqa: F401

from langscape.errors import LangscapeError
from langscape.execution.sweep import Sweep
from langscape.store.recipe import Recipe
from langscape.store.store import Store


def tasks(count: int, pause: float, rows: int = 500) -> dict[str, Recipe]:
    """Figures, and every tenth task arrays, so that both ways of storing are hit."""
    return {
        f"{i}": Recipe("chores.noise", {"seed": i, "rows": rows})
        if i % 10 == 0
        else Recipe("chores.square", {"n": i, "pause": pause})
        for i in range(count)
    }


def main() -> None:
    read = argparse.ArgumentParser()
    for name, kind in (("root", str), ("count", int), ("pause", float), ("workers", int)):
        read.add_argument(name, type=kind)
    read.add_argument("cluster", nargs="?")
    read.add_argument("--rows", type=int, default=500)
    read.add_argument("--limit", type=int)
    args = read.parse_args()
    if args.limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (args.limit, args.limit))
    sweep = Sweep(tasks(args.count, args.pause, args.rows), store=Store(args.root))
    try:
        report = sweep.run(workers=args.workers, cluster=args.cluster)
        print(f"done {report.done} failed {len(report.failed)}")
    except LangscapeError as error:
        print(f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
