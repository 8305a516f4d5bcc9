"""Pictures of which the truth is planted, and ways to damage them little by little.

A `Trial` is one picture and one way to damage it: `measure(damage, seed)` damages it by so much, from 0 (as
good as it can be) to 1 (nothing left), and gives each score with its null. Damage is nested: what was damaged
a little stays damaged as it grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape import metrics
from langscape.data import Gaussians, Items, Map
from langscape.metrics.scores import QueryKeyPlaces, applying

Found = dict[str, tuple[float, float]]
"""Scores by name: value, and the mean of its null; NaN where there is none."""


@dataclass(frozen=True)
class Trial:
    """A picture, a way to damage it, and what is measured then."""

    picture: str
    damage: str
    measure: Callable[[float, int], Found]


def trials(n: int = 240) -> list[Trial]:
    """Every picture with every way to damage it; maps have n points."""
    spread, more = _clusters(n), _clusters(4 * n)
    return [
        *(
            Trial("map of vectors", name, lambda d, s, hurt=hurt: _map(spread, hurt(spread, d, s)))
            for name, hurt in _DAMAGES.items()
        ),
        Trial("inserted points", "points moved", lambda d, s: _inserted(more, d, s)),
        Trial("map of a head", "tokens moved", lambda d, s: _head(n // 2, d, s)),
        Trial("restarts of a map", "points moved", lambda d, s: _restarts(spread, d, s)),
        Trial("queries and keys", "queries shuffled", lambda d, s: _query_key(d, s)),
        Trial("queries and keys", "keys moved", lambda d, s: _query_key(d, s, keys=True)),
        Trial("ellipses", "rows exchanged", lambda d, s: _ellipses(2 * n, d, s)),
        Trial("ellipses", "sizes exchanged", lambda d, s: _sizes(2 * n, d, s)),
        Trial("occurrences", "rows exchanged", lambda d, s: _occurrences(n, d, s)),
        Trial("ellipses", "directions lost", lambda d, s: _angles(n // 2, d, s)),
        Trial("two maps", "points moved", lambda d, s: _compared(spread, d, s)),
        Trial("two heads", "rows exchanged", lambda d, s: _two_heads(n // 2, d, s)),
        Trial("a head two ways", "tokens moved", lambda d, s: _agreement(spread, d, s)),
        Trial("colours of words", "colours exchanged", lambda d, s: _colours(spread, d, s)),
    ]  # fmt: skip


def one_spread(rows: np.ndarray, seed: int = 0, dim: int = 20) -> Gaussians:
    """Items of one and the same spread, of so many rows each."""
    rng = np.random.default_rng(seed)
    return _gaussians([mean + rng.normal(size=(count, dim)) for mean, count in
                       zip(3 * rng.normal(size=(len(rows), dim)), rows, strict=True)])  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Planted:
    """Points of a plane in clusters of twenty, and the same turned into a space of twenty dimensions."""

    plane: np.ndarray
    vectors: np.ndarray
    cluster: np.ndarray


def _clusters(n: int, dim: int = 20) -> _Planted:
    rng = np.random.default_rng(5)
    cluster = np.arange(n) % (n // 20)
    plane = 12 * rng.normal(size=(n // 20, 2))[cluster] + rng.normal(size=(n, 2))
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return _Planted(plane, np.column_stack([plane, 0.02 * rng.normal(size=(n, dim - 2))]) @ turn, cluster)


def _some(n: int, damage: float, rng: np.random.Generator) -> np.ndarray:
    """The first so many of a fixed order."""
    return rng.permutation(n)[: round(damage * n)]


def _moved(given: _Planted, damage: float, seed: int) -> np.ndarray:
    """Points at places that others of the picture could have."""
    rng = np.random.default_rng(seed)
    rows, out = _some(len(given.plane), damage, rng), given.plane.copy()
    places = given.plane[rng.permutation(len(out))] + rng.normal(size=out.shape)
    out[rows] = places[rows]
    return out


def _swapped(given: _Planted, damage: float, seed: int) -> np.ndarray:
    """Pairs of points of different clusters exchanged."""
    rng = np.random.default_rng(seed)
    n = len(given.plane)
    out = given.plane.copy()
    pairs = rng.permutation(n)[: n // 2 * 2].reshape(-1, 2)[: round(damage * (n // 2))]
    out[pairs[:, 0]], out[pairs[:, 1]] = given.plane[pairs[:, 1]], given.plane[pairs[:, 0]]
    return out


def _torn(given: _Planted, damage: float, seed: int) -> np.ndarray:
    """Clusters torn off, one after the other, their points strewn over the picture."""
    rng = np.random.default_rng(seed)
    turn = rng.permutation(given.cluster.max() + 1)[given.cluster]
    rows = np.argsort(turn, kind="stable")[: round(damage * len(turn))]
    out = given.plane.copy()
    strewn = rng.uniform(out.min(axis=0), out.max(axis=0), size=out.shape)
    out[rows] = strewn[rows]
    return out


_DAMAGES = {"points moved": _moved, "neighbours swapped": _swapped, "clusters torn": _torn}


def _map(given: _Planted, xy: np.ndarray) -> Found:
    figures, _ = metrics.quality(given.vectors, xy)
    return {
        one.name: (figures[one.name], figures[f"{one.name}_null"]) for one in applying("map", computed=True)
    }


def _inserted(given: _Planted, damage: float, seed: int) -> Found:
    from langscape.engine.insertion_quality import insertion_by_chance, insertion_quality

    n = len(given.plane)
    new = np.arange(n) % 3 == 0
    placed = _moved(given, damage, seed)[new]
    xy, known, added = (
        np.ascontiguousarray(part, np.float32)
        for part in (given.plane[~new], given.vectors[~new], given.vectors[new])
    )
    found = insertion_quality(xy, known, placed.astype(np.float32), added, 10)
    chance = insertion_by_chance(xy, known, added, 10)
    return {f"inserted_{name}": (float(values.mean()), chance[name].mean) for name, values in found.items()}


def _head(n: int, damage: float, seed: int) -> Found:
    """Tokens on a ring that attend to those near them; a third of all weight falls on chance."""
    from langscape.analyses._head_trust import HeadProblem, null_scores, shuffled_affinities

    rng = np.random.default_rng(4)
    angle = 2 * np.pi * rng.permutation(n) / n
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    weights = np.exp(-40 * ((ring[:, None] - ring[None]) ** 2).sum(axis=-1))
    weights /= weights.sum(axis=1, keepdims=True)
    problem = HeadProblem(shuffled_affinities(weights), weights, np.ones(n))
    chance = np.random.default_rng(seed)
    rows = _some(n, damage, chance)
    places = ring.copy()
    places[rows] = ring[chance.permutation(n)][rows]
    if n not in _NULLS:
        _NULLS[n] = null_scores([problem], 500)[0].mean
    P = problem.affinities.P
    return {
        "kept": (metrics.kept(P, places).mean, _NULLS[n]),
        "weight_near": (metrics.weight_near(P, places).mean, metrics.weight_near_by_chance(P, places).mean),
    }


_NULLS: dict[int, float] = {}
"""The null of a planted head by its tokens, which damage does not change."""


def _restarts(given: _Planted, damage: float, seed: int) -> Found:
    maps = [_moved(given, damage, 100 * seed + run) for run in range(5)]
    return {"stability": (metrics.stability(maps).mean, metrics.stability_by_chance(maps).mean)}


def _query_key(damage: float, seed: int, keys: bool = False) -> Found:
    """Sentences on a circle: q·k is how near a key lies to a query, and how popular it is with all."""
    rng = np.random.default_rng(3)
    each, sentences = 14, 8
    n = each * sentences

    def circle(turn: float) -> np.ndarray:
        angle = np.concatenate([2 * np.pi * (rng.permutation(each) + turn) / each for _ in range(sentences)])
        return np.column_stack([np.cos(angle), np.sin(angle)])

    Y, Z = circle(0.0), circle(0.3)
    product = -np.linalg.norm(Y[:, None] - Z[None], axis=-1) + 0.5 * rng.normal(size=n)
    query, key = np.nonzero(np.arange(n)[:, None] // each == np.arange(n)[None] // each)
    weight = np.exp(3 * product[query, key])
    weight /= np.bincount(query, weight)[query]
    chance = np.random.default_rng(seed)
    hurt = (Z if keys else Y).copy()
    for sentence in range(sentences):
        rows = sentence * each + _some(each, damage, chance)
        hurt[rows] = hurt[chance.permutation(rows)]
    Y, Z = (Y, hurt) if keys else (hurt, Z)
    far = np.linalg.norm(Y[query] - Z[key], axis=1)
    seen = QueryKeyPlaces(Y, Z, query, key, far, product[query, key], weight, lambda rows: product[rows])
    blind = seen.without_information()
    found: Found = {}
    for score in applying("query-key map", computed=True):
        compute: Any = score.computed["query-key map"]
        found[score.name] = (compute(seen).mean, compute(blind).mean)
    return found


def _gaussians(rows: list[np.ndarray]) -> Gaussians:
    return Gaussians(
        np.stack([some.mean(axis=0) for some in rows]), np.stack([some.var(axis=0) for some in rows]),
        Items.numbered(len(rows)), np.array([len(some) for some in rows]), samples=np.concatenate(rows),
    )  # fmt: skip


def _rows(n: int, seed: int, dim: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means (n, dim), standard deviations over a decade (n,), and 30 deviations of each item (n, 30, dim)."""
    rng = np.random.default_rng(seed)
    means = 3 * rng.normal(size=(n, dim))
    sd = 10.0 ** rng.uniform(-0.5, 0.5, n)
    return means, sd, sd[:, None, None] * rng.normal(size=(n, 30, dim))


