"""One head's queries and keys out of a capture, with what is known of each; pairs within sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from langscape.affinity.tokens import place
from langscape.data import Capture, Items, Side, Tokens, frozen
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import one_blas_thread
from langscape.models.token_classes import token_classes

COLUMNS = (
    "sentence", "position", "token number", "position mod 5", "special", "text", "length", "sentence length",
    "frequency", "norm", "class",
)  # fmt: skip
"""What is known of every query and key; with a tagger also its part of speech."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every query with every key that it can see in its own sentence, sorted by query.

    query, key   (pairs,) rows of the head's queries and keys
    score        (pairs,) their dot product times the head's scaling, before softmax
    attention    (pairs,) the model's own weight: the softmax of the query's scores over all it sees
    valued       (pairs,) the same weighed by the lengths of the keys' values and scaled to 1 for each query:
                 the share of what is taken that each key gives; None where values are not known
    """

    query: np.ndarray
    key: np.ndarray
    score: np.ndarray
    attention: np.ndarray
    valued: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def by_key(self) -> np.ndarray:
        """(pairs,) the order in which they are sorted by key, and for each key by query."""
        return np.argsort(self.key, kind="stable")


@dataclass(frozen=True, eq=False)
class HeadVectors:
    """The queries and keys of one head over one or many sentences.

    Q, K          (queries, dim) and (keys, dim), as they enter the dot product
    queries, keys what the rows are; columns sentence, position, token number, special, text and class
    scaling       what q·k is multiplied with before softmax; softcap bends scores under a bound
    causal        whether a query sees only keys up to its own position
    value_norms   (keys,) the lengths of the value vectors, where they are known
    whole, rows   where special tokens were left out, the head with them, and which rows were kept of
                  its queries and keys: weights are those the model gave with special tokens in sight
    """

    Q: np.ndarray
    K: np.ndarray
    queries: Items
    keys: Items
    layer: int
    head: int
    scaling: float = 1.0
    causal: bool = False
    softcap: float | None = None
    settings: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    value_norms: np.ndarray | None = None
    whole: HeadVectors | None = None
    rows: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "Q", frozen(self.Q))
        object.__setattr__(self, "K", frozen(self.K))

    def scores(
        self, rows: slice | np.ndarray = slice(None), columns: slice | np.ndarray = slice(None)
    ) -> np.ndarray:
        """q·k·scaling of the chosen queries with the chosen keys, float32, whatever their sentences."""
        with one_blas_thread():
            return self._scores(rows, columns)

    def _scores(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        scores = (self.Q[rows] * np.float32(self.scaling)) @ self.K[columns].T
        return scores if self.softcap is None else self.softcap * np.tanh(scores / self.softcap)

    @cached_property
    def pairs(self) -> Pairs:
        """Every query–key pair within a sentence; for a causal head, of keys up to the query's position."""
        if self.whole is not None and self.rows is not None:
            return _kept_pairs(self.whole.pairs, *self.rows)
        with one_blas_thread():  # once for all: to ask BLAS for it takes longer than a sentence
            return self._all_pairs()

    def _all_pairs(self) -> Pairs:
        asked, seen = self.queries.columns["sentence"], self.keys.columns["sentence"]
        from_, to = self.queries.columns["position"], self.keys.columns["position"]
        query, key, score, weight, valued = [], [], [], [], []
        lengths = self.value_norms
        keys_of = _rows_of(seen)
        for sentence, rows in _rows_of(asked).items():
            columns = keys_of.get(sentence)
            if columns is None:
                continue
            scores = self._scores(rows, columns).astype(np.float64)
            visible: Any = slice(None)
            if self.causal:
                seen_here = to[columns][None, :] <= from_[rows][:, None]
                scores = np.where(seen_here, scores, -np.inf)
                visible = seen_here.ravel()
            top = scores.max(axis=1, keepdims=True)
            weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
            weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
            query.append(np.repeat(rows, len(columns))[visible])
            key.append(np.tile(columns, len(rows))[visible])
            score.append(scores.ravel()[visible])
            weight.append(weights.ravel()[visible])
            if lengths is not None:
                taken = weights * lengths[columns]
                taken /= np.maximum(taken.sum(axis=1, keepdims=True), 1e-300)
                valued.append(taken.ravel()[visible])
        if not query:
            raise DataError(f"head {self.layer}.{self.head} has no query and key in one sentence")
        order = np.argsort(np.concatenate(query), kind="stable")
        parts = (query, key, score, weight, *([valued] if valued else []))
        return Pairs(*(np.concatenate(part)[order] for part in parts))

    def items(self) -> Items:
        """Queries first, then keys, with the column type ("query" or "key")."""
        columns = {
            name: np.concatenate([self.queries.columns[name], self.keys.columns[name]])
            for name in self.queries.columns
        }
        types = np.array(["query"] * len(self.queries) + ["key"] * len(self.keys), object)
        return Items((*self.queries.labels, *self.keys.labels), {"type": types, **columns})


