"""Tables and vectors that somebody already holds → items with a vector each.

Data frames of pandas, polars and others, Arrow tables and DuckDB relations come by the Arrow stream that all
of them speak; gensim's and scanpy's objects are told by what they have. None of these packages is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Items
from langscape.data.arrays import as_floats, is_array
from langscape.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Labelled:
    """Items with a vector each: matrix is (items, dim) float32; `where` says what the vectors are."""

    items: Items
    matrix: np.ndarray
    where: str


def is_table(x: Any) -> bool:
    """Whether it is a table with named columns."""
    if is_array(x):
        return False
    return any(hasattr(x, name) for name in ("__arrow_c_stream__", "__dataframe__", "to_arrow_table"))


def from_table(x: Any, vectors: str | Sequence[str] | None = None, label: str | None = None) -> Labelled:
    """The rows of a table: `vectors` is a column of lists, or several columns of numbers.

    Left out, it is the only column of lists, else all columns of numbers. `label` is the column that names
    the rows, the first with text if left out. All other columns go along, to colour by.

    >>> import pyarrow as pa
    >>> found = from_table(pa.table({"title": ["a", "b"], "place": [[0.0, 1.0], [2.0, 3.0]]}))
    >>> found.items.labels, found.matrix.tolist(), found.where
    (('a', 'b'), [[0.0, 1.0], [2.0, 3.0]], "the column 'place'")
    """
    table = arrow_table(x)
    names: list[str] = table.column_names
    if not table.num_rows or not names:
        raise DataError("the table is empty; give one with a row per item and a column of vectors")
    chosen = _chosen(table, vectors)
    if label is None:
        label = next((one for one in names if one not in chosen and is_text(table[one].type)), None)
    _known(table, [] if label is None else [label], "label")
    labels = [str(at) for at in range(table.num_rows)] if label is None else table[label].to_pylist()
    lists = len(chosen) == 1 and _is_list(table[chosen[0]].type)
    matrix = _lists(table[chosen[0]], chosen[0]) if lists else _numbers(table, chosen)
    rest = [one for one in names if one not in chosen and one != label and _is_plain(table[one].type)]
    where = f"the column {chosen[0]!r}" if lists else f"the {len(chosen)} columns {_some(chosen)}"
    items = Items(_named(labels), {one: _column(table[one]) for one in rest})
    return Labelled(items, _finite(matrix, items.labels), where)


def from_matrix(x: Any, labels: Sequence[Any] | None = None) -> Labelled:
    """The rows of an array, (items, dim), with a label each; numbered where left out. It may be sparse."""
    matrix = as_floats(x.toarray() if is_sparse(x) else x, "the vectors")
    if matrix.ndim != 2:
        raise DataError(f"the vectors have shape {matrix.shape}; expected (items, dim), a row for each item")
    if labels is not None and len(labels) != len(matrix):
        raise DataError(f"{len(labels)} labels for {len(matrix)} vectors; give one for each")
    items = Items.numbered(len(matrix)) if labels is None else Items(_named(labels))
    return Labelled(items, _finite(matrix, items.labels), "the rows")


def from_mapping(x: Mapping[Any, Any]) -> Labelled:
    """Words with a vector each, from a dict."""
    if not x:
        raise DataError("the dict is empty; give words with a vector each")
    rows = {str(word): np.atleast_1d(as_floats(one, f"the vector of {word!r}")) for word, one in x.items()}
    _equal([len(one) if one.ndim == 1 else -1 for one in rows.values()], list(rows))
    return from_matrix(np.stack(list(rows.values())), list(rows))


def is_sparse(x: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices."""
    return hasattr(x, "toarray") and hasattr(x, "shape")


def is_list_of_vectors(x: Any) -> bool:
    """Whether it is a list of lists of numbers, or of arrays with one axis."""
    if not isinstance(x, list | tuple) or not x:
        return False
    return all(map(_is_vector, x))


