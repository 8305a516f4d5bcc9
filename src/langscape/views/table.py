"""Views as tables: what a picture shows, as CSV or Parquet for any other tool."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import View
from langscape.errors import FileError, SettingsError
from langscape.io.atomic_write import atomic_write
from langscape.io.csvtext import csv_rows
from langscape.io.parquet import PICTURE, metadata_of, open_parquet, read_columns, write_parquet

SUFFIXES = (".csv", ".parquet")
Columns = dict[str, np.ndarray]


def table(view: View) -> Columns:
    """The view's numbers as named columns of one length.

    A scatter has a row per item, an atlas one per head, attention one per query and key. Of other kinds,
    a row per label with every array that has one number, or one vector, for each.

    >>> from langscape.data import View
    >>> made = View("scatter", {"labels": ["tea"], "columns": []}, {"xy": np.array([[1.0, 2.0]])})
    >>> {name: values.tolist() for name, values in table(made).items()}
    {'label': ['tea'], 'x': [1.0], 'y': [2.0]}
    """
    return _KINDS.get(view.kind, _labelled)(view)


def write_table(view: View, path: str | Path) -> Path:
    """Write the view's table as .csv or .parquet. The file is there whole or not at all."""
    path, columns = Path(path), table(view)
    with atomic_write(path) as aside:
        if path.suffix.lower() == ".csv":
            aside.write_text(csv_text(columns), encoding="utf-8", newline="")
        else:
            write_parquet(aside, columns, metadata=json.dumps({PICTURE: _said(view)}))
    return path


def read_scores(path: Path) -> tuple[dict[str, Any], Columns] | None:
    """Of a Parquet file that `write_table` wrote: what the picture said of itself, and its columns.

    None for any other Parquet file. What was said is kind, title, and the scores as (of, label, value).
    """
    with open_parquet(path) as opened:
        raw = metadata_of(opened) or b"{}"
        try:
            said = json.loads(raw)[PICTURE]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not _is_said(said):
            raise FileError(f"{path} carries wrong langscape metadata ({PICTURE}); export it again")
        return said, read_columns(opened)


def _is_said(said: Any) -> bool:
    def texts(values: Any, count: int) -> bool:
        return isinstance(values, list) and len(values) == count and all(isinstance(v, str) for v in values)

    return (
        isinstance(said, dict)
        and texts([said.get("kind"), said.get("title")], 2)
        and isinstance(said.get("scores"), list)
        and all(texts(one, 3) for one in said["scores"])
    )


def _said(view: View) -> dict[str, Any]:
    """What the picture says of itself beside its numbers; of several maps, which one each score is of."""
    properties = view.properties
    panels = [("", properties)] if "panels" not in properties else []
    panels += [(one["title"], one) for one in properties.get("panels", ())]
    scores = [
        [of, figure["label"], figure["shown"]]
        for of, one in panels
        for figure in one.get("flat_quality") or one.get("quality", ())
    ]
    return {"kind": view.kind, "title": properties.get("title", ""), "scores": scores}


def write_columns(columns: Mapping[str, Any], path: Path, title: str = "table") -> Path:
    """Columns of one length as CSV, or by the name's ending as Parquet; there whole or not at all.

    In Parquet the title travels along, and `langscape measure` prints it.
    """
    told = {name: _as_column(values) for name, values in columns.items()}
    with atomic_write(path) as aside:
        if path.suffix.lower() == ".parquet":
            said = {"kind": "table", "title": title, "scores": []}
            write_parquet(aside, told, metadata=json.dumps({PICTURE: said}))
        else:
            aside.write_text(csv_text(told), encoding="utf-8", newline="")
    return path


def _as_column(values: Any) -> np.ndarray:
    column = np.asarray(values)
    return column.astype(object) if column.dtype.kind in "US" else column


def _scatter(view: View) -> Columns:
    xy = view.arrays["xy"]
    columns = {"label": _texts(view.properties["labels"])}
    columns |= {axis: xy[:, at] for at, axis in enumerate("xyzw"[: xy.shape[1]])}
    return columns | _described(view, view.properties["columns"], columns)


def _attention(view: View) -> Columns:
    weights = view.arrays["attention"]
    rows, columns = (part.ravel() for part in np.indices(weights.shape))
    pairs = {
        "query_position": rows,
        "query": _texts(view.properties["queries"])[rows],
        "key_position": columns,
        "key": _texts(view.properties["keys"])[columns],
    }
    if "second" not in view.arrays:
        return {**pairs, "weight": weights.ravel()}
    second = view.arrays["second"]
    return {
        **pairs,
        "first": weights.ravel(),
        "second": second.ravel(),
        "difference": (second - weights).ravel(),
        "attention_elsewhere": view.arrays["elsewhere"][rows],
    }


