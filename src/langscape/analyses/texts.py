"""Documents by what a model makes of each: a table, a list or a folder of texts as one map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._documents import (
    DocumentSource,
    LabelColumn,
    Pool,
    TextColumn,
    TextModel,
    document_vectors,
    packed_documents,
    packed_source,
    text_part,
)
from langscape.analyses._map_trust import hidden_kept
from langscape.analyses._maps import FORMATS, check_color, map_picture, save_map_as
from langscape.data import Map, Progress
from langscape.declarations import Setting, analysis
from langscape.declarations.running import opened
from langscape.declarations.settings import Cluster, HiddenLayer, Metric, Perplexity, Seed, Workers
from langscape.errors import DataError
from langscape.models.display_names import model_title
from langscape.store.current import current_checkpoint

FEW = 1000
"""Texts up to which a map is the best of several runs, and held against maps of shuffled states."""

NAMED_FROM = 50
"""Texts from which regions of a map are looked for and named."""

Restarts = Annotated[
    int | None,
    Setting(
        "Restarts",
        f"Runs of t-SNE, of which the lowest KL is kept; 8 for up to {FEW:,} texts if left out, else 1.",
        ge=1,
        le=500,
    ),
]
Regions = Annotated[
    bool,
    Setting("Name regions", "Dense regions are named by the words that set their texts apart from the rest."),
]
Period = Annotated[
    str | None,
    Setting("Period", "A column, such as a year: how far its periods differ, tested by permutation."),
]


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    layer = "the last layer" if settings["layer"] is None else f"layer {settings['layer']}"
    return f"{names.get('texts', 'Texts')} by {layer} of {model_title(settings['model'])}"


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], how: Mapping[str, Any]) -> None:
    given = inputs.get("texts")
    if how.get("color") is None or not isinstance(given, str | Path) or not Path(given).is_file():
        return
    from langscape.sources.documents import columns_of

    check_color(how["color"], *columns_of(Path(given)), "text", "region", "windows", "kept")


@analysis(
    version=9,
    title="Texts by a layer",
    room="head",
    pictures=(map_picture,),
    uses=(packed_documents, text_part),
    describe=_title,
    save=save_map_as,
    formats=FORMATS,
    check=_check,
    examples=(
        "langscape texts reviews.csv --out reviews.html",
        "langscape texts reviews.csv --text review --label title --color rating --out reviews.svg",
        "langscape texts articles/ --model default --layer 6 --out articles.parquet",
    ),
)
def texts(
    model: TextModel = "default",
    texts: DocumentSource = None,  # type: ignore[assignment]  the eleven groups of words
    *,
    text: TextColumn = None,
    label: LabelColumn = None,
    layer: HiddenLayer = None,
    pool: Pool = "auto",
    perplexity: Perplexity = 20.0,
    metric: Metric = "euclidean",
    restarts: Restarts = None,
    regions: Regions = True,
    period: Period = None,
    seed: Seed = 0,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Map:
    """Map documents by what a model makes of each, with every column of their table to colour by.

    A text too long for the model is read in windows, whose vectors are averaged. Dense regions of the map
    are named by the words that set them apart. Texts that repeat stay; those of a table are read a part at
    a time, and what was read is kept.

    >>> found = texts("default", ["tea", "coffee", "oslo", "paris", "rome"], perplexity=1, restarts=1)
    >>> found.labels[:2], found.settings["pool"]
    (('tea', 'coffee'), 'mean, as the model itself does, scaled to length 1')
    """
    from langscape.affinity import points
    from langscape.engine import Schedule, embed
    from langscape.models.pooling import pooling_of
    from langscape.sources.packed_documents import read_documents

    source = packed_source(texts, text, label)
    documents = read_documents(source.path)
    n = len(documents)
    if n < 2:
        raise DataError(f"a map needs at least 2 texts, not {n}")
    if period is not None:
        from langscape.metrics.periods import check_period

        check_period(documents.items, period)
    X, windows = document_vectors(model, source, n, layer, pool, progress, (workers, cluster))
    items = documents.items
    notes = list(documents.notes)
    if (windows > 1).any():
        items = items.with_columns(windows=windows)
        notes.append(f"{int((windows > 1).sum()):,} long texts were read in windows and averaged")
    network = opened(model)
    how = pooling_of(network, pool, last=layer is None) if network.kind in ("encoder", "decoder") else None
    kept_at = {"progress": progress, "checkpoint": current_checkpoint()}
    near = points(X, perplexity, metric, items=items, seed=seed, **kept_at)
    metadata = {
        "model": network.name, "revision": network.revision, "layer": layer,
        "pool": how.said if how else pool, "pooling": pool,
        **({"model_source": model} if isinstance(model, str) else {}),
    }  # fmt: skip
    near = replace(near, settings={**near.settings, **metadata}, notes=(*near.notes, *notes))
    runs = (8 if n <= FEW else 1) if restarts is None else restarts
    found = embed(near, restarts=runs, seed=seed, **kept_at)
    if n <= FEW:
        found = hidden_kept(found, near, [Schedule()], seed)
    if regions and n >= NAMED_FROM:
        found = with_regions(found, documents)
    if period is not None:
        from langscape.metrics.periods import with_periods

        found = with_periods(found, period, seed)
    return found


def with_regions(map: Map, documents: Any) -> Map:
    """The map with its dense regions, each named by its words; the column `region` says who lies where."""
    from langscape.metrics.regions import find_regions, name_regions

    own = find_regions(map.xy)
    found = name_regions(own, map.xy, documents.texts)
    names = np.array([region.name or f"region {at}" for at, region in enumerate(found)], object)
    settings = {**map.settings, "regions": [region.plain() for region in found]}
    named = sum(bool(region.name) for region in found)
    note = (
        f"{named} of {len(found)} dense regions have words that set them apart, chosen on one half of the "
        "texts and counted on the other"
    )
    items = map.items.with_columns(region=names[own])
    return map.but(items=items, settings=settings, notes=(*map.notes, note))
