"""Arrays → Affinities: who is whose neighbour.

Each way is a function `(arrays, *, settings) → Affinities` in a file of its own, with one line in
`KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable

from langscape.affinity.attention import attention
from langscape.affinity.gaussians import gaussians
from langscape.affinity.head_vectors import HeadVectors, head_vectors, heads_of
from langscape.affinity.hidden import hidden
from langscape.affinity.local import local
from langscape.affinity.points import points
from langscape.affinity.precomputed import precomputed
from langscape.affinity.query_key import align_query_key, norm_ratio, query_key
from langscape.affinity.ranks import ranks
from langscape.affinity.reciprocal import reciprocal
from langscape.affinity.scale import Scales, choose_scale
from langscape.affinity.strongest_keys import StrongestKeys, strongest_keys
from langscape.data import Affinities

KINDS: dict[str, Callable[..., Affinities]] = {
    "points": points,
    "local": local,
    "ranks": ranks,
    "reciprocal": reciprocal,
    "precomputed": precomputed,
    "attention": attention,
    "hidden": hidden,
    "query_key": query_key,
    "gaussians": gaussians,
}

__all__ = [
    "KINDS",
    "HeadVectors",
    "Scales",
    "StrongestKeys",
    "align_query_key",
    "attention",
    "choose_scale",
    "gaussians",
    "head_vectors",
    "heads_of",
    "hidden",
    "local",
    "norm_ratio",
    "points",
    "precomputed",
    "query_key",
    "ranks",
    "reciprocal",
    "strongest_keys",
]