def _max_attention(view: View) -> Columns:
    largest = view.arrays["maximum"]
    layers, heads, keys = (part.ravel() for part in np.indices(largest.shape))
    return {
        "layer": np.asarray(view.properties["layers"])[layers],
        "head": np.asarray(view.properties["heads"])[heads],
        "position": keys,
        "token": _texts(view.properties["keys"])[keys],
        "maximum": largest.ravel(),
        "mean": view.arrays["mean"].ravel(),
    }


def _atlas(view: View) -> Columns:
    heads = np.asarray(view.properties["heads"], np.int32)
    columns: Columns = {"layer": heads[:, 0], "head": heads[:, 1]}
    return columns | _described(view, view.properties["columns"], columns)


def _survey(view: View) -> Columns:
    """A row for every head: its names, its group, and every score with the ends of its interval."""
    properties, arrays = view.properties, view.arrays
    heads = np.asarray(properties["heads"], np.int32)
    roles = [role["name"] for role in properties["roles"]]
    some = [", ".join(np.array(roles, object)[state == 1]) for state in arrays["state"].T]
    columns: Columns = {
        "layer": heads[:, 0],
        "head": heads[:, 1],
        "names": _texts([", ".join(names) for names in properties["names"]]),
        "sometimes": _texts(some),
        "group": arrays["group"],
    }
    for row, score in enumerate(properties["scores"]):
        for end, name in (
            ("mean", score["name"]),
            ("low", f"{score['name']}_low"),
            ("high", f"{score['name']}_high"),
        ):
            columns[name] = arrays[end][row]
    return columns


def _query_key(view: View) -> Columns:
    """A row for every query and key of every panel."""
    xy, panels = view.arrays["xy"], view.properties["panels"]
    n = xy.shape[1]
    side = np.where(np.arange(n) < view.properties["queries"], "query", "key").astype(object)
    columns: Columns = {
        "panel": np.repeat(_texts([panel["title"] for panel in panels]), n),
        "layer": np.repeat([panel["layer"] for panel in panels], n),
        "head": np.repeat([panel["head"] for panel in panels], n),
        "label": np.tile(_texts(view.properties["labels"]), len(panels)),
        "side": np.tile(side, len(panels)),
        **{axis: xy[:, :, at].ravel() for at, axis in enumerate("xyzw"[: xy.shape[2]])},
    }
    out = _described(view, view.properties["columns"], columns)
    return columns | {
        name: values.ravel() if values.ndim == 2 else np.tile(values, len(panels))
        for name, values in out.items()
    }


