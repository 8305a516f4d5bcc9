"""Heads over many texts, in constant memory: what is added up text by text and part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.io.codec import noun
from langscape.metrics.by_distance import BUCKETS, distance_buckets
from langscape.metrics.head_similarity import head_distances
from langscape.metrics.heads import even_scores, head_scores, visible_keys
from langscape.metrics.roles import BEYOND, ROLES, role_scores
from langscape.metrics.sinks import find_sinks

SCORES = (
    "interest", "parked", "evenness", "entropy", "broad", "max_attention", "first_token", "separator",
    "itself", "previous_token", "next_token", "local_band", "same_token", "duplicate_token", "later_token",
    "induction", "chain", "punctuation", "coreference", "to_names", "bracket",
)  # fmt: skip
"""The scores that are averaged over texts, in the order in which tables have them."""

TOLD = tuple(name for name, role in ROLES.items() if role.score in SCORES)
"""Roles that every text tells by itself; `position-only` needs all of them."""

TOP = 10
"""Passages of each head."""

PARTNERS = 8
"""Keys of a passage that are marked, the strongest."""

_SEEN = 8
"""Keys that a query must see for its passage to say anything."""

_ROWS = 16
"""Queries of a text by which heads are compared."""


@dataclass(frozen=True, eq=False)
class HeadText:
    """What the heads of a model do over one text.

    weights  (layer, head, query, key)
    number   the number of the text in the corpus
    ids, special, separators, words, texts, classes   of its tokens, one each
    shown    its tokens as people read them
    """

    weights: np.ndarray
    number: int
    ids: Sequence[Any]
    special: np.ndarray
    separators: np.ndarray
    words: Sequence[int | None] | None
    texts: Sequence[str]
    classes: Sequence[str]
    shown: tuple[str, ...]


@noun
@dataclass(frozen=True, eq=False)
class Passages:
    """For every head the places where it attends most strongly beyond what distance explains.

    text, query, key  (heads, count) the number of the text, −1 where there is none, and two of its tokens
    weight, bucket    (heads, count) the weight between them, and their distance as `distance_buckets` has it
    keys, weights     (heads, count, 8) the strongest keys of the query; −1 where it has fewer
    tokens            number of a text → its tokens
    """

    text: np.ndarray
    query: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    bucket: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    tokens: Mapping[int, tuple[str, ...]]


@noun
@dataclass(frozen=True, eq=False)
class HeadTally:
    """Sums over texts, from which means, intervals, roles and groups of heads are made.

    texts      how many there were
    counts     (scores,) texts that gave an occasion; totals and squares (scores, heads) of their scores
    even       (scores,) the sum of what even weights would have scored
    occasions  (roles,) texts in which a role could be told; hits (roles, heads) those in which a head had it
    pairs      (buckets,) pairs of query and key by distance; by_distance (heads, buckets) the sum of their
               weights, square_weights (heads,) that of their squares
    apart      (heads, heads) the sum of the distances between heads
    """

    texts: int
    counts: np.ndarray
    totals: np.ndarray
    squares: np.ndarray
    even: np.ndarray
    occasions: np.ndarray
    hits: np.ndarray
    pairs: np.ndarray
    by_distance: np.ndarray
    square_weights: np.ndarray
    apart: np.ndarray

    @classmethod
    def empty(cls, heads: int) -> HeadTally:
        """Of no text."""
        scores, roles = len(SCORES), len(TOLD)
        sums = [(scores,), (scores, heads), (scores, heads), (scores,), (roles,), (roles, heads)]
        shapes = [*sums, (BUCKETS,), (heads, BUCKETS), (heads,), (heads, heads)]
        return cls(0, *(np.zeros(shape) for shape in shapes))

    def __add__(self, other: HeadTally) -> HeadTally:
        mine, theirs = _arrays(self), _arrays(other)
        if mine[1].shape != theirs[1].shape:
            raise DataError("tallies of different models cannot be added")
        sums = (a + b for a, b in zip(mine, theirs, strict=True))
        return HeadTally(self.texts + other.texts, *sums)

    def mean_by_distance(self) -> np.ndarray:
        """(heads, buckets) the mean weight at each distance; 0 where there was none."""
        return self.by_distance / np.maximum(self.pairs, 1.0)


def tally_texts(texts: Sequence[HeadText]) -> HeadTally:
    """The sums over some texts."""
    tally = HeadTally.empty(texts[0].weights.shape[0] * texts[0].weights.shape[1])
    for text in texts:
        tally = tally + _tally_text(text)
    return tally


def _tally_text(text: HeadText) -> HeadTally:
    A = text.weights
    heads = A.shape[0] * A.shape[1]
    scores, even = text_scores(text)
    values = np.stack([scores[name].ravel() for name in SCORES])
    chance = np.array([even[name] for name in SCORES])
    there = np.isfinite(values).all(axis=1) & np.isfinite(chance)
    values, chance = np.where(there[:, None], values, 0.0), np.where(there, chance, 0.0)
    at = {name: row for row, name in enumerate(SCORES)}
    occasions, hits = np.zeros(len(TOLD)), np.zeros((len(TOLD), heads))
    for row, name in enumerate(TOLD):
        role = ROLES[name]
        score = at[role.score]
        if there[score]:
            least = max(role.least, min(role.times * chance[score], 0.9))
            occasions[row] = 1.0
            hits[row] = values[score] >= least
            if name == "coreference-like" and there[at["to_names"]]:
                hits[row] *= values[score] >= BEYOND * values[at["to_names"]]
    counted, buckets = _pairs(text), distance_buckets(A.shape[-1])
    places = buckets[counted]
    flat = A.reshape(heads, -1)[:, counted.ravel()].astype(np.float64)
    order = np.argsort(places, kind="stable")
    begin = np.flatnonzero(np.diff(places[order], prepend=-1))
    sums = np.zeros((heads, BUCKETS))
    if len(begin):
        sums[:, places[order][begin]] = np.add.reduceat(flat[:, order], begin, axis=1)
    return HeadTally(
        1,
        there.astype(np.float64),
        values,
        values**2,
        chance,
        occasions,
        hits,
        np.bincount(places, minlength=BUCKETS).astype(np.float64),
        sums,
        (flat**2).sum(axis=1),
        head_distances(A, most_rows=_ROWS),
    )


def text_scores(text: HeadText) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Every score of every head over one text, (layer, head) each, and what even weights would score."""
    known: dict[str, Any] = {"ids": text.ids, "special": text.special, "separators": text.separators}
    more: dict[str, Any] = {
        "ids": text.ids, "special": text.special, "classes": text.classes, "words": text.words,
        "texts": text.texts,
    }  # fmt: skip
    A = text.weights
    sinks = find_sinks(A, separators=text.separators)
    scores = head_scores(A, **known, sinks=sinks) | role_scores(A, **more)
    visible = visible_keys(A).astype(np.float64)
    level = (visible / visible.sum(axis=1, keepdims=True))[None, None]
    even = even_scores(A, **known) | {
        name: float(one[0, 0]) for name, one in role_scores(level, **more).items()
    }
    return scores, even


