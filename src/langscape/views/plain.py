"""Values that JSON can hold."""

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
