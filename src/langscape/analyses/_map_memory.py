"""How much memory a whole map takes, told before it is begun: an estimate from measured runs."""

from __future__ import annotations

import math
from dataclasses import replace

from langscape.data import Progress, Step
from langscape.errors import TooLargeError, WayOut
from langscape.memory_limits import SHARE, available_memory, size

SAID_FROM = 100_000
"""Items from which a map says what it takes: smaller ones need less than a gigabyte."""

_FIXED = 4e8
_PER_NUMBER = 12.0
_PER_NEIGHBOUR = 27.0
"""Bytes of the program itself, of each number of a vector, and of each neighbour of an item.

Vectors are held as read, and once more in float64 for the start and the scores; neighbours as P, in both
directions, and as P in the order of the map. 341,479 × 100 took 1.59 GB, its files included.
"""


def map_memory(n: int, dim: int, perplexity: float = 30.0) -> float:
    """Bytes that a 2-D map of n vectors takes at its peak, about.

    >>> round(map_memory(341_479, 100) / 1e9, 1)
    1.6
    """
    neighbours = min(n - 1, math.ceil(3 * perplexity))
    return _FIXED + n * (_PER_NUMBER * dim + _PER_NEIGHBOUR * neighbours)


def check_map_memory(n: int, dim: int, needed: float, *, available: int | None = None) -> None:
    """Refuse a large map that does not fit, with how many words would."""
    free = available_memory() if available is None else available
    if free is None or needed <= SHARE * free or needed < map_memory(SAID_FROM, 0):
        return
    fits = int(n * max(0.0, SHARE * free - _FIXED) / (needed - _FIXED)) if needed > _FIXED else n
    fits = max(3, fits // 1000 * 1000)
    landmarks = min(fits, 20_000)
    raise TooLargeError(
        f"a map of {n:,} words × {dim} takes about {size(needed)}, but {size(free)} are available",
        [
            WayOut(f"the first {fits:,} words", "limit", fits),
            WayOut(f"{landmarks:,} landmarks, the others placed among them", "landmarks", landmarks),
        ],
    )


def saying(needed: float, progress: Progress | None) -> Progress | None:
    """A progress that says how much memory a large map takes, beside what it does."""
    if progress is None or needed < map_memory(SAID_FROM, 0):
        return progress

    def tell(step: Step) -> None:
        progress(replace(step, doing=f"{step.doing} (about {size(needed)} of memory)"))

    return tell
