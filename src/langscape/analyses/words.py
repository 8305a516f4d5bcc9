"""A map of word vectors: all of them, a list of them, or landmarks with the rest inserted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import View
from langscape.errors import SettingsError
from langscape.run import Recipe
from langscape.studio.asks.ask import Ask, Given, Made, Picture, Wanted
from langscape.studio.asks.setting import QUANTILES, SEED, Setting


def packed(inputs: Mapping[str, Given]) -> Recipe:
    """The vectors in a file of which any row can be read alone: the map and later insertions share it."""
    return Recipe("vectors.pack", {}, {"vectors": inputs["vectors"].source})


def _recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given], store: Any = None) -> Recipe:
    steps = settings["steps"]
    taken: dict[str, Any] = {name: value for name, value in settings.items() if name != "steps"}
    taken["schedule"] = {"steps": steps, "early_steps": min(250, steps // 2)}
    sources: dict[str, Any] = {"vectors": packed(inputs)}
    if "list" in inputs:
        sources["list"] = inputs["list"].source
    if settings["landmarks"] is None:
        return Recipe("words.map", taken, sources)
    if "list" in inputs or settings["limit"] is not None:
        raise SettingsError("landmarks map a whole file; leave out the list and the limit")
    base = Recipe("words.map", taken, sources)
    usual = Recipe("words.usual", {}, {"map": base})
    return Recipe("words.rest", {}, {"map": base, "vectors": sources["vectors"], "usual": usual})


def _called(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> str:
    if "list" in inputs:
        return f"Words of {inputs['list'].name}"
    return f"Words of {inputs['vectors'].name}"


def _map(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import scatter

    shown = made.result
    if asked["insert"] or asked["vectors"]:
        from langscape.studio.insertion import grown

        shown = grown(made, asked["insert"] or (), asked["vectors"] or {})
    return scatter(shown, color=asked["color"], title=made.title, quantiles=asked["quantiles"])


ASK = Ask(
    "words",
    "Map of words",
    "words",
    (
        Wanted(
            "vectors",
            "vectors",
            "Vectors",
            "Word vectors: word2vec, GloVe, fastText, .npz, .parquet or safetensors.",
            default="sample-words",
        ),
        Wanted(
            "list",
            "words",
            "List",
            "Only the words of this list; a group column gives the colours.",
            required=False,
        ),
    ),
    (
        Setting(
            "perplexity",
            "Perplexity",
            "number",
            30.0,
            "About how many neighbours of a word count.",
            "002",
            low=1,
            high=1000,
        ),
        Setting(
            "local",
            "Local perplexity",
            "flag",
            True,
            "A word considers as many others as are like it, besides the global perplexity.",
            "002",
        ),
        Setting(
            "k",
            "Deviations",
            "number",
            3.0,
            "With local perplexity: by so many standard deviations a word must stand out to count.",
            "002",
            low=0,
            high=10,
        ),
        Setting(
            "at_least",
            "At least",
            "integer",
            10,
            "With local perplexity: neighbours kept at least; 1 is the document’s, 10 keeps more "
            "neighbours on the map.",
            "002",
            low=1,
            high=1000,
        ),
        Setting(
            "metric",
            "Distance",
            "choice",
            "euclidean",
            "How far two vectors are apart.",
            choices=(("euclidean", "Euclidean"), ("cosine", "cosine")),
        ),
        Setting(
            "initial",
            "Start",
            "choice",
            "pca",
            "Where points are before the first step.",
            "002",
            choices=tuple((name, name) for name in ("pca", "random", "mds", "mds-angular", "spectral")),
        ),
        Setting("dims", "Dimensions", "choice", 2, "A plane, or a space.", choices=((2, "2"), (3, "3"))),
        Setting(
            "steps",
            "Steps",
            "integer",
            1000,
            "Steps of t-SNE, a quarter of them exaggerated.",
            "002",
            low=10,
            high=20_000,
        ),
        Setting(
            "restarts",
            "Restarts",
            "integer",
            1,
            "Runs from other places; the lowest KL is kept.",
            low=1,
            high=100,
        ),
        Setting("limit", "First words", "integer", None, "Only the first so many words of the file.", low=3),
        Setting(
            "landmarks",
            "Landmarks",
            "integer",
            None,
            "Map so many words and insert all the others; for files too large to map.",
            "002",
            low=10,
        ),
        Setting(
            "sample",
            "Which landmarks",
            "choice",
            "frequency",
            "Which words carry the map.",
            choices=(("frequency", "most frequent"), ("random", "random"), ("kmeans", "spread (k-means)")),
        ),
        SEED,
    ),
    (
        Picture(
            "map",
            "scatter",
            _map,
            (
                Setting("insert", "Inserted", "words", None, "Words placed on the finished map.", "002"),
                Setting(
                    "vectors", "Own vectors", "vectors", None, "Vectors of your own placed on it.", "002"
                ),
                Setting("color", "Colour", "text", None, "The column that gives the colour."),
                QUANTILES,
            ),
        ),
    ),
    _recipe,
    _called,
)
