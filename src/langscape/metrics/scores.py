"""The scores: each one `register(Score(…))` and its function.

Badges, hovers, colour modes, tables, the command's summary and the table in docs/metrics.md are read off
these entries. score.py says what a score is, score_inputs.py what its function is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from langscape.metrics.null import BESIDE, Null
from langscape.metrics.score import (
    GOOD,
    HOW,
    NOT_TO_BE_READ,
    PARTLY,
    SCORES,
    K,
    Place,
    Score,
    applying,
    described,
    neighbours,
    register,
    score_of,
)
from langscape.metrics.score_inputs import HeadWeights, InsertedPoints, QueryKeyPlaces, TwoSpaces

__all__ = [
    "BESIDE",
    "GOOD",
    "HOW",
    "NOT_TO_BE_READ",
    "ORDER",
    "PARTLY",
    "SCORES",
    "HeadWeights",
    "InsertedPoints",
    "K",
    "Null",
    "Place",
    "QueryKeyPlaces",
    "Score",
    "TwoSpaces",
    "applying",
    "described",
    "neighbours",
    "register",
    "score_of",
]

ORDER = ("matters", "share", "interest")
"""What an atlas is ordered by, the first of these that is known: what heads do, or else where they look."""

SHORT = {"interest": "focused"}
"""What a score is called where there is no room for its label, if that is not its name."""


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
    return replace(_query_key_order(seen, "specific_order"), name="specific_order")


def _specific_hits(seen: QueryKeyPlaces) -> Any:
    return replace(_query_key_hits(seen, "specific_hits"), name="specific_hits")


def _query_key_order(seen: QueryKeyPlaces, name: str = "order") -> Any:
    from langscape.metrics.query_key import order_of_ranks, ranks_within

    asked = seen.product if name == "order" else seen.beyond_popularity()
    strong = seen.once(name, lambda: ranks_within(asked, seen.query))
    near = seen.once_here("ranks", lambda: ranks_within(-seen.distance, seen.query))
    return order_of_ranks(near, strong, seen.query, len(seen.queries))


def _query_key_hits(seen: QueryKeyPlaces, name: str = "strongest") -> Any:
    from langscape.metrics.query_key import first_within, hits_of

    asked = seen.product if name == "strongest" else seen.beyond_popularity()
    strong = seen.once(name, lambda: first_within(-asked, seen.query))
    near = seen.once_here("first", lambda: first_within(seen.distance, seen.query))
    return hits_of(near, strong, seen.query, n=len(seen.queries))


def _anywhere(seen: QueryKeyPlaces) -> Any:
    from langscape.metrics.query_key import hits_anywhere, strongest_of_all

    n, m = len(seen.queries), len(seen.keys)
    strong = seen.once("strongest of all", lambda: strongest_of_all(seen.products, n, m))
    return hits_anywhere(seen.nearest_keys(), strong)


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


_DEALT = "a random layout, the same places shuffled among the items,"

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
        reads="low where neighbours in the data lie apart; trustworthiness is low where strangers meet",
        headline=False,
        null=_DEALT,
    )
)
register(
    Score(
        "specific_order",
        "Query-specific order",
        "Rank correlation of a key’s nearness on the map with what the query gives it beyond what that key "
        "gets on average (q·k less the key’s mean), over the keys that a query sees, of its sentence or of a "
        "text read as a whole: 1 puts first what this query asks for more than others do.",
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
        "nearest on the map, of the keys that it sees.",
        {"query-key map": _specific_hits},
        k=5,
        chance="k / keys in sight",
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
        "Rank correlation of a key’s nearness on the map with q·k, over the keys that a query sees: 1 puts "
        "the strongest nearest.",
        {"query-key map": _query_key_order},
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
        "Of a query’s {k} strongest keys, the share among its {k} nearest on the map, of the keys that it "
        "sees.",
        {"query-key map": _query_key_hits},
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
        "Top-10 keys of the whole text among the 10 nearest",
        "Of a query’s {k} strongest keys in the whole text, also where it does not see them, the share among "
        "its {k} nearest keys on the map.",
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
        null="the same two maps with the tokens of one shuffled",
    )
)
register(
    Score(
        "explained",
        "Explained by item",
        "Share of the variance of all occurrences, or rows, that is explained by which word or item they are "
        "of: at 1 all occurrences of a word have one vector, at 0 those of one word differ as much as those "
        "of any words.",
        {"ellipses": None},
        low=None,
        chance="0",
        null="the same occurrences dealt at random among the items",
        format="percent",
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
        null="the same ellipses shuffled among the items",
    )
)
register(
    Score(
        "variance",
        "Variance",
        "Total variance of the item in the data: the trace of its covariance. Where ellipses show it, that "
        "of few contexts or rows is drawn towards what all items share.",
        {"ellipses": None},
        symbol="tr Σ",
        high=None,
        better="neither",
    )
)
register(
    Score(
        "variance_low",
        "Variance, at least",
        "The lower end of the 90 % interval of the item’s total variance, from its number of contexts or "
        "rows.",
        {"ellipses": None},
        symbol="tr Σ",
        high=None,
        better="neither",
    )
)
register(
    Score(
        "variance_high",
        "Variance, at most",
        "The upper end of the 90 % interval of the item’s total variance, from its number of contexts or "
        "rows; the fainter outline around an ellipse.",
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
        "attention_elsewhere",
        "Attention elsewhere",
        "The share of a token’s attention that the second head, or run, gives to other tokens than the "
        "first: 0 % looks at the same tokens, 100 % at none in common. Special tokens count as others do.",
        {"comparison": None},
        better="lower",
        format="percent",
        null="the same with the attention of the second dealt anew (rows among the tokens, or in a decoder "
        "each row’s weights among the keys that its token sees, but for the first)",
        nothing="attention dealt anew",
        beyond=("less", "more"),
        reads="half the sum of the absolute differences of a row, the total variation distance; attention "
        "dealt anew parks as much on the same keys",
    )
)
register(
    Score(
        "shared",
        "Shared",
        "Of an item’s {k} nearest on the one map, the share that is also among its {k} nearest on the other.",
        {"comparison": None},
        k=5,
        format="percent",
        null="the same two maps with the items of one shuffled",
        nothing="shuffled maps",
        beyond=("more", "fewer"),
        reads="a third of the others where there are fewer than 16 items; 4 to 6 tell best what changed",
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
        null="the same two maps with the items of one shuffled",
        nothing="shuffled maps",
        beyond=("less", "more"),
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
        null="the same restarts with the points of each shuffled",
        nothing="shuffled restarts",
        beyond=("less", "more"),
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
        "weight_near",
        "Weight near",
        "The share of a token’s weight, given and got among the tokens of the map, that lies on its {k} "
        "nearest on the map.",
        {"head map": None, "atlas": None},
        k=K,
        format="percent",
        chance="k / (points − 1)",
        null=_DEALT,
        reads="where a token has one or two partners `kept` counts others that have next to no weight; from "
        "90 % on this says that the map is good, whatever `kept` is",
        headline=False,
    )
)
register(
    Score(
        "shown",
        "Weight shown",
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
        "Part of KL",
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
    "Weight that is neither on sinks nor spread evenly: 1 looks at one token, 0 at all alike.",
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
        "share",
        "Share of the stream",
        "How much a head changes the residual stream directly: the length of what it adds, beyond its mean "
        "over tokens, over the length of the stream. Nothing is taken away.",
        {"atlas": None},
        high=None,
        better="neither",
    )
)
register(
    Score(
        "matters",
        "Matters",
        "What changes without the head, which is replaced by its mean over the tokens but the first: the KL "
        "divergence of the next token, or how far an encoder’s last states move.",
        {"atlas": None},
        high=None,
        better="neither",
    )
)
register(
    Score(
        "mixing",
        "Mixing",
        "How long a walk along the attention remembers where it began: near 0 not at all, near 1 for long. "
        "It is the modulus of the second eigenvalue.",
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
        "Colour match",
        "How far alike colours stand for alike vectors (of a transformer, alike words): 1 if vectors that "
        "are nearer to each other always have nearer colours, 0 if colours say nothing.",
        {"flow": None},
        symbol="ρ",
        low=-1.0,
        chance="0",
        null="the same colours shuffled",
    )
)
register(
    Score(
        "sums",
        "Sum check",
        "Numbers are shown as sums of their parts: the largest difference between such a sum, made again, "
        "and the number that the model computed.",
        {"flow": None},
        high=None,
        better="lower",
        format="tiny",
        unjudged="it checks arithmetic and no picture",
    )
)
