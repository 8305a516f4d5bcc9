"""What maps of hidden states and maps of heads keep, against maps of the same data shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.analyses._head_trust import shuffled_maps
from langscape.analyses._restarts import restarted
from langscape.data import Affinities, Items, Map
from langscape.metrics.null import Null

if TYPE_CHECKING:
    from langscape.engine import Schedule

SHUFFLED = 5
"""Maps of shuffled data that a map is held against, or up to 19 if it has few points."""

_HEAD_PERPLEXITY = 10.0
_HEAD_RESTARTS = 4


def hidden_kept(map: Map, near: Affinities, schedules: Sequence[Schedule], seed: int = 0) -> Map:
    """A map of hidden states with what it keeps, and what maps of states shuffled within each dimension keep.

    near is what the map was made from, with its vectors; fewer than 4 points have nothing to keep.
    """
    from langscape.affinity import points
    from langscape.metrics.kept import shuffled_states

    if near.vectors is None or len(near) < 4:
        return map
    perplexity: Any = near.settings["perplexity"]
    dealt = [
        points(shuffled_states(near.vectors, seed + at), perplexity, near.metric)  # type: ignore[arg-type]
        for at in range(shuffled_maps(len(near), SHUFFLED))
    ]
    maps = restarted(dealt, 1, schedules, seed)[0]
    return with_kept(map, near.P, dealt, maps)


def map_heads(distances: np.ndarray, heads: Items, seed: int = 0) -> Map | None:
    """Where heads lie among each other, by how far apart they attend, (heads, heads); None for fewer than 4.

    It says what it keeps, against maps of the same distances dealt anew among the pairs.
    """
    from langscape.affinity import precomputed
    from langscape.engine import embed_many
    from langscape.metrics.kept import shuffled_distances

    n = len(heads)
    if n < 4:
        return None
    perplexity = min(_HEAD_PERPLEXITY, (n - 1) / 3)
    dealt = (shuffled_distances(distances, seed + at) for at in range(shuffled_maps(n, SHUFFLED)))
    tables = [np.asarray(distances), *dealt]
    problems = [precomputed(one, "distances", perplexity=perplexity, items=heads) for one in tables]
    map, *maps = embed_many(problems, restarts=_HEAD_RESTARTS, seed=seed, quality=False)
    return with_kept(map, problems[0].P, problems[1:], maps)


def head_map_line(map: Map | None) -> list[str]:
    """What the command says of the map of heads, in a line; nothing where there is none."""
    from langscape.views import trust

    return [] if map is None else [f"map of heads: {trust.summary(map)}"]


def with_kept(map: Map, P: Any, shuffled: Sequence[Affinities], maps: Sequence[Map]) -> Map:
    """The map with what it keeps of P, per point and as a whole, and what maps of shuffled data keep."""
    from langscape.metrics.kept import kept

    found = kept(P, map.xy)
    dealt = [kept(one.P, mapped.xy) for one, mapped in zip(shuffled, maps, strict=True)]
    least = float(np.mean([one.sd for one in dealt])) / np.sqrt(len(map))
    null = Null.of([one.mean for one in dealt], least).beside("kept")
    quality = {**map.quality, "kept": found.mean, **null, "k": float(found.k or 0)}
    return map.but(quality=quality, per_point={**map.per_point, "kept": found.per_point})
