"""Words, or the individuals of a table, as distributions: a map with an ellipse each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langscape.data import Gaussians, View
from langscape.errors import SettingsError
from langscape.models.titles import model_title
from langscape.run import Recipe
from langscape.run.distributions import word_recipe
from langscape.studio.asks.ask import Ask, Given, Made, Picture, Wanted
from langscape.studio.asks.setting import MODEL, SEED, Setting

_WORD = re.compile(r"[^\W\d_]{4,}")
_READ = 5_000_000


def _recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given], store: Any = None) -> Recipe:
    shape = settings["shape"]
    how: dict[str, Any] = {"method": settings["method"]}
    if settings["method"] == "tsne":
        names = ("perplexity", "distance", "restarts", "seed")
        how |= {**{name: settings[name] for name in names}, "shape": None if shape == "none" else shape}
    return Recipe("gaussians.map", how, {"gaussians": _given(settings, inputs)})


def _given(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Any:
    """The distributions: a file of them, those of a table, or those of words in a corpus."""
    if "gaussians" in inputs:
        return inputs["gaussians"].source
    if "table" in inputs:
        if not settings["by"]:
            raise SettingsError("by is missing: name the column of the table that says whose row it is")
        named = settings["columns"] and [one.strip() for one in settings["columns"].split(",") if one.strip()]
        how = {"by": settings["by"], "columns": named or None, "standardise": settings["standardise"]}
        return Recipe("gaussians.table", how, {"table": inputs["table"].source})
    words, groups = _listed(settings, inputs)
    names = ("model", "contexts", "unit", "layer", "rank")
    how = {name: settings[name] for name in names}
    return word_recipe(words, [inputs["corpus"].source], groups=groups, seed=settings["seed"], **how)[0]


def _listed(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> tuple[list[str], list[str] | None]:
    """The words: typed, of a list, or the most frequent ones of the corpus."""
    if settings["words"]:
        return list(dict.fromkeys(settings["words"])), None
    corpus = inputs["corpus"]
    if "list" not in inputs:
        if corpus.path is None:
            raise SettingsError("no words are named; type some, or give a list")
        return frequent_words(corpus.path, settings["most"]), None
    from langscape.sources import read_word_list

    assert inputs["list"].path is not None
    listed = read_word_list(inputs["list"].path)
    group = dict(reversed(list(zip(listed.words, listed.groups or listed.words, strict=True))))
    words = list(dict.fromkeys(listed.words))
    return words, None if listed.groups is None else [group[word] for word in words]


def frequent_words(path: Path, most: int) -> list[str]:
    """The most frequent words of at least four letters in the first megabytes of a text or a folder."""
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    counted: Counter[str] = Counter()
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as opened:
            counted.update(_WORD.findall(opened.read(_READ).lower()))
    ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return [word for word, _ in ranked[:most]]


def _called(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> str:
    if "gaussians" in inputs:
        return f"Distributions of {inputs['gaussians'].name}"
    if "table" in inputs:
        return f"{settings['by']} of {inputs['table'].name} as distributions"
    return f"Words of {inputs['corpus'].name} as distributions, by {model_title(settings['model'])}"


def _gaussians(made: Made) -> Gaussians:
    from langscape.gaussianfile import read_gaussians

    source = made.recipe.inputs["gaussians"]
    if isinstance(source, Recipe):
        path = made.needed("gaussians").path
        assert path is not None
        return read_gaussians(path)
    return read_gaussians(made.store.kept(str(source)))


def _map(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import ellipses, scatter

    if made.result.shapes is None:
        return scatter(made.result, color=asked["color"], title=made.title)
    return ellipses(
        made.result,
        _gaussians(made),
        mass=asked["mass"],
        only=asked["only"],
        color=asked["color"],
        title=made.title,
    )


def _points(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import scatter

    return scatter(made.result, color=asked["color"], title=made.title)


_COLOR = Setting("color", "Colour", "text", None, "The column that gives the colour, variance for example.")

ASK = Ask(
    "gaussians",
    "Distributions",
    "distributions",
    (
        Wanted("corpus", "corpus", "Corpus", "Where words are read in context.", default="sample-corpus"),
        Wanted("list", "words", "Words", "The words, a group column gives the colours.", required=False),
        Wanted(
            "table", "table", "Table", "Instead of words: several rows for each individual.", required=False
        ),
        Wanted("gaussians", "gaussians", "Distributions", "A file of `langscape gaussians`.", required=False),
    ),
    (
        MODEL,
        Setting("words", "Words", "words", None, "The words to look up; the most frequent ones if left out."),
        Setting(
            "most",
            "Most frequent",
            "integer",
            60,
            "How many words are taken where none are named.",
            low=4,
            high=2000,
        ),
        Setting(
            "contexts",
            "Contexts",
            "integer",
            100,
            "Passages per word, drawn evenly from all there are.",
            "004",
            low=1,
            high=5000,
        ),
        Setting(
            "unit",
            "A context is",
            "choice",
            "sentence",
            "What the model reads around a word.",
            choices=(("sentence", "a sentence"), ("paragraph", "a paragraph")),
        ),
        Setting(
            "layer",
            "Layer",
            "integer",
            -1,
            "The hidden layer: 0 is the embedding, -1 the last.",
            "004",
            low=-1,
            high=500,
        ),
        Setting(
            "rank",
            "Factors",
            "integer",
            0,
            "Factors kept of each covariance; 0 keeps variances alone.",
            "004",
            low=0,
            high=64,
        ),
        Setting(
            "by", "Whose rows", "text", None, "With a table: the column that says whose row it is.", "004"
        ),
        Setting(
            "columns", "Columns", "text", None, "With a table: the columns to use, by comma; all numbers."
        ),
        Setting(
            "standardise", "Standardise", "flag", True, "With a table: divide each column by its deviation."
        ),
        Setting(
            "method",
            "Method",
            "choice",
            "tsne",
            "t-SNE keeps neighbours, distributional PCA keeps variance and rotates its ellipses.",
            "004",
            choices=(("tsne", "t-SNE"), ("pca", "PCA")),
        ),
        Setting(
            "shape",
            "Ellipses",
            "choice",
            "contexts",
            "From contexts: area is variance. Diagonal and full are learned with the map, as in the "
            "document, and do not show variance.",
            "004",
            choices=(
                ("contexts", "from contexts"),
                ("diagonal", "diagonal (the document’s)"),
                ("full", "full"),
                ("none", "none"),
            ),
        ),
        Setting(
            "perplexity",
            "Perplexity",
            "number",
            15.0,
            "About how many neighbours count.",
            "004",
            low=1,
            high=500,
        ),
        Setting(
            "distance",
            "Distance",
            "choice",
            "wasserstein",
            "Between distributions, or between their means alone.",
            "004",
            choices=(("wasserstein", "Wasserstein"), ("euclidean", "Euclidean (means)")),
        ),
        Setting(
            "restarts", "Restarts", "integer", 1, "Runs of t-SNE; the lowest KL is kept.", low=1, high=50
        ),
        SEED,
    ),
    (
        Picture(
            "map",
            "ellipses",
            _map,
            (
                Setting(
                    "mass",
                    "Mass",
                    "number",
                    0.5,
                    "The share of a distribution that its ellipse holds; not with ellipses from contexts.",
                    "004",
                    low=0.01,
                    high=0.99,
                ),
                Setting("only", "Only", "words", None, "Draw the ellipses of these words alone.", "004"),
                _COLOR,
            ),
        ),
        Picture("points", "scatter", _points, (_COLOR,)),
    ),
    _recipe,
    _called,
)
