"""The matrices view: labelled tables as heat maps, one or several, such as a figure of every head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import View
from langscape.errors import DataError, SettingsError

if TYPE_CHECKING:
    from langscape.affinity import Scales
    from langscape.metrics import ClassTable


@dataclass(frozen=True, eq=False)
class Matrix:
    """One table: values (rows, columns) with the names of both; `centre` is the value drawn without colour.

    scale "ratio" draws values above the centre in one colour and below in another, by their logarithm;
    "plain" from the least to the largest. `second` are values that the page tells beside.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray
    scale: Literal["plain", "ratio"] = "plain"
    centre: float = 1.0
    digits: int = 2
    note: str = ""
    second: np.ndarray | None = None
    second_name: str = ""


def matrices(
    tables: Sequence[Matrix],
    *,
    title: str,
    subtitle: str = "",
    row_name: str = "",
    column_name: str = "",
    together: bool = True,
    notes: Sequence[str] = (),
) -> View:
    """Several tables as one picture. With together=False the page shows one at a time, by its title."""
    if not tables:
        raise SettingsError("there is no table to show; give at least one")
    described: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for at, one in enumerate(tables):
        values = np.asarray(one.values, np.float32)
        if values.shape != (len(one.rows), len(one.columns)):
            raise DataError(
                f"table {one.title!r} has shape {values.shape} for {len(one.rows)} rows and "
                f"{len(one.columns)} columns"
            )
        arrays[f"values{at}"] = values
        if one.second is not None:
            arrays[f"second{at}"] = np.asarray(one.second, np.float32)
        described.append(
            {
                "title": one.title, "rows": [str(name) for name in one.rows],
                "columns": [str(name) for name in one.columns], "array": f"values{at}", "scale": one.scale,
                "centre": one.centre, "digits": one.digits, "note": one.note,
                "second": None if one.second is None else f"second{at}", "second_name": one.second_name,
            }
        )  # fmt: skip
    properties = {
        "title": title,
        "subtitle": subtitle,
        "tables": described,
        "row_name": row_name,
        "column_name": column_name,
        "together": together,
        "notes": list(notes),
    }
    return View("matrices", properties, arrays)


def scales(
    chosen: Mapping[str, Scales] | Sequence[Scales], *, fine: bool = False, title: str | None = None
) -> View:
    """The best c of every head by each metric, layers × heads: Figure 1 of document 001."""
    listed = list(chosen.values()) if isinstance(chosen, Mapping) else list(chosen)
    names = {
        "weighted": "weighted correlation",
        "scaled": "weighted correlation, scaled",
        "norms": "ratio of norms",
    }
    tables = []
    for letter, one in zip("abcdefgh", listed, strict=False):
        values, layers, heads = one.grid("fine_c" if fine else "c")
        counted = one.counted.max(axis=1)
        grid = np.full(values.shape, np.nan)
        for (layer, head), count in zip(one.heads.tolist(), counted, strict=True):
            grid[layers.index(layer), heads.index(head)] = count
        tables.append(
            Matrix(
                f"({letter}) {names.get(one.metric, one.metric)}", [str(at) for at in layers],
                [str(at) for at in heads], values, "ratio", 1.0, 2,
                "" if one.metric == "norms" else f"percentile {one.percentile:g}, ≥ {one.least_keys} keys",
                grid, "queries counted, at most",
            )
        )  # fmt: skip
    return matrices(
        tables, title=title or "The best c of every head", row_name="layer", column_name="head",
        subtitle="queries ÷ c, keys × c" + (", searched finely" if fine else ""),
    )  # fmt: skip


def class_tables(
    tables: Mapping[tuple[int, int], ClassTable],
    *,
    column: str = "class",
    lift: bool = True,
    title: str | None = None,
) -> View:
    """Which classes of tokens attend to which, head by head: weight over what even attention would give.

    The tables are those of `analyses.query_key` for that column, special tokens dropped.
    """
    drawn = [
        Matrix(
            f"{layer}.{head}", one.rows, one.columns, one.lift if lift else one.weight,
            "ratio" if lift else "plain", 1.0, 2, "", one.weight if lift else one.lift,
            "share of the query’s weight" if lift else "times even attention",
        )
        for (layer, head), one in tables.items()
    ]  # fmt: skip
    return matrices(
        drawn, title=title or f"Which {column} attends to which", row_name="query", column_name="key",
        together=False,
        subtitle=("weight ÷ what even attention would give" if lift else "share of a query’s weight")
        + ", special tokens left out",
    )  # fmt: skip