def top_passages(texts: Sequence[HeadText], expected: np.ndarray, top: int = TOP) -> Passages:
    """For every head the texts where it attends most strongly beyond what distance explains, a place each.

    expected is (heads, buckets), the mean weight by distance. Sinks, special tokens and the first token are
    left out: what a head parks there is said elsewhere. So are a token's own place, and queries that see
    fewer than eight keys and must put their weight somewhere.
    """
    heads = len(expected)
    best = np.full((heads, len(texts)), -np.inf)
    place = np.zeros((heads, len(texts)), np.int64)
    for at, text in enumerate(texts):
        n = text.weights.shape[-1]
        A = text.weights.reshape(heads, n, n)
        sinks = find_sinks(text.weights, separators=text.separators).reshape(heads, n)
        beyond = expected.astype(np.float32)[:, distance_buckets(n)]
        np.subtract(A, beyond, out=beyond)
        beyond[:, ~(_pairs(text) & _chosen_from(text))] = -np.inf
        np.copyto(beyond, -np.inf, where=sinks[:, None, :])
        flat = beyond.reshape(heads, -1)
        place[:, at] = flat.argmax(axis=1)
        best[:, at] = flat.max(axis=1)
    count = min(top, len(texts))
    order = np.argsort(-best, axis=1, kind="stable")[:, :count]
    return _made(
        texts, order, np.take_along_axis(best, order, axis=1), np.take_along_axis(place, order, axis=1)
    )


