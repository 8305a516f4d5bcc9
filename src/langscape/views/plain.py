"""Values that JSON can hold, and figures as captions say them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The value as JSON can hold it: numpy scalars and arrays unpacked, NaN and infinities as None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        return [plain(inner) for inner in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return str(value)


def number_text(value: Any) -> str:
    """A figure for a caption: four digits that count, whole numbers whole.

    >>> number_text(11 / 3), number_text(30.0), number_text(123456), number_text("auto")
    ('3.667', '30', '123456', 'auto')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, float):
        return str(value)
    return f"{value:z.4g}" if abs(value) < 1e4 else f"{value:.0f}"
