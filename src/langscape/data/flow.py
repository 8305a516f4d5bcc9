"""What flowed through a model as it read one text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from langscape.data.noun import Noun, frozen
from langscape.data.shown import Shown
from langscape.data.view import View


@dataclass(frozen=True, eq=False, repr=False)
class Flow(Noun, Shown):
    """Every vector of a model over one text, the words each means, its colour, and what made its numbers.

    kind        "lstm", "gru", "decoder", "masked" (it says what stands at a token) or "encoder" (it says no
                words)
    title       what the flow is called
    words       the words that it speaks of; arrays of words hold their places here, −1 for none
    vocabulary  how many words the model knows
    vectors     the model's own vectors by name, and `axes` the names of their axes
    weights     of an LSTM, its matrices and biases; empty where they would not fit a page
    arrays      what was computed of the vectors: best and nearest words, contributions, change, colours
    scores      "sums" the largest difference between a sum of parts and the model's own number, "largest"
                the largest of these numbers, "colours" how well colours follow vectors
    alarms      what a reader should look at: vector, layer, step, level and a sentence
    start       what the first token is where the text does not hold it
    unknown     of an LSTM, per step what the text says where the model has no such word, elsewhere empty
    usual       of an LSTM, the text that means are over, in words (`over`), how many values its cells and
                hidden vectors have (`values`), and how many of them leave their usual ranges in all steps
                but one in a hundred (`strays`), and how far from its mean the furthest cell of a step is, in
                the median and in one step of twenty (`furthest`)
    parts       of a transformer, what its embedding is the sum of
    post_norm   whether a transformer normalises its stream after every sum
    remarks     what the model could not give or had to change
    """

    kind: Literal["lstm", "gru", "decoder", "masked", "encoder"]
    model: str
    title: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    vocabulary: int
    vectors: Mapping[str, np.ndarray]
    axes: Mapping[str, tuple[str, ...]]
    arrays: Mapping[str, np.ndarray]
    scores: Mapping[str, float]
    alarms: tuple[Mapping[str, Any], ...] = ()
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)
    start: str = ""
    parts: tuple[str, ...] = ()
    post_norm: bool = False
    remarks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("vectors", "weights", "arrays"):
            arrays = {key: frozen(array) for key, array in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(arrays))
        for name in ("axes", "scores", "usual"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def notes(self) -> tuple[str, ...]:
        """Scores of trust, alarms, and what else a reader should know."""
        properties = self.view().properties
        scores = [f"{one['label']}: {one['shown']}" for one in properties["quality"]]
        loud = {"alarm": "alarm", "notice": "noticed"}
        alarms = (f"{loud[one.get('level', 'alarm')]}: {one['text']}" for one in properties["alarms"])
        unread = filter(None, [properties.get("unread")])
        return (*scores, *alarms, *unread, *properties["notes"])

    def view(self, *, title: str | None = None) -> View:
        """The picture."""
        from langscape.views import flow

        return flow(self, title=title)

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html) or a figure (.png, .svg, .pdf)."""
        from langscape.views import write

        return write(self.view(title=title), path)
