"""How far a map of a head can be trusted: what it keeps, against a map of the same head without structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langscape.data import Affinities, Items, Map

SHUFFLED = 8
"""Maps of shuffled attention that the null of an atlas is read off; a single head has three of its own."""


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """One head to be mapped: its affinities, and the weights among the tokens of its map."""

    affinities: Affinities
    weights: np.ndarray

    @property
    def chance(self) -> float:
        """What a map would keep on which the tokens lie anyhow."""
        from langscape.metrics.scores import neighbours

        n = len(self.affinities)
        return neighbours(n) / (n - 1)


def null_scores(problems: Sequence[HeadProblem], steps: int, seed: int = 0) -> np.ndarray:
    """What a map of each head would keep if its weights were dealt anew among the keys each token sees.

    t-SNE draws together what it can, so a map of chance keeps more than chance, and the more so the fewer
    partners a token has. A few heads from the most peaked to the most even are shuffled and mapped; for the
    others it is read off between them, by their number of partners.
    """
    from langscape.analyses.atlas import head_schedules, restarted
    from langscape.metrics.kept import kept, partners, shuffled_weights

    counts = np.array([partners(one.weights) for one in problems])
    if len(problems) == 1:
        chosen, seeds = [0, 0, 0], [seed, seed + 1, seed + 2]
    else:
        order = np.argsort(counts, kind="stable")
        chosen = sorted(set(order[np.linspace(0, len(order) - 1, SHUFFLED).round().astype(int)].tolist()))
        seeds = [seed] * len(chosen)
    shuffled = [
        _affinities(shuffled_weights(problems[i].weights, s)) for i, s in zip(chosen, seeds, strict=True)
    ]
    maps = restarted(shuffled, 1, head_schedules(len(shuffled[0]), steps), seed)[0]
    found = np.array([kept(np.asarray(P.P), made.xy).mean for P, made in zip(shuffled, maps, strict=True)])
    if len(problems) == 1:
        return np.array([found.mean()])
    at = np.log(counts[chosen])
    order = np.argsort(at, kind="stable")
    return np.interp(np.log(counts), at[order], found[order])


def scored(made: Map, problem: HeadProblem, null: float) -> Map:
    """The map with what it keeps, per token and as a whole, and what a map of chance keeps."""
    from langscape.metrics.kept import kept, verdict

    found = kept(np.asarray(problem.affinities.P), made.xy)
    quality = {**made.quality, "kept": found.mean, "kept_null": null, "kept_chance": problem.chance}
    per_point = {**made.per_point, "kept": found.per_point}
    return made.but(
        quality=quality, per_point=per_point, settings={**made.settings, "verdict": verdict(found.mean, null)}
    )


def _affinities(weights: np.ndarray) -> Affinities:
    from langscape.affinity.joint import joint_from_dense

    return Affinities(
        joint_from_dense(np.ascontiguousarray(weights, np.float32)), Items.numbered(len(weights)), {}
    )
