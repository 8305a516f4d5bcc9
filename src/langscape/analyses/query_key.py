"""Queries and keys of one head on one map: a query lies near the keys it attends to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.analyses._query_key import (
    chosen_scale,
    head_capture,
    map_of,
    query_key_choice,
    query_key_collect,
    query_key_map,
    settled,
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
    class_tables,
    cluster_view,
    notes_of_maps,
    scale_lines,
    score_lines,
    tabs_of,
    write_tab,
)
from langscape.data import Capture, Map, Progress, Shown, View
from langscape.declarations import analysis, picture
from langscape.declarations.settings import Generate, Head, Layer, Model, Point, Seed, Side, Special
from langscape.io.codec import noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.affinity import Scales, StrongestKeys

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv", ".parquet")


@noun
@dataclass(frozen=True, eq=False, repr=False)
class QueryKey(Shown):
    """The queries and keys of one head.

    capture    its queries and keys over all sentences
    map        both on one map; `quality` says how far it tells attention: specific_order, specific_hits, …
    strongest  the keys that each query attends to most
    classes    attention between classes of tokens, and between parts of speech where a tagger gave them
    scales     how c was chosen for every head, where it was
    """

    capture: Capture
    layer: int
    head: int
    map: Map
    strongest: StrongestKeys
    classes: tuple[ClassTables, ...] = ()
    scales: Scales | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return notes_of_maps(self.capture, [self.map])

    def view(self, *, title: str | None = None, color: str = "type", point: str | None = None) -> View:
        """The map as a picture, with lines to the strongest keys: those of the token `point`, if given."""
        from langscape.views import query_key

        maps = {(self.layer, self.head): self.map}
        return query_key(self.strongest, maps, color=color, title=title, point=point)

    def clusters(self, count: int = 8) -> View:
        """Which clusters of the map attend to which, as a table."""
        return cluster_view(self.capture, (self.layer, self.head), self.map, count)

    def save(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        color: str = "type",
        point: str | None = None,
        tab: str = "map",
    ) -> Path:
        """Write the map (.parquet, .csv), a figure (.png, .svg, .pdf), or all as a page (.html).

        Another tab than the map ("classes", "parts", "clusters", "c") is a figure, or its numbers.
        """
        from langscape import views

        path = Path(path)
        suffix = path.suffix.lower()
        tabs = {**tabs_of(self.classes, self.scales), "clusters": self.clusters}
        if tab != "map" and suffix != ".html":
            return write_tab(tabs, tab, path)
        if suffix in (".parquet", ".csv"):
            return self.map.save(path)
        shown = self.view(title=title, color=color, point=point)
        return views.write([shown, *(one() for one in tabs.values())] if suffix == ".html" else shown, path)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = f"layer {settings['layer']}, head {settings['head']}"
    over = names.get("text", "sample texts")
    return f"Queries and keys of {model_title(settings['model'])}, {where}, over {over}"


@picture("query_key", name="map")
def one_map(found: QueryKey, context: Any, *, color: Color = "type") -> View:
    """Queries and keys, with lines to the strongest keys of a query."""
    return found.view(title=context.title, color=color)


@picture("matrices", name="classes")
def classes(found: QueryKey, context: Any) -> View:
    """Which class of tokens attends to which."""
    return found.classes[-1].view()


@picture("matrices", name="clusters")
def clusters(found: QueryKey, context: Any) -> View:
    """Which clusters of the map attend to which."""
    return found.clusters()


def lines(found: QueryKey) -> Sequence[str]:
    """The scores of the map, and how c was chosen."""
    scores = score_lines([((found.layer, found.head), found.map)])
    return [*scores, *scale_lines([found.scales] if found.scales else [])]


def save(
    found: QueryKey,
    path: Path,
    *,
    title: str | None = None,
    color: Color = "type",
    point: Point = None,
    tab: Tab = "map",
) -> Path:
    """One file of a head."""
    return found.save(path, title=title, color=color, point=point, tab=tab)


@analysis(
    version=6,
    title="Queries and keys of a head",
    room="query_key",
    pictures=(one_map, classes, clusters),
    check=check_colour,
    uses=(query_key_collect, query_key_map, query_key_choice),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour", "layer": 2, "head": 1},
    aliases=("qk",),
    examples=(
        "langscape query-key default --text letter.txt --layer 2 --head 1 --out joint.html",
        "langscape query-key default --text letter.txt --layer 2 --head 1 --by distance --out joint.svg",
    ),
)
def query_key(
    model: Model = "default",
    text: Texts = None,
    *,
    layer: Layer,
    head: Head,
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
    progress: Progress | None = None,
) -> QueryKey:
    """Put the queries and keys of a head on one map: a query lies near the keys it attends to.

    Texts are cut into sentences, and each is read on its own; all heads are read at once and kept, so that
    the next head is only mapped. A c that is given or chosen makes it a map by distance.

    >>> text = "The cat sat on the mat. The dog sat by the door, and it saw the cat."
    >>> found = query_key("default", text, layer=3, head=5, perplexity=4, steps=100)
    >>> len(found.map), sorted(found.map.quality)[:2]
    (40, ['anywhere', 'anywhere_null'])
    """
    from langscape.affinity import strongest_keys

    reading = {
        "model": model, "text": text, "tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side,
        "generate": generate, "read": read,
    }  # fmt: skip
    seen = head_capture(layer, head, reading, progress)
    scales = None
    if choose != "none":
        counting = {"percentile": percentile, "least_keys": least_keys, "clear": clear, "special": special,
            "distances": distances,
        }  # fmt: skip
        scales = query_key_choice(**reading, **counting, metric=choose, progress=progress)
    wanted = {
        "layer": layer, "head": head, "by": settled(by, c, choose, method),
        "c": chosen_scale(scales, layer, head, c), "metric": metric, "share": share, "reach": reach,
        "perplexity": perplexity, "special": special, "method": method, "dims": dims, "steps": steps,
        "neighbours": neighbours, "seed": seed,
    }  # fmt: skip
    found = map_of(seen, reading, wanted, progress)
    tables = tuple(ClassTables(column, class_tables(seen, column)) for column in class_columns(seen))
    strongest = strongest_keys(seen, [(layer, head)], special=special)
    return QueryKey(seen, layer, head, found, strongest, tables, scales)
