"""Which of many heads does what: attention along patterns of words, with counts, intervals and a null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.data import frozen
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun

RELATIONS = ("same word", "next word", "previous word")
"""Patterns that need no classes: other places of a query's word, and the words beside it."""

LEAST_QUERIES, LEAST_SENTENCES = 10, 5
"""A pattern is asked of heads where so many queries, in so many sentences, have an occasion for it."""

ARROW = " → "


@noun
@dataclass(frozen=True, eq=False)
class HeadSearch:
    """Attention along patterns, every head: rows are patterns, columns heads.

    patterns    "noun → pronoun", "same word", …
    heads       (heads, 2) layer and head
    weight      (patterns, heads) what queries that have an occasion give to the keys of it, on average
    low, high   the ends of its 95 % interval: a jackknife over sentences
    popularity  (patterns, heads) what other queries of the sentence give to the same keys
    sure        (patterns, heads) whether weight is above popularity beyond chance, all heads taken together
    queries, sentences  (patterns,) how many have an occasion
    left_out    patterns with too few occasions, the most frequent first: "same word (8 queries in 4 …)"
    """

    patterns: tuple[str, ...]
    heads: np.ndarray
    weight: np.ndarray
    low: np.ndarray
    high: np.ndarray
    popularity: np.ndarray
    sure: np.ndarray
    queries: np.ndarray
    sentences: np.ndarray
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("heads", "weight", "low", "high", "popularity", "sure", "queries", "sentences"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def lift(self) -> np.ndarray:
        """Weight over key popularity; NaN where that is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.popularity > 0, self.weight / self.popularity, np.nan)

    def best(self, pattern: int, count: int = 3) -> list[int]:
        """The heads that surely do it, strongest first."""
        order = np.argsort(-self.weight[pattern], kind="stable")
        return [int(head) for head in order if self.sure[pattern, head]][:count]


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Every query with every other key that it sees, and what is known of their words.

    query, key        (pairs,) rows of queries and keys
    sentence          (queries,) of each query
    word, key_word    (queries,), (keys,) the number of each one's word in its sentence
    text, key_text    the whole word that each belongs to
    kind, key_kind    the class of each
    """

    query: np.ndarray
    key: np.ndarray
    sentence: np.ndarray
    word: np.ndarray
    key_word: np.ndarray
    text: Sequence[str]
    key_text: Sequence[str]
    kind: Sequence[str]
    key_kind: Sequence[str]


def search_heads(
    pairs: WordPairs,
    weights: Sequence[Any],
    heads: Sequence[tuple[int, int]],
    find: Sequence[str] | None = None,
) -> HeadSearch:
    """How strongly each head attends along each pattern.

    weights has an array for each head, with the weight of every pair. `find` names patterns; without it, all
    that ten queries in five sentences have an occasion for are taken.
    """
    kinds = list(dict.fromkeys([*pairs.kind, *pairs.key_kind]))
    patterns = _patterns(find, kinds)
    columns = list(dict.fromkeys(target for _, target in patterns.values()))
    n = len(pairs.sentence)
    members = [_members(pairs, one) for one in columns]
    asked = np.asarray(pairs.kind, object)
    occasion = [np.bincount(pairs.query[rows], minlength=n) > 0 for rows in members]
    chosen, most, rare = {}, (-1, "", 0), []
    for name, (source, target) in patterns.items():
        rows = occasion[columns.index(target)] & (np.ones(n, bool) if source is None else asked == source)
        many, sentences = int(rows.sum()), len(np.unique(pairs.sentence[rows]))
        most = max(most, (many, name, sentences), key=lambda one: one[0])
        if many >= LEAST_QUERIES and sentences >= LEAST_SENTENCES:
            chosen[name] = (np.flatnonzero(rows), columns.index(target), sentences)
        elif find is not None:
            raise DataError(
                f"{name!r} has {many} queries in {sentences} sentences here; {LEAST_QUERIES} in "
                f"{LEAST_SENTENCES} are needed, give more text"
            )
        else:
            rare.append((source is None, many, f"{name} ({many} queries in {sentences} sentences)"))
    if not chosen:
        there = len(np.unique(pairs.sentence))
        raise DataError(
            f"a pattern needs {LEAST_QUERIES} queries with an occasion for it, in {LEAST_SENTENCES} "
            f"sentences; the most frequent one here, {most[1]!r}, has {most[0]} in {most[2]} of the text’s "
            f"{there}; give more text"
        )
    found = np.full((4, len(chosen), len(heads)), np.nan)
    sure = np.zeros((len(chosen), len(heads)), bool)
    limit = _limit(len(heads) * len(chosen))
    for at, one in enumerate(weights):
        given, popular = _given(pairs, np.asarray(one, np.float64), members, n)
        for row, (rows, column, _) in enumerate(chosen.values()):
            of = pairs.sentence[rows]
            mean, error = _jackknife(given[column][rows], of)
            beyond, doubt = _jackknife(given[column][rows] - popular[column][rows], of)
            popularity = float(popular[column][rows].mean())
            found[:, row, at] = mean, max(mean - 1.96 * error, 0), min(mean + 1.96 * error, 1), popularity
            sure[row, at] = beyond > limit * doubt > 0
    weight, low, high, popularity = found
    queries = np.array([len(rows) for rows, _, _ in chosen.values()])
    sentences = np.array([many for _, _, many in chosen.values()])
    listed = np.array(heads, np.int64)
    left_out = tuple(told for _, _, told in sorted(rare, key=lambda one: one[:2], reverse=True))
    return HeadSearch(
        tuple(chosen), listed, weight, low, high, popularity, sure, queries, sentences, left_out
    )


def _patterns(find: Sequence[str] | None, kinds: list[str]) -> dict[str, tuple[str | None, str]]:
    """name → the class of queries (None for any), and the class of keys or relation."""
    if find is None:
        named: list[str] = [*RELATIONS, *(f"{a}{ARROW}{b}" for a in kinds for b in kinds)]
    else:
        named = [_spelled(one) for one in find]
    out: dict[str, tuple[str | None, str]] = {}
    for name in named:
        if name in RELATIONS:
            out[name] = (None, name)
            continue
        source, _, target = name.partition(ARROW)
        for kind in (source, target):
            if kind not in kinds:
                raise SettingsError(
                    f"{kind or name!r} is no class of these tokens; use {', '.join(sorted(kinds))} as "
                    f"'noun > pronoun', or {', '.join(RELATIONS)}"
                )
        out[name] = (source, target)
    return out


def _spelled(text: str) -> str:
    """A pattern as it is written here: "noun > pronoun" and "noun → pronoun" are one.

    >>> _spelled("noun>pronoun"), _spelled("same word")
    ('noun → pronoun', 'same word')
    """
    parts = [part.strip() for part in text.replace("->", ">").replace("→", ">").split(">")]
    return ARROW.join(parts) if len(parts) == 2 else text.strip()


def _members(pairs: WordPairs, target: str) -> np.ndarray:
    """The pairs whose key is what the pattern asks for."""
    query, key = pairs.query, pairs.key
    ahead = pairs.key_word[key] - pairs.word[query]
    if target in ("next word", "previous word"):
        return np.flatnonzero(ahead == (1 if target == "next word" else -1))
    if target == "same word":
        text, other = (np.array([one.casefold() for one in side]) for side in (pairs.text, pairs.key_text))
        isword = np.array([any(letter.isalnum() for letter in one) for one in pairs.text])
        return np.flatnonzero((text[query] == other[key]) & (ahead != 0) & isword[query])
    return np.flatnonzero((np.asarray(pairs.key_kind, object)[key] == target) & (ahead != 0))


def _given(
    pairs: WordPairs, weight: np.ndarray, members: list[np.ndarray], n: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(queries,) for each target: what a query gives to its keys, and what other queries give to the same."""
    m = int(pairs.key.max()) + 1
    total, count = np.bincount(pairs.key, weight, minlength=m), np.bincount(pairs.key, minlength=m)
    others = (total[pairs.key] - weight) / np.maximum(count[pairs.key] - 1, 1)
    given = [np.bincount(pairs.query[rows], weight[rows], minlength=n) for rows in members]
    popular = [np.bincount(pairs.query[rows], others[rows], minlength=n) for rows in members]
    return given, popular


def _jackknife(values: np.ndarray, sentence: np.ndarray) -> tuple[float, float]:
    """The mean over queries, and its standard error with sentences left out in turn."""
    _, at = np.unique(sentence, return_inverse=True)
    sums, counts = np.bincount(at, values), np.bincount(at)
    left = (sums.sum() - sums) / (counts.sum() - counts)
    s = len(sums)
    return float(values.mean()), float(np.sqrt((s - 1) / s * ((left - left.mean()) ** 2).sum()))


def _limit(tests: int) -> float:
    """Standard errors beyond which one of so many tests is not chance (Bonferroni, 5 %)."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(1 - 0.05 / max(tests, 1))
