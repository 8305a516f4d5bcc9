"""A picture as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data.noun import Noun, frozen
from langscape.data.shown import Shown


@dataclass(frozen=True, eq=False, repr=False)
class View(Noun, Shown):
    """A picture as data: its kind, plain properties (JSON), and arrays. No drawing in it.

    The same View is drawn by the page, by matplotlib and by the studio.
    """

    kind: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arrays = {name: frozen(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "properties", MappingProxyType(dict(self.properties)))

    def __repr__(self) -> str:
        title = str(self.properties.get("title") or "")
        arrays = ", ".join(f"{name} {array.shape}" for name, array in list(self.arrays.items())[:4])
        return f"View of kind {self.kind}{f', {title!r}' if title else ''}: {arrays}"
