"""The matrices view: labelled tables as heat maps, one or several, such as a figure of every head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import View
from langscape.errors import DataError, SettingsError

if TYPE_CHECKING:
    from langscape.affinity import Scales
    from langscape.metrics import ClassTable


SIDES = "blue above 1, orange below"
"""The colours of ratios, in words."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """One table: values (rows, columns) with the names of both; `centre` is the value drawn without colour.

    scale "ratio" draws values above the centre in one colour and below in another, by their logarithm;
    "signed" those above 0 in one colour and below in another; "plain" from the least to the largest.
    `second` are values that the page tells beside. A click on a row or a cell runs its action (`action`),
    where there is a studio; on a cell it tells the cell's note. Cells that are `marked` are written boldly.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray
    scale: Literal["plain", "ratio", "signed"] = "plain"
    centre: float = 1.0
    digits: int = 2
    note: str = ""
    second: np.ndarray | None = None
    second_name: str = ""
    row_actions: Sequence[Mapping[str, Any] | None] | None = None
    cell_notes: Sequence[Sequence[str]] | None = None
    cell_actions: Sequence[Sequence[Mapping[str, Any] | None]] | None = None
    marked: np.ndarray | None = None


@dataclass(frozen=True)
class Written:
    """What a model wrote behind a prompt: its name among others, the prompt, the last words, the new ones."""

    name: str
    prompt: str
    ending: str
    new: str


def action(label: str, analysis: str, settings: Mapping[str, Any], **show: Any) -> dict[str, Any]:
    """What a click asks the studio for: an analysis of the same model and text, and what is shown of it."""
    return {"label": label, "analysis": analysis, "settings": dict(settings), "show": show}


def matrices(
    tables: Sequence[Matrix],
    *,
    title: str,
    subtitle: str = "",
    row_name: str = "",
    column_name: str = "",
    together: bool = True,
    notes: Sequence[str] = (),
    written: Sequence[Written] = (),
) -> View:
    """Several tables as one picture, all on one scale of colours, so that a colour is one value in each.

    With together=False the page shows one at a time, by its title.
    """
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
                "centre": one.centre, "decimals": _decimals(values, one.digits, row_name, column_name),
                "note": one.note,
                "second": None if one.second is None else f"second{at}", "second_name": one.second_name,
                "row_actions": None if one.row_actions is None else list(one.row_actions),
                "cell_notes": None if one.cell_notes is None else [list(row) for row in one.cell_notes],
                "cell_actions": None if one.cell_actions is None else [list(row) for row in one.cell_actions],
                "marked": None if one.marked is None else np.asarray(one.marked, bool).tolist(),
            }
        )  # fmt: skip
    properties = {
        "title": title,
        "subtitle": subtitle,
        "tables": described,
        "spans": {scale: span_of(tables, scale) for scale in {one.scale for one in tables}},
        "row_name": row_name,
        "column_name": column_name,
        "together": together,
        "notes": list(notes),
        "written": [asdict(one) for one in written],
    }
    return View("matrices", properties, arrays)


def _decimals(values: np.ndarray, digits: int, row_name: str, column_name: str) -> list[int]:
    """The decimals of every column: none where all its values are whole, or all of a table of heads are.

    >>> values = np.array([[1, 0.5], [2, 0.25]])
    >>> _decimals(values, 2, "part", ""), _decimals(values, 2, "layer", "head")
    ([0, 2], [2, 2])
    """
    whole = ((values == np.round(values)) | ~np.isfinite(values)).all(axis=0)
    if (row_name, column_name) == ("layer", "head"):
        whole[:] = whole.all()
    return np.where(whole, 0, digits).tolist()


