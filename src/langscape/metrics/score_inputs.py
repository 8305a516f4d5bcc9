"""What the functions of scores are given, place by place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class TwoSpaces:
    """What scores of a map of vectors are computed from: the same n points in the data and on the map.

    rows          (judged,) the points to judge, each against all n
    ranks         (judged, k) the place in the data, 0 the nearest, of the t-th nearest point on the map
    correlations  (judged,) Spearman's, of a point's distances to all others
    back          what `places_on_map` gives, where it is known already
    """

    high: Any
    low: Any
    rows: np.ndarray
    ranks: np.ndarray
    correlations: np.ndarray

    back: np.ndarray | None = None

    @property
    def n(self) -> int:
        """How many points there are."""
        return self.high.n

    def places_on_map(self) -> np.ndarray:
        """(judged, k) the place on the map, 0 the nearest, of the t-th nearest point in the data."""
        if self.back is not None:
            return self.back
        from langscape.metrics.compare import compare

        return compare(self.low, self.high, self.rows, self.ranks.shape[1])[0]


@dataclass(frozen=True, eq=False)
class InsertedPoints:
    """What scores of inserted points are computed from, m at a time.

    near, on_map    (m, k) rows of the map's items nearest in the data, and nearest on the map
    data, places    (m, items) squared distances to some of the map's items, in the data and on the map
    """

    near: np.ndarray
    on_map: np.ndarray
    data: np.ndarray
    places: np.ndarray


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """What scores of heads are computed from.

    attention  (layer, head, query, key)
    known      ids, special and separators, as `head_scores` takes them
    scores     what `head_scores` gives, induction of a probe included; each (layer, head)
    chains     what `stationary` gives for every head, in order
    """

    attention: np.ndarray
    known: Mapping[str, Any]
    scores: Mapping[str, np.ndarray]
    chains: list[Any] = field(default_factory=list)

    def of_chains(self, values: list[float]) -> np.ndarray:
        """A value per head as (layer, head)."""
        return np.array(values, np.float64).reshape(self.attention.shape[:2])


@dataclass(frozen=True, eq=False)
class QueryKeyPlaces:
    """What scores of a query–key map are computed from.

    queries, keys      their places, (n, dims) and (m, dims)
    query, key, distance, product, attention   of every pair within a sentence, sorted by query: its rows, map
                       distance, q·k and weight
    products           gives q·k of some rows of queries with all keys
    known              what was found from q·k and sentences alone, which other places do not change
    """

    queries: np.ndarray
    keys: np.ndarray
    query: np.ndarray
    key: np.ndarray
    distance: np.ndarray
    product: np.ndarray
    attention: np.ndarray
    products: Callable[[Any], np.ndarray]
    known: dict[str, np.ndarray] = field(default_factory=dict)
    _here: dict[str, np.ndarray] = field(default_factory=dict, init=False)

    def once(self, name: str, find: Callable[[], np.ndarray]) -> np.ndarray:
        """What `find` gives, found once for all pictures with the same q·k and the same sentences."""
        if name not in self.known:
            self.known[name] = find()
        return self.known[name]

    def once_here(self, name: str, find: Callable[[], np.ndarray]) -> np.ndarray:
        """What `find` gives, found once for this picture."""
        if name not in self._here:
            self._here[name] = find()
        return self._here[name]

    def nearest_keys(self) -> np.ndarray:
        """(queries, k) the keys nearest on the map to each query, of all sentences."""
        from langscape.metrics.query_key import nearest_keys

        return self.once_here("nearest keys", lambda: nearest_keys(self.queries, self.keys))

    def sentences(self) -> np.ndarray:
        """(queries,) the number of each one's sentence; queries that see keys in common are of one."""
        return self.once("sentences", self._sentences)

    def beyond_popularity(self) -> np.ndarray:
        """q·k of every pair beyond what its key gets on average."""
        from langscape.metrics.query_key import without_popularity

        return self.once("beyond popularity", lambda: without_popularity(self.product, self.key))

    def _sentences(self) -> np.ndarray:
        n = len(self.queries)
        first, last = np.full(n, np.inf), np.full(n, -np.inf)
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))
        first[self.query[starts]] = np.minimum.reduceat(self.key, starts)
        last[self.query[starts]] = np.maximum.reduceat(self.key, starts)
        order = np.argsort(first, kind="stable")
        reach = np.maximum.accumulate(last[order])
        begins = np.concatenate([[False], first[order][1:] > reach[:-1]])
        found = np.empty(n, np.intp)
        found[order] = np.cumsum(begins)
        return found

    def part(self, most: int = 5000) -> QueryKeyPlaces:
        """Whole sentences, evenly taken, of about so many pairs; of a longer one, some of its queries."""
        if len(self.query) <= most:
            return self
        sentence = self.sentences()
        sizes = np.bincount(sentence[self.query])
        count = max(1, int(most / sizes.mean()))
        chosen = np.isin(sentence, np.linspace(0, len(sizes) - 1, min(count, len(sizes))).astype(int))
        pairs = int(chosen[self.query].sum())
        rows = np.flatnonzero(chosen)[:: max(1, pairs // most)]
        at = np.full(len(self.queries), -1)
        at[rows] = np.arange(len(rows))
        kept = at[self.query] >= 0
        return replace(
            self,
            queries=self.queries[rows],
            query=at[self.query[kept]],
            **{name: getattr(self, name)[kept] for name in ("key", "distance", "product", "attention")},
            products=lambda some: self.products(rows[some]),
            known={},
        )

    def dealt(self, rng: np.random.Generator) -> QueryKeyPlaces:
        """The same picture with the places of queries dealt anew among those of their sentence."""
        sentence = self.sentences()
        place_of = np.empty(len(sentence), np.intp)
        place_of[np.argsort(sentence, kind="stable")] = np.lexsort((rng.random(len(sentence)), sentence))
        queries = self.queries[place_of]
        away = queries[self.query].astype(np.float64) - self.keys[self.key]
        dealt = replace(self, queries=queries, distance=np.sqrt(np.einsum("ij,ij->i", away, away)))
        # the places are the same ones, and so are the keys near each
        dealt._here["nearest keys"] = self.nearest_keys()[place_of]
        return dealt

    def without_information(self) -> QueryKeyPlaces:
        """The picture that knows no query: all on one spot, keys by the attention they get on average.

        Within a sentence the mean is over its queries, elsewhere over all.
        """
        from langscape.metrics.query_key import mean_products, popularity

        means = mean_products(self.products, len(self.queries))
        places = np.argsort(np.argsort(-means, kind="stable"), kind="stable")
        return replace(
            self,
            queries=np.full((len(self.queries), 1), -1.0),
            keys=places[:, None].astype(np.float64),
            distance=-popularity(self.attention, self.key),
        )
