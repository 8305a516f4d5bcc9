"""The one registry of scores: what each is called and means, where it applies, how it is computed and shown.

Badges, hovers, colour modes, tables, the command's summary and the table in docs/metrics.md are read off it.
To add a score is one `register(Score(…))` and its function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

Place = Literal[
    "map",
    "inserted",
    "head map",
    "hidden map",
    "map of heads",
    "atlas",
    "corpus",
    "query-key map",
    "ellipses",
    "comparison",
    "affinity",
    "flow",
]
"""Where a score applies.

map            a map of vectors; the function takes `TwoSpaces` and gives a value per judged row
inserted       a point placed on a finished map; takes `InsertedPoints` and gives a value per point
head map       a map of tokens by the attention of a head
hidden map     a map of tokens, or of texts, by their hidden states
map of heads   a map of heads, near where they attend alike
atlas          a row per head; takes `HeadWeights` and gives (layer, head), NaN where there is no occasion
corpus         a row per head, over many texts: a mean with its interval
query-key map  takes `QueryKeyPlaces` and gives a `PointScores`, whose rows are queries
ellipses       a map of distributions
comparison     two maps of the same items
affinity       a column of the items, known before there is a map
flow           a picture of vectors on their way

The engine computes every score of the first two, and the analyses those of an atlas and of a query–key map,
without being told of each.
"""

Format = Literal["percent", "number", "count", "power"]

K = 10
"""Neighbours that `local`, `ndcg` and `trustworthiness` look at, on every map and for inserted points."""


GOOD, PARTLY = 0.4, 0.1
"""How far from its null (0) to its best value (1) a score calls a picture good, or partly to be read."""


def neighbours(n: int) -> int:
    """The k of a map of n points: 10, or fewer than half the points.

    >>> neighbours(600), neighbours(9)
    (10, 4)
    """
    return max(1, min(K, (n - 1) // 2))


@dataclass(frozen=True)
class Score:
    """One score.

    name      as in `Map.quality`, `Map.per_point`, the columns of an atlas and of files
    label     as people read it
    meaning   one plain sentence; {k} stands for the number of neighbours
    computed  the function for each place where it applies; None where the place computes it with others
    symbol    as a formula writes it
    k         how many neighbours are looked at, where the score has such a number
    low, high the range; None where it is open
    better    which way is better, "neither" where a score only describes
    chance    what chance would give
    reads     a longer word on how to read it, for the documentation
    format    percent: 53.1 %, number: 0.531, count: 1,234, power: the order of size
    null      what a picture without the information is; its value stands beside the score's, as name_null
    nothing   the same in a word or two, as a verdict names it: "key popularity alone"
    unjudged  why it has no null, although it has a better and a worse: it is then no score of trust
    spread    True if the standard deviation over points stands beside it, as name_sd
    headline  True if the command's summary names it
    """

    name: str
    label: str
    meaning: str
    computed: Mapping[Place, Callable[..., Any] | None]
    symbol: str = ""
    k: int | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    better: Literal["higher", "lower", "neither"] = "higher"
    chance: str = ""
    null: str = ""
    nothing: str = "chance"
    unjudged: str = ""
    reads: str = ""
    format: Format = "number"
    spread: bool = False
    headline: bool = True

    @property
    def word(self) -> str:
        """The label as it stands within a sentence.

        >>> SCORES["local"].word, SCORES["ndcg"].word
        ('local', 'nDCG')
        """
        return self.label if not self.label[1:2].islower() else self.label[0].lower() + self.label[1:]

    def text(self, value: float, sd: float = math.nan) -> str:
        """The value as it is shown, with its standard deviation if that is known.

        >>> SCORES["local"].text(0.531, 0.18), SCORES["global"].text(-0.0001)
        ('53.1 % ± 18.0', '0.000')
        """
        if not math.isfinite(value):
            return "–"
        if self.format == "count":
            return f"{value:,.0f}"
        if self.format == "power":
            return f"{value:.0e}".replace("e-0", "e−").replace("e-", "e−")
        if self.format == "percent":
            return f"{100 * value:.1f} %" + (f" ± {100 * sd:.1f}" if math.isfinite(sd) else "")
        return f"{value:z.3f}" + (f" ± {sd:.3f}" if math.isfinite(sd) else "")

    def verdict(self, value: float, null: float) -> str:
        """What may be said of a picture with this value, where one without the information has `null`.

        It is good from two fifths of the way between the null and the best value, and partly to be read from
        a tenth.

        >>> kept = SCORES["kept"]
        >>> kept.verdict(0.8, 0.25), kept.verdict(0.3, 0.15), kept.verdict(0.12, 0.1)
        ('good', 'partly', 'not to be read')
        """
        way = self.way(value, null)
        if not math.isfinite(way):
            return ""
        return "good" if way >= GOOD else "partly" if way >= PARTLY else "not to be read"

    def way(self, value: float, null: float) -> float:
        """How far the value lies on the way from the null (0) to the best reachable (1); NaN if unknown.

        >>> round(SCORES["kept"].way(0.55, 0.1), 6)
        0.5
        """
        best = self.high if self.better == "higher" else self.low
        if best is None or not (math.isfinite(value) and math.isfinite(null)):
            return math.nan
        return (value - null) / (best - null) if best != null else 0.0

    def in_words(self, value: float, null: float) -> str:
        """The verdict in words, against what a picture without the information has.

        >>> SCORES["order"].in_words(0.6, 0.55), SCORES["specific_order"].in_words(0.465, 0.007)
        ('better than key popularity alone', 'far better than key popularity alone')
        """
        way = self.way(value, null)
        if not math.isfinite(way):
            return ""
        how = (
            "far better than" if way >= GOOD
            else "better than" if way >= PARTLY
            else "no better than" if way >= -PARTLY
            else "worse than"
        )  # fmt: skip
        return f"{how} {self.nothing}"

    def sentence(self, k: float | None = None) -> str:
        """The meaning, with the number of neighbours filled in: k, or the score's own."""
        k = self.k if k is None else k
        return self.meaning.format(k="" if k is None else f"{k:g}")


