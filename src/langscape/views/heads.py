"""What views of heads share: attention checked before it is shown, and the map of heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data import Attention, Capture, Map, Side
from langscape.errors import DataError
from langscape.models.display_names import model_title
from langscape.views.trust import trust


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


def head_map_properties(map: Map | None) -> dict[str, Any]:
    """How far to trust the map of heads; nothing where there is none."""
    return {} if map is None else {"head_map": trust(map)}


def head_map_arrays(map: Map | None, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Places of heads, and what is kept of each head's neighbours; in the order of rows, or of the map."""
    if map is None:
        return {}
    rows = np.arange(len(map)) if rows is None else rows
    arrays = {"head_xy": np.asarray(map.xy[rows, :2], np.float32)}
    if "kept" in map.per_point:
        arrays["head_kept"] = np.asarray(map.per_point["kept"][rows], np.float32)
    return arrays
