"""One head under six constants, the chosen one marked: Visualizing Attention 2023, figures 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.analyses._query_key import (
    Key,
    head_capture,
    maps_of,
    query_key_choice,
    query_key_collect,
    query_key_map,
)
from langscape.analyses._query_key_settings import (
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
    Read,
    ScaleMetric,
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
    notes_of_maps,
    scale_lines,
    score_lines,
    write_scores,
)
from langscape.data import Capture, Map, Progress, Shown, View
from langscape.declarations import analysis, picture
from langscape.declarations.settings import (
    Cluster,
    Generate,
    Head,
    Layer,
    Model,
    Seed,
    Side,
    Special,
    Workers,
)
from langscape.io.codec import noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.affinity import Scales, StrongestKeys

CANNOT_TELL = (
    "no map is framed: by the metric that chooses c, a correlation of distance and dot product compared over "
    "sentences, no constant is clearly worse than another in this text; more sentences, read one by one, can "
    "tell. The numbers under the maps compare these six pictures themselves"
)

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")


@noun
@dataclass(frozen=True, eq=False, repr=False)
class QueryKeyConstants(Shown):
    """The queries and keys of one head by distance under six constants.

    capture    its queries and keys over all sentences
    constants  c of each of the maps
    scales     how c was chosen for every head
    strongest  the keys that each query attends to most
    """

    capture: Capture
    layer: int
    head: int
    constants: tuple[float, ...]
    maps: tuple[Map, ...]
    scales: Scales
    strongest: StrongestKeys
    classes: tuple[ClassTables, ...] = ()

    @property
    def panels(self) -> list[tuple[Key, Map]]:
        """The maps with their head."""
        return [((self.layer, self.head), one) for one in self.maps]

    @property
    def titles(self) -> list[str]:
        """What each map is called."""
        return [f"c = {c:g}" for c in self.constants]

    @property
    def marked(self) -> list[int]:
        """The place of the chosen constant; empty where it is none of the six, or the text cannot tell."""
        row = self.scales.of(self.layer, self.head)
        best = float(self.scales.c[row]) if self.scales.told[row] else math.nan
        return [at for at, c in enumerate(self.constants) if c == best]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return (*self._open, *notes_of_maps(self.capture, self.maps))

    @property
    def _open(self) -> tuple[str, ...]:
        """That c cannot be told, where it cannot."""
        return () if self.scales.told[self.scales.of(self.layer, self.head)] else (CANNOT_TELL,)

    def view(self, *, title: str | None = None, color: str = "type") -> View:
        """Six maps side by side, the chosen one in a frame."""
        from langscape.views import query_key

        more: dict[str, Any] = {"titles": self.titles, "marked": self.marked}
        made = query_key(self.strongest, self.panels, color=color, title=title, **more)
        notes = [*self._open, *made.properties["notes"]]
        return View(made.kind, {**made.properties, "notes": notes}, made.arrays)

    def save(self, path: str | Path, *, title: str | None = None, color: str = "type") -> Path:
        """Write the scores (.csv), a figure (.png, .svg, .pdf), or maps and tables as a page (.html)."""
        from langscape import views

        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return write_scores(self.panels, path)
        shown = self.view(title=title, color=color)
        if suffix != ".html":
            return views.write(shown, path)
        return views.write([shown, *(one.view() for one in self.classes), views.scales([self.scales])], path)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = f"Layer {settings['layer']}, head {settings['head']} of {model_title(settings['model'])}"
    return f"{where} under six constants, over {names.get('text', 'sample texts')}"


@picture("query_key", name="map")
def six_maps(found: QueryKeyConstants, context: Any, *, color: Color = "type") -> View:
    """Six maps of one head, the chosen one in a frame."""
    return found.view(title=context.title, color=color)


def lines(found: QueryKeyConstants) -> Sequence[str]:
    """The scores under each constant, and how c was chosen."""
    return [*score_lines(found.panels, found.titles), *scale_lines([found.scales])]


def save(found: QueryKeyConstants, path: Path, *, title: str | None = None, color: Color = "type") -> Path:
    """One file of the six maps."""
    return found.save(path, title=title, color=color)


@analysis(
    version=4,
    name="query_key.constants",
    title="A head under six constants",
    room="query_key",
    pictures=(six_maps,),
    check=check_colour,
    uses=(query_key_collect, query_key_map, query_key_choice),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour", "layer": 2, "head": 1},
    examples=(
        "langscape query-key-constants default --text letter.txt --layer 2 --head 1 --out six.png",
        "langscape query-key-constants default --layer 2 --head 1 --choose norms --out six.html",
    ),
)
def query_key_constants(
    model: Model = "default",
    text: Texts = None,
    *,
    layer: Layer,
    head: Head,
    choose: ScaleMetric = "scaled",
    metric: VectorMetric = "euclidean",
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
) -> QueryKeyConstants:
    """Put the queries and keys of a head on six maps by distance, one per constant, the chosen one marked.

    Of the seven constants the one is left out that is not chosen and lies next to another: 0.8, or 1.25.

    >>> text = "The cat sat on the mat. The dog sat by the door, and it saw the cat."
    >>> found = query_key_constants("default", text, layer=3, head=5, perplexity=4, steps=50, workers=0)
    >>> found.constants
    (0.2, 0.4, 0.8, 1.0, 2.5, 5.0)
    """
    from langscape.affinity import strongest_keys

    reading = {
        "model": model, "text": text, "tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side,
        "generate": generate, "read": read,
    }  # fmt: skip
    seen = head_capture(layer, head, reading, progress)
    counting = {"percentile": percentile, "least_keys": least_keys, "clear": clear, "special": special,
            "distances": distances,
        }  # fmt: skip
    scales: Scales = query_key_choice(**reading, **counting, metric=choose, progress=progress)
    best = float(scales.c[scales.of(layer, head)])
    shown = tuple(c for c in scales.constants if c != (0.8 if best == 1.25 else 1.25))
    how = {
        "layer": layer, "head": head, "by": "distance", "metric": metric, "perplexity": perplexity,
        "special": special, "method": method, "dims": dims, "steps": steps, "neighbours": neighbours,
        "seed": seed,
    }  # fmt: skip
    found = maps_of(
        seen,
        reading,
        [{**how, "c": c} for c in shown],
        title="one head under six constants",
        workers=workers,
        cluster=cluster,
        progress=progress,
    )
    tables = tuple(ClassTables(column, class_tables(seen, column)) for column in class_columns(seen))
    strongest = strongest_keys(seen, [(layer, head)], special=special)
    return QueryKeyConstants(seen, layer, head, shown, tuple(found), scales, strongest, tables)