SCORES: dict[str, Score] = {}
"""All scores by name, in the order in which they are shown."""

HOW = ("k", "rows", "before", "area_held_rows", "area_held_least", "dubious")
"""Entries of `Map.quality` that say how scores were measured: neighbours, points judged, items then; rows of
an item in the middle and at least; and the `local` that one in twenty points of a random layout reach."""


def register(score: Score) -> Score:
    """Make a score known everywhere; a name can be taken once."""
    if score.name in SCORES:
        raise ValueError(f"the score {score.name!r} is registered already; give it another name")
    SCORES[score.name] = score
    return score


def applying(place: Place, *, computed: bool = False) -> list[Score]:
    """The scores of a place in their order; with computed=True those that have their own function there.

    >>> [score.name for score in applying("inserted", computed=True)]
    ['local', 'global']
    """
    here = [score for score in SCORES.values() if place in score.computed]
    return [score for score in here if score.computed[place] is not None] if computed else here


def score_of(name: str) -> Score | None:
    """The score that an entry of `Map.quality`, `Map.per_point` or an atlas belongs to; None for others.

    Standard deviations (local_sd), nulls (kept_null), means over inserted points (inserted_local) and what a
    flat picture has (flat_local) belong to their score.

    >>> score_of("inserted_local").name, score_of("local_sd").name, score_of("colour of hair")
    ('local', 'local', None)
    """
    name = name.removeprefix("flat_")
    if name.startswith("inserted_"):
        name = name.removesuffix("_null")
    if name in SCORES:
        return SCORES[name]
    if SCORES.get(name.removesuffix("_null")) and name.endswith("_null"):
        return SCORES[name.removesuffix("_null")]
    inserted, deviation = SCORES.get(name.removeprefix("inserted_")), SCORES.get(name.removesuffix("_sd"))
    if name.startswith("inserted_") and inserted and "inserted" in inserted.computed:
        return inserted
    return deviation if deviation and deviation.spread else None


