"""New documents on a finished map of documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._documents import (
    DocumentSource,
    LabelColumn,
    TextColumn,
    document_vectors,
    packed_documents,
    packed_source,
    text_part,
)
from langscape.analyses._maps import FORMATS, map_picture, save_map_as
from langscape.analyses._placement import vectors_of
from langscape.data import Map, Progress
from langscape.declarations import Input, analysis
from langscape.declarations.settings import Cluster, Workers
from langscape.errors import DataError

DocumentMap = Annotated[
    Map | str | Path,
    Input("map", "Map", "A map of documents (.parquet), saved with its vectors.", argument=True),
]


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"{names.get('texts', 'New texts')} on {names.get('map', 'a map')}"


@analysis(
    version=3,
    title="New documents on a map",
    room="head",
    pictures=(map_picture,),
    uses=(packed_documents, text_part),
    describe=_title,
    save=save_map_as,
    formats=FORMATS,
    examples=(
        "langscape insert-texts articles.parquet new.jsonl --out grown.html",
        "langscape insert-texts reviews.parquet new.csv --text review --label title --out grown.parquet",
    ),
)
def insert_texts(
    map: DocumentMap,
    texts: DocumentSource = None,  # type: ignore[assignment]
    *,
    text: TextColumn = None,
    label: LabelColumn = None,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Map:
    """Place new documents on a finished map of documents; every old point stays where it is.

    They are read by the model, layer and pooling that made the map. Columns that both have are kept.

    >>> from langscape import texts
    >>> made = texts("default", ["tea", "coffee", "oslo", "paris", "rome"], perplexity=1, restarts=1)
    >>> grown = insert_texts(made, ["berlin"])
    >>> grown.labels[-1], bool((grown.xy[:5] == made.xy).all())
    ('berlin', True)
    """
    from langscape.engine import insert
    from langscape.sources.packed_documents import read_documents

    assert isinstance(map, Map)
    known = vectors_of(map)
    how = map.settings
    if "model_source" not in how or "pooling" not in how:
        raise DataError(
            "this map is not of documents read by a model by name; make one with `langscape texts`"
        )
    source = packed_source(texts, text, label)
    documents = read_documents(source.path)
    pool = str(how["pooling"])
    X, _ = document_vectors(
        str(how["model_source"]), source, len(documents), how["layer"], pool, progress, (workers, cluster)
    )
    if X.shape[1] != known.shape[1]:
        raise DataError(
            f"the model gives vectors of {X.shape[1]} numbers, but the map was made of {known.shape[1]}"
        )
    grown = insert(map, X, documents.items.labels)
    columns = dict(grown.items.columns)
    for name, values in documents.items.columns.items():
        if name in map.items.columns:
            columns[name] = _joined(map.items.columns[name], values)
    return grown.but(
        items=grown.items.with_columns(**columns), notes=(*grown.notes, *documents.notes),
        neighbours=grown.neighbours, distances=grown.distances,
    )  # fmt: skip


def _joined(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if old.dtype.kind in "fiu" and new.dtype.kind in "fiu":
        return np.concatenate([old.astype(float), new.astype(float)])
    out = np.empty(len(old) + len(new), object)
    out[:] = [*old.tolist(), *new.tolist()]
    return out
