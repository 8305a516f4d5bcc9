"""Words or whole texts, each by one hidden state of its own run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from langscape.analyses._maps import FORMATS, check_color, map_picture, save_map_as
from langscape.analyses._token_maps import map_texts
from langscape.data import Map, Progress
from langscape.declarations import Input, Setting, analysis
from langscape.declarations.inputs import word_list
from langscape.declarations.running import opened
from langscape.declarations.settings import HiddenLayer, Metric, Model, Perplexity, Restarts, Seed
from langscape.models.display_names import model_title
from langscape.sources.wordlist import WordList

Texts = Annotated[
    list[str] | WordList | Path,
    Input(
        "words",
        "Texts",
        "Words or texts, one a line or as .csv; a group column gives the colours.",
        sample="sample-groups",
        option="--words",
    ),
]
Pool = Annotated[
    Literal["auto", "first", "mean"],
    Setting(
        "State",
        "The first token ([CLS]), or the mean over tokens; auto takes the first where it is a special one.",
        labels={"first": "first token", "mean": "mean of tokens"},
    ),
]


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    layer = "the last layer" if settings["layer"] is None else f"layer {settings['layer']}"
    return f"{names.get('texts', 'Texts')} by {layer} of {model_title(settings['model'])}"


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], how: Mapping[str, Any]) -> None:
    if how.get("color") is not None:
        listed = word_list(inputs["texts"])
        check_color(how.get("color"), *(["group"] if listed is None or listed.groups else []), "kept")


@analysis(
    version=4,
    title="Texts by a layer",
    room="head",
    pictures=(map_picture,),
    describe=_title,
    save=save_map_as,
    formats=FORMATS,
    check=_check,
)
def texts(
    model: Model = "default",
    texts: Texts = None,  # type: ignore[assignment]  the eleven groups of words
    *,
    layer: HiddenLayer = None,
    pool: Pool = "auto",
    perplexity: Perplexity = 20.0,
    metric: Metric = "euclidean",
    restarts: Restarts = 8,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Map:
    """Map words or whole texts by what a layer makes of each: its [CLS] state, or the mean of its tokens.

    >>> found = texts("default", ["tea", "coffee", "oslo", "paris", "rome"], perplexity=1, restarts=1)
    >>> found.labels[:2], found.settings["pool"]
    (('tea', 'coffee'), 'first')
    """
    listed = texts if isinstance(texts, WordList) else WordList(list(texts))  # type: ignore[arg-type]
    how: dict[str, Any] = {"pool": pool, "metric": metric, "restarts": restarts, "seed": seed}
    found = map_texts(opened(model), listed.items(), layer, perplexity=perplexity, progress=progress, **how)
    return found.but(notes=(*listed.notes, *found.notes))
