"""What the rows of anything are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data.noun import Noun, frozen
from langscape.data.shown import Tabular, some
from langscape.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Items(Noun, Tabular):
    """What the rows are: one label each, and named columns (group, position, layer, …).

    >>> Items(["tea", "oslo"], {"group": ["drinks", "capitals"]}).columns["group"][1]
    'capitals'
    """

    labels: Sequence[str]
    columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = tuple(self.labels)
        if set(map(type, labels)) != {str}:
            labels = tuple(map(str, labels))
        columns = {}
        for name, values in self.columns.items():
            column = frozen(_column(values))
            if column.shape != (len(labels),):
                raise DataError(
                    f"column {name!r} has shape {column.shape}, but there are {len(labels)} items; "
                    "give one value per item"
                )
            columns[str(name)] = column
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "columns", MappingProxyType(columns))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        named = [*self.columns][:6] + (["…"] if len(self.columns) > 6 else [])
        columns = f"; columns {', '.join(named)}" if named else ""
        return f"Items({len(self):,}: {some(self.labels)}{columns})"

    def row_columns(self) -> Mapping[str, Any]:
        """The labels, and the columns as they are."""
        return {"label": np.array(self.labels, object), **self.columns}

    @classmethod
    def numbered(cls, n: int) -> Items:
        """Items labelled "0", "1", … for data that came without names."""
        return cls([str(i) for i in range(n)])

    def take(self, rows: Any) -> Items:
        """The chosen rows, in the order given."""
        rows = np.asarray(rows, dtype=np.intp)
        labels: Sequence[str] = self.labels
        chosen: list[int] = rows.tolist()
        return Items([labels[i] for i in chosen], {k: v[rows] for k, v in self.columns.items()})

    def with_columns(self, **columns: Any) -> Items:
        """The same items with columns added or replaced."""
        return Items(self.labels, {**self.columns, **columns})


def _column(values: Any) -> np.ndarray:
    column = np.asarray(values)
    if column.dtype.kind in "US":
        column = column.astype(object)
    return column