def head_vectors(
    capture: Capture,
    layer: int,
    head: int,
    *,
    special: Literal["keep", "drop"] = "keep",
    side: Side | None = None,
) -> HeadVectors:
    """The queries and keys of a head, out of `collect_query_key`'s capture or of one text's.

    Layer and head are the model's own numbers, from 0. With "drop", special tokens are neither
    queries nor keys. `side` says whose of an encoder–decoder.
    """
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    q = _queries(capture, side)
    before = q.removesuffix("q")
    k = f"{before}k"
    at = place(capture, q, "layer", layer), place(capture, q, "head", head)
    Q, K = capture[q][at], capture[k][at]
    for name, array in (("queries", Q), ("keys", K)):
        if not np.isfinite(array).all():
            raise DataError(
                f"the {name} of head {layer}.{head} hold NaN or infinity; capture them in float32"
            )
    queries, keys = _items(capture.tokens_along(q, "query"), Q), _items(capture.tokens_along(k, "key"), K)
    known = capture.metadata
    softcaps = known.get("softcap") or []
    scaling = known.get("scaling", {}).get(q)
    named = {name: known[name] for name in ("model", "revision") if name in known}
    whole = HeadVectors(
        np.ascontiguousarray(Q, np.float32),
        np.ascontiguousarray(K, np.float32),
        queries,
        keys,
        layer,
        head,
        Q.shape[1] ** -0.5 if scaling is None else float(scaling[at[0]]),
        bool(known.get("causal", {}).get(f"{before}attention", False)),
        softcaps[layer] if layer < len(softcaps) else None,
        {**named, "layer": layer, "head": head, "special": special},
        capture.notes,
        _value_norms(capture, before, at),
    )
    if special == "keep" or not (queries.columns["special"].any() or keys.columns["special"].any()):
        return whole
    rows, columns = (np.flatnonzero(~side.columns["special"]) for side in (queries, keys))
    if not len(rows) or not len(columns):
        raise DataError(f"head {layer}.{head} has only special tokens; read more text")
    return replace(
        whole,
        Q=whole.Q[rows],
        K=whole.K[columns],
        queries=queries.take(rows),
        keys=keys.take(columns),
        value_norms=None if whole.value_norms is None else whole.value_norms[columns],
        whole=whole,
        rows=(rows, columns),
    )


def _rows_of(sentence: np.ndarray) -> dict[int, np.ndarray]:
    """The rows of every sentence, in order."""
    order = np.argsort(sentence, kind="stable")
    numbers, first = np.unique(sentence[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, first[1:]), strict=True))


def _kept_pairs(pairs: Pairs, rows: np.ndarray, columns: np.ndarray) -> Pairs:
    """The pairs whose query and key are kept, counted among those kept."""
    query, key = (
        np.full(1 + max(int(given.max()), int(kept.max())), -1)
        for given, kept in ((pairs.query, rows), (pairs.key, columns))
    )
    query[rows], key[columns] = np.arange(len(rows)), np.arange(len(columns))
    kept = (query[pairs.query] >= 0) & (key[pairs.key] >= 0)
    return Pairs(
        query[pairs.query[kept]],
        key[pairs.key[kept]],
        pairs.score[kept],
        pairs.attention[kept],
        None if pairs.valued is None else pairs.valued[kept],
    )


def _value_norms(capture: Capture, before: str, at: tuple[int, int]) -> np.ndarray | None:
    """The lengths of a head's values: as they were collected, or of the values that a capture holds."""
    if f"{before}value_norm" in capture.arrays:
        return np.asarray(capture[f"{before}value_norm"][at], np.float64)
    if f"{before}v" in capture.arrays:
        return np.linalg.norm(capture[f"{before}v"][at].astype(np.float64), axis=1)
    return None


def heads_of(capture: Capture) -> list[tuple[int, int]]:
    """Every (layer, head) whose queries the capture holds."""
    q = _queries(capture)
    return [(layer, head) for layer in capture.layers_of(q) for head in capture.heads_of(q)]


def _queries(capture: Capture, side: Side | None = None) -> str:
    if side is None and not any(name == "q" or name.endswith("_q") for name in capture.arrays):
        notes = " ".join(capture.notes)
        raise DataError(
            f'this capture holds no queries and keys; capture it with want=("q", "k"). {notes}'.rstrip()
        )
    return capture.name_of("q", side)


def _items(tokens: Tokens, vectors: np.ndarray) -> Items:
    """The tokens with their columns, each with a vector; a capture of one text is one sentence."""
    norm = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return Items(tokens.labels, {**_columns(tokens), "norm": norm})


@lru_cache(maxsize=4)
def _columns(tokens: Tokens) -> Mapping[str, np.ndarray]:
    """What is known of tokens in every head alike; found once for all heads of a capture."""
    n, shown, positions = len(tokens), tokens.shown, tokens.positions
    ids = list(tokens) if tokens.ids is None else tokens.ids.tolist()
    words = range(n) if tokens.words is None else tokens.words
    counts = Counter(ids)
    kinds = token_classes(tokens.texts, tokens.special.tolist(), words, tokens.sentence.tolist())
    lengths = np.bincount(tokens.sentence[~tokens.special], minlength=1 + int(tokens.sentence.max(initial=0)))
    columns = {
        "sentence": tokens.sentence,
        "position": positions,
        "token number": tokens.text_positions,
        "position mod 5": np.array([str(place % 5) for place in positions.tolist()], object),
        "special": tokens.special,
        "text": np.array(shown, object),
        "length": np.array([len(text.strip()) for text in shown]),
        "sentence length": lengths[tokens.sentence],
        "frequency": np.array([counts[one] for one in ids]),
        "class": np.array(kinds, object),
    }
    if tokens.parts_of_speech is not None:
        columns["part of speech"] = np.array(tokens.parts_of_speech, object)
    return columns
