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
    from langscape.metrics import stability, stability_by_chance

    runs = restarted(problems, restarts, schedules, seed, progress)
    best: list[Map] = []
    figures: dict[str, list[float]] = {"kl": [], "kl_sd": [], "stability": [], "stability_null": []}
    for tries in zip(*runs, strict=True):
        kls = np.array([one.kl for one in tries])
        winner = tries[int(np.nanargmin(kls))]
        settings = {
            **winner.settings, "initial": "pca", "seed": seed, "restarts": restarts,
            "kept": seed + int(np.nanargmin(kls)),
        }  # fmt: skip
        best.append(winner.but(kls=kls, settings=settings))
        figures["kl"].append(winner.kl)
        figures["kl_sd"].append(float(kls.std()) if restarts > 1 else np.nan)
        figures["stability"].append(stability(tries).mean if restarts > 1 else np.nan)
        figures["stability_null"].append(stability_by_chance(tries) if restarts > 1 else np.nan)
    return best, {name: np.array(values) for name, values in figures.items()}


def restarted(
    problems: Sequence[Affinities],
    restarts: int,
    schedules: Sequence[Schedule],
    seed: int = 0,
    progress: Progress | None = None,
) -> list[list[Map]]:
    """Every run of every problem, restart by restart; the first begins at PCA, the others at random."""
    from langscape.engine import embed_many

    if not isinstance(restarts, int) or restarts < 1:
        raise SettingsError(f"restarts {restarts!r} must be a whole number of at least 1")
    tell = progress or (lambda step: None)
    runs: list[list[Map]] = []
    for r in range(restarts):

        def count(step: Step, r: int = r) -> None:
            # a reader counts heads, or the restarts of one; steps of a descent are ours alone
            share = (r + step.done / max(step.total, 1)) / restarts
            units, doing = (len(problems), "heads mapped") if len(problems) > 1 else (restarts, "restarts")
            tell(Step(int(share * units), units, doing, step.figures))

        start = "pca" if r == 0 else "random"
        schedule = schedules[r % len(schedules)]
        runs.append(embed_many(problems, 2, start, schedule, quality=False, seed=seed + r, progress=count))
    return runs
