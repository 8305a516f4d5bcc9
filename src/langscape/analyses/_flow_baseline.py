"""The text that an LSTM's alarms compare with, and its run over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data.lstm_baseline import LSTMBaseline
from langscape.errors import DataError
from langscape.metrics.lstm_baseline import RANDOM, lstm_baseline


def baseline_of(model: Any, text: str | None = None) -> LSTMBaseline:
    """An LSTM over a text: the one that is given, the one kept with it, or its own words in random order."""
    from langscape.models.lines import encode_with_starts

    given = model.baseline if text is None else text
    if given:
        lines = [line for line in given.splitlines() if line.strip()] or [given]
        ids, starts = encode_with_starts(lines, model.tokenizer)
        if len(ids) < 3:
            raise DataError("the text to compare with has fewer than 3 words; give some sentences")
        named = "the text that is kept with the model" if text is None else "the text to compare with"
        return lstm_baseline(model.weights(), ids, named, starts=starts)
    ids = np.random.default_rng(0).integers(len(model.words), size=RANDOM + 1)
    return lstm_baseline(model.weights(), ids, "its vocabulary in random order")
