"""A picture as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data.noun import Noun, frozen


@dataclass(frozen=True, eq=False)
class View(Noun):
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
