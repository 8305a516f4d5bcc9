"""Our side, called as a user calls it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.peers import Floor
from langscape import affinity
from langscape.data import Affinities, Items
from langscape.engine import Schedule, embed


def given(P: Any) -> Affinities:
    """Affinities around a P that both sides are given."""
    return Affinities(P, Items.numbered(P.shape[0]))


def optimise(
    affinities: Affinities,
    start: np.ndarray,
    schedule: Schedule,
    floor: Floor | None = None,
) -> tuple[np.ndarray, int]:
    """The descent alone, from `start`; how many steps it took is read from the map's history."""
    made = embed(
        affinities, dims=start.shape[1], initial=start, schedule=schedule, at_least=floor, quality=False
    )
    return np.asarray(made.xy), int(made.history[-1, 0])


def warm(n: int, dims: int, *, sparse: bool) -> None:
    """Compile, or load from the cache, what a run of n points needs, so that no run pays for it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10)).astype(np.float32)
    affinities = affinity.points(X, 5.0, method="neighbours" if sparse else "exact")
    floor = (None, None, *[0.001] * (dims - 2)) if dims == 4 else None
    embed(affinities, dims=dims, schedule=Schedule(steps=60, early_steps=20), at_least=floor)
