"""Every head of a model over a text: the grid, one head's map and attention, the maximum-attention strips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import View
from langscape.errors import SettingsError
from langscape.models.titles import model_title
from langscape.run import Recipe
from langscape.run.atlas import Atlas, unpack_atlas
from langscape.run.restarts import head_error
from langscape.studio.asks.ask import Ask, Given, Later, Made, Picture, Wanted
from langscape.studio.asks.setting import MODEL, QUANTILES, SEED, Setting

LAYER = Setting("layer", "Layer", "integer", help="The layer, numbered from 0.", low=0, required=True)
HEAD = Setting("head", "Head", "integer", help="The head, numbered from 0.", low=0, required=True)
SPECIAL = Setting(
    "special",
    "Special tokens",
    "choice",
    "drop",
    "[CLS], [SEP] and the like soak up attention. Left out, the others share the map; kept, it is the "
    "document’s.",
    "000",
    choices=(("drop", "left out"), ("keep", "kept")),
)
RESTARTS = Setting(
    "restarts",
    "Restarts",
    "integer",
    8,
    "Runs of t-SNE per head; the lowest KL is kept, and their spread says how stable it is. The document "
    "takes 100.",
    "000",
    low=1,
    high=500,
)
TEXT = Wanted("text", "text", "Text", "What the model reads.", default="sample-harbour")
CUT = Setting(
    "cut",
    "Cut long text",
    "flag",
    True,
    "Of a text too long for the model, take the start; else it is refused.",
)
STEPS = Setting("steps", "Steps", "integer", 1000, "Steps of each run.", "000", low=10, high=20_000)


def _recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> Recipe:
    return Recipe("heads.atlas", settings, {"text": inputs["text"].source})


def _called(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> str:
    return f"Heads of {model_title(settings['model'])} over {inputs['text'].name}"


def _grid(made: Made, _: Mapping[str, Any]) -> View:
    view = made.result.view(made.title, attention=False)
    properties = {**view.properties, "steps": 255, "later": sorted(_names(made.result))}
    return View(view.kind, properties, view.arrays)


def _whole_grid(made: Made, _: Mapping[str, Any]) -> View:
    return made.result.view(made.title)


def _later(made: Made, _: Mapping[str, Any]) -> dict[str, Later]:
    """Every head's attention as steps of its square root, made when somebody looks at the head."""
    from langscape.views.atlas import stepped
    from langscape.views.heads import heads_of

    atlas: Atlas = made.result
    heads = heads_of(atlas.capture, atlas.of)
    shape = heads.weights.shape[2:]

    def maker(layer: int, head: int) -> Later:
        return Later("uint8", shape, lambda: stepped(heads.one(layer, head), 255))

    return {name: maker(*key) for name, key in _names(atlas).items()}


def _names(atlas: Atlas) -> dict[str, tuple[int, int]]:
    return {f"attention_{layer}_{head}": (layer, head) for layer, head in sorted(atlas.maps)}


def _head(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import scatter

    atlas: Atlas = made.result
    layer, head = asked["layer"], asked["head"]
    if (layer, head) not in atlas.maps:
        raise SettingsError(f"layer {layer}, head {head} has no map here; {_held(atlas)}")
    found = atlas.maps[layer, head]
    found = found.but(per_point={"error": head_error(atlas.capture, atlas.of, layer, head, found)})
    view = scatter(found, title=f"Layer {layer}, head {head}", quantiles=asked["quantiles"])
    return View(view.kind, {**view.properties, "kls": [float(one) for one in found.kls]}, view.arrays)


def _held(atlas: Atlas) -> str:
    layers, heads = zip(*atlas.maps, strict=True)
    return f"layers are {min(layers)} to {max(layers)}, heads {min(heads)} to {max(heads)}"


def _attention(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import attention

    atlas: Atlas = made.result
    return attention(atlas.capture, asked["layer"], asked["head"], array=atlas.of)


def _max_attention(made: Made, asked: Mapping[str, Any]) -> View:
    from langscape.views import max_attention

    atlas: Atlas = made.result
    return max_attention(atlas.capture, layers=asked["layers"], show=asked["show"], array=atlas.of)


ASK = Ask(
    "atlas",
    "Atlas of heads",
    "atlas",
    (TEXT,),
    (
        MODEL,
        SPECIAL,
        RESTARTS,
        STEPS,
        Setting("layers", "Layers", "numbers", None, "Only these layers, from 0; all if left out.", low=0),
        CUT,
        SEED,
    ),
    (
        Picture("grid", "atlas", _grid, whole=_whole_grid, later=_later),
        Picture("head", "scatter", _head, (LAYER, HEAD, QUANTILES)),
        Picture("attention", "attention", _attention, (LAYER, HEAD)),
        Picture(
            "max_attention",
            "max_attention",
            _max_attention,
            (
                Setting("layers", "Layers", "numbers", None, "Only these layers, from 0.", low=0),
                Setting(
                    "show",
                    "Show",
                    "choice",
                    "maximum",
                    "The largest weight that any query gives a token, or the mean over queries.",
                    "000",
                    choices=(("maximum", "maximum"), ("mean", "mean")),
                ),
            ),
        ),
    ),
    _recipe,
    _called,
    unpack_atlas,
)
