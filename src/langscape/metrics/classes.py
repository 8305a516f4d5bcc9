"""Who attends to whom by class: attention between kinds of tokens, and between clusters of a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.data import frozen
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun


@noun
@dataclass(frozen=True, eq=False)
class ClassTable:
    """Attention from classes of queries (rows) to classes of keys (columns).

    weight    (rows, columns) what a query of the class gives to keys of the class, averaged over queries;
              a row sums to 1
    even      (rows, columns) the same if every query looked evenly at all it sees
    queries   (rows,) how many queries the class has; a row without any is NaN
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weight: np.ndarray
    even: np.ndarray
    queries: np.ndarray

    def __post_init__(self) -> None:
        for name in ("weight", "even", "queries"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def counted_rows(self) -> list[str]:
        """The classes of queries, each with how many it has: a row of one query says little."""
        return [f"{name} ({count})" for name, count in zip(self.rows, self.queries, strict=True)]

    @property
    def lift(self) -> np.ndarray:
        """Weight over what even attention would give: above 1 is sought, below 1 avoided; NaN for neither."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.even > 0, self.weight / np.where(self.even > 0, self.even, 1.0), np.nan)


def class_attention(
    attention: Any,
    query: Any,
    key: Any,
    query_class: Sequence[str],
    key_class: Sequence[str],
    order: Sequence[str] | None = None,
) -> ClassTable:
    """The table of attention between classes, over pairs of a query and a key that it sees.

    attention, query and key have one entry per pair; the classes one per query and per key. Classes stand in
    `order`, or as they first appear.

    >>> table = class_attention([0.9, 0.1], [0, 0], [0, 1], ["noun"], ["noun", "verb"])
    >>> table.weight.tolist(), table.lift.round(1).tolist()
    ([[0.9, 0.1]], [[1.8, 0.2]])
    """
    attention = np.asarray(attention, np.float64)
    query, key = np.asarray(query, np.intp), np.asarray(key, np.intp)
    if not attention.shape == query.shape == key.shape or attention.ndim != 1:
        raise DataError(f"attention, query and key have shapes {attention.shape}, {query.shape}, {key.shape}")
    if not len(query):
        raise DataError("there are no pairs of queries and keys to count")
    rows, asked = _codes(query_class, order)
    columns, seen = _codes(key_class, order)
    shape = (len(rows), len(columns))
    cell = asked[query] * shape[1] + seen[key]
    visible = np.bincount(query, minlength=len(asked))
    judged = visible > 0
    count = np.bincount(asked[judged], minlength=shape[0])
    size = shape[0] * shape[1]
    over = np.where(count > 0, count, 1)[:, None]
    weight = np.bincount(cell, attention, minlength=size).reshape(shape) / over
    even = np.bincount(cell, 1.0 / visible[query], minlength=size).reshape(shape) / over
    nobody = (count == 0)[:, None]
    return ClassTable(rows, columns, np.where(nobody, np.nan, weight), np.where(nobody, np.nan, even), count)


@dataclass(frozen=True, eq=False)
class Pairing:
    """Clusters of queries and of keys on a map, and which of them attend to each other.

    query_cluster, key_cluster  (queries,) and (keys,) the cluster of each, 0 the largest
    query_names, key_names      the tokens that tell a cluster from the others, the most telling first
    table                       attention between clusters; table.lift says which pair up
    """

    query_cluster: np.ndarray
    key_cluster: np.ndarray
    query_names: tuple[str, ...]
    key_names: tuple[str, ...]
    table: ClassTable

    def strongest(self, count: int = 10) -> list[dict[str, Any]]:
        """The pairs of clusters whose attention is most above chance, as plain rows."""
        lift, weight = self.table.lift, self.table.weight
        gain = np.nan_to_num((weight - self.table.even) * self.table.queries[:, None], nan=-np.inf)
        order = np.argsort(-gain, axis=None, kind="stable")[:count]
        found = []
        for a, b in (np.unravel_index(int(at), gain.shape) for at in order):
            if gain[a, b] > 0:
                found.append(
                    {
                        "queries": self.query_names[a], "keys": self.key_names[b],
                        "query_cluster": int(a), "key_cluster": int(b),
                        "weight": float(weight[a, b]), "lift": float(lift[a, b]),
                        "query_count": int(self.table.queries[a]),
                        "key_count": int((self.key_cluster == b).sum()),
                    }
                )  # fmt: skip
        return found


def pair_clusters(
    places: Any,
    key_places: Any,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    attention: Any,
    query: Any,
    key: Any,
    clusters: int = 8,
) -> Pairing:
    """Queries and keys of a map clustered by place (Ward), each kind on its own, and who attends to whom."""
    Y, Z = np.asarray(places, np.float64), np.asarray(key_places, np.float64)
    if clusters < 2:
        raise SettingsError(f"clusters {clusters} is too few; give at least 2")
    left, right = _clusters(Y, clusters), _clusters(Z, clusters)
    names = _names(left, query_tokens), _names(right, key_tokens)
    table = class_attention(
        attention, query, key, [str(one) for one in left], [str(one) for one in right],
        [str(one) for one in range(clusters)],
    )  # fmt: skip
    return Pairing(frozen(left), frozen(right), *names, table)


def agreement(xy: Any, places: Any, key_places: Any, k: int = 5) -> np.ndarray:
    """Per token, the share of its k nearest on a map among its k nearest on a query–key map of the same.

    On the query–key map two tokens are as near as the query of one is to the key of the other, whichever
    way round is nearer. xy, places and key_places have one row per token.
    """
    from langscape.kernels.linear import squared_distances

    X, Y, Z = (np.asarray(one, np.float64) for one in (xy, places, key_places))
    n = len(X)
    if len(Y) != n or len(Z) != n:
        raise DataError(f"the maps hold {n}, {len(Y)} and {len(Z)} places; they must be of the same tokens")
    if n < 3:
        raise DataError(f"agreement needs at least 3 tokens, but there are {n}")
    k = min(k, n - 1)
    first, across = squared_distances(X, X), squared_distances(Y, Z)
    second = np.minimum(across, across.T)
    near = []
    for gap in (first, second):
        np.fill_diagonal(gap, np.inf)
        near.append(np.argsort(gap, axis=1, kind="stable")[:, :k])
    return np.array([len(np.intersect1d(a, b)) / k for a, b in zip(*near, strict=True)])


def _codes(classes: Sequence[str], order: Sequence[str] | None) -> tuple[tuple[str, ...], np.ndarray]:
    names = [str(one) for one in classes]
    there = set(names)
    listed = [one for one in order if one in there] if order is not None else []
    listed += [one for one in dict.fromkeys(names) if one not in set(listed)]
    code = {name: at for at, name in enumerate(listed)}
    return tuple(listed), np.array([code[name] for name in names], np.intp)


def _clusters(places: np.ndarray, clusters: int) -> np.ndarray:
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(places) < 2:
        return np.zeros(len(places), np.intp)
    found = fcluster(linkage(places, "ward"), min(clusters, len(places)), "maxclust") - 1
    order = np.argsort(-np.bincount(found), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[found]


def _names(cluster: np.ndarray, tokens: Sequence[str], most: int = 4) -> tuple[str, ...]:
    """Of each cluster the tokens it has most of beyond its share of all."""
    names = [str(token).strip() or str(token) for token in tokens]
    everywhere = Counter(names)
    found = []
    for one in range(int(cluster.max()) + 1 if len(cluster) else 0):
        rows = np.flatnonzero(cluster == one)
        here = Counter(names[i] for i in rows)
        share = len(rows) / max(len(names), 1)
        order = sorted(here, key=lambda name: (-(here[name] - share * everywhere[name]), name))
        found.append(" · ".join(order[:most]))
    return tuple(found)
