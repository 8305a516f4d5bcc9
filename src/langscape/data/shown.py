"""How nouns and results show themselves: a readable text, a picture in a notebook, rows for other tools."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.errors import MissingError

if TYPE_CHECKING:
    import pyarrow as pa


class Tabular(ABC):
    """Something with rows, which go to Arrow, pandas and polars."""

    @abstractmethod
    def row_columns(self) -> Mapping[str, Any]:
        """The columns of its rows, all of one length; a column may hold a vector for each row."""

    def to_arrow(self) -> pa.Table:
        """Its rows as an Arrow table."""
        import pyarrow as pa

        return pa.table({name: _arrow(values) for name, values in self.row_columns().items()})

    def to_pandas(self) -> Any:
        """Its rows as a pandas DataFrame."""
        try:
            import pandas  # noqa: F401  # type: ignore[import-not-found]
        except ImportError:
            raise MissingError("to_pandas needs pandas; `pip install pandas`, or use to_arrow()") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Its rows as a polars DataFrame."""
        try:
            import polars  # type: ignore[import-not-found]
        except ImportError:
            raise MissingError("to_polars needs polars; `pip install polars`, or use to_arrow()") from None
        return polars.from_arrow(self.to_arrow())


class Shown(Tabular):
    """Something with a picture: `view()` or `views()` make it."""

    def row_columns(self) -> Mapping[str, Any]:
        """The columns of its picture's table."""
        from langscape.notebook import pictures
        from langscape.views.table import table

        return table(pictures(self)[0])

    def figure(self) -> Any:
        """Its picture as a matplotlib figure, to go on with; of several pictures, the first."""
        from langscape.notebook import pictures
        from langscape.views.kinds import drawer

        view = pictures(self)[0]
        return drawer(view)(view)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from langscape.notebook import bundle

        return bundle(self)

    def __repr__(self) -> str:
        width = max((len(one.name) for one in fields(self)), default=0)  # type: ignore[arg-type]
        values = [(one.name, getattr(self, one.name)) for one in fields(self)]  # type: ignore[arg-type]
        lines = [f"  {name:<{width}}  {brief(value)}" for name, value in values if not _empty(value)]
        return "\n".join([type(self).__name__, *lines])


def brief(value: Any) -> str:
    """A value in a line of at most 100 characters: arrays by their shape, lists by what stands first."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} array {value.shape}"
    if isinstance(value, Mapping):
        text = f"{len(value):,}: {some(value)}"
    elif isinstance(value, list | tuple):
        text = some(value)
    else:
        text = repr(value).partition("\n")[0]
    return text if len(text) <= 100 else f"{text[:99]}…"


def some(values: Sequence[Any] | Mapping[Any, Any], count: int = 3) -> str:
    """The first few, and that there are more."""
    first = [value for value, _ in zip(values, range(count), strict=False)]
    texts = [repr(one) if isinstance(one, str) else str(one) for one in first]
    return ", ".join(texts) + (" …" if len(values) > count else "")


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, tuple | list | Mapping) and not value)


def _arrow(values: Any) -> Any:
    import pyarrow as pa

    array = np.asarray(values)
    if array.ndim == 2:
        flat = pa.array(np.ascontiguousarray(array).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
    if array.dtype.kind in "OUS":
        return pa.array([None if one is None else str(one) for one in array], pa.string())
    return pa.array(array)
