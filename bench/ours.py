"""Our side, called as a user calls it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
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


def seconds_to(affinities: Affinities, start: np.ndarray, kls: Mapping[str, float]) -> dict[str, float]:
    """CPU seconds of our descent, by its own default schedule, until its KL is that of each peer.

    The step is found by looking every ten steps; then so many steps are run again with one look at their end.
    A KL that 1,000 steps do not reach is NaN.
    """
    seen: list[tuple[int, float]] = []
    how: dict[str, Any] = {"dims": start.shape[1], "initial": start, "schedule": Schedule(), "quality": False}
    embed(affinities, **how, callback=lambda step, kl, _: seen.append((step, kl)), callback_every=10)
    found: dict[str, float] = {}
    for name, wanted in kls.items():
        step = next((at for at, kl in seen if kl <= wanted), None)
        if step is None:
            found[name] = math.nan
            continue
        begun = time.process_time()
        embed(affinities, **how, callback=lambda *_: True, callback_every=step)
        found[name] = time.process_time() - begun
    return found


def warm(n: int, dims: int, *, sparse: bool) -> None:
    """Compile, or load from the cache, what a run of n points needs, so that no run pays for it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10)).astype(np.float32)
    affinities = affinity.points(X, 5.0, method="neighbours" if sparse else "exact")
    floor = (None, None, *[0.001] * (dims - 2)) if dims == 4 else None
    embed(affinities, dims=dims, schedule=Schedule(steps=60, early_steps=20), at_least=floor)
