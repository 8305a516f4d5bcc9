"""Reading a capture by the model's own numbers: where a layer or head stands, and the tokens as items."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from langscape.data import Capture, Items, Tokens
from langscape.errors import not_there


def place(capture: Capture, name: str, noun: Literal["layer", "head"], number: int) -> int:
    """Where a layer or head stands in the array, which may hold a choice of them."""
    known = capture.layers_of(name) if noun == "layer" else capture.heads_of(name)
    if number not in known:
        raise not_there(noun, number, known, "this capture")
    return known.index(number)


def token_items(tokens: Tokens) -> Items:
    """The tokens as items, with the columns position, special and text; and generated, where some are."""
    columns = {"special": tokens.special, "text": np.array(tokens.shown, object)}
    if tokens.generated.any():
        columns["generated"] = tokens.generated
    return Items(tokens.labels, {"position": np.arange(len(tokens)), **columns})


def run_facts(capture: Capture) -> dict[str, Any]:
    """What a map says of the run it came from."""
    names = ("model", "revision", "text_digest")
    return {name: capture.metadata[name] for name in names if name in capture.metadata}
