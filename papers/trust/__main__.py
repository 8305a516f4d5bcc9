"""Do the scores tell good pictures from bad? Every score on planted truth that is damaged little by little.

    python -m papers.trust
    python -m papers.trust --points 600 --seeds 5

A row per picture, way to damage it, and score: its value on the good picture, on the picture with nothing
left, its null, and the rank correlation of the score with how much is left. A score holds where that
correlation is at least 0.9 and the picture with nothing left is not called better than the null. Below stands
how often random pictures of few items are called better than the null, which may be one in twenty (few.py).
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from langscape.metrics.scores import PARTLY, Score, score_of
from papers.trust.few import report
from papers.trust.planted import Trial, trials

LEAST = 0.9
"""The rank correlation with planted damage that a score must have."""


@dataclass(frozen=True)
class Row:
    """One score of one picture under one kind of damage."""

    picture: str
    damage: str
    name: str
    good: float
    bad: float
    null: float
    follows: float
    rests: float

    @property
    def holds(self) -> bool:
        """True if the score falls with the picture, and has nothing left where the picture has not."""
        return self.follows >= LEAST and (math.isnan(self.rests) or self.rests < PARTLY)


def measured(trial: Trial, levels: int = 9, seeds: int = 3) -> list[Row]:
    """The rows of one trial: each score at so many levels of damage, each several times."""
    damages = np.linspace(0, 1, levels)
    found = [[trial.measure(float(damage), seed) for damage in damages] for seed in range(seeds)]
    rows = []
    for name in found[0][0]:
        values = np.array([[one[name][0] for one in run] for run in found])
        null = float(np.mean([run[-1][name][1] for run in found]))
        rows.append(told(trial, name, damages, values, null))
    return rows


def told(trial: Trial, name: str, damages: np.ndarray, values: np.ndarray, null: float) -> Row:
    """A row from the values (seeds, levels) of a score."""
    score = score_of(name)
    assert score is not None, name
    sign = -1.0 if score.better == "lower" else 1.0
    constant = np.ptp(values) == 0
    left = np.tile(-damages, len(values))
    follows = 0.0 if constant else float(np.asarray(spearmanr(sign * values.ravel(), left))[0])
    good, bad = values[:, 0].mean(), values[:, -1].mean()
    return Row(trial.picture, trial.damage, name, good, bad, null, follows, _way(score, bad, null))


def _way(score: Score, value: float, null: float) -> float:
    return score.way(float(value), null) if score.null else math.nan


def lines(rows: list[Row]) -> list[str]:
    """The table."""
    out = [f"{'picture':<18} {'damage':<19} {'score':<17} {'good':>7} {'bad':>7} {'null':>7} {'ρ':>6}  holds"]
    for one in rows:
        numbers = " ".join("      –" if math.isnan(x) else f"{x:7.3f}" for x in (one.good, one.bad, one.null))
        said = "yes" if one.holds else "NO"
        out.append(f"{one.picture:<18} {one.damage:<19} {one.name:<17} {numbers} {one.follows:6.3f}  {said}")
    return out


def main() -> None:
    """Print the table; the command fails where a score does not hold."""
    options = argparse.ArgumentParser(
        prog="python -m papers.trust",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--points", type=int, default=240)
    options.add_argument("--levels", type=int, default=9)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--draws", type=int, default=400, help="random pictures of few items")
    asked = options.parse_args()
    rows = [row for trial in trials(asked.points) for row in measured(trial, asked.levels, asked.seeds)]
    print("\n".join(lines(rows)))
    failing = [one for one in rows if not one.holds]
    print(f"{len(rows) - len(failing)} of {len(rows)} hold\n", flush=True)
    sys.exit(1 if report(asked.draws) or failing else 0)


if __name__ == "__main__":
    main()