def _matrices(view: View) -> Columns:
    """A row for every cell of every table; what is told beside the values stands under its own name."""
    told = [one["second_name"] for one in view.properties["tables"] if one["second"]]
    names = {re.sub(r"[^\w ]", "", name).replace(" ", "_") for name in told}
    has_second, beside = bool(names), names.pop() if len(names) == 1 else "second"
    parts: list[Columns] = []
    for one in view.properties["tables"]:
        values = view.arrays[one["array"]]
        rows, columns = (part.ravel() for part in np.indices(values.shape))
        second = values * np.nan if one["second"] is None else view.arrays[one["second"]]
        parts.append(
            {
                "table": _texts([one["title"]] * values.size),
                "row": _texts(one["rows"])[rows],
                "column": _texts(one["columns"])[columns],
                "value": values.ravel(),
                **({beside or "second": second.ravel()} if has_second else {}),
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _boxes(view: View) -> Columns:
    """A row for every box."""
    from langscape.views.boxes import NUMBERS

    numbers = view.arrays["numbers"]
    groups, series = (part.ravel() for part in np.indices(numbers.shape[:2]))
    columns: Columns = {
        "group": _texts(view.properties["groups"])[groups],
        "series": _texts(view.properties["series"])[series],
    }
    return columns | {name: numbers[:, :, at].ravel() for at, name in enumerate(NUMBERS)}


def _flow(view: View) -> Columns:
    """Of a transformer, a row for every head and MLP, at every token and for every word taken apart there.

    Of an LSTM, a row for every number of every vector that stands at a token: (layer, token, dim) or
    (token, dim).
    """
    if "part_heads" in view.arrays:
        return _parts(view)
    tokens = _texts(view.properties["tokens"])
    parts: list[Columns] = []
    for name, array in view.arrays.items():
        if array.dtype.kind != "f" or array.ndim not in (2, 3) or array.shape[-2] != len(tokens):
            continue
        flat = array if array.ndim == 3 else array[None]
        layer, token, dim = (part.ravel() for part in np.indices(flat.shape))
        parts.append(
            {
                "vector": _texts([name] * flat.size),
                "layer": layer if array.ndim == 3 else np.full(flat.size, -1),
                "position": token,
                "token": tokens[token],
                "dim": dim,
                "value": flat.ravel().astype(np.float32),
            }
        )
    if not parts:
        return _labelled(view)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _parts(view: View) -> Columns:
    """What each part adds to a word's logit, and what the word loses without it: logits, nats and chance.

    Of a model that says no words it is the score, and neither nats nor a chance.
    """
    arrays = view.arrays
    what = "score" if view.properties["model"] == "encoder" else "logit"

    def both(name: str) -> np.ndarray:
        """(token, word, layer, head), the MLP of a layer last."""
        return np.concatenate([arrays[f"{name}_heads"], arrays[f"{name}_mlp"][..., None]], axis=-1)

    adds = both("part")
    place, choice, layer, head = (part.ravel() for part in np.indices(adds.shape))
    words = arrays["choices"][place, choice]
    position = arrays["looked"][place]
    columns = {
        "position": position,
        "token": _texts(view.properties["tokens"])[position],
        "word": _texts(view.properties["words"])[words],
        "chance": np.exp(arrays["log_chance"])[place, choice],
        what: arrays["score"][place, choice],
        "part": np.where(head == adds.shape[-1] - 1, "MLP", "head").astype(object),
        "layer": layer,
        "head": np.where(head == adds.shape[-1] - 1, -1, head),
        f"{what}_added": adds.ravel(),
        f"{what}_lost": both("part_total").ravel(),
        "nats_lost": (arrays["log_chance"][..., None, None] - both("part_log_chance")).ravel(),
        "chance_without": np.exp(both("part_log_chance")).ravel(),
    }
    return {name: values[words >= 0] for name, values in columns.items()}


def _effects(view: View) -> Columns:
    """A row for every part, in the order of the picture."""
    properties, order = view.properties, view.arrays["order"]
    columns: Columns = {"label": _texts(properties["labels"])[order]}
    columns |= {name: _texts(properties[name])[order] for name in ("parts", "members", "tags", "source")}
    return columns | {name: array[order] for name, array in view.arrays.items() if name != "order"}


def _labelled(view: View) -> Columns:
    labels = view.properties.get("labels") or view.properties.get("tokens")
    if not labels:
        raise SettingsError(f"a view of kind {view.kind!r} has no rows to list; save it as .html or .svg")
    columns = {"label": _texts(labels)}
    described = _described(view, view.properties.get("columns") or [], columns)
    named = {one["array"] for one in view.properties.get("columns") or []}
    for name, array in view.arrays.items():
        if name in named or name in columns or array.shape[:1] != (len(labels),):
            continue
        if array.ndim == 1:
            columns[name] = array
        else:
            flat = array.reshape(len(labels), -1)
            axes = "xyzw" if name == "xy" else [f"{name}_{at}" for at in range(flat.shape[1])]
            if flat.shape[1] <= 64:
                columns |= {axes[at]: flat[:, at] for at in range(flat.shape[1])}
    return columns | described


_KINDS: dict[str, Callable[[View], Columns]] = {
    "atlas": _atlas,
    "attention": _attention,
    "boxes": _boxes,
    "effects": _effects,
    "flow": _flow,
    "matrices": _matrices,
    "max_attention": _max_attention,
    "query_key": _query_key,
    "scatter": _scatter,
    "survey": _survey,
}


def _described(view: View, described: Sequence[dict[str, Any]], taken: Columns) -> Columns:
    """Columns of items as they were before they were packed for the page."""
    out: Columns = {}
    for one in described:
        values = view.arrays[one["array"]]
        if one["type"] == "category":
            names = np.array([*one["categories"], ""], dtype=object)  # -1 is none, the last
            values = names[values]
        name = one["name"]
        while name in taken or name in out:
            name += "_"
        out[name] = values
    return out


def _texts(texts: Sequence[str]) -> np.ndarray:
    out = np.empty(len(texts), dtype=object)
    out[:] = [str(text) for text in texts]
    return out


def csv_text(columns: Columns) -> str:
    """Columns of one length as CSV, with their names above."""
    rows = zip(*(_cells(values) for values in columns.values()), strict=True)
    return csv_rows(itertools.chain([list(columns)], rows))


def _cells(values: np.ndarray) -> list[Any]:
    if values.dtype == object:
        return [str(one) for one in values]
    return list(values) if values.dtype.kind == "f" else values.tolist()
