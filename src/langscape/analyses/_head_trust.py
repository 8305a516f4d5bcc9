"""How far a map of a head can be trusted: what it keeps, against a map of the same head without structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from langscape.analyses._restarts import head_schedules, restarted
from langscape.data import Affinities, Capture, Items, Map, Side
from langscape.metrics.null import LEAST_DRAWS, Null

if TYPE_CHECKING:
    from langscape.metrics.partners import Partners

Special = Literal["keep", "drop"]
Sinks = Literal["keep", "drop"]

SHUFFLED = 8
"""Maps of shuffled attention that the null of an atlas is read off, or 19 if there are few tokens."""

LEAST_SEVERAL = 4
"""Heads up to which each is held against maps of its own."""

EVEN = 0.95
"""The evenness from which a head has nothing to map: 1 attends to all alike."""

NEARLY_ALL = 0.9
"""The share of the weight that lies near from which a map is good: then near means attended to."""

OWN = 5
"""Maps of shuffled attention that a single head is held against, or 19 if it has few tokens."""


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """One head to be mapped: its affinities, the weights among the tokens of its map, and how much they are.

    shown is (n,) the share of each token's weight that lies among them.
    """

    affinities: Affinities
    weights: np.ndarray
    shown: np.ndarray


def head_problem(
    capture: Capture, layer: int, head: int, special: Special, sinks: Sinks, side: Side | None = None
) -> HeadProblem:
    """What the map of a head is made from, and scored by."""
    from langscape.affinity.attention import attention_among, head_tokens

    seen = head_tokens(capture, layer, head, special, sinks, side=side)
    affinities = attention_among(capture, seen, side=side)
    rows = np.searchsorted(seen.rows, affinities.items.columns["position"])
    return HeadProblem(affinities, seen.weights[np.ix_(rows, rows)], seen.shown[rows])


def head_partners(capture: Capture, map: Map, side: Side | None = None) -> Partners:
    """Whom each token of a head's map attends to most, and who attends most to it, among those on the map."""
    from langscape.metrics.partners import strongest_partners

    rows = map.items.columns["position"]
    weights = capture.attention(side).one(map.settings["layer"], map.settings["head"])
    return strongest_partners(weights[np.ix_(rows, rows)])


def shuffled_maps(n: int, least: int) -> int:
    """How many maps of shuffled data a map of n points is held against: 19 of few points, which cost little.

    >>> shuffled_maps(20, 5), shuffled_maps(80, 5), shuffled_maps(300, 5)
    (19, 7, 5)
    """
    return max(least, min(LEAST_DRAWS, 600 // n))


def null_scores(problems: Sequence[HeadProblem], steps: int, seed: int = 0) -> list[Null]:
    """What a map of each head would keep if its weights were dealt anew among the keys each token sees.

    t-SNE draws together what it can, so a map of chance keeps more than chance, and the more so the fewer
    partners a token has. A few heads from the most peaked to the most even are shuffled and mapped; for the
    others it is read off between them, by their number of partners. How far one map of chance is from the
    next is told by how far those lie from a line through them.
    """
    from langscape.metrics.kept import kept, partners, shuffled_weights

    if not problems:
        return []

    counts = np.array([partners(one.weights) for one in problems])
    order = np.argsort(counts, kind="stable")
    several = len(problems) > LEAST_SEVERAL
    most = max(len(one.weights) for one in problems)
    if several:
        places = np.linspace(0, len(order) - 1, min(len(order), shuffled_maps(most, SHUFFLED)))
        chosen = order[places.round().astype(int)].tolist()
    else:
        chosen = [at for at in range(len(problems)) for _ in range(shuffled_maps(most, OWN))]
    dealt = [shuffled_weights(problems[one].weights, seed + at) for at, one in enumerate(chosen)]
    shuffled = [shuffled_affinities(weights) for weights in dealt]
    maps = restarted(shuffled, 1, head_schedules(max(map(len, shuffled)), steps), seed)[0]
    scores = [kept(P.P, mapped.xy) for P, mapped in zip(shuffled, maps, strict=True)]
    found = np.array([one.mean for one in scores])
    least = float(np.mean([one.sd / np.sqrt(len(one.per_point)) for one in scores]))
    if not several:
        return [Null.of(each, least) for each in np.split(found, len(problems))]
    x = np.log(counts)
    slope = float(np.cov(x[chosen], found)[0, 1] / max(x[chosen].var(ddof=1), 1e-12))
    off = found - found.mean() - slope * (x[chosen] - x[chosen].mean())
    freedom = len(chosen) - 2
    sd = max(float(np.sqrt((off**2).sum() / freedom)), least)
    means = np.interp(x, x[chosen], found)
    # near a chosen head its own map is most of the mean, and as far off as one
    return [Null.around(float(mean), sd, freedom, 1.0) for mean in means]


def scored(map: Map, problem: HeadProblem, null: Null) -> Map:
    """The map with what it keeps, per token and as a whole, and what a map of shuffled attention keeps.

    The strongest partners of every token travel with it as its true neighbours.
    """
    from langscape.metrics.kept import evenness, kept, weight_near, weight_near_by_chance
    from langscape.metrics.partners import strongest_both_ways

    found = kept(problem.affinities.P, map.xy)
    even = evenness(problem.weights)
    notes = map.notes
    if even >= EVEN:
        notes = (*notes, f"nothing to map: the weight is spread evenly, {100 * even:.0f} % of uniform")
    near = weight_near(problem.affinities.P, map.xy)
    by_chance = weight_near_by_chance(problem.affinities.P, map.xy)
    quality = {
        **map.quality,
        **{"kept": found.mean, **null.beside("kept")},
        **{"weight_near": near.mean, **by_chance.beside("weight_near")},
        "k": float(found.k or 0),
    }
    per_point = {**map.per_point, "kept": found.per_point, "shown": problem.shown.astype(np.float32)}
    rows, weights = strongest_both_ways(problem.affinities.P, problem.weights)
    told = {"quality": quality, "per_point": per_point, "notes": notes}
    return map.but(**told, neighbours=rows, weights=weights)


def verdict_of(map: Map) -> str:
    """How the map of a head is to be read, in a word or two.

    It is good where nearly all weight lies near, and far more than by chance: a head that looks at one token
    is then told by its map, though a map of it shuffled would be as true. Else what it keeps decides, against
    a map of the same weights shuffled.
    """
    from langscape.metrics.scores import SCORES

    if any(note.startswith("nothing to map") for note in map.notes):
        return "evenly spread"
    near, chance = map.quality.get("weight_near", 0.0), Null.read(map.quality, "weight_near")
    if near >= NEARLY_ALL and SCORES["weight_near"].verdict(near, chance) == "good":
        return "good"
    return SCORES["kept"].verdict(map.quality["kept"], Null.read(map.quality, "kept"))


def shuffled_affinities(weights: np.ndarray) -> Affinities:
    """The affinities of weights that belong to no text."""
    from langscape.affinity.joint import joint_from_dense

    return Affinities(joint_from_dense(weights.astype(np.float32)), Items.numbered(len(weights)), {})