def described(name: str, meaning: str | None = None) -> dict[str, str]:
    """Name, label, sentence and format of a score or column as a view carries them."""
    score = SCORES.get(name)
    if score is None and name.endswith("_null") and (of := SCORES.get(name.removesuffix("_null"))):
        label, sentence = f"{of.label} of {of.nothing}", meaning or f"The same of {of.null}."
        return {"name": name, "label": label, "meaning": sentence, "format": of.format}
    if score is None:
        label = name.replace("_", " ")
        return {"name": name, "label": label[:1].upper() + label[1:], "meaning": meaning or "", "format": ""}
    sentence = score.sentence() if meaning is None else meaning
    return {"name": name, "label": score.label, "meaning": sentence, "format": score.format}


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
    """

    queries: np.ndarray
    keys: np.ndarray
    query: np.ndarray
    key: np.ndarray
    distance: np.ndarray
    product: np.ndarray
    attention: np.ndarray
    products: Callable[[slice], np.ndarray]

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


def _local(seen: TwoSpaces) -> np.ndarray:
    from langscape.metrics.neighbours import local_of

    return local_of(seen.ranks)


def _inserted_local(seen: InsertedPoints) -> np.ndarray:
    from langscape.kernels.rank_agreement import in_common

    return in_common(seen.near, seen.on_map) / seen.near.shape[1]


def _global(seen: TwoSpaces) -> np.ndarray:
    return seen.correlations


def _inserted_global(seen: InsertedPoints) -> np.ndarray:
    from langscape.kernels.rank_agreement import rank_correlations

    return rank_correlations(seen.data, seen.places)


def _ndcg(seen: TwoSpaces) -> np.ndarray:
    from langscape.metrics.neighbours import ndcg_of

    return ndcg_of(seen.ranks, seen.ranks.shape[1])


def _trustworthiness(seen: TwoSpaces) -> np.ndarray:
    from langscape.metrics.neighbours import trustworthiness_of

    return trustworthiness_of(seen.ranks, seen.n)


def _continuity(seen: TwoSpaces) -> np.ndarray:
    from langscape.metrics.neighbours import trustworthiness_of

    return trustworthiness_of(seen.places_on_map(), seen.n)


def _specific_order(seen: QueryKeyPlaces) -> Any:
    from langscape.metrics.query_key import attention_order, without_popularity

    beyond = without_popularity(seen.product, seen.key)
    return replace(
        attention_order(seen.distance, beyond, seen.query, len(seen.queries)), name="specific_order"
    )


def _specific_hits(seen: QueryKeyPlaces) -> Any:
    from langscape.metrics.query_key import strongest_near, without_popularity

    beyond = without_popularity(seen.product, seen.key)
    return replace(
        strongest_near(seen.distance, beyond, seen.query, n=len(seen.queries)), name="specific_hits"
    )


def _order(seen: QueryKeyPlaces) -> Any:
    from langscape.metrics.query_key import attention_order

    return attention_order(seen.distance, seen.product, seen.query, len(seen.queries))


def _strongest(seen: QueryKeyPlaces) -> Any:
    from langscape.metrics.query_key import strongest_near

    return strongest_near(seen.distance, seen.product, seen.query, n=len(seen.queries))


def _anywhere(seen: QueryKeyPlaces) -> Any:
    from langscape.metrics.query_key import strongest_anywhere

    return strongest_anywhere(seen.queries, seen.keys, seen.products)


def _mixing(seen: HeadWeights) -> np.ndarray:
    return seen.of_chains([chain.second for chain in seen.chains])


def _steps(seen: HeadWeights) -> np.ndarray:
    """Only where every head's walk ends."""
    ends = all(chain.kind == "absorbing" for chain in seen.chains)
    return seen.of_chains([chain.steps if ends else math.nan for chain in seen.chains])


def _of_heads(name: str) -> Callable[[HeadWeights], np.ndarray]:
    return lambda seen: seen.scores[name]


def _head_score(name: str, label: str, meaning: str, **more: Any) -> None:
    """A score that `head_scores` computes with others, in one pass over the weights."""
    more = {"better": "neither", "headline": False, **more}
    register(Score(name, label, meaning, {"atlas": _of_heads(name), "corpus": None}, **more))


def _corpus_score(name: str, label: str, meaning: str, **more: Any) -> None:
    """A score of heads that only many texts tell."""
    register(Score(name, label, meaning, {"corpus": None}, better="neither", headline=False, **more))


_DEALT = "a random layout, the same places dealt anew among the items,"

_BLIND = "a picture that knows no query (all queries on one spot, keys by the attention they get on average)"

_EVERY_MAP: dict[Place, None] = dict.fromkeys(("map", "head map", "atlas", "query-key map", "ellipses"))

