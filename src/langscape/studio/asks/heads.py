"""One head with all its restarts, and the hidden states of a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import View
from langscape.models.titles import model_title
from langscape.run import Recipe
from langscape.run.captures import unpack_capture
from langscape.run.restarts import Restarts, unpack_restarts
from langscape.studio.asks.ask import Ask, Given, Later, Made, Picture
from langscape.studio.asks.atlas import CUT, HEAD, LAYER, SPECIAL, STEPS, TEXT
from langscape.studio.asks.setting import MODEL, QUANTILES, SEED, Setting


def captured(settings: Mapping[str, Any], text: Given, want: str, model: str | None = None) -> Recipe:
    """The recipe of what a model held while it read a text."""
    how = {"model": model or settings["model"], "want": [want], "cut": settings.get("cut", True)}
    return Recipe("text.capture", how, {"text": text.source})


def _head_recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    names = ("layer", "head", "special", "restarts", "steps", "seed")
    capture = captured(settings, inputs["text"], "attention")
    return Recipe("heads.restarts", {name: settings[name] for name in names}, {"capture": capture})


def _head(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import scatter

    found: Restarts = made.result
    view = scatter(found.map, title=made.title, quantiles=asked["quantiles"])
    kls = [float(one) for one in found.map.kls]
    return View(view.kind, {**view.properties, "kls": kls, "later": ["ghosts"]}, view.arrays)


def _whole_head(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import scatter

    return scatter(made.result.map, title=made.title, quantiles=asked["quantiles"])


def _ghosts(made: Made, _: Mapping[str, Any]) -> dict[str, Later]:
    found: Restarts = made.result
    return {"ghosts": Later("float32", found.ghosts.shape, lambda: found.ghosts)}


def _attention(made: Made, _: Mapping[str, Any]) -> View:
    from langscape.views import attention

    seen = unpack_capture(made.load("capture"))
    of = "attention" if "attention" in seen.arrays else "encoder_attention"
    return attention(seen, made.settings["layer"], made.settings["head"], array=of)


HEAD_ASK = Ask(
    "head",
    "One head, many restarts",
    "head",
    (TEXT,),
    (
        MODEL,
        LAYER,
        HEAD,
        SPECIAL,
        Setting(
            "restarts",
            "Restarts",
            "integer",
            20,
            "Runs of t-SNE; the lowest KL is kept, the others are its ghosts. The document takes 100.",
            "000",
            low=1,
            high=200,
        ),
        STEPS,
        CUT,
        SEED,
    ),
    (
        Picture("head", "scatter", _head, (QUANTILES,), whole=_whole_head, later=_ghosts),
        Picture("attention", "attention", _attention),
    ),
    _head_recipe,
    lambda settings, inputs: (
        f"Layer {settings['layer']}, head {settings['head']} of {model_title(settings['model'])} "
        f"over {inputs['text'].name}"
    ),
    unpack_restarts,
)


def hidden_recipe(
    settings: Mapping[str, Any], text: Given, model: str | None = None, layer: int | None = None
) -> Recipe:
    """The recipe of a map of hidden states."""
    names = ("special", "restarts", "steps", "seed", "perplexity", "metric")
    how = {name: settings[name] for name in names if name in settings}
    chosen = settings["layer"] if layer is None else layer
    return Recipe(
        "hidden.map", {**how, "layer": chosen}, {"capture": captured(settings, text, "hidden", model)}
    )


def _hidden(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import scatter

    return scatter(made.result, title=made.title, quantiles=asked["quantiles"])


HIDDEN_ASK = Ask(
    "hidden",
    "Hidden states of a layer",
    "head",
    (TEXT,),
    (
        MODEL,
        Setting(
            "layer",
            "Layer",
            "integer",
            None,
            "The hidden layer: 0 is the embedding, the last if left out.",
            low=0,
        ),
        Setting(
            "perplexity",
            "Perplexity",
            "number",
            20.0,
            "About how many neighbours of a token count.",
            "000",
            low=1,
            high=500,
        ),
        Setting(
            "metric",
            "Distance",
            "choice",
            "euclidean",
            "How far two hidden states are apart.",
            choices=(("euclidean", "Euclidean"), ("cosine", "cosine")),
        ),
        SPECIAL,
        Setting(
            "restarts",
            "Restarts",
            "integer",
            8,
            "Runs of t-SNE; the lowest KL is kept.",
            "000",
            low=1,
            high=200,
        ),
        STEPS,
        CUT,
        SEED,
    ),
    (Picture("map", "scatter", _hidden, (QUANTILES,)),),
    lambda settings, inputs: hidden_recipe(settings, inputs["text"]),
    lambda settings, inputs: (
        f"Hidden layer {'last' if settings['layer'] is None else settings['layer']} "
        f"of {model_title(settings['model'])} over {inputs['text'].name}"
    ),
)
