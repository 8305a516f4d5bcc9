"""Do the words hold with few items? Random pictures of 4 to 100 items, and good ones, by every score.

    python -m papers.trust.few
    python -m papers.trust.few --draws 100 --items 6 30

A row per picture, score and number of items: of so many pictures that know nothing, the share that is
called better than the null, and of good pictures of as many items the share that is. The first may be one in
twenty. With four items hardly any picture can be told from chance, and the second says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from langscape import metrics
from langscape.data import Items, Map
from langscape.metrics.null import ERROR, Null
from langscape.metrics.scores import QueryKeyPlaces, applying, score_of
from papers.trust.planted import _gaussians, planted_head

ITEMS = (4, 6, 10, 30, 100)

Judged = dict[str, tuple[float, Null]]
"""Scores by name: value, and null."""


@dataclass(frozen=True)
class Few:
    """A picture of n items, drawn by a seed: one that knows nothing, or a good one."""

    picture: str
    draw: Callable[[int, int, bool], Judged]
    share: float = 1.0
    """Of the draws that are asked for: less where each of them costs maps."""


@dataclass(frozen=True)
class Row:
    """How often pictures of so many items are called better than their null."""

    picture: str
    name: str
    items: int
    draws: int
    by_chance: float
    good: float

    @property
    def holds(self) -> bool:
        """True if no more than one in twenty pictures of chance are, as far as so many draws can tell."""
        return round(self.by_chance * self.draws) <= binom.ppf(0.99, self.draws, ERROR)


def pictures() -> list[Few]:
    """Every picture whose scores have a null."""
    return [
        Few("map of vectors", _map),
        Few("inserted points", _inserted),
        Few("map of a head", _head, 0.2),
        Few("heads of an atlas", _atlas, 0.1),
        Few("tokens near", _near),
        Few("restarts of a map", _restarts),
        Few("queries and keys", _query_key),
        Few("ellipses", _ellipses),
        Few("occurrences", _occurrences),
        Few("two maps", _compared),
        Few("two heads", _two_heads),
        Few("a head two ways", _agreement),
        Few("colours of words", _colours),
    ]


def measured(one: Few, items: int, draws: int) -> list[Row]:
    """The rows of one picture with so many items."""
    draws = max(20, round(one.share * draws))
    chance = [_called(one.draw(items, seed, False)) for seed in range(draws)]
    good = [_called(one.draw(items, seed, True)) for seed in range(max(5, draws // 10))]
    rows = []
    for name in dict.fromkeys(name for found in chance for name in found):
        share, reached = (
            float(np.mean([value for found in every for value in found.get(name, [])]))
            for every in (chance, good)
        )
        count = sum(len(found.get(name, [])) for found in chance)
        rows.append(Row(one.picture, name, items, count, share, reached))
    return rows


def _called(found: Judged | list[Judged]) -> dict[str, list[bool]]:
    """Whether the words of each score say better; scores without a value are left out."""
    called: dict[str, list[bool]] = {}
    every = found if isinstance(found, list) else [found]
    for name, (value, null) in ((name, one[name]) for one in every for name in one):
        score = score_of(name)
        assert score is not None, name
        if words := score.in_words(value, null):
            better = score.beyond[0]
            called.setdefault(name, []).append(words.startswith((better, f"far {better}")))
    return called


def _read(quality: Any, *names: str) -> Judged:
    return {name: (quality[name], Null.read(quality, name)) for name in names}


def _plane(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Places, and vectors of twenty dimensions whose distances are nearly theirs."""
    rng = np.random.default_rng(seed)
    plane = rng.normal(size=(n, 2))
    turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    return plane, np.column_stack([plane, 0.02 * rng.normal(size=(n, 18))]) @ turn, rng


def _map(n: int, seed: int, good: bool) -> Judged:
    plane, vectors, rng = _plane(n, seed)
    quality, _ = metrics.quality(vectors, plane if good else rng.normal(size=(n, 2)))
    return _read(quality, *(one.name for one in applying("map", computed=True)))