register(
    Score(
        "kl",
        "KL",
        "Information lost about who is near whom, in nats: 0 would be a perfect copy.",
        _EVERY_MAP,
        symbol="KL(P‖Q)",
        high=None,
        better="lower",
        chance="–",
        reads="what t-SNE minimises; compares maps of the same P only and says nothing between others",
        unjudged="it compares maps of one P, and a low one can keep nothing",
    )
)
register(
    Score(
        "local",
        "Local",
        "Of an item’s {k} nearest in the data, the share that is also among its {k} nearest on the map.",
        {"map": _local, "inserted": _inserted_local, "ellipses": None},
        symbol="|N ∩ M| / k",
        k=K,
        chance="k/(n−1)",
        reads="the first score to look at for t-SNE; 600 words at 0.58 are a good map",
        format="percent",
        spread=True,
        null=_DEALT,
    )
)
register(
    Score(
        "global",
        "Global",
        "Rank correlation of an item’s distances in the data and on the map: 1 keeps the order of far and "
        "near, 0 is none of it.",
        {"map": _global, "inserted": _inserted_global, "ellipses": None},
        symbol="ρ",
        low=-1.0,
        chance="0",
        reads="t-SNE gives this up first; PCA keeps more of it",
        spread=True,
        null=_DEALT,
    )
)
register(
    Score(
        "ndcg",
        "nDCG",
        "How well ranking by map distance puts an item’s {k} nearest in the data first; 1 is perfect.",
        {"map": _ndcg, "ellipses": None},
        symbol="nDCG@k",
        k=K,
        chance="about 0.8 k/(n−1)",
        reads="stricter than `local`: the nearest neighbour weighs most",
        headline=False,
        null=_DEALT,
    )
)
register(
    Score(
        "trustworthiness",
        "Trustworthiness",
        "1 if everything close on the map is close in the data; each false neighbour lowers it.",
        {"map": _trustworthiness, "ellipses": None},
        symbol="T(k)",
        k=K,
        chance="about 0.5",
        reads="lenient: a near miss costs little, so differences near 1 matter",
        headline=False,
        null=_DEALT,
    )
)
register(
    Score(
        "continuity",
        "Continuity",
        "1 if everything close in the data is close on the map; each missing neighbour lowers it.",
        {"map": _continuity, "ellipses": None},
        symbol="C(k)",
        k=K,
        chance="about 0.5",
        reads="low where the layout tore neighbours apart, as trustworthiness is where it glued strangers",
        headline=False,
        null=_DEALT,
    )
)
register(
    Score(
        "specific_order",
        "Query-specific order",
        "Rank correlation of a key’s nearness on the map with what the query gives it beyond what that key "
        "gets on average (q·k less the key’s mean), over the keys of a query’s sentence: 1 puts first what "
        "this query asks for more than others do.",
        {"query-key map": _specific_order},
        symbol="ρ",
        low=-1.0,
        chance="0",
        null=_BLIND,
        nothing="key popularity alone",
        reads="the score to read a query–key map by: what all queries attend to alike does not count",
        spread=True,
    )
)
register(
    Score(
        "specific_hits",
        "Query-specific hits",
        "Of the {k} keys that a query asks for most beyond what they get on average, the share among its {k} "
        "nearest keys of its sentence on the map.",
        {"query-key map": _specific_hits},
        k=5,
        chance="k / keys of the sentence",
        null=_BLIND,
        nothing="key popularity alone",
        format="percent",
        spread=True,
    )
)
register(
    Score(
        "order",
        "Attention order",
        "Rank correlation of a key’s nearness on the map with q·k, over the keys of a query’s sentence: 1 "
        "puts the strongest nearest.",
        {"query-key map": _order},
        symbol="ρ",
        low=-1.0,
        null=_BLIND,
        nothing="key popularity alone",
        reads="keys that everybody attends to make most of it: read it beside what key popularity alone has",
        spread=True,
        headline=False,
    )
)
register(
    Score(
        "strongest",
        "Top-5 keys among the 5 nearest",
        "Of a query’s {k} strongest keys in its sentence, the share among its {k} nearest keys of that "
        "sentence on the map.",
        {"query-key map": _strongest},
        k=5,
        null=_BLIND,
        nothing="key popularity alone",
        headline=False,
        format="percent",
        spread=True,
    )
)
register(
    Score(
        "anywhere",
        "Top-10 keys of all sentences among the 10 nearest",
        "Of a query’s {k} strongest keys in all sentences, the share among its {k} nearest keys on the map.",
        {"query-key map": _anywhere},
        k=10,
        null=_BLIND,
        nothing="key popularity alone",
        headline=False,
        format="percent",
    )
)
register(
    Score(
        "agreement",
        "Agreement",
        "Of a token’s {k} nearest on the attention-head map, the share among its {k} nearest on the "
        "query–key map.",
        {"query-key map": None, "head map": None},
        k=5,
        format="percent",
        null="the same two maps with the tokens of one dealt anew",
    )
)
register(
    Score(
        "area_held",
        "Held-out area",
        "Rank correlation of the areas that ellipses have from one half of the contexts, or rows, with the "
        "total variance of the other half: at 1 a larger ellipse is a more uncertain item whatever contexts "
        "were drawn, near 0 its size is an accident of these.",
        {"ellipses": None},
        symbol="ρ",
        low=-1.0,
        chance="0",
        null="the same with the halves of other items",
        reads="the score to read sizes by; with few rows it falls",
    )
)
register(
    Score(
        "area_variance",
        "Area and variance",
        "Rank correlation of the ellipses’ areas with the items’ total variance in the data: at 1 a larger "
        "ellipse is a more uncertain item, near 0 its size says nothing of that.",
        {"ellipses": None},
        symbol="ρ",
        low=-1.0,
        chance="0",
        reads="of learned and projected ellipses; where area is variance by construction it is not told",
        null="the same ellipses dealt anew among the items",
    )
)
register(
    Score(
        "variance",
        "Variance",
        "Total variance of the item in the data: the trace of its covariance.",
        {"ellipses": None},
        symbol="tr Σ",
        high=None,
        better="neither",
    )
)
register(
    Score(
        "axis ratio",
        "Axis ratio",
        "How much longer the ellipse’s long axis is than its short one; 1 is a circle, drawn where no "
        "direction can be told.",
        {"ellipses": None},
        low=1.0,
        high=None,
        better="neither",
    )
)
register(
    Score(
        "orientation",
        "Orientation",
        "The share by which one half of an item’s contexts varies more along the axis that the other half "
        "gave; below 0.15 a circle is drawn.",
        {"ellipses": None},
        unjudged="it decides where a circle is drawn",
    )
)
register(
    Score(
        "shared",
        "Shared",
        "Of an item’s {k} nearest on the one map, the share that is also among its {k} nearest on the other.",
        {"comparison": None},
        k=10,
        format="percent",
        null="the same two maps with the items of one dealt anew",
    )
)
register(
    Score(
        "moved",
        "Moved",
        "How far an item lies from its place on the other map, in units of the map’s radius, on average.",
        {"comparison": None},
        high=None,
        better="lower",
        low=0.0,
        null="the same two maps with the items of one dealt anew",
    )
)
register(
    Score(
        "stability",
        "Spread over restarts",
        "How far a point moves from restart to restart, in units of the map’s radius: near 0 is stable, near "
        "1 could be anywhere.",
        {"head map": None, "map": None, "atlas": None},
        high=None,
        better="lower",
        chance="about 1",
        reads="high values: do not read anything into that point’s place",
        headline=False,
        null="the same restarts with the points of each dealt anew",
    )
)
register(
    Score(
        "kept",
        "Kept",
        "Of a point’s {k} strongest partners (by attention, by hidden states, or among heads that attend "
        "alike), the share that is also among its {k} nearest on the map.",
        {"head map": None, "hidden map": None, "map of heads": None, "atlas": None},
        k=K,
        format="percent",
        chance="k / (points − 1)",
        null="a map of the same data, shuffled (weights within each row, states within each dimension, "
        "distances between heads),",
        nothing="shuffled data",
        reads="the score to read a head’s map by: KL does not tell a good map of a head from a bad one",
    )
)
register(
    Score(
        "shown",
        "Shown",
        "The share of this token’s weight that the map shows; the rest lies on tokens that were left off.",
        {"head map": None},
        better="neither",
        format="percent",
        headline=False,
    )
)
register(
    Score(
        "spread",
        "Spread",
        "How far this point moves from restart to restart, in units of the map’s radius.",
        {"head map": None},
        high=None,
        better="lower",
        unjudged="the spread of the whole map, stability, has a null",
    )
)
register(
    Score(
        "error",
        "Error",
        "What the point has of the map’s KL, in nats: large where its neighbours are not to be believed.",
        {"head map": None},
        low=None,
        high=None,
        better="lower",
        unjudged="it is a part of KL",
    )
)
register(
    Score(
        "kl_sd",
        "Spread of KL",
        "Standard deviation of the KL over restarts: large means that the map depends on where it began.",
        {"atlas": None},
        high=None,
        better="lower",
        unjudged="it compares restarts of one P",
    )
)
register(
    Score(
        "inserted",
        "Inserted",
        "So many items were placed on the finished map; no earlier point moved for them.",
        {"inserted": None},
        high=None,
        better="neither",
        format="count",
    )
)
register(
    Score(
        "score",
        "Similar words",
        "How many words stand out as similar to this one; with local perplexity, so many neighbours are "
        "kept.",
        {"affinity": None},
        high=None,
        better="neither",
    )
)