def _ellipses(n: int, damage: float, seed: int) -> Found:
    """Rows whose deviations are those of other items."""
    means, _, away = _rows(n, 2)
    rng = np.random.default_rng(seed)
    flat = away.reshape(-1, away.shape[-1]).copy()
    rows = _some(len(flat), damage, rng)
    flat[rows] = flat[rng.permutation(rows)]
    found = metrics.held_out_area(_gaussians(list(means[:, None] + flat.reshape(away.shape))))
    assert found is not None
    return {"area_held": (found.value, found.null.mean)}


def _occurrences(n: int, damage: float, seed: int) -> Found:
    """Rows that are those of other items."""
    means, _, away = _rows(n, 2)
    rng = np.random.default_rng(seed)
    flat = (means[:, None] + away).reshape(-1, away.shape[-1])
    rows = _some(len(flat), damage, rng)
    flat[rows] = flat[rng.permutation(rows)]
    found = metrics.explained_by_item(_gaussians(list(flat.reshape(away.shape))), draws=20)
    assert found is not None
    return {"explained": (found[0], found[1].mean)}


def _sizes(n: int, damage: float, seed: int) -> Found:
    """Ellipses that others should have."""
    _, sd, _ = _rows(n, 2)
    rng = np.random.default_rng(seed)
    rows, drawn = _some(n, damage, rng), sd.copy()
    drawn[rows] = sd[rng.permutation(rows)]
    shapes = drawn[:, None, None] ** 2 * np.eye(2)
    chance = [metrics.area_variance(shapes, sd[rng.permutation(n)]) for _ in range(20)]
    return {"area_variance": (metrics.area_variance(shapes, sd), float(np.mean(chance)))}


