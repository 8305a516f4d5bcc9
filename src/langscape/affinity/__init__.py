"""Arrays → Affinities: who is whose neighbour.

Each way is a function `(arrays, *, settings) → Affinities` in a file of its own, with one line in
`KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable

from langscape.affinity.attention import attention
from langscape.affinity.gaussians import gaussians
from langscape.affinity.local import local
from langscape.affinity.points import points
from langscape.affinity.precomputed import precomputed
from langscape.data import Affinities

KINDS: dict[str, Callable[..., Affinities]] = {
    "points": points,
    "local": local,
    "precomputed": precomputed,
    "attention": attention,
    "gaussians": gaussians,
}

__all__ = ["KINDS", "attention", "gaussians", "local", "points", "precomputed"]