_head_score(
    "max_attention",
    "Mean of maximum attention",
    "For each token the largest weight it gets, averaged: 1 means that someone looks at every token with all "
    "its weight.",
)
_head_score(
    "entropy",
    "Entropy",
    "How widely a query spreads its weight, averaged over queries: 0 looks at one token, larger looks at "
    "many.",
    high=None,
)
_head_score(
    "broad",
    "Normalised entropy",
    "Entropy of a query’s weights over that of even weights: 1 attends to every token alike, 0 to one alone.",
)
_head_score(
    "sink", "Sink share", "Weight that goes to the first or to separator tokens, averaged over queries."
)
_head_score("first_token", "First token", "Weight on the first token, averaged over queries.")
_head_score("separator", "Separator", "Weight on separator tokens, averaged over queries.")
_head_score("itself", "Itself", "Weight on the query’s own place, averaged over queries.")
_head_score("previous_token", "Previous token", "Weight on the token just before, averaged over queries.")
_head_score("next_token", "Next token", "Weight on the token just after, averaged over queries.")
_head_score("local_band", "Local band", "Weight on tokens at most 3 places away, averaged over queries.")
_head_score(
    "same_token",
    "Same token",
    "Weight on other places of the same token, averaged over queries that have one.",
)
_head_score(
    "induction",
    "Induction",
    "On repeated text: weight on the token that followed last time, averaged over queries.",
)
_head_score(
    "chain",
    "Chain score",
    "How well following the strongest weight from token to token reads the text in order.",
)
_head_score(
    "parked",
    "Weight on sinks",
    "Weight on special tokens and on tokens that nearly every query of this head attends to, whatever it is.",
    format="percent",
)
_head_score(
    "evenness",
    "Evenness off sinks",
    "How evenly the weight that is not on sinks is spread over the tokens in sight: 1 is all alike.",
)
_head_score(
    "interest",
    "Focused attention",
    "Weight that is neither on sinks nor spread evenly: the heads to look at first have most of it.",
    better="higher",
    unjudged="it ranks heads and judges no picture",
)
_corpus_score(
    "duplicate_token",
    "Duplicate token",
    "Mean weight on earlier places of the same token, of tokens that have one.",
)
_corpus_score(
    "later_token",
    "Later token",
    "Mean weight on later places of the same token, of tokens that have one.",
)
_corpus_score("punctuation", "Punctuation", "Mean weight on punctuation.")
_corpus_score(
    "coreference",
    "Pronoun to name",
    "Mean weight that pronouns of the third person give to names before them.",
)
_corpus_score(
    "to_names",
    "Word to name",
    "Mean weight that other words give to names before them: what pronouns are held against.",
)
_corpus_score(
    "bracket",
    "Bracket",
    "Mean weight from a closing bracket or quote to the one it closes.",
)
_corpus_score(
    "by_position",
    "By position",
    "Share of the weights’ variance that the mean weight at each distance explains, on texts it was not made "
    "of.",
    low=None,
)
register(
    Score(
        "mixing",
        "Mixing",
        "Modulus of the second eigenvalue of attention as a chain: near 0 forgets at once, near 1 stays.",
        {"atlas": _mixing},
        symbol="|λ₂|",
        better="neither",
    )
)
register(
    Score(
        "steps",
        "Steps",
        "Causal attention ends at the first token: mean number of steps until a walk is there.",
        {"atlas": _steps},
        high=None,
        better="neither",
    )
)
register(
    Score(
        "colours",
        "Colours",
        "Rank correlation of distances between the vectors that have a colour (of a transformer, the words) "
        "and between their colours; 1 keeps the order.",
        {"flow": None},
        symbol="ρ",
        low=-1.0,
        chance="0",
        null="the same colours dealt anew",
    )
)
register(
    Score(
        "sums",
        "Sums",
        "Largest difference between what the model computed and the sum of the parts that are shown.",
        {"flow": None},
        high=None,
        better="lower",
        format="power",
        unjudged="it checks arithmetic and no picture",
    )
)
