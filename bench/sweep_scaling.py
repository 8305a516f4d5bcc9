"""What a sweep costs beyond its tasks, and how it scales: local processes and Dask, 1, 2 and 4 workers.

    python bench/sweep_scaling.py [--tasks 400] [--milliseconds 50] [--repeats 3]

Efficiency is the one-worker time over the time taken, divided by the cores that can work at once.
Overhead per task is that of tasks that do nothing: named, sent, begun, locked, stored with fsync,
reported; the time to start workers is taken off and shown beside it. Two columns say the same on a
machine that is busy with other things: `busy`, the share of the workers' time that was spent inside
tasks, and the CPU time of a task that does nothing, in this process and all workers.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Progress
from langscape.execution.sweep import Sweep
from langscape.store.recipe import Recipe
from langscape.store.registry import step
from langscape.store.store import Store

EMPTY = 2000
"""Tasks that do nothing, to find what the sweep itself costs."""


@step("bench.spin", version=1, defaults={"n": 0, "rounds": 0})
def spin(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """A fixed amount of work for one core."""
    value = settings["n"]
    for _ in range(settings["rounds"]):
        value = (value * 6364136223846793005 + 1442695040888963407) % 2**64
    return {"value": value % 1000}


def rounds_for(milliseconds: float) -> int:
    """Rounds that take that long here, undisturbed."""
    return int(200_000 * milliseconds / 1000 / _pure(200_000))


def cost(tasks: int, rounds: int, workers: int, cluster: str | None) -> np.ndarray:
    """Wall seconds, CPU seconds (workers included) and seconds inside tasks of a sweep in a fresh store."""
    root = Path(tempfile.mkdtemp(prefix="langscape-bench-"))
    try:
        recipes = {str(n): Recipe("bench.spin", {"n": n, "rounds": rounds}) for n in range(tasks)}
        cpu = _cpu()
        sweep = Sweep(recipes, store=Store(root / "store"))
        report = sweep.run(workers=workers, cluster=cluster)
        inside = sum(entry.seconds for entry in sweep.store.entries())
        taken = np.array([report.seconds, _cpu() - cpu, inside])
        sweep.store.index.close()
    finally:
        shutil.rmtree(root)
    if report.done != tasks:
        raise SystemExit(f"{report.done} of {tasks} tasks done: {report.failed}")
    return taken


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--tasks", type=int, default=400)
    read.add_argument("--milliseconds", type=float, default=50.0)
    read.add_argument("--repeats", type=int, default=3)
    args = read.parse_args()
    cores = len(os.sched_getaffinity(0))
    rounds = rounds_for(args.milliseconds)
    print(f"{args.tasks} tasks of {args.milliseconds:g} ms on {cores} cores, best of {args.repeats}\n")
    print("| backend | workers | start s | seconds | efficiency | busy | ms per task | CPU ms per task |")
    print("|---|---|---|---|---|---|---|---|")
    rows = [("in process", 0, None), *(("local processes", w, None) for w in (1, 2, 4))]
    rows += [("Dask", w, "local") for w in (1, 2, 4)]
    alone: dict[str, float] = {}
    for name, workers, cluster in rows:
        start = best(args.repeats, 1, 0, workers, cluster)
        work = best(args.repeats, args.tasks, rounds, workers, cluster) - start
        empty = (best(args.repeats, EMPTY, 0, workers, cluster) - start) * 1000 / EMPTY
        alone.setdefault(name, work[0])
        at_once = min(max(workers, 1), cores)
        print(
            f"| {name} | {workers} | {start[0]:.2f} | {work[0]:.2f} | {alone[name] / work[0] / at_once:.0%} "
            f"| {work[2] / work[0] / max(workers, 1):.0%} | {empty[0] * at_once:.2f} | {empty[1]:.2f} |",
            flush=True,
        )


def best(repeats: int, tasks: int, rounds: int, workers: int, cluster: str | None) -> np.ndarray:
    """The cost of the quickest of several sweeps."""
    return min((cost(tasks, rounds, workers, cluster) for _ in range(repeats)), key=lambda taken: taken[0])


def _pure(rounds: int) -> float:
    def once() -> float:
        began = time.process_time()
        spin({"n": 1, "rounds": rounds}, {}, print)
        return time.process_time() - began

    return min(once() for _ in range(5))


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    # The step must live in a module that workers can import: this file, by its name.
    import sweep_scaling

    sweep_scaling.main()