def _inserted(n: int, seed: int, good: bool) -> Judged:
    from langscape.engine.insertion_quality import insertion_by_chance, insertion_quality

    plane, vectors, rng = _plane(n + 100, seed)
    xy, known, added = (
        np.ascontiguousarray(one, np.float32) for one in (plane[n:], vectors[n:], vectors[:n])
    )
    placed = (plane[:n] if good else rng.normal(size=(n, 2))).astype(np.float32)
    found = insertion_quality(xy, known, placed, added, 10)
    nulls = insertion_by_chance(xy, known, added, 10, seed)
    return {f"inserted_{name}": (float(values.mean()), nulls[name]) for name, values in found.items()}


def _weights(n: int, rng: np.random.Generator, good: bool) -> np.ndarray:
    """Attention to tokens that lie near on a ring, or to any."""
    angle = 2 * np.pi * rng.permutation(n) / n
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    near = 6 * -((ring[:, None] - ring[None]) ** 2).sum(axis=-1) if good else 2 * rng.normal(size=(n, n))
    weights = np.exp(near)
    return weights / weights.sum(axis=1, keepdims=True)


def _head(n: int, seed: int, good: bool) -> Judged:
    return _heads(n, seed, good, 1)[0]


def _atlas(n: int, seed: int, good: bool) -> list[Judged]:
    return _heads(n, seed, good, 12)


def _heads(n: int, seed: int, good: bool, count: int) -> list[Judged]:
    from langscape.analyses._head_trust import HeadProblem, null_scores, scored, shuffled_affinities
    from langscape.analyses._restarts import embed_restarts, head_schedules

    rng = np.random.default_rng(seed)
    weights = [_weights(n, rng, good) for _ in range(count)]
    problems = [HeadProblem(shuffled_affinities(one), one, np.ones(n)) for one in weights]
    maps, _ = embed_restarts([one.affinities for one in problems], 1, head_schedules(n, 300), seed)
    nulls = null_scores(problems, 300, seed + 1000)
    return [_read(scored(*each).quality, "kept") for each in zip(maps, problems, nulls, strict=True)]


def _near(n: int, seed: int, good: bool) -> Judged:
    """Tokens that attend to the one before, on a line, or anywhere."""
    rng = np.random.default_rng(seed)
    P = np.eye(n, k=1) + np.eye(n, k=-1) + 0.02
    xy = np.column_stack([np.arange(n), np.zeros(n)]) if good else rng.normal(size=(n, 2))
    return {"weight_near": (metrics.weight_near(P, xy).mean, metrics.weight_near_by_chance(P, xy, seed))}


def _restarts(n: int, seed: int, good: bool) -> Judged:
    plane, _, rng = _plane(n, seed)
    maps = [plane + 0.05 * rng.normal(size=(n, 2)) if good else rng.normal(size=(n, 2)) for _ in range(5)]
    return {"stability": (metrics.stability(maps).mean, metrics.stability_by_chance(maps, seed))}


def _query_key(n: int, seed: int, good: bool) -> Judged:
    from langscape.metrics.query_key import query_key_chance

    rng = np.random.default_rng(seed)
    Y, Z = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    product = -np.linalg.norm(Y[:, None] - Z[None], axis=-1) + 0.5 * rng.normal(size=n)
    if not good:
        Y, Z = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    query, key = (one.ravel() for one in np.indices((n, n)))
    weight = np.exp(3 * product)
    weight /= weight.sum(axis=1, keepdims=True)
    far = np.linalg.norm(Y[query] - Z[key], axis=1)
    seen = QueryKeyPlaces(Y, Z, query, key, far, product.ravel(), weight.ravel(), lambda rows: product[rows])
    blind, chance = seen.without_information(), query_key_chance(seen, seed)
    found: Judged = {}
    for score in applying("query-key map", computed=True):
        compute: Any = score.computed["query-key map"]
        if len(compute(seen).rows):
            found[score.name] = (compute(seen).mean, chance[score.name].around_value(compute(blind).mean))
    return found


def _ellipses(n: int, seed: int, good: bool) -> Judged:
    from langscape.engine.context_ellipses import with_area, with_held_area

    rng = np.random.default_rng(seed)
    sd = 10.0 ** rng.uniform(-0.5, 0.5, n) if good else np.ones(n)
    given = _gaussians(
        list(3 * rng.normal(size=(n, 1, 12)) + sd[:, None, None] * rng.normal(size=(n, 30, 12)))
    )
    drawn = given.spread if good else rng.permutation(given.spread)
    quality, _ = with_area(with_held_area({}, given), {}, drawn[:, None, None] * np.eye(2), given)
    return _read(quality, *(name for name in ("area_held", "area_variance") if name in quality))