def _angles(n: int, damage: float, seed: int) -> Found:
    """Items on a plane that vary most in one direction of it, of which a part is taken away."""
    from langscape.engine.context_ellipses import context_shapes

    rng = np.random.default_rng(2)
    plane, dim = 4 * rng.normal(size=(n, 2)), 12
    angle = rng.uniform(0, np.pi, n)
    along = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((n, dim - 2))])
    means = np.column_stack([plane, 0.1 * rng.normal(size=(n, dim - 2))])
    long, round_ = 0.5 * rng.normal(size=(n, 40, 1)), 0.15 * rng.normal(size=(n, 40, dim))
    rows = means[:, None] + (1 - damage) * long * along[:, None] + round_
    shapes = context_shapes(plane, _gaussians(list(rows)))
    return {"orientation": (float(shapes.score.mean()), float("nan"))}


def _compared(given: _Planted, damage: float, seed: int) -> Found:
    from langscape.analyses.compare import compare_maps

    items = Items.numbered(len(given.plane))
    found = compare_maps(Map(given.plane, items), Map(_moved(given, damage, seed), items)).left.quality
    return {name: (found[name], found[f"{name}_null"]) for name in ("shared", "moved")}


def planted_head(logits: np.ndarray, parked: float = 0.3) -> np.ndarray:
    """Attention of these logits, with a share of every row on the first key."""
    weights = np.exp(logits)
    weights *= (1 - parked) / weights.sum(axis=1, keepdims=True)
    weights[:, 0] += parked
    return weights


def _two_heads(n: int, damage: float, seed: int) -> Found:
    """A head beside itself, of whose rows so many have changed places."""
    rng = np.random.default_rng(seed)
    first = planted_head(3.0 * rng.normal(size=(n, n)))
    changed = rng.permutation(n)[: round(damage * n)]
    second = first.copy()
    second[changed] = first[np.roll(changed, 1)]
    null = metrics.elsewhere_by_chance(first, second, np.arange(n), seed).mean
    return {"attention_elsewhere": (float(metrics.attention_elsewhere(first, second).mean()), null)}


def _agreement(given: _Planted, damage: float, seed: int) -> Found:
    other = _moved(given, damage, seed)
    dealt = np.random.default_rng(seed).permutation(len(other))
    value, null = (metrics.agreement(given.plane, xy, xy).mean() for xy in (other, other[dealt]))
    return {"agreement": (float(value), float(null))}


def _colours(given: _Planted, damage: float, seed: int) -> Found:
    hurt = _moved(given, damage, seed)
    dealt = np.random.default_rng(seed).permutation(len(hurt))
    value, null = (float(metrics.spearman(given.vectors, xy)) for xy in (hurt, hurt[dealt]))
    return {"colours": (value, null)}
