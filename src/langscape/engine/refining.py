"""Many short restarts, of which the best goes on: the map of lowest KL at half the cost of long ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langscape.data import Affinities, Map, Progress
from langscape.engine.descent import Landing, Tasks, Watch
from langscape.engine.embed import check_affinities, diverged, engine_for, free_floor, made_map
from langscape.engine.initial import start
from langscape.engine.schedule import Schedule
from langscape.errors import Cancelled
from langscape.kernels.linear import blocks, side_by_side


@dataclass(frozen=True, eq=False)
class Refined:
    """What came of the restarts of one problem.

    map   the best restart, after it went on; `kls` are those of the short restarts, and of the best its last
    kls   (restarts,) the KL of every restart when it ended, the best like the others
    runs  (n, 2) where each restart ended
    """

    map: Map
    kls: np.ndarray
    runs: tuple[np.ndarray, ...]


def are_small(problems: Sequence[Affinities]) -> bool:
    """Whether all of these are dense and small enough to run side by side."""
    return all(engine_for(one, 2, free_floor(2), "auto") == "tasks" for one in problems)


def refine_best(
    problems: Sequence[Affinities],
    restarts: int,
    schedules: Sequence[Schedule],
    further: Schedule,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Refined]:
    """Of each small problem the restart of lowest KL, which then goes on by the schedule `further`.

    Restarts take the schedules in turn; the first begins at PCA, the others at random.
    """
    for one in problems:
        check_affinities(one)
    starts = _starts(problems, restarts, seed)
    shape = len(problems), restarts
    kls, runs = np.empty(shape), [[np.empty(0)] * restarts for _ in problems]
    used = [schedules[r % len(schedules)] for r in range(restarts)]
    watch = Watch(len(problems) * (sum(one.steps for one in used) + further.steps), progress)
    matrices = [one.P for one in problems]
    try:
        for at, schedule in enumerate(schedules[:restarts]):
            group = range(at, restarts, len(schedules))
            tasks = Tasks(
                matrices, [[places[r] for r in group] for places in starts], schedule, free_floor(2)
            )
            _run(tasks, watch)
            kls[:, group] = tasks.kls().reshape(len(problems), len(group))
            for task, xy in enumerate(tasks.places()):
                runs[task // len(group)][group[task % len(group)]] = xy
        if not np.isfinite(kls).any(axis=1).all():
            raise diverged(schedules[0])
        best = np.nanargmin(kls, axis=1)
        tasks = Tasks(matrices, [[runs[b][r]] for b, r in enumerate(best)], further, free_floor(2))
        _run(tasks, watch)
    except KeyboardInterrupt:
        raise Cancelled(f"stopped while {len(problems)} maps were made; nothing was kept") from None
    found = []
    for b, (one, xy, kl) in enumerate(zip(problems, tasks.places(), tasks.kls(), strict=True)):
        short = float(kls[b, best[b]])
        if not kl <= short:  # a map that is at rest may be shaken off its place
            xy, kl = runs[b][best[b]], short
        schedule = used[best[b]]
        history = np.array([[schedule.steps, short], [schedule.steps + further.steps, kl]])
        made = made_map(one, "tasks", [Landing(xy, float(kl), history)], schedule, "pca", None, [seed], False)
        every = np.where(np.arange(restarts) == best[b], made.kl, np.maximum(kls[b], 0.0))
        settings = {
            **made.settings, "further": further.settings(), "restarts": restarts, "kept": seed + int(best[b]),
        }  # fmt: skip
        found.append(Refined(made.but(kls=every, settings=settings), kls[b], tuple(runs[b])))
    return found


def _starts(problems: Sequence[Affinities], restarts: int, seed: int) -> list[list[np.ndarray]]:
    """Where the restarts of each problem begin; eigenvectors of several problems are found side by side."""
    found: list[list[np.ndarray]] = [[] for _ in problems]

    def work(part: slice) -> None:
        for at in range(part.start, part.stop):
            found[at] = [start(problems[at], "random" if r else "pca", 2, seed + r) for r in range(restarts)]

    side_by_side(work, blocks(len(problems), 6))
    return found


def _run(tasks: Tasks, watch: Watch) -> None:
    before, count = watch.done, tasks.problem.size
    tasks.advance(tasks.schedule.steps, lambda step: watch.at(before + step * count, math.nan))
