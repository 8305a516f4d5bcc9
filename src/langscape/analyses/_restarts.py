"""Maps of tokens from many starts: which schedules restarts take, and what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from langscape.data import Affinities, Map, Progress, Step
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.engine import Schedule

Embedded = tuple[list[Map], dict[str, np.ndarray]]
"""Maps of heads, and for each of them kl, kl_sd and stability."""


def head_schedules(n: int, steps: int = 1000) -> list[Schedule]:
    """The three schedules that restarts of a head of n tokens take in turn.

    No single one is good for all heads. Heads that read the text in order are long chains, and unfold only
    with much exaggeration; flat ones fall into a point under it and never leave, so the last has little.
    All take small steps, or points shake around the hub of a peaked head, and come to rest at the end.
    """
    from langscape.engine import Schedule

    def schedule(factor: float, early: int, rates: tuple[int, int], momentum: float) -> Schedule:
        first, after = (max(n / part, 1.0) for part in rates)
        return Schedule(
            steps=steps,
            early_exaggeration=factor,
            early_steps=early * steps // 10,
            switch=steps // 4,
            learning_rate=(first, after),
            momentum=(momentum, 0.9),
            settle=3 * steps // 10,
        )

    return [schedule(3.0, 2, (24, 12), 0.8), schedule(6.0, 2, (48, 8), 0.5), schedule(1.5, 3, (24, 12), 0.8)]


SHORT = 0.4
"""The share of its steps that each of several restarts runs, before the best goes on for all of them."""


def embed_best(
    problems: Sequence[Affinities],
    n: int,
    restarts: int,
    steps: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> Embedded:
    """The maps of lowest KL of short restarts, which then go on, and the figures of `embed_restarts`.

    Each restart runs two fifths of the steps by the schedules for n tokens, and the best as many steps as are
    asked for behind them: half the cost of running all to the end, and no higher KL. Spread and stability
    are of the short restarts, which all end alike. Large problems, and single restarts, run to the end.
    """
    from langscape.engine import Schedule
    from langscape.engine.refining import are_small, refine_best

    check_restarts(restarts)
    if restarts == 1 or not are_small(problems):
        return embed_restarts(problems, restarts, head_schedules(n, steps), seed, progress)
    further = Schedule(
        steps=steps,
        early_exaggeration=1.0,
        early_steps=0,
        learning_rate=max(n / 12, 1.0),
        momentum=(0.9, 0.9),
        settle=steps // 2,
    )
    short = head_schedules(n, max(10, round(SHORT * steps)))
    counted = _counted(len(problems), restarts, progress)
    found = refine_best(problems, restarts, short, further, seed, counted)
    best = [one.map for one in found]
    return best, _figures(best, [one.kls for one in found], [one.runs for one in found])


def embed_restarts(
    problems: Sequence[Affinities],
    restarts: int,
    schedules: Sequence[Schedule],
    seed: int = 0,
    progress: Progress | None = None,
) -> Embedded:
    """The maps of lowest KL, and for each problem kl, kl_sd and stability, with its null, over its restarts.

    The restarts take the schedules in turn; with a single one they are those of `embed_many`.
    """
    best: list[Map] = []
    every: list[np.ndarray] = []
    places: list[tuple[np.ndarray, ...]] = []
    for tries in zip(*restarted(problems, restarts, schedules, seed, progress), strict=True):
        kls = np.array([one.kl for one in tries])
        winner = tries[int(np.nanargmin(kls))]
        settings = {
            **winner.settings, "initial": "pca", "seed": seed, "restarts": restarts,
            "kept": seed + int(np.nanargmin(kls)),
        }  # fmt: skip
        best.append(winner.but(kls=kls, settings=settings))
        every.append(kls)
        places.append(tuple(one.xy for one in tries))
    return best, _figures(best, every, places)


def _figures(
    best: Sequence[Map], kls: Sequence[np.ndarray], runs: Sequence[tuple[np.ndarray, ...]]
) -> dict[str, np.ndarray]:
    """kl, kl_sd, stability and its null of every problem; NaN where there was one restart.

    A problem alone has the range of its null as well; over the heads of an atlas that would take longer than
    their maps, and verdicts are by `kept` there.
    """
    from langscape.metrics.stability import chance_of_each, stability_by_chance, stability_of_each

    several = bool(runs) and len(runs[0]) > 1
    blank = np.full(len(best), np.nan)
    alone = stability_by_chance(runs[0]).beside("stability") if several and len(runs) == 1 else {}
    return {
        "kl": np.array([one.kl for one in best]),
        "kl_sd": np.array([float(one.std()) for one in kls]) if several else blank,
        "stability": np.array([one.mean for one in stability_of_each(runs)]) if several else blank,
        "stability_null": chance_of_each(runs) if several else blank,
        **({name: np.array([value]) for name, value in alone.items()}),
    }


def check_restarts(restarts: int) -> None:
    """Refuse a number of restarts that is none."""
    if not isinstance(restarts, int) or restarts < 1:
        raise SettingsError(f"restarts {restarts!r} must be a whole number of at least 1")


def restarted(
    problems: Sequence[Affinities],
    restarts: int,
    schedules: Sequence[Schedule],
    seed: int = 0,
    progress: Progress | None = None,
) -> list[list[Map]]:
    """Every run of every problem, restart by restart; the first begins at PCA, the others at random."""
    from langscape.engine import embed_many

    check_restarts(restarts)
    runs: list[list[Map]] = []
    for r in range(restarts):
        start = "pca" if r == 0 else "random"
        schedule = schedules[r % len(schedules)]
        counted = _counted(len(problems), restarts, progress, r / restarts, 1 / restarts)
        runs.append(embed_many(problems, 2, start, schedule, quality=False, seed=seed + r, progress=counted))
    return runs


def _counted(
    problems: int, restarts: int, progress: Progress | None, before: float = 0.0, part: float = 1.0
) -> Progress:
    """Steps of a descent, a part of all, told as what a reader counts: heads, or the restarts of one."""
    units, doing = (problems, "heads mapped") if problems > 1 else (restarts, "restarts")

    def tell(step: Step) -> None:
        if progress is not None:
            share = before + part * step.done / max(step.total, 1)
            progress(Step(int(share * units), units, doing, step.figures))

    return tell
