"""What flows through a model as it reads a prompt: every vector, and what made each number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import View
from langscape.models.titles import model_title
from langscape.run import Recipe
from langscape.run.flow import flow_title, unpack_view
from langscape.studio.asks.ask import Ask, Given, Made, Picture
from langscape.studio.asks.setting import SEED, Setting


def _recipe(settings: Mapping[str, Any], inputs: Mapping[str, Given], store: Any = None) -> Recipe:
    return Recipe("flow.view", settings, {})


def _called(settings: Mapping[str, Any], inputs: Mapping[str, Given]) -> str:
    if not (settings["prompt"] or "").strip():
        return f"{model_title(settings['model'])} reads a text of its own"
    return flow_title(settings["model"], settings["prompt"])


def _flow(made: Made, _: Mapping[str, Any]) -> View:
    view: View = made.result
    return View(view.kind, {**view.properties, "title": made.title}, view.arrays)


ASK = Ask(
    "flow",
    "Flow",
    "flow",
    (),
    (
        Setting(
            "model", "Model", "text", "lstm-tiny",
            "lstm-tiny (20 words), lstm, decoder (SmolLM2), default (MiniLM), a folder or a Hub id.", "003",
        ),
        Setting("prompt", "Prompt", "text", None, "What it reads; a short text of its own if left out."),
        Setting("top", "Words", "integer", 8, "Words named at every place.", "003", low=1, high=50),
        Setting(
            "space", "Colour space", "choice", "oklab",
            "OKLab, where equal distances look equal, or red, green and blue as in the document.", "003",
            choices=(("oklab", "OKLab"), ("rgb", "RGB")),
        ),
        Setting(
            "fit", "Colour of vectors", "choice", "exact",
            "Found over all mapped words, or by the document’s forces from sixteen of them.", "003",
            choices=(("exact", "exact"), ("force", "force")),
        ),
        SEED,
    ),
    (Picture("flow", "flow", _flow),),
    _recipe,
    _called,
    unpack_view,
)  # fmt: skip