def _is_vector(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return all(isinstance(number, int | float) for number in x)
    return is_array(x) and len(x.shape) == 1


def from_list(x: Sequence[Any], labels: Sequence[Any] | None = None) -> Labelled:
    """Vectors in a list, with a label each; numbered where left out."""
    rows = [as_floats(one, f"vector {at}") for at, one in enumerate(x)]
    _equal([len(one) for one in rows], range(len(rows)) if labels is None else list(labels))
    return from_matrix(np.stack(rows), labels)


def is_column(x: Any) -> bool:
    """Whether it is a column of a data frame, or an array of texts."""
    if isinstance(x, np.ndarray):
        return x.ndim == 1 and x.dtype.kind in "OU"
    named = type(x).__module__.split(".")[0]
    return type(x).__name__ == "Series" and named in ("pandas", "polars")


def index_of(x: Any) -> list[str] | None:
    """The words by which a column of pandas is indexed; none where it is numbered."""
    index: Any = getattr(x, "index", None)
    words = list(index) if type(index).__name__ == "Index" else []
    return words if words and all(isinstance(one, str) for one in words) else None


def is_keyed_vectors(x: Any) -> bool:
    """Whether it is gensim's KeyedVectors, or a model that holds them as `wv`."""
    x = getattr(x, "wv", x)
    return hasattr(x, "index_to_key") and hasattr(x, "vectors")


def from_keyed_vectors(x: Any, limit: int | None = None) -> Labelled:
    """The words of gensim's KeyedVectors, the first `limit` of them, which are the most frequent."""
    x = getattr(x, "wv", x)
    return from_matrix(x.vectors[:limit], x.index_to_key[:limit])


def is_annotated(x: Any) -> bool:
    """Whether it is an AnnData: a matrix with named rows."""
    return all(hasattr(x, name) for name in ("X", "obs", "obsm", "obs_names"))


def from_annotated(x: Any, vectors: str | None = None) -> Labelled:
    """The rows of an AnnData: `vectors` is "X" or a key of obsm; "X_pca" where it is there and none is named.

    The columns of obs go along.
    """
    keys = [str(key) for key in x.obsm.keys()]  # noqa: SIM118  obsm is no dict
    chosen = vectors or ("X_pca" if "X_pca" in keys else "X")
    if chosen != "X" and chosen not in keys:
        raise SettingsError(f"there are no vectors {chosen!r}; use {', '.join(['X', *keys])}")
    matrix = x.X if chosen == "X" else x.obsm[chosen]
    found = from_matrix(matrix, list(x.obs_names))
    columns = {str(name): _objects(x.obs[name]) for name in x.obs.columns}
    return Labelled(found.items.with_columns(**columns), found.matrix, chosen)


def arrow_table(x: Any) -> pa.Table:
    """A data frame of any kind as an Arrow table."""
    import pyarrow as pa

    try:
        if hasattr(x, "__arrow_c_stream__"):
            return _without_index(pa.table(x))
        if hasattr(x, "to_arrow_table"):
            return x.to_arrow_table()
        from pyarrow.interchange import from_dataframe

        return from_dataframe(x)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        why = str(error).partition("\n")[0]
        way = "give a column of lists of numbers of one length"
        if "Tensor" in why:
            way = "make lists of its tensors first: df[column] = [one.tolist() for one in df[column]]"
        elif "Duplicate" in why:
            way = "name each column once: df.columns = names"
        raise DataError(f"this {type(x).__name__} cannot be read as a table: {why}; {way}") from None


def _without_index(table: pa.Table) -> pa.Table:
    """Without the row numbers that pandas keeps as an index; an index of words stays, to label by."""
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    there = [one for one in index if isinstance(one, str) and one in table.column_names]
    return table.drop_columns([one for one in there if not is_text(table[one].type)])


def _chosen(table: pa.Table, vectors: str | Sequence[str] | None) -> list[str]:
    names = table.column_names
    if vectors is not None:
        chosen = [vectors] if isinstance(vectors, str) else list(vectors)
        _known(table, chosen, "vectors")
        return chosen
    lists = [one for one in names if _is_list(table[one].type)]
    if len(lists) == 1:
        return lists
    if lists:
        raise SettingsError(f"there are {len(lists)} columns of vectors; say vectors= one of {_some(lists)}")
    numbers = [one for one in names if _is_number(table[one].type)]
    if len(numbers) < 2:
        raise DataError(
            f"the table has no vectors: no column of lists, and {len(numbers)} of numbers; its columns are "
            f"{_some(names)}. To map texts by a model, say langscape.look(list(table[column]))"
        )
    return numbers


def _known(table: pa.Table, wanted: Sequence[str], setting: str) -> None:
    for one in wanted:
        if one not in table.column_names:
            raise SettingsError(f"{setting} {one!r} is no column; there are {_some(table.column_names)}")


def _lists(column: pa.ChunkedArray, name: str) -> np.ndarray:
    import pyarrow.compute

    pc: Any = pyarrow.compute  # its functions are made when it is loaded, unseen by type checkers
    if column.null_count:
        raise DataError(
            f"column {name!r} lacks {column.null_count:,} vectors; leave such rows out first, as "
            f"df.dropna(subset=[{name!r}]) does"
        )
    lengths = pc.list_value_length(column).to_numpy()
    _equal(lengths.tolist(), range(len(lengths)))
    flat = pc.list_flatten(column).to_numpy()
    return as_floats(flat, f"column {name!r}").reshape(len(lengths), -1)


def _numbers(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    for one in names:
        if not _is_number(table[one].type):
            raise DataError(
                f"column {one!r} holds {table[one].type}, expected numbers or lists of them; of text such as "
                "'[0.1, 0.2]' make lists first with json.loads"
            )
    return np.stack([as_floats(table[one].to_numpy(), f"column {one!r}") for one in names], axis=1)


def _equal(lengths: Sequence[int], names: Sequence[Any]) -> None:
    if len(set(lengths)) > 1:
        usual = max(set(lengths), key=lengths.count)
        at = next(at for at, one in enumerate(lengths) if one != usual)
        name = f"row {names[at]}" if isinstance(names[at], int) else repr(names[at])
        raise DataError(
            f"vectors have different lengths: most have {usual} numbers, that of {name} has "
            f"{lengths[at]}; give vectors of one model"
        )


def _finite(matrix: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise DataError(
            f"{len(bad):,} of {len(matrix):,} vectors hold NaN or infinity, first that of "
            f"{labels[bad[0]]!r}; leave such rows out, as df.dropna() or "
            "array[np.isfinite(array).all(axis=1)] does, or fill them in"
        )
    if not matrix.shape[1]:
        raise DataError("the vectors hold no numbers; give at least one for each item")
    return matrix


def _is_list(kind: Any) -> bool:
    import pyarrow.types as types

    some = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return some and _is_number(kind.value_type)


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return types.is_floating(kind) or types.is_integer(kind)


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type holds text."""
    import pyarrow.types as types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _is_plain(kind: Any) -> bool:
    import pyarrow.types as types

    return _is_number(kind) or is_text(kind) or types.is_boolean(kind)


def _column(column: pa.ChunkedArray) -> np.ndarray:
    return _objects(column.to_pylist()) if is_text(column.type) else column.to_numpy()


def _objects(values: Any) -> np.ndarray:
    """Numbers as they are; everything else as text, with nothing for what is missing."""
    listed = list(values)
    plain = np.asarray(listed)
    if plain.dtype.kind in "fiub":
        return plain
    out = np.empty(len(listed), object)
    out[:] = ["" if one is None else str(one) for one in listed]
    return out


def _named(labels: Sequence[Any]) -> list[str]:
    return ["" if one is None else str(one) for one in labels]


def _some(names: Sequence[str]) -> str:
    return ", ".join(repr(one) for one in names[:8]) + (" …" if len(names) > 8 else "")
