"""Two models, two texts or two files of vectors: their maps side by side, aligned, with what moved most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import View
from langscape.errors import SettingsError
from langscape.models.titles import model_title
from langscape.run import Recipe
from langscape.run.compare import Compared, unpack_compared
from langscape.studio.asks.ask import Ask, Given, Made, Picture, Wanted
from langscape.studio.asks.atlas import CUT, SPECIAL, STEPS, TEXT
from langscape.studio.asks.heads import captured, hidden_recipe
from langscape.studio.asks.setting import MODEL, SEED, Setting
from langscape.studio.asks.words import packed


def _recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    sides = _words(settings, inputs) if settings["what"] == "words" else _tokens(settings, inputs)
    if sides["left"] == sides["right"]:
        raise SettingsError(
            "both sides are the same; name another model, text, layer, head, or other vectors"
        )
    return Recipe("compare.maps", {}, sides)


def _tokens(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> dict[str, Recipe]:
    texts = (inputs["text"], inputs.get("other_text", inputs["text"]))
    models = (settings["model"], settings["other_model"] or settings["model"])
    layers = (settings["layer"], _or(settings["other_layer"], settings["layer"]))
    heads = (settings["head"], _or(settings["other_head"], settings["head"]))
    made = []
    for text, model, layer, head in zip(texts, models, layers, heads, strict=True):
        if settings["what"] == "hidden":
            made.append(hidden_recipe(settings, text, model, layer))
            continue
        names = ("special", "restarts", "steps", "seed")
        how = {**{name: settings[name] for name in names}, "layer": layer or 0, "head": head}
        made.append(Recipe("heads.map", how, {"capture": captured(settings, text, "attention", model)}))
    return {"left": made[0], "right": made[1]}


def _words(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> dict[str, Recipe]:
    if "other_vectors" not in inputs:
        raise SettingsError("two files of vectors are compared; give the other one")
    given = {"vectors": inputs["vectors"]}, {"vectors": inputs["other_vectors"]}
    listed = {"list": inputs["list"].source} if "list" in inputs else {}
    how = {"perplexity": settings["perplexity"], "seed": settings["seed"], "limit": None if listed else 2000}
    sides = [Recipe("words.map", how, {"vectors": packed(one), **listed}) for one in given]
    return {"left": sides[0], "right": sides[1]}


def _or(value: Any, other: Any) -> Any:
    return other if value is None else value


def _called(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> str:
    if settings["what"] == "words":
        return f"{inputs['vectors'].name} and {inputs['other_vectors'].name}"
    models = settings["model"], settings["other_model"] or settings["model"]
    left, right = ([model_title(model)] for model in models)
    if "other_text" in inputs:
        left.append(inputs["text"].name)
        right.append(inputs["other_text"].name)
    for side, which in ((left, ""), (right, "other_")):
        layer = _or(settings[f"{which}layer"], settings["layer"])
        head = _or(settings[f"{which}head"], settings["head"])
        side.append(
            f"layer {'last' if layer is None else layer}"
            + (f" head {head}" if settings["what"] == "head" else "")
        )
    return f"{', '.join(left)} and {', '.join(right)}"


def _side(side: str) -> Any:
    def draw(made: Made, asked: Mapping[str, Any]) -> View:
        from langscape.views import scatter

        found: Compared = made.result
        names = made.title.split(" and ", 1)
        title = names[0] if side == "left" else names[-1]
        return scatter(getattr(found, side), color=asked["color"], title=title)

    return draw


_COLOR = Setting(
    "color", "Colour", "text", "moved", "The column that gives the colour; moved is how far it moved."
)

ASK = Ask(
    "compare",
    "Two side by side",
    "compare",
    (
        TEXT,
        Wanted("other_text", "text", "Other text", "The second text; the same if left out.", required=False),
        Wanted("vectors", "vectors", "Vectors", "With words: the first file.", default="sample-words"),
        Wanted("other_vectors", "vectors", "Other vectors", "With words: the second file.", required=False),
        Wanted("list", "words", "List", "With words: only these.", required=False),
    ),
    (
        Setting(
            "what",
            "What is compared",
            "choice",
            "hidden",
            "Maps of a layer’s hidden states, of a head’s attention, or of words.",
            choices=(("hidden", "hidden states"), ("head", "a head"), ("words", "words")),
        ),
        MODEL,
        Setting("other_model", "Other model", "text", None, "The second model; the same if left out."),
        Setting(
            "layer", "Layer", "integer", None, "The layer, from 0; the last hidden one if left out.", low=0
        ),
        Setting(
            "other_layer", "Other layer", "integer", None, "The second layer; the same if left out.", low=0
        ),
        Setting("head", "Head", "integer", 0, "With a head: which, from 0.", low=0),
        Setting("other_head", "Other head", "integer", None, "The second head; the same if left out.", low=0),
        Setting(
            "perplexity", "Perplexity", "number", 20.0, "About how many neighbours count.", low=1, high=500
        ),
        SPECIAL,
        Setting(
            "restarts", "Restarts", "integer", 8, "Runs of t-SNE; the lowest KL is kept.", low=1, high=200
        ),
        STEPS,
        CUT,
        SEED,
    ),
    (
        Picture("left", "scatter", _side("left"), (_COLOR,)),
        Picture("right", "scatter", _side("right"), (_COLOR,)),
    ),
    _recipe,
    _called,
    unpack_compared,
)
