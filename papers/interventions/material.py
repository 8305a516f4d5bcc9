"""What is read: six texts of our own, passages of two packaged corpora, and random tokens that repeat."""

from __future__ import annotations

from itertools import islice

import numpy as np

from langscape.models import Model
from langscape.sources.texts import stream_texts

OWN = {
    "harbour walk": (
        "In the morning the fishermen carried their nets down to the quay and looked at the sky. The wind "
        "came from the west, and the oldest of them said that it would turn before noon. Nobody believed "
        "him, but at eleven the flags began to point the other way, and the boats stayed where they were."
    ),
    "talk": (
        "“Where did you put the ladder?” asked Marie. “Behind the shed,” said Tom, “beside the wheelbarrow.” "
        "Marie went out and came back without it. “There is no ladder behind the shed,” she said. Tom "
        "thought for a moment. “Then Peter must have taken it,” he said. “He wanted to pick the last apples.”"
    ),
    "code": (
        "def area(width, height):\n    return width * height\n\n\ndef volume(width, height, depth):\n"
        "    return area(width, height) * depth\n\n\nfor side in range(1, 5):\n"
        "    print(side, area(side, side), volume(side, side, side))\n"
    ),
    "science": (
        "Water is heaviest at four degrees. When a lake cools in autumn, the cold water at its surface sinks "
        "until the whole lake has this temperature; only then does the surface grow colder and freeze. The "
        "ice floats, and under it the fish live through the winter in water of four degrees."
    ),
    "recipe": (
        "Cut three onions into rings and fry them slowly in butter until they are golden. Add two spoons of "
        "flour, stir, and pour in half a litre of milk. Season with salt, pepper and nutmeg. Put slices "
        "of boiled potato into a dish, cover them with the sauce and some cheese, and bake them."
    ),
    "news": (
        "The town council decided on Monday to build a new school near the station. It will have room for "
        "480 pupils and cost 22 million euros, of which the state pays a third. Work begins in spring. "
        "Parents had asked for the school for years, since the old one has too few rooms."
    ),
}
CORPORA = ("sotu", "austen")


def texts(quick: bool = False) -> dict[str, str]:
    """Name → text."""
    found = dict(list(OWN.items())[: 2 if quick else None])
    for corpus in CORPORA[: 1 if quick else None]:
        passages = (one for one in stream_texts(corpus, "paragraph") if len(one) > 400)
        chosen = list(islice(passages, 40, 240, 80))
        found |= {f"{corpus} {at}": one for at, one in enumerate(chosen[: 1 if quick else 3])}
    return found


def repeated(model: Model, seed: int = 0, count: int = 40) -> list[int]:
    """A first token, then random tokens twice."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(model.vocabulary // 20, model.vocabulary, count).tolist()
    return [0, *drawn, *drawn]
