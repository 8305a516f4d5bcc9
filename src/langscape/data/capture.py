"""One run of a model over text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data.noun import Noun, frozen
from langscape.errors import DataError


@dataclass(frozen=True, eq=False)
class Capture(Noun):
    """One run of a model over text: its tokens, and named arrays with named axes.

    `capture["attention"]` is the array, `capture.axes["attention"]` names its axes, for
    example `("layer", "head", "query", "key")`. What a model could not give stands in `notes`.
    """

    tokens: Sequence[str]
    arrays: Mapping[str, np.ndarray]
    axes: Mapping[str, tuple[str, ...]]
    made: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        arrays = {name: frozen(array) for name, array in self.arrays.items()}
        for name, array in arrays.items():
            if len(self.axes.get(name, ())) != array.ndim:
                raise DataError(f"array {name!r} has {array.ndim} axes but {self.axes.get(name)} are named")
        object.__setattr__(self, "tokens", tuple(self.tokens))
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "axes", MappingProxyType(dict(self.axes)))
        object.__setattr__(self, "made", MappingProxyType(dict(self.made)))

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.arrays[name]
        except KeyError:
            held = ", ".join(sorted(self.arrays)) or "nothing"
            said = " ".join(self.notes)
            raise DataError(f"this capture holds {held}, but not {name!r}. {said}".rstrip()) from None
