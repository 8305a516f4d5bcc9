"""Arrays of other libraries as NumPy's: torch, jax and whatever speaks `__array__` or dlpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import DataError


def is_array(value: Any) -> bool:
    """Whether it is an array: it has a shape and a way to become NumPy's; a table has columns as well."""
    if not hasattr(value, "shape") or hasattr(value, "columns"):
        return False
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def as_floats(value: Any, what: str = "the array") -> np.ndarray:
    """The numbers as float32; a tensor's gradient and device are left behind, and it is not changed."""
    for method in ("detach", "cpu"):
        if hasattr(value, method):
            value = getattr(value, method)()
    if "bfloat16" in str(getattr(value, "dtype", "")):  # which NumPy does not know
        value = value.float() if hasattr(value, "float") else value.astype("float32")
    try:
        array = (
            np.asarray(value) if not is_array(value) or hasattr(value, "__array__") else np.from_dlpack(value)
        )
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        why = str(error).partition("\n")[0]
        raise DataError(
            f"{what} cannot be read as numbers: {why}; give arrays of one shape, all of numbers"
        ) from None
    if array.dtype.kind not in "fiub":
        kinds = {"U": "text", "S": "bytes", "O": "Python objects", "c": "complex numbers", "M": "dates"}
        raise DataError(f"{what} holds {kinds.get(array.dtype.kind, array.dtype)}, expected numbers")
    return array.astype(np.float32, copy=False)
