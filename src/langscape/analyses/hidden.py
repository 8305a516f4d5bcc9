"""The hidden states of a layer: the tokens of a text by what the layer makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from langscape.analyses._captures import text_capture
from langscape.analyses._maps import FORMATS, check_color, map_picture, save_map_as
from langscape.analyses._token_maps import map_hidden
from langscape.data import Map, Progress
from langscape.declarations import Setting, analysis
from langscape.declarations.settings import (
    Cut,
    FirstTokens,
    Generate,
    HiddenLayer,
    Merge,
    Metric,
    Model,
    Perplexity,
    Restarts,
    Seed,
    Special,
    Steps,
    Target,
    Text,
)
from langscape.models.display_names import model_title

HiddenSide = Annotated[
    Literal["encoder", "decoder"] | None,
    Setting("Side", "Of an encoder–decoder: whose hidden states; the encoder’s if left out."),
]


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    layer = "last" if settings["layer"] is None else settings["layer"]
    return (
        f"Hidden layer {layer} of {model_title(settings['model'])} over {names.get('text', 'a sample text')}"
    )


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], how: Mapping[str, Any]) -> None:
    check_color(how.get("color"), "position", "special", "text", "kept")


@analysis(
    version=7,
    title="Hidden states of a layer",
    room="head",
    pictures=(map_picture,),
    uses=(text_capture,),
    describe=_title,
    save=save_map_as,
    formats=FORMATS,
    check=_check,
    example={"text": "sample-harbour", "layer": 3},
    examples=(
        "langscape hidden default --text letter.txt --layer 3 --out hidden.html",
        "langscape hidden default --text letter.txt --layer 6 --perplexity 15 --color kept --out hidden.png",
    ),
)
def hidden(
    model: Model = "default",
    text: Text = None,
    *,
    layer: HiddenLayer = None,
    perplexity: Perplexity = 20.0,
    metric: Metric = "euclidean",
    special: Special = "drop",
    restarts: Restarts = 8,
    steps: Steps = 1000,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    merge: Merge = "none",
    seed: Seed = 0,
    side: HiddenSide = None,
    target: Target = None,
    progress: Progress | None = None,
) -> Map:
    """Map the tokens of a text by their hidden states at a layer.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> found = hidden("default", text, layer=3, perplexity=4, restarts=2)
    >>> len(found), "local" in found.quality
    (15, True)
    """
    layers = None if layer is None else [layer]
    seen = text_capture(
        model,
        text,
        want=["hidden"],
        layers=layers,
        cut=cut,
        first_tokens=first_tokens,
        generate=generate,
        merge=merge,
        target=target,
        progress=progress,
    )
    how: dict[str, Any] = {"metric": metric, "restarts": restarts, "steps": steps, "seed": seed}
    found = map_hidden(
        seen, layer, perplexity=perplexity, special=special, side=side, progress=progress, **how
    )
    return found.but(notes=tuple(dict.fromkeys((*seen.notes, *found.notes))))
