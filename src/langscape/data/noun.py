"""What all nouns share: read-only arrays, and a way through a pickle."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np


def frozen(array: Any, dtype: Any = None) -> np.ndarray:
    """A read-only array; the one given is copied only if it is writable."""
    out = np.asarray(array, dtype=dtype)
    if out.flags.writeable:
        out = out.copy() if out is array or out.base is not None else out
        out.flags.writeable = False
    return out


class Noun:
    """Lets a noun be pickled, to reach a worker process or a saved estimator; read-only mappings cannot."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        plain = {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in values.items()}
        return _rebuilt, (type(self), plain)


def _rebuilt(noun: type, values: dict[str, Any]) -> Any:
    return noun(**values)