def span_of(tables: Sequence[Matrix], scale: str) -> tuple[float, float]:
    """What the first and the last colour stand for in all tables of a scale.

    Of ratios it is the logarithm to base 2, as far below the centre as above and at most 4 (16 times); of
    plain values from 0, or the least below it, to the largest; of signed ones as far below 0 as above.

    >>> tables = [Matrix("a", ["x"], ["y"], np.array([[2.0]]), "ratio"),
    ...           Matrix("b", ["x"], ["y"], np.array([[0.125]]), "ratio")]
    >>> span_of(tables, "ratio")
    (-3.0, 3.0)
    """
    drawn = [ratios(one.values, one.centre) if scale == "ratio" else np.asarray(one.values, np.float64)
             for one in tables if one.scale == scale]  # fmt: skip
    values = np.concatenate([one.ravel() for one in drawn])
    known = values[np.isfinite(values)]
    if scale in ("ratio", "signed"):
        most = float(np.abs(known).max()) if len(known) else 0.0
        return -(most or 1.0), most or 1.0
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return min(0.0, low), high if high > min(0.0, low) else min(0.0, low) + 1.0


def ratios(values: np.ndarray, centre: float) -> np.ndarray:
    """How many times a value is the centre, as a logarithm to base 2 between −4 and 4."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.log2(np.maximum(np.asarray(values, np.float64), 1e-6) / centre), -4, 4)


JUDGED = 10
"""Heads of which a mean over heads is told at least."""


def scales(
    chosen: Mapping[str, Scales] | Sequence[Scales], *, fine: bool = False, title: str | None = None
) -> View:
    """The best c of every head by each metric, layers × heads: Figure 1 of Visualizing Attention 2023."""
    listed = list(chosen.values()) if isinstance(chosen, Mapping) else list(chosen)
    names = {
        "weighted": "weighted correlation",
        "scaled": "weighted correlation, scaled",
        "norms": "ratio of norms",
    }
    tables = []
    for letter, one in zip("abcdefgh", listed, strict=False):
        values, layers, heads = one.grid("fine_c" if fine else "c")
        values = np.where(one.grid("told")[0] == 1, values, np.nan)
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
        notes=[note for one in listed if one.metric == "weighted" for note in _chosen_notes(one)],
    )  # fmt: skip


def _chosen_notes(one: Scales) -> list[str]:
    """Of how many heads no c can be told, and what the chosen one is worth on sentences it has not seen."""
    notes = []
    missing = int(np.isnan(one.c).sum())
    if missing:
        notes.append(
            f"In the first table – stands at {missing} of {len(one.c)} heads, where no query has "
            f"{one.least_keys} keys among the nearest {one.percentile:g} % of pairs; a longer text has more "
            "of them"
        )
    open_ = int((np.isfinite(one.c) & ~one.told).sum())
    if open_:
        notes.append(
            f"In the first table – stands at {open_} of {len(one.c)} heads{' besides' if missing else ''}, "
            f"where no constant is worse than another by {one.clear:g} standard errors: this text cannot "
            "tell c, and maps take c = 1; a text of more sentences can, read one by one"
        )
    seen = np.isfinite(one.held_out).all(axis=1)
    if seen.sum() >= JUDGED:
        before, after = (f"{one.held_out[seen, at].mean():.3f}".replace("-", "−") for at in (0, 1))
        notes.append(
            f"On sentences that c was not chosen by, the weighted correlation of distance and dot product is "
            f"{after} at the chosen c and {before} at c = 1 (−1 at best): the mean over the "
            f"{int(seen.sum())} heads for which both halves of the text have such pairs"
        )
    return notes


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
            f"{layer}.{head}", one.counted_rows, one.columns, one.lift if lift else one.weight,
            "ratio" if lift else "plain", 1.0, 2, "", one.weight if lift else one.lift,
            "share of the query’s weight" if lift else "times even attention",
        )
        for (layer, head), one in tables.items()
    ]  # fmt: skip
    told = f"weight ÷ what even attention would give: {SIDES}" if lift else "share of a query’s weight"
    return matrices(
        drawn, title=title or f"Which {column} attends to which", row_name="query", column_name="key",
        together=False, subtitle=f"{told}; special tokens left out; in brackets how many queries",
    )  # fmt: skip
