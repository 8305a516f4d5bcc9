"""Reading a capture by the model's own numbers: where a layer or head stands, and the tokens as items."""

from __future__ import annotations

from typing import Literal

import numpy as np

from langscape.data import Capture, Items
from langscape.errors import SettingsError, not_there


def array_named(capture: Capture, of: str) -> np.ndarray:
    """The array of that name; an encoder–decoder has one for each side, of which one must be named."""
    if of in capture.arrays:
        return capture[of]
    held = [name for name in (f"encoder_{of}", f"decoder_{of}") if name in capture.arrays]
    if held:
        raise SettingsError(f"this capture holds {' and '.join(held)}; say which with of={held[0]!r}")
    return capture[of]


def place(capture: Capture, of: str, noun: Literal["layer", "head"], number: int) -> int:
    """Where a layer or head stands in the array, which may hold a choice of them."""
    count = capture[of].shape[0 if noun == "layer" else 1]
    held = list(capture.made.get(f"{noun}s", {}).get(of, range(count)))
    if number not in held:
        raise not_there(noun, number, held, "this capture")
    return held.index(number)


def token_items(capture: Capture, of: str) -> Items:
    """The tokens that the array runs over, with the columns position, special and text."""
    about = capture.made
    tokens = list(capture.tokens)
    if of.startswith("decoder_"):
        about = capture.made["target"]
        tokens = list(about["tokens"])
    special = np.asarray(about.get("special", [False] * len(tokens)), bool)
    texts = [
        text if text.strip() else token
        for text, token in zip(about.get("texts", tokens), tokens, strict=True)
    ]
    return Items(
        tokens, {"position": np.arange(len(tokens)), "special": special, "text": np.asarray(texts, object)}
    )
