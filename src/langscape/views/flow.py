"""The flow view: every vector of a model on its way from a word to the next, and what made each number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from langscape.data import Capture, View
from langscape.errors import DataError, SettingsError
from langscape.metrics.scores import SCORES

if TYPE_CHECKING:
    from langscape.models import Stream

Weights = Mapping[str, Any]
"""What `LSTMModel.weights()` gives."""


STEPS, PAGE = 1_000, 60_000_000
"""Steps, and bytes in base64, that a page may hold: a browser still answers at once."""


def refuse_long(tokens: int, bytes_of: Callable[[int], float]) -> None:
    """Say how much of a prompt would fit; bytes_of gives the bytes of a page by the number of its tokens."""
    fits = next((n for n in range(min(tokens, STEPS), 0, -1) if bytes_of(n) <= PAGE), 1)
    if fits < tokens:
        raise SettingsError(
            f"a flow over {tokens:,} tokens is too long for a page; give at most {fits:,} of them"
        )


class Colours(Protocol):
    """Colours for vectors of the words' space: `engine.colours` makes one, with `rgb` for every word.

    Of a large vocabulary, `of(ids)` may stand instead of `rgb`, and gives those of some words.
    """

    @property
    def quality(self) -> Mapping[str, float]:
        """How well colour distance follows vector distance."""
        ...

    def fit(self, vectors: Any) -> np.ndarray:
        """(vectors, 3) from 0 to 1."""
        ...


def flow(
    of: Capture | Stream,
    weights: Weights | None = None,
    words: Sequence[str] | None = None,
    *,
    colours: Colours | None = None,
    top: int = 8,
    title: str | None = None,
) -> View:
    """How vectors move through a model over one text: an LSTM's capture, or the stream of a transformer.

    An LSTM needs its weights and its words, since the page shows every summand of a matrix product. Of a
    stream, `colours` has one row for every word of its vocabulary or none at all.
    """
    if isinstance(of, Capture):
        from langscape.views.flow_lstm import lstm_flow

        if weights is None or words is None:
            raise DataError(
                "the flow of an LSTM needs its weights and words; give model.weights(), model.words"
            )
        return lstm_flow(of, weights, words, colours=colours, top=top, title=title)
    from langscape.views.flow_stream import stream_flow

    return stream_flow(of, colours=colours, top=top, title=title)


class Book:
    """The words that a page speaks of, numbered as they come; arrays hold these numbers."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._at: dict[int, int] = {}

    def number(self, ids: np.ndarray) -> np.ndarray:
        """The numbers of vocabulary ids, int32; -1 stays."""
        out = np.full(ids.shape, -1, np.int32)
        for place, word in np.ndenumerate(ids):
            if word >= 0:
                if int(word) not in self._at:
                    self._at[int(word)] = len(self.ids)
                    self.ids.append(int(word))
                out[place] = self._at[int(word)]
        return out


def bytes_of(colour: np.ndarray) -> np.ndarray:
    """Colours from 0 to 1 as uint8."""
    return np.round(255 * np.clip(colour, 0, 1)).astype(np.uint8)


def halves(values: np.ndarray) -> np.ndarray:
    """Numbers in half precision as their bytes, with a last axis of 2; half the size of float32."""
    half = np.ascontiguousarray(np.clip(values, -65504, 65504), dtype="<f2")
    return half.view(np.uint8).reshape(*values.shape, 2)


def word_colours(colours: Colours, ids: Sequence[int]) -> np.ndarray:
    """The colours of words by their numbers, uint8."""
    return bytes_of(colours.of(ids) if hasattr(colours, "of") else colours.rgb[list(ids)])  # type: ignore[attr-defined]


def sums(worst: float, of: float | None, meaning: str) -> dict[str, str]:
    """The score of how exactly sums add up, its order of size alone: `worst` is the largest difference."""
    score = SCORES["sums"]
    shown = f"to {score.text(worst)}" + ("" if of is None else f" of {of:.3g}")
    return {"name": score.name, "label": score.label, "shown": shown, "meaning": meaning}


def colour_quality(colours: Colours) -> list[dict[str, str]]:
    """How well colour distance follows vector distance, where the colours say so."""
    value = colours.quality.get("words")
    if value is None:
        return []
    score = SCORES["colours"]
    return [
        {"name": score.name, "label": score.label, "shown": score.text(value), "meaning": score.sentence()}
    ]
