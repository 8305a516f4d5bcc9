"""Queries and keys of every head, each on a map of its own: the grid of all heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.analyses._query_key import (
    Key,
    chosen_scale,
    maps_of,
    query_key_choice,
    query_key_classes,
    query_key_collect,
    query_key_map,
    settled,
    workers_while_reading,
)
from langscape.analyses._query_key_settings import (
    By,
    C,
    Choose,
    Clear,
    Color,
    Dims,
    Distances,
    LeastKeys,
    Method,
    Neighbours,
    Percentile,
    Pipeline,
    QueryKeyPerplexity,
    Reach,
    Read,
    Share,
    Tab,
    Tagger,
    Texts,
    Tokens,
    TsneSteps,
    VectorMetric,
    check_colour,
)
from langscape.analyses._query_key_tables import (
    ClassTables,
    class_columns,
    notes_of_maps,
    scale_lines,
    score_lines,
    tabs_of,
    write_scores,
    write_tab,
)
from langscape.data import Capture, Map, Progress, Shown, View
from langscape.declarations import analysis, picture
from langscape.declarations.settings import Cluster, Generate, Model, Seed, Side, Special, Workers
from langscape.io.codec import noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.affinity import Scales, StrongestKeys

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv", ".parquet")


@noun
@dataclass(frozen=True, eq=False, repr=False)
class QueryKeyGrid(Shown):
    """The queries and keys of every head.

    capture    the queries and keys of all heads over all sentences
    maps       (layer, head) → Map of both, each with its scores
    strongest  the keys that each query attends to most, head by head
    classes    attention between classes of tokens, and between parts of speech where a tagger gave them
    scales     how c was chosen, where it was
    """

    capture: Capture
    maps: Mapping[Key, Map]
    strongest: StrongestKeys
    classes: tuple[ClassTables, ...] = ()
    scales: Scales | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return notes_of_maps(self.capture, list(self.maps.values()))

    def view(self, *, title: str | None = None, color: str = "type") -> View:
        """All maps as a grid, and each with lines to the strongest keys."""
        from langscape.views import query_key

        return query_key(self.strongest, self.maps, color=color, title=title)

    def save(
        self, path: str | Path, *, title: str | None = None, color: str = "type", tab: str = "map"
    ) -> Path:
        """Write the scores (.csv, .parquet), a figure (.png, .svg, .pdf), or all as a page (.html).

        A tab other than the maps ("classes", "parts", "c") is written as a figure or as its numbers.
        """
        from langscape import views

        path = Path(path)
        suffix = path.suffix.lower()
        tabs = tabs_of(self.classes, self.scales)
        if tab != "map" and suffix != ".html":
            return write_tab(tabs, tab, path)
        if suffix in (".csv", ".parquet"):
            return write_scores(list(self.maps.items()), path)
        shown = self.view(title=title, color=color)
        return views.write([shown, *(one() for one in tabs.values())] if suffix == ".html" else shown, path)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Queries and keys of {model_title(settings['model'])} over {names.get('text', 'sample texts')}"


@picture("query_key", name="map")
def all_maps(found: QueryKeyGrid, context: Any, *, color: Color = "type") -> View:
    """Every head as a small map, and each with lines to the strongest keys."""
    return found.view(title=context.title, color=color)


def lines(found: QueryKeyGrid) -> Sequence[str]:
    """The scores of every map, their mean, and how c was chosen."""
    scores = score_lines(list(found.maps.items()))
    return [*scores, *scale_lines([found.scales] if found.scales else [])]


def save(
    found: QueryKeyGrid, path: Path, *, title: str | None = None, color: Color = "type", tab: Tab = "map"
) -> Path:
    """One file of the grid."""
    return found.save(path, title=title, color=color, tab=tab)


@analysis(
    version=7,
    name="query_key.grid",
    title="Queries and keys of every head",
    room="query_key",
    pictures=(all_maps,),
    check=check_colour,
    uses=(query_key_collect, query_key_map, query_key_choice, query_key_classes),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour", "tokens": 150, "steps": 300},
    examples=(
        "langscape query-key-grid default --text letter.txt --out grid.html",
        "langscape query-key-grid default --text letter.txt --tokens 150 --steps 300 --out grid.html",
    ),
)
def query_key_grid(
    model: Model = "default",
    text: Texts = None,
    *,
    by: By = "attention",
    c: C = None,
    choose: Choose = "none",
    metric: VectorMetric = "euclidean",
    share: Share = 0.15,
    reach: Reach = 0.45,
    perplexity: QueryKeyPerplexity = 30.0,
    special: Special = "drop",
    method: Method = "tsne",
    dims: Dims = 2,
    steps: TsneSteps = 200,
    neighbours: Neighbours = 15,
    seed: Seed = 0,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    tokens: Tokens = None,
    percentile: Percentile = 0.5,
    least_keys: LeastKeys = 2,
    clear: Clear = 2.0,
    distances: Distances = "centred",
    side: Side = None,
    read: Read = "sentences",
    generate: Generate = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> QueryKeyGrid:
    """Put the queries and keys of every head on a map each, as a grid; it goes on where it was stopped.

    Each map is the one that `query_key` makes of that head, and is kept on its own.

    >>> text = "The cat sat on the mat. The dog sat by the door, and it saw the cat."
    >>> found = query_key_grid("default", text, perplexity=4, steps=50, workers=0)
    >>> len(found.maps), len(found.maps[3, 5])
    (72, 40)
    """
    from langscape.affinity import heads_of, strongest_keys

    reading = {
        "model": model, "text": text, "tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side,
        "generate": generate, "read": read,
    }  # fmt: skip
    with workers_while_reading(reading, workers, cluster):
        seen = query_key_collect(**reading, progress=progress)
        scales = None
        if choose != "none":
            counting = {
                "percentile": percentile, "least_keys": least_keys, "clear": clear, "special": special,
                "distances": distances,
            }  # fmt: skip
            scales = query_key_choice(**reading, **counting, metric=choose, progress=progress)
        how = {
            "by": settled(by, c, choose, method), "metric": metric, "share": share, "reach": reach,
            "perplexity": perplexity, "special": special, "method": method, "dims": dims, "steps": steps,
            "neighbours": neighbours, "seed": seed,
        }  # fmt: skip
        keys = heads_of(seen)
        wanted = [
            {**how, "layer": layer, "head": head, "c": chosen_scale(scales, layer, head, c)}
            for layer, head in keys
        ]
        found = maps_of(
            seen, reading, wanted, title="query–key maps", workers=workers, cluster=cluster, progress=progress
        )
    tables = tuple(query_key_classes(**reading, column=column) for column in class_columns(seen))
    strongest = strongest_keys(seen, keys, special=special)
    return QueryKeyGrid(seen, dict(zip(keys, found, strict=True)), strongest, tables, scales)
