"""Queries and keys on one map: one head, every head, and the constants that scale them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import Map, View
from langscape.models.titles import model_title
from langscape.run import Recipe
from langscape.run.query_key_stored import (
    read_head,
    unpack_classes,
    unpack_collected,
    unpack_grid,
    unpack_scales,
)
from langscape.studio.asks.ask import Ask, Given, Made, Picture
from langscape.studio.asks.atlas import HEAD, LAYER, SPECIAL, TEXT
from langscape.studio.asks.setting import MODEL, SEED, Setting

SCALES = ("weighted", "scaled", "norms")
TOKENS = Setting(
    "tokens",
    "Tokens",
    "integer",
    None,
    "Stop reading after so many tokens; whole sentences are kept.",
    "001",
    low=4,
    high=20_000,
)
TAGGER = Setting(
    "tagger",
    "Parts of speech",
    "choice",
    "none",
    "Add parts of speech, as a colour and as classes of tokens, by spaCy or TextBlob where one is installed.",
    "001",
    choices=(("none", "none"), ("auto", "by a tagger")),
)
_MAP = (
    Setting(
        "by",
        "Near means",
        "choice",
        "attention",
        "By attention: a query lies near the keys it attends to, whatever c is. By distance: "
        "the document’s, of scaled and translated vectors.",
        "001",
        choices=(("attention", "attends to"), ("distance", "distance")),
    ),
    Setting(
        "metric",
        "Distance",
        "choice",
        "euclidean",
        "By distance: Euclidean, or cosine as in the document.",
        "001",
        choices=(("euclidean", "Euclidean"), ("cosine", "cosine")),
    ),
    Setting(
        "share",
        "Own structure",
        "number",
        0.15,
        "By attention: how much the nearness of queries among themselves, and of keys, counts beside.",
        "001",
        low=0,
        high=1,
    ),
    Setting(
        "reach",
        "Keys counted",
        "number",
        0.45,
        "By attention: the part of all keys that a query’s row counts. Attention is made sharper or flatter "
        "until it does; 0 takes it as the model has it.",
        "001",
        low=0,
        high=0.99,
    ),
    Setting(
        "perplexity", "Perplexity", "number", 30.0, "About how many neighbours count.", "001", low=1, high=500
    ),
    SPECIAL,
    Setting(
        "method",
        "Layout",
        "choice",
        "tsne",
        "How vectors become a map; UMAP is an extra.",
        "001",
        choices=(("tsne", "t-SNE"), ("umap", "UMAP"), ("pca", "PCA (by distance)")),
    ),
    Setting("dims", "Dimensions", "choice", 2, "A plane, or a space.", choices=((2, "2"), (3, "3"))),
    Setting("steps", "Steps", "integer", 600, "Steps of t-SNE.", low=50, high=20_000),
    SEED,
)
C = Setting(
    "c",
    "c",
    "number",
    None,
    "By distance: queries are divided and keys multiplied by c, which leaves attention as it is and "
    "brings the two clouds together.",
    "001",
    low=0.01,
    high=100,
)
CHOOSE = Setting(
    "choose",
    "Choose c by",
    "choice",
    "none",
    "Let one of the document’s three metrics choose c for the head: weighted correlation, the same "
    "scaled by how many queries counted, or the ratio of norms.",
    "001",
    choices=(("none", "given"), *((name, name) for name in SCALES)),
)
COLOR = Setting("color", "Colour", "text", "type", "The column that gives the colour.")


def _tagger(settings: Mapping[str, Any]) -> str | None:
    return None if settings["tagger"] == "none" else settings["tagger"]


def _collected(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    reading = {"model": settings["model"], "tokens": settings["tokens"], "tagger": _tagger(settings)}
    return Recipe("query_key.collect", reading, {"text 0": inputs["text"].source})


def _scale(settings: Mapping[str, Any], collected: Recipe, metric: str) -> Recipe:
    how = {name: settings[name] for name in ("percentile", "least_keys", "clear") if name in settings}
    return Recipe(
        "query_key.scale", {**how, "metric": metric, "special": settings["special"]}, {"collected": collected}
    )


def _how(settings: Mapping[str, Any]) -> dict[str, Any]:
    how = {one.name: settings[one.name] for one in _MAP}
    if settings["method"] == "pca" or settings["c"] is not None or settings.get("choose", "none") != "none":
        how["by"] = "distance"
    return {**how, "c": settings["c"]}


def _one_recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    collected = _collected(settings, inputs)
    sources: dict[str, Any] = {"collected": collected}
    if settings["choose"] != "none":
        sources["scales"] = _scale(settings, collected, settings["choose"])
    return Recipe(
        "query_key.map", {**_how(settings), "layer": settings["layer"], "head": settings["head"]}, sources
    )


def _one(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import query_key

    key = (made.settings["layer"], made.settings["head"])
    collected = made.needed("collected").path
    assert collected is not None
    found: Map = made.result
    return query_key(read_head(collected, *key), {key: found}, color=asked["color"], title=made.title)


def _called(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> str:
    head = f", layer {settings['layer']}, head {settings['head']}," if "head" in settings else ""
    return f"Queries and keys of {model_title(settings['model'])}{head} over {inputs['text'].name}"


ONE = Ask(
    "query_key",
    "Queries and keys of a head",
    "query_key",
    (TEXT,),
    (MODEL, LAYER, HEAD, *_MAP[:1], C, CHOOSE, *_MAP[1:], TAGGER, TOKENS),
    (Picture("map", "query_key", _one, (COLOR,)),),
    _one_recipe,
    _called,
)


def _grid_recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    return Recipe("query_key.grid", _how(settings), {"collected": _collected(settings, inputs)})


def _grid(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import query_key

    seen = unpack_collected(made.load("collected"))
    return query_key(seen, unpack_grid(made.result, seen), color=asked["color"], title=made.title)


GRID = Ask(
    "query_key.grid",
    "Queries and keys of every head",
    "query_key",
    (TEXT,),
    (MODEL, *_MAP[:1], C, *_MAP[1:], TAGGER, TOKENS),
    (Picture("map", "query_key", _grid, (COLOR,)),),
    _grid_recipe,
    _called,
)


def _scales_recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    collected = _collected(settings, inputs)
    parts = {f"{at} {name}": _scale(settings, collected, name) for at, name in enumerate(SCALES)}
    column = {"column": "part of speech"} if _tagger(settings) else {}
    return Recipe(
        "gather", {}, {**parts, "classes": Recipe("query_key.classes", column, {"collected": collected})}
    )


def _scales(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape import views

    names = sorted(name for name in made.recipe.inputs if name != "classes")
    chosen = [unpack_scales(made.load(name)) for name in names]
    return views.scales(chosen, fine=asked["fine"])


def _classes(made: Made, _: Mapping[str, Any]) -> View:
    from langscape import views

    stored = made.load("classes")
    return views.class_tables(unpack_classes(stored), column=stored.facts["column"])


SCALE = Ask(
    "query_key.scale",
    "The constant c of every head",
    "query_key",
    (TEXT,),
    (
        MODEL,
        Setting(
            "percentile",
            "Percentile",
            "number",
            0.5,
            "Pairs nearer than this percentile of all distances count. The document takes 0.5; at 5, "
            "with three keys, the choice also holds on unseen sentences.",
            "001",
            low=0.01,
            high=50,
        ),
        Setting(
            "least_keys",
            "Keys at least",
            "integer",
            2,
            "Keys that a query must have there to count.",
            "001",
            low=2,
            high=100,
        ),
        Setting(
            "clear",
            "Sure by",
            "number",
            2.0,
            "Standard errors by which c must be better than c = 1, or else it stays 1. The document takes 0.",
            "001",
            low=0,
            high=10,
        ),
        SPECIAL,
        TAGGER,
        TOKENS,
    ),
    (
        Picture(
            "scales",
            "matrices",
            _scales,
            (
                Setting(
                    "fine",
                    "Searched finely",
                    "flag",
                    False,
                    "The best of 97 constants instead of seven.",
                    "001",
                ),
            ),
        ),
        Picture("classes", "matrices", _classes),
    ),
    _scales_recipe,
    lambda settings, inputs: f"The constants of {model_title(settings['model'])} over {inputs['text'].name}",
)