def _occurrences(n: int, seed: int, good: bool) -> Judged:
    """Three rows of each item, around a place of its own or around one for all."""
    rng = np.random.default_rng(seed)
    means = 3.0 * good * rng.normal(size=(n, 1, 12))
    rows = means + rng.normal(size=(n, 3, 12))
    found = metrics.explained_by_item(_gaussians(list(rows)), seed=seed)
    assert found is not None
    return {"explained": found}


def _compared(n: int, seed: int, good: bool) -> Judged:
    from langscape.analyses.compare import compare_maps

    plane, _, rng = _plane(n, seed)
    other = plane + 0.05 * rng.normal(size=(n, 2)) if good else rng.normal(size=(n, 2))
    items = Items.numbered(n)
    return _read(compare_maps(Map(plane, items), Map(other, items)).left.quality, "shared", "moved")


def _two_heads(n: int, seed: int, good: bool) -> Judged:
    """Heads that park some weight on one key; the other is a little disturbed, or another one."""
    rng = np.random.default_rng(seed)
    logits = 3.0 * rng.normal(size=(n, n))
    other = logits + 0.1 * rng.normal(size=(n, n)) if good else 3.0 * rng.normal(size=(n, n))
    first, second = (planted_head(one) for one in (logits, other))
    value = float(metrics.attention_elsewhere(first, second).mean())
    return {"attention_elsewhere": (value, metrics.elsewhere_by_chance(first, second, np.arange(n), seed))}


def _agreement(n: int, seed: int, good: bool) -> Judged:
    from langscape.analyses.query_key_beside import agreement_scores

    plane, _, rng = _plane(n, seed)
    queries = plane if good else rng.normal(size=(n, 2))
    scores, _ = agreement_scores(plane, queries, queries + 0.05 * rng.normal(size=(n, 2)))
    return _read(scores, "agreement")


def _colours(n: int, seed: int, good: bool) -> Judged:
    from langscape.analyses._flow_words import vectors_follow

    rng = np.random.default_rng(seed)
    cube = rng.uniform(size=(n, 3))
    vectors = np.column_stack([cube if good else rng.uniform(size=(n, 3)), 0.01 * rng.normal(size=(n, 9))])
    return _read(vectors_follow(vectors, (255 * cube).astype(np.uint8), seed), "colours")


def heading(items: Sequence[int]) -> str:
    """The first line of the table: a column for every number of items."""
    return f"{'called better than the null, random / good':<43}" + "".join(f"{f'n = {n}':>16}" for n in items)


def lines(rows: list[Row], items: Sequence[int]) -> Iterator[str]:
    """A line per picture and score, chance and good for every number of items."""
    for picture, name in dict.fromkeys((one.picture, one.name) for one in rows):
        here = {one.items: one for one in rows if (one.picture, one.name) == (picture, name)}
        cells = [
            f"{here[n].by_chance:7.1%} /{here[n].good:5.0%}{' ' if here[n].holds else '!'}"
            if n in here
            else "–"
            for n in items
        ]
        yield f"{picture:<24} {name:<18}" + "".join(f"{cell:>16}" for cell in cells)


def main() -> None:
    """Print the table; the command fails where chance is called better too often."""
    options = argparse.ArgumentParser(
        prog="python -m papers.trust.few",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--draws", type=int, default=400)
    options.add_argument("--items", type=int, nargs="+", default=list(ITEMS))
    asked = options.parse_args()
    sys.exit(1 if report(asked.draws, asked.items) else 0)


def report(draws: int, items: Sequence[int] = ITEMS) -> list[Row]:
    """Print the table, picture by picture, and give the rows that do not hold."""
    print(heading(sorted(items)), flush=True)
    rows: list[Row] = []
    for one in pictures():
        found = [row for n in items for row in measured(one, n, draws)]
        print("\n".join(lines(found, sorted(items))), flush=True)
        rows += found
    failing = [one for one in rows if not one.holds]
    print(f"{len(rows) - len(failing)} of {len(rows)} call at most one in twenty random pictures better")
    return failing


if __name__ == "__main__":
    main()
