"""The constant c of every head by three metrics, and which class of tokens attends to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langscape.analyses._query_key import (
    query_key_choice,
    query_key_classes,
    query_key_collect,
)
from langscape.analyses._query_key_settings import (
    METRICS,
    Clear,
    Distances,
    LeastKeys,
    Percentile,
    Pipeline,
    Read,
    Tagger,
    Texts,
    Tokens,
)
from langscape.analyses._query_key_tables import ClassTables, scale_lines
from langscape.data import Progress, Shown, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import each
from langscape.declarations.settings import Cluster, Generate, Model, Seed, Side, Special, Workers
from langscape.io.codec import noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.affinity import Scales

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv", ".parquet")


@noun
@dataclass(frozen=True, eq=False, repr=False)
class QueryKeyScales(Shown):
    """The c of every head by each metric (weighted, scaled, norms), and attention between classes."""

    scales: tuple[Scales, ...]
    classes: ClassTables

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return tuple(dict.fromkeys(note for one in self.scales for note in one.notes))

    def view(self, *, title: str | None = None, fine: bool = False) -> View:
        """The best c of every head as heat maps, one for each metric."""
        from langscape.views import scales

        return scales(self.scales, fine=fine, **({"title": title} if title else {}))

    def save(self, path: str | Path, *, title: str | None = None, fine: bool = False, tab: str = "c") -> Path:
        """Write a table (.csv, .parquet), heat maps (.png, .svg, .pdf), or all as a page (.html).

        tab="classes" writes attention between classes of tokens instead of c.
        """
        from langscape import views
        from langscape.views.table import write_columns

        path = Path(path)
        suffix = path.suffix.lower()
        if tab != "c" and suffix != ".html":
            return views.write(self.classes.view(), path)
        if suffix in (".csv", ".parquet"):
            heads = self.scales[0].heads
            columns = {"layer": heads[:, 0], "head": heads[:, 1]}
            for one in self.scales:
                columns |= {f"c {one.metric}": one.c, f"fine c {one.metric}": one.fine_c}
                columns |= {f"least c {one.metric}": one.low, f"largest c {one.metric}": one.high}
                columns |= {f"told {one.metric}": one.told}
            return write_columns(columns, path, title or "The constant c of every head")
        shown = self.view(title=title, fine=fine)
        return views.write([shown, self.classes.view()] if suffix == ".html" else shown, path)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    over = names.get("text", "sample texts")
    return f"The best c of every head of {model_title(settings['model'])}, over {over}"


ScaleTab = Annotated[
    Literal["c", "classes"],
    Setting("Tab", "Which tab of the page a figure or table is of: c, or attention between classes."),
]
FineSearch = Annotated[
    bool, Setting("Finer grid", "The best of 97 constants instead of seven.", document="001")
]


@picture("matrices", name="scales")
def heat_maps(found: QueryKeyScales, context: Any, *, fine: FineSearch = False) -> View:
    """The best c of every head by each metric."""
    return found.view(title=context.title, fine=fine)


@picture("matrices", name="classes")
def classes(found: QueryKeyScales, context: Any) -> View:
    """Which class of tokens attends to which."""
    return found.classes.view()


def lines(found: QueryKeyScales) -> Sequence[str]:
    """How c was chosen by each metric."""
    return scale_lines(found.scales)


def save(
    found: QueryKeyScales,
    path: Path,
    *,
    title: str | None = None,
    fine: FineSearch = False,
    tab: ScaleTab = "c",
) -> Path:
    """One file of the constants."""
    return found.save(path, title=title, fine=fine, tab=tab)


@analysis(
    version=3,
    name="query_key.scale",
    title="The constant c of every head",
    room="query_key",
    pictures=(heat_maps, classes),
    uses=(query_key_choice, query_key_classes, query_key_collect),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour", "tokens": 200},
    group="measure",
    examples=(
        "langscape query-key-scale default --text letter.txt --out constants.html",
        "langscape query-key-scale default --text letter.txt --tokens 200 --out constants.csv",
    ),
)
def query_key_scale(
    model: Model = "default",
    text: Texts = None,
    *,
    percentile: Percentile = 0.5,
    least_keys: LeastKeys = 2,
    clear: Clear = 2.0,
    distances: Distances = "centred",
    special: Special = "drop",
    seed: Seed = 0,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    tokens: Tokens = None,
    side: Side = None,
    read: Read = "sentences",
    generate: Generate = 0,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> QueryKeyScales:
    """Choose the constant c of every head by three metrics, and see which class of tokens attends to which.

    >>> text = "The cat sat on the mat. The dog sat by the door, and it saw the cat."
    >>> found = query_key_scale("default", text, percentile=20)
    >>> [one.metric for one in found.scales], found.scales[0].c.shape
    (['weighted', 'scaled', 'norms'], (72,))
    """
    reading = {
        "model": model, "text": text, "tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side,
        "generate": generate, "read": read,
    }  # fmt: skip
    counting = {
        "percentile": percentile, "least_keys": least_keys, "clear": clear, "special": special, "seed": seed,
        "distances": distances,
    }  # fmt: skip
    calls = [{**reading, **counting, "metric": one} for one in METRICS]
    how: dict[str, Any] = {"workers": workers, "cluster": cluster, "progress": progress}
    if isinstance(model, str):
        query_key_collect(**reading, progress=progress)  # once, for all three
    chosen = tuple(each(query_key_choice, calls, title="choosing c", **how))
    column = "class" if tagger == "none" else "part of speech"
    return QueryKeyScales(chosen, query_key_classes(**reading, column=column, progress=progress))
