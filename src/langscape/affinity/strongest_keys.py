"""Which keys every query attends to most and which queries a key, head by head; attention over sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from langscape.affinity.head_vectors import HeadVectors, head_vectors
from langscape.data import Capture, Items, frozen
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.metrics import aggregate_attention

STRONGEST = 10
"""Keys that are kept of every query, beyond the five that scores count, and queries of every key."""

POSITIONS = 24
"""Positions of the table of attention averaged over sentences."""


@noun
@dataclass(frozen=True, eq=False)
class StrongestKeys:
    """The tokens of some heads as queries and keys, and whom each query attends to.

    items       queries first, then keys, by the tokenizer's own labels; what is the same in every head
    queries     how many of the items are queries
    heads       (layer, head) of each of the following
    norms       (head, item) the length of every query and key
    partners    (head, item, `STRONGEST`) of a query its strongest keys, of a key the queries that give it
                most; −1 for none
    weights     (head, item, `STRONGEST`) the model's own weights of these
    value_norms (head, key) the lengths of the value vectors, None where they are not known
    valued_partners, valued_weights  the same as partners and weights with attention weighed by these
                lengths: whose values a query takes most of; None where they are not known
    aggregates  (head, position, position) mean weight over all sentences, special tokens among them, up to
                `POSITIONS`
    longest     positions of the longest sentence, or text read as a whole
    read        what the model read at once: "sentences", each alone, or each "text" as a whole
    """

    items: Items
    queries: int
    heads: tuple[tuple[int, int], ...]
    norms: np.ndarray
    partners: np.ndarray
    weights: np.ndarray
    aggregates: np.ndarray
    model: str = ""
    sentences: tuple[str, ...] = ()
    special: str = "keep"
    value_norms: np.ndarray | None = None
    valued_partners: np.ndarray | None = None
    valued_weights: np.ndarray | None = None
    read: str = "sentences"
    longest: int = 0

    def __post_init__(self) -> None:
        for name in ("norms", "partners", "weights", "aggregates"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in ("value_norms", "valued_partners", "valued_weights"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))


def strongest_keys(
    capture: Capture, heads: Sequence[tuple[int, int]], *, special: Literal["keep", "drop"] = "keep"
) -> StrongestKeys:
    """The strongest keys of every query and queries of every key, by (layer, head).

    The capture is `collect_query_key`'s.

    With "drop", special tokens are neither queries nor keys; weights are those that the model gave with them
    in sight.
    """
    keys = tuple(dict.fromkeys(heads))
    if not keys:
        raise SettingsError("there is no head to look at; give pairs (layer, head)")
    norms, rows, weights, aggregates, lengths, valued = [], [], [], [], [], []
    first: HeadVectors | None = None
    for layer, head in keys:
        one = head_vectors(capture, layer, head, special=special)
        first = first or one
        norms.append(one.items().columns["norm"].astype(np.float32))
        best, given = strongest_pairs(one)
        rows.append(best)
        weights.append(given)
        aggregates.append(_aggregate(one))
        if one.value_norms is not None:
            lengths.append(one.value_norms.astype(np.float32))
            valued.append(strongest_pairs(one, valued=True))
    assert first is not None
    items = first.items()
    whole = first if first.whole is None else first.whole
    return StrongestKeys(
        Items(items.labels, {name: one for name, one in items.columns.items() if name != "norm"}),
        len(first.Q),
        keys,
        np.stack(norms),
        np.stack(rows),
        np.stack(weights),
        np.stack(aggregates),
        str(capture.metadata.get("model", "")),
        tuple(capture.metadata.get("sentences", ())),
        special,
        value_norms=np.stack(lengths) if lengths else None,
        valued_partners=np.stack([partners for partners, _ in valued]) if valued else None,
        valued_weights=np.stack([shares for _, shares in valued]) if valued else None,
        read=str(capture.metadata.get("read", "sentences")),
        longest=1 + int(max(side.columns["position"].max() for side in (whole.queries, whole.keys))),
    )


def strongest_pairs(
    one: HeadVectors, most: int = STRONGEST, *, valued: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Of every query its strongest keys, of every key the queries that give it most, and their weights.

    Both (items, `most`), counted among all items, queries first; −1 and 0 where there are fewer. With
    `valued`, weights are those times the lengths of the keys' values, as shares.
    """
    from langscape.kernels.groups import largest_of_groups

    n, pairs = len(one.Q), one.pairs
    key = pairs.key + n
    given = pairs.valued if valued else pairs.attention
    assert given is not None
    rows, weights = np.full((n + len(one.K), most), -1, np.int32), np.zeros((n + len(one.K), most))
    largest_of_groups(pairs.query, key, given, rows, weights)  # pairs are sorted by query
    by_key = pairs.by_key
    largest_of_groups(key[by_key], pairs.query[by_key], given[by_key], rows, weights)
    return rows, weights


def _aggregate(one: HeadVectors) -> np.ndarray:
    whole = one if one.whole is None else one.whole
    pairs = whole.pairs
    position = whole.queries.columns["position"][pairs.query]
    key_position = whole.keys.columns["position"][pairs.key]
    return aggregate_attention(pairs.attention, position, key_position, POSITIONS).astype(np.float32)
