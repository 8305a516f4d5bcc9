"""Distributions on a map, with an ellipse each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from langscape.analyses._maps import FORMATS
from langscape.analyses._occurrences import occurrence_map
from langscape.analyses._senses import split_senses
from langscape.analyses.gaussians import (
    By,
    Columns,
    ContextLayer,
    Contexts,
    Corpus,
    List,
    Missing,
    Most,
    Rank,
    Standardise,
    Table,
    Unit,
    Words,
    check_given,
)
from langscape.analyses.gaussians import gaussians as make_gaussians
from langscape.data import Gaussians, Map, Progress, Shown, View
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.settings import Cluster, Perplexity, Seed, Steps, Workers
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun
from langscape.metrics.explained import explained_by_item
from langscape.metrics.senses import LEAST, find_senses
from langscape.models.catalog import in_words
from langscape.models.display_names import model_title

Distributions = Annotated[
    Gaussians | str | Path | None,
    Input(
        "gaussians",
        "Distributions",
        "A file of `langscape gaussians`; else they are made of words or of a table.",
        argument=True,
    ),
]
ContextModel = Annotated[
    str,
    Setting(
        "Model",
        f"{in_words('ellipses')}, a folder with config.json and model.safetensors, or a Hub id.",
        names="model",
    ),
]
Method = Annotated[
    Literal["tsne", "stress", "pca"],
    Setting(
        "Method",
        "t-SNE keeps neighbours, stress keeps large distances too, distributional PCA keeps variance and "
        "rotates its ellipses.",
        document="004",
        labels={"tsne": "t-SNE", "pca": "PCA"},
    ),
]
SharedDirections = Annotated[
    int | None,
    Setting(
        "Shared directions",
        "Ellipses from contexts tell no angle from the direction that all items share, nor from so many more "
        "along which all contexts vary most; none (leave it empty) takes nothing out.",
        ge=0,
        le=20,
    ),
]
SenseCount = Annotated[
    int,
    Setting(
        "Senses per word, up to",
        "A word whose contexts lie in several clusters (lumps), as those of one wide cloud do not, becomes "
        "an item per cluster; 1 splits none. Told best at an early layer (1); four in ten words with two "
        "senses are found, and one in four with one sense is split wrongly.",
        hint=f"1 splits none; tests words that stand in {LEAST} passages or more",
        ge=1,
        le=6,
    ),
]
Split = Annotated[
    list[str] | None,
    Setting(
        "Split these words",
        "Splits these words into clusters of contexts, “bank (1)” and “bank (2)”, whatever the test of "
        "senses says of them.",
        hint=f"each must stand in {LEAST} passages or more",
    ),
]
Shape = Annotated[
    Literal["contexts", "diagonal", "full", "none"],
    Setting(
        "Ellipses",
        "From contexts: area is variance. Diagonal and full are learned with the map, as in Christoffel "
        "2023, and do not show variance.",
        document="004",
        labels={"contexts": "from contexts", "diagonal": "diagonal (Christoffel’s)"},
    ),
]
Distance = Annotated[
    Literal["wasserstein", "euclidean"],
    Setting(
        "Distance",
        "Between distributions, or between their means alone.",
        document="004",
        labels={"wasserstein": "Wasserstein", "euclidean": "Euclidean (means)"},
    ),
]
Center = Annotated[bool, Setting("Centre", "With PCA: take the mean of all items away first.")]
Initial = Annotated[Literal["pca", "random"], Setting("Begin at", "With t-SNE: where the items begin.")]
EllipseRestarts = Annotated[int, Setting("Restarts", "Runs of t-SNE; the lowest KL is kept.", ge=1, le=50)]
Mass = Annotated[
    float,
    Setting(
        "Ellipse holds",
        "The share of a distribution that its ellipse holds, 0.5 is half; not with ellipses from contexts.",
        ge=0.01,
        le=0.99,
        percent=True,
        document="004",
    ),
]
Only = Annotated[
    list[str] | None,
    Setting("Ellipses only of", "Draw the ellipses of these words alone.", document="004"),
]
EllipseColor = Annotated[
    str | None, Setting("Colour", "The column that gives the colour, variance for example.")
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Ellipses(Shown):
    """Distributions on a map.

    map          their places; `shapes` are the ellipses, None where none were wanted
    gaussians    the distributions, with their passages but without the vectors of single contexts
    occurrences  the map of single occurrences, or rows; None where their vectors are not known
    """

    map: Map
    gaussians: Gaussians
    occurrences: Map | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """How far the ellipses' sizes can be trusted."""
        from langscape.views.trust import too_few, trust

        sentences = []
        if self.map.kl == self.map.kl and too_few(len(self.map)):
            sentences.append("for so few items PCA (method pca) is the honest picture")
        single = self.map.settings.get("single", 0)
        if single:
            sentences.append(
                f"{single:,} of {len(self.map):,} items have a single context, or row: no spread is known of "
                "them, and they are points without an ellipse"
            )
        sizes = [one for one in trust(self.map) if one["name"] in ("area_held", "area_variance")]
        sentences += [f"{one['label']}: rank correlation {one['shown']}" for one in sizes]
        if self.map.settings.get("shape") == "contexts" and not sizes:
            sentences.append(
                "no score of sizes: it needs at least four contexts, or rows, of each of five items"
            )
        return tuple(sentences)

    def view(
        self,
        *,
        title: str | None = None,
        mass: float = 0.5,
        only: Sequence[str] | None = None,
        color: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> View:
        """The map as a picture: ellipses with their passages, or points where there are none."""
        from langscape.views import ellipses, scatter

        title = title or "Distributions"
        if self.map.shapes is None:
            return scatter(self.map, color=color, title=title)
        return ellipses(
            self.map, self.gaussians, mass=mass, only=only, color=color, title=title, labels=labels
        )

    def view_occurrences(self, *, title: str | None = None, color: str | None = None) -> View:
        """Every occurrence a point, with the passage it stands in."""
        from langscape.analyses._occurrences import MOST, occurrence_names
        from langscape.views import scatter
        from langscape.views.ellipses import sampled

        if self.occurrences is None:
            raise DataError(
                "the single occurrences are not known: the file of distributions has no vectors of them, or "
                "there are fewer than three; make them here of words or of a table"
            )
        every = [one for some in self.gaussians.contexts for one in some]
        passages = [[every[int(row)]] for row in self.gaussians.some_rows(MOST)] if every else None
        color = color or next(iter(self.occurrences.items.columns))
        at = [mine for [mine] in passages or ()]
        names = occurrence_names(self.occurrences.labels, at) if at else None
        view = scatter(
            self.occurrences, color=color, title=title or "Occurrences", passages=passages, names=names
        )
        said = sampled(self.gaussians)
        subtitle = " · ".join(filter(None, [said, view.properties["subtitle"]]))
        return replace(view, properties={**view.properties, "sampled": said, "subtitle": subtitle})

    def save(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        mass: float = 0.5,
        only: Sequence[str] | None = None,
        color: str | None = None,
    ) -> Path:
        """Write the map as .parquet or .csv, the picture as a page (.html) or a figure (.png, .svg, .pdf)."""
        from langscape.views import write

        path = Path(path)
        if path.suffix.lower() in (".parquet", ".csv"):
            return self.map.save(path)
        return write(self.view(title=title, mass=mass, only=only, color=color, labels=only), path)


def map_gaussians(
    given: Gaussians,
    *,
    method: Literal["tsne", "stress", "pca"] = "tsne",
    shape: Literal["contexts", "diagonal", "full", "none"] = "contexts",
    perplexity: float = 30.0,
    distance: Literal["wasserstein", "euclidean"] = "wasserstein",
    center: bool = True,
    initial: Literal["pca", "random"] = "pca",
    restarts: int = 1,
    steps: int = 1000,
    shared: int | None = 2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Map:
    """The map of distributions with their ellipses, by t-SNE, stress or distributional PCA."""
    from langscape import affinity
    from langscape.engine import embed, pca
    from langscape.engine.context_ellipses import SHARED
    from langscape.engine.ellipses import stress_ellipses, with_contexts
    from langscape.views.plain import number_text

    if method == "pca":
        return pca(given, center=center)
    drawn = None if shape == "none" else shape
    if method == "stress":
        map = stress_ellipses(given, distance=distance, shape=drawn, seed=seed)
        return map if shared == SHARED or drawn is None else with_contexts(map, given, shared)
    most = max((len(given) - 1) / 3, 1.0)
    notes: tuple[str, ...] = ()
    if perplexity > most:
        message = f"perplexity {perplexity:g} is too many for {len(given)} items"
        notes, perplexity = (f"{message}; {number_text(most)} is taken",), most
    P = affinity.gaussians(given, perplexity=perplexity, distance=distance, seed=seed)
    map = embed(
        P,
        initial=initial,
        schedule=_schedule(shape, steps),
        restarts=restarts,
        shape=drawn,
        seed=seed,
        progress=progress,
    )
    if shape == "contexts" and shared != SHARED:
        map = with_contexts(map, given, shared)
    return map.but(notes=(*notes, *map.notes))


def _schedule(shape: str, steps: int) -> Any:
    from langscape.engine import Schedule

    if steps == 1000:
        return None
    if shape in ("diagonal", "full"):
        early = min(100, steps // 2)
        return Schedule(steps=steps, early_exaggeration=4.0, early_steps=early, largest_step=0.0)
    return Schedule(steps=steps)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if "gaussians" in names:
        return f"Distributions of {names['gaussians']}"
    if "table" in names:
        return f"{settings['by']} of {names['table']} as distributions"
    of = names.get("corpus", "the sample texts")
    return f"Words of {of} as distributions, by {model_title(settings['model'])}"


@picture("ellipses", name="map")
def ellipse_map(
    found: Ellipses, context: Any, *, mass: Mass = 0.5, only: Only = None, color: EllipseColor = None
) -> View:
    """An ellipse around each place, with the passages of each item."""
    return found.view(title=context.title, mass=mass, only=only, color=color)


@picture("scatter")
def occurrences(found: Ellipses, context: Any, *, color: EllipseColor = None) -> View:
    """Every occurrence of a word, or row of a table, as a point of its own."""
    return found.view_occurrences(title=context.title, color=color)


def save(
    found: Ellipses,
    path: Path,
    *,
    title: str | None = None,
    mass: Mass = 0.5,
    only: Only = None,
    color: EllipseColor = None,
) -> Path:
    """One file of the map."""
    return found.save(path, title=title, mass=mass, only=only, color=color)


def _check(settings: Mapping[str, Any], given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    if "gaussians" not in given:
        check_given(settings, given, shown)
    elif settings["words"] or "list" in given or "table" in given:
        raise SettingsError("distributions do not go with words or a table; give one or the other")
    if settings["method"] == "stress" and settings["shape"] in ("diagonal", "full"):
        raise SettingsError(
            f"stress learns no ellipses (shape {settings['shape']}); take them from contexts, or none"
        )


@analysis(
    version=9,
    title="Distributions",
    room="distributions",
    pictures=(ellipse_map, occurrences),
    uses=(make_gaussians,),
    describe=_title,
    check=_check,
    save=save,
    formats=FORMATS,
    example={"corpus": "sample-corpus", "contexts": 20, "perplexity": 10.0},
    examples=(
        "langscape ellipses --corpus letters/ --words places.csv --out ellipses.html",
        "langscape ellipses --corpus wordnet --word bank --word money --word river --layer 1 --split bank",
    ),
)
def ellipses(
    gaussians: Distributions = None,
    *,
    model: ContextModel = "default",
    corpus: Corpus = None,
    words: Words = None,
    list: List = None,
    most: Most = 60,
    contexts: Contexts = 100,
    unit: Unit = "sentence",
    layer: ContextLayer = -1,
    rank: Rank = 0,
    table: Table = None,
    by: By = None,
    columns: Columns = None,
    standardise: Standardise = True,
    missing: Missing = None,
    method: Method = "tsne",
    shape: Shape = "contexts",
    perplexity: Perplexity = 30.0,
    distance: Distance = "wasserstein",
    center: Center = True,
    initial: Initial = "pca",
    restarts: EllipseRestarts = 1,
    steps: Steps = 1000,
    shared: SharedDirections = 2,
    senses: SenseCount = 1,
    split: Split = None,
    seed: Seed = 0,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Ellipses:
    """Map distributions with an ellipse each, and say how far the ellipses' sizes can be trusted.

    They are given, as an object or as a file of `gaussians`, or made here of the same words or table.

    >>> found = ellipses(words=["harbour", "boats", "morning", "lamp"], contexts=4, method="pca")
    >>> found.map.shapes.shape, found.view().kind
    ((4, 2, 2), 'ellipses')
    """
    given: Any = gaussians
    if given is None:
        given = make_gaussians(
            model, corpus, words=words, list=list, most=most, contexts=contexts, unit=unit, layer=layer,
            rank=rank, table=table, by=by, columns=columns, standardise=standardise,
            missing=missing, seed=seed, workers=workers, cluster=cluster, progress=progress,
        )  # fmt: skip
    if senses > 1 or split:
        found = find_senses(given, max(senses, 2), seed=seed, progress=progress)
        given = split_senses(given, found, tested=senses > 1, also=split or ())
    map = map_gaussians(
        given, method=method, shape=shape, perplexity=perplexity, distance=distance, center=center,
        initial=initial, restarts=restarts, steps=steps, shared=shared, seed=seed, progress=progress,
    )  # fmt: skip
    single = occurrence_map(
        given, method=method, perplexity=perplexity, schedule=_schedule("none", steps), seed=seed,
        progress=progress,
    )  # fmt: skip
    told = explained_by_item(given, seed=seed)
    if told is not None:
        figures = {"explained": told[0], **told[1].beside("explained")}
        map = map.but(quality={**figures, **map.quality})
        single = single and single.but(quality={**figures, **single.quality})
    return Ellipses(map, replace(given, samples=None, factors=None), single)
