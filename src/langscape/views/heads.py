"""Reading a capture's attention, checked before it is shown."""

from __future__ import annotations

from langscape.data import Attention, Capture, Side
from langscape.errors import DataError
from langscape.models.display_names import model_title


def heads_of(capture: Capture, side: Side | None = None) -> Attention:
    """The capture's attention, checked: it is not empty, and its weights are from 0 to 1."""
    seen = capture.attention(side)
    if not seen.weights.size:
        raise DataError(
            f"array {seen.name!r} is empty (shape {seen.weights.shape}); capture a text of at least one token"
        )
    low, high = float(seen.weights.min()), float(seen.weights.max())
    # Half precision rounds a weight of 1 up by a thousandth.
    if not (low >= 0 and high <= 1.01):
        raise DataError(
            f"array {seen.name!r} holds weights from {low:g} to {high:g}; attention is from 0 to 1"
        )
    return seen


def model_of(capture: Capture) -> str:
    """The model's name as it is shown."""
    return model_title(str(capture.metadata.get("model", "")))