def joined_passages(parts: Sequence[Passages], expected: np.ndarray, top: int = TOP) -> Passages:
    """The strongest of several parts, judged by one mean weight by distance, (heads, buckets)."""
    fields = ("text", "query", "key", "weight", "bucket", "keys", "weights")
    whole = {name: np.concatenate([getattr(one, name) for one in parts], axis=1) for name in fields}
    beyond = whole["weight"] - np.take_along_axis(expected, whole["bucket"], axis=1)
    beyond = np.where(whole["text"] < 0, -np.inf, beyond)
    order = np.argsort(-beyond, axis=1, kind="stable")[:, :top]
    chosen = {
        name: np.take_along_axis(array, order if array.ndim == 2 else order[..., None], axis=1)
        for name, array in whole.items()
    }
    tokens = {number: shown for one in parts for number, shown in one.tokens.items()}
    wanted = sorted({int(one) for one in np.unique(chosen["text"]) if one >= 0})
    return Passages(**chosen, tokens={number: tokens[number] for number in wanted})


def _made(texts: Sequence[HeadText], order: np.ndarray, best: np.ndarray, place: np.ndarray) -> Passages:
    heads, count = order.shape
    found = {name: np.full((heads, count), -1, np.int32) for name in ("text", "query", "key", "bucket")}
    weight = np.zeros((heads, count), np.float32)
    keys = np.full((heads, count, PARTNERS), -1, np.int32)
    weights = np.zeros((heads, count, PARTNERS), np.float32)
    found["bucket"][:] = 0
    tokens: dict[int, tuple[str, ...]] = {}
    for head, slot in np.ndindex(heads, count):
        if not np.isfinite(best[head, slot]):
            continue
        text = texts[int(order[head, slot])]
        n = text.weights.shape[-1]
        query, key = divmod(int(place[head, slot]), n)
        row = text.weights.reshape(heads, n, n)[head, query]
        strongest = np.argsort(-row, kind="stable")[: min(PARTNERS, n)]
        found["text"][head, slot], found["query"][head, slot] = text.number, query
        found["key"][head, slot], found["bucket"][head, slot] = key, distance_buckets(n)[query, key]
        weight[head, slot] = row[key]
        keys[head, slot, : len(strongest)], weights[head, slot, : len(strongest)] = strongest, row[strongest]
        tokens[text.number] = text.shown
    return Passages(**found, weight=weight, keys=keys, weights=weights, tokens=tokens)


def _pairs(text: HeadText) -> np.ndarray:
    """Which pairs of query and key count, (query, key): those of text, seen, and not with the first token."""
    plain = ~text.special & (np.arange(len(text.special)) > 0)
    return plain[:, None] & plain[None, :] & visible_keys(text.weights)


def _chosen_from(text: HeadText) -> np.ndarray:
    """(query, key) pairs in which the query had a choice, and the key is another token."""
    seen = visible_keys(text.weights)
    return (seen.sum(axis=1) >= _SEEN)[:, None] & ~np.eye(len(seen), dtype=bool)


def _arrays(tally: HeadTally) -> list[np.ndarray]:
    return [getattr(tally, name) for name in tally.__dataclass_fields__ if name != "texts"]
