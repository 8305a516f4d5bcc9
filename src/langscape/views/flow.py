"""The flow view: every vector of a model on its way from a word to the next, and what made each number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from langscape.data import Flow, View
from langscape.errors import SettingsError
from langscape.metrics.scores import SCORES, Null

STEPS, PAGE = 1_000, 60_000_000
"""Steps, and bytes in base64, that a page may hold: a browser still answers at once."""


def flow(found: Flow, *, title: str | None = None) -> View:
    """How vectors move through an LSTM or a transformer over one text, as `langscape.flow` found it."""
    if found.kind in ("lstm", "gru"):
        from langscape.views.flow_lstm import lstm_flow

        return lstm_flow(found, title=title)
    from langscape.views.flow_stream import stream_flow

    return stream_flow(found, title=title)


def refuse_long(tokens: int, bytes_of: Callable[[int], float]) -> None:
    """Say how much of a prompt would fit; bytes_of gives the bytes of a page by the number of its tokens."""
    fits = next((n for n in range(min(tokens, STEPS), 0, -1) if bytes_of(n) <= PAGE), 1)
    if fits < tokens:
        raise SettingsError(
            f"a flow over {tokens:,} tokens is too long for a page; give at most {fits:,} of them"
        )


def halves(values: np.ndarray) -> np.ndarray:
    """Numbers in half precision as their bytes, with a last axis of 2; half the size of float32."""
    half = np.ascontiguousarray(np.clip(values, -65504, 65504), dtype="<f2")
    return half.view(np.uint8).reshape(*values.shape, 2)


def quality(found: Flow, meaning: str) -> list[dict[str, str]]:
    """How exactly sums add up, which `meaning` explains, and how well colours follow vectors."""
    sums, colours = SCORES["sums"], SCORES["colours"]
    shown = f"within {sums.text(found.scores['sums'])}"
    value, null = found.scores["colours"], Null.read(found.scores, "colours")
    words = colours.in_words(value, null)
    followed = f"{colours.text(value)} of 1" + (f", {words}" if words else "")
    meant = colours.sentence() + colours.explained(value, null)
    return [
        {"name": sums.name, "label": sums.label, "shown": shown, "meaning": meaning},
        {"name": colours.name, "label": colours.label, "shown": followed, "meaning": meant},
    ]
