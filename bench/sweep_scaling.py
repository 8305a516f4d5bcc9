"""What a sweep costs beyond its tasks, and how it scales: local processes and Dask, 1, 2 and 4 workers.

    python bench/sweep_scaling.py [--tasks 400] [--milliseconds 50] [--repeats 3]

Efficiency is the one-worker time over the time taken, divided by the cores that can work at once.
Overhead per task is that of tasks that do nothing: named, sent, begun, locked, stored with fsync,
reported; the time to start workers is taken off and shown beside it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langscape.data import Progress
from langscape.run.recipe import Recipe
from langscape.run.steps import step
from langscape.run.store import Store
from langscape.run.sweep import Sweep


@step("bench.spin", version=1, defaults={"n": 0, "rounds": 0})
def spin(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """A fixed amount of work for one core."""
    value = settings["n"]
    for _ in range(settings["rounds"]):
        value = (value * 6364136223846793005 + 1442695040888963407) % 2**64
    return {"value": value % 1000}


def rounds_for(milliseconds: float) -> int:
    """Rounds that take that long here, undisturbed."""
    best = min(_timed(lambda: spin({"n": 1, "rounds": 200_000}, {}, print)) for _ in range(5))
    return int(200_000 * milliseconds / 1000 / best)


def seconds(tasks: int, rounds: int, workers: int, cluster: str | None) -> float:
    """The time of a whole sweep in a fresh store."""
    root = Path(tempfile.mkdtemp(prefix="langscape-bench-"))
    try:
        recipes = {str(n): Recipe("bench.spin", {"n": n, "rounds": rounds}) for n in range(tasks)}
        sweep = Sweep(recipes, store=Store(root / "store"))
        taken = _timed(lambda: _done(sweep.run(workers=workers, cluster=cluster), tasks))
        sweep.store.index.close()
        return taken
    finally:
        shutil.rmtree(root)


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--tasks", type=int, default=400)
    read.add_argument("--milliseconds", type=float, default=50.0)
    read.add_argument("--repeats", type=int, default=3)
    args = read.parse_args()
    cores = len(os.sched_getaffinity(0))
    rounds = rounds_for(args.milliseconds)
    print(f"{args.tasks} tasks of {args.milliseconds:g} ms on {cores} cores, best of {args.repeats}\n")
    print("| backend | workers | start s | seconds | efficiency | overhead ms per task |")
    print("|---|---|---|---|---|---|")
    rows = [("in process", 0, None), *(("local processes", w, None) for w in (1, 2, 4))]
    rows += [("Dask", w, "local") for w in (1, 2, 4)]
    alone: dict[str, float] = {}
    for name, workers, cluster in rows:
        start = _best(args.repeats, 1, 0, workers, cluster)
        work = _best(args.repeats, args.tasks, rounds, workers, cluster) - start
        empty = _best(args.repeats, 2000, 0, workers, cluster) - start
        alone.setdefault(name, work)
        efficiency = alone[name] / work / min(max(workers, 1), cores)
        overhead = 1000 * empty / 2000 * min(max(workers, 1), cores)
        print(
            f"| {name} | {workers} | {start:.2f} | {work:.2f} | {efficiency:.0%} | {overhead:.2f} |",
            flush=True,
        )


def _best(repeats: int, tasks: int, rounds: int, workers: int, cluster: str | None) -> float:
    return min(seconds(tasks, rounds, workers, cluster) for _ in range(repeats))


def _timed(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _done(report: Any, tasks: int) -> None:
    if report.done != tasks:
        raise SystemExit(f"{report.done} of {tasks} tasks done: {report.failed}")


if __name__ == "__main__":
    # The step must live in a module that workers can import: this file, by its name.
    import sweep_scaling

    sweep_scaling.main()
