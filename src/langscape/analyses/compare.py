"""Two models, texts, heads or files of vectors side by side: their maps aligned, the attention subtracted."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._attention_difference import AttentionDifference, attention_difference
from langscape.analyses._maps import FORMATS, summary
from langscape.analyses.head import Head
from langscape.analyses.head import head as head_analysis
from langscape.analyses.hidden import hidden as hidden_analysis
from langscape.analyses.words import words as words_analysis
from langscape.data import Map, Progress, Shown, View
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.settings import (
    ChosenWords,
    Cut,
    Generate,
    Model,
    Perplexity,
    Restarts,
    Seed,
    Special,
    Steps,
    Text,
)
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES
from langscape.models.display_names import model_title
from langscape.sources.vectors import Vectors

WORDS = 2000
"""Words of each file that are compared where no list chooses them."""


Side = Literal["left", "right"]
OnlyMaps = "the two heads read different tokens: their maps are compared, and their attention is not"


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Two maps of the same items, the second aligned; `moved` is in units of the first one's radius.

    names      what the two are called, such as "head 1.8" and "head 1.7"
    attention  of two heads that read the same tokens: where the second looks and the first does not
    """

    left: Map
    right: Map
    names: tuple[str, str] = ("first map", "second map")
    attention: AttentionDifference | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return tuple(dict.fromkeys((*self.left.notes, *self.right.notes)))

    @property
    def neighbours(self) -> int:
        """How many neighbours of each item are looked at for `shared`."""
        return int(self.left.quality["shared_k"])

    def views(self) -> list[View]:
        """The attention of two heads, where there is any, and both maps, coloured by how far items moved."""
        return self._pages()

    def _pages(self, title: str | None = None, color: str | None = "moved") -> list[View]:
        maps = [self.scatter(side, title=title, color=color) for side in ("left", "right")]
        return maps if self.attention is None else [self.attention_view(title=title), *maps]

    def attention_view(self, *, title: str | None = None) -> View:
        """The attention of the second head less that of the first, as a matrix."""
        if self.attention is None:
            raise SettingsError(
                "there is no attention to subtract: only two heads that read the same tokens have it"
            )
        return self.attention.view(title or both_named(self.names))

    def scatter(
        self,
        side: Side = "left",
        *,
        title: str | None = None,
        color: str | None = "moved",
    ) -> View:
        """One of both maps as a picture, which knows where each item lies on the other."""
        from langscape.views import scatter

        view = scatter(getattr(self, side), title=self._titled(title, side), color=color)
        said = {"shared_k": self.neighbours, "has_attention": self.attention is not None}
        other = (self.right if side == "left" else self.left).xy
        if other.shape[1] != 2:
            return View(view.kind, {**view.properties, **said}, view.arrays)
        place = "second" if side == "left" else "first"
        return View(
            view.kind,
            {**view.properties, **said, "elsewhere": f"the {place} map"},
            {**view.arrays, "elsewhere": np.asarray(other, np.float32)},
        )

    def _titled(self, title: str | None, side: Side) -> str:
        """What one side is called: titles of comparisons name both, and then what both have in common."""
        at = 0 if side == "left" else 1
        name, both = self.names[at], both_named(self.names)
        if title is None or title.startswith(both):
            return f"{_capital(name)}{'' if title is None else title.removeprefix(both)}"
        if BESIDE not in title:
            return f"{title}: {name}"
        part = title.split(BESIDE, 1)[at]
        # of two texts, what both have in common stands behind the second one's name
        return part if not at or self.names != TEXTS else part.rpartition(", ")[0] or part

    def save(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        show: Literal["left", "right", "attention"] | None = None,
        color: str | None = "moved",
    ) -> Path:
        """Write all as a page (.html), one as a figure (.png, .svg, .pdf), a row per item (.csv, .parquet).

        show says which: a map, or the attention, which is taken of two heads where nothing is said. With
        "attention", a table has a row per query and key.
        """
        from langscape.io.atomic_write import atomic_write
        from langscape.io.parquet import write_parquet
        from langscape.views import write
        from langscape.views.table import write_columns

        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".html":
            return write(self._pages(title, color), path)
        if show == "attention" or (show is None and self.attention and suffix not in (".csv", ".parquet")):
            return write(self.attention_view(title=title), path)
        if suffix == ".csv":
            return write_columns(self.columns(), path)
        if suffix == ".parquet":
            with atomic_write(path) as aside:
                write_parquet(aside, self.columns())
            return path
        return write(self.scatter(show or "left", title=title, color=color), path)

    def columns(self) -> dict[str, np.ndarray]:
        """Both labels and both places of every item, and how far it moved."""
        found: dict[str, np.ndarray] = {}
        for side, one in (("left", self.left), ("right", self.right)):
            found[f"{side}_label"] = np.array(one.labels, object)
            axes = enumerate("xyzw"[: one.xy.shape[1]])
            found |= {f"{side}_{axis}": one.xy[:, at] for at, axis in axes}
        return {**found, **self.left.per_point}


BESIDE = " beside "
"""What stands between the names of both sides."""


def both_named(names: tuple[str, str]) -> str:
    """Both sides in a title.

    >>> both_named(("head 1.8", "head 1.7"))
    'Head 1.8 beside head 1.7'
    """
    return f"{_capital(names[0])}{BESIDE}{names[1]}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


NEAREST = 5
"""Neighbours that are looked at on two maps: 4 to 6 tell best what changed, see docs/metrics.md."""


def compared_neighbours(n: int) -> int:
    """The k of two maps of n items that are compared: 5, or a third of the others.

    >>> compared_neighbours(2000), compared_neighbours(28), compared_neighbours(12), compared_neighbours(3)
    (5, 5, 3, 1)
    """
    return max(1, min(NEAREST, (n - 1) // 3))


def compare_maps(left: Map, right: Map) -> Comparison:
    """The common items of two maps, the second moved, turned and mirrored onto the first, and as large.

    Tokens, which have positions, are matched in the order of the text, so that two texts, or two models
    that cut words differently, are compared where they agree. Other items are matched by label.

    >>> from langscape.data import Items, Map
    >>> a = Map([[0.0, 0], [1, 0], [0, 1], [1, 1]], Items(["a", "b", "c", "d"]))
    >>> b = Map([[9.0, 9], [0, 2], [2, 0], [2, 2], [0, 0]], Items(["z", "c", "b", "d", "a"]))
    >>> compare_maps(a, b).right.per_point["moved"].round(6).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    from langscape.metrics import align, local, vectors

    if left.xy.shape[1] != right.xy.shape[1]:
        raise DataError(
            f"the maps have {left.xy.shape[1]} and {right.xy.shape[1]} dimensions; compare maps of the same"
        )
    mine, theirs = _matched(left, right)
    if len(mine) < 3:
        raise DataError(
            f"the two maps have {len(mine)} items in common, which is too few to lay one over the other; "
            "compare maps of the same words, or of texts that share some"
        )
    still = np.asarray(left.xy[mine], np.float64)
    laid = align(still, right.xy[theirs], same_size=True)
    radius = float(np.sqrt(((still - still.mean(axis=0)) ** 2).sum(axis=1).mean()))
    moved = np.linalg.norm(laid - still, axis=1) / (radius or 1.0)
    k = compared_neighbours(len(mine))
    shared = local(vectors(still.astype(np.float32)), laid.astype(np.float32), k)
    figures = {"shared": shared.mean, "moved": float(moved.mean()), "shared_k": float(k)}
    figures |= _by_chance(still, right.xy[theirs], k, radius)
    points = {"moved": moved, "shared": shared.everywhere()}
    out = []
    for one, rows, xy in ((left, mine, still), (right, theirs, laid)):
        left_out = len(one) - len(rows)
        notes = (
            *one.notes,
            *([f"{left_out} items are on this map only and are left out"] if left_out else []),
        )
        kept = {name: figure for name, figure in one.quality.items() if not name.startswith("inserted")}
        out.append(
            Map(
                xy.astype(np.float32),
                one.items.take(rows),
                kl=one.kl,
                kls=one.kls,
                settings=one.settings,
                quality={**kept, **figures},
                per_point=points,
                notes=notes,
            )
        )
    return Comparison(*out)


def compare_heads(left: Head, right: Head) -> Comparison:
    """Two heads that have maps, and, where they read the same tokens, where the second looks."""
    assert left.map is not None
    assert right.map is not None
    names = _heads_named(left, right)
    found = replace(compare_maps(left.map, right.map), names=names)
    places = (left.layer, left.head), (right.layer, right.head)
    seen = attention_difference(left.capture, right.capture, places, names)
    if seen is None:
        return replace(found, left=found.left.but(notes=(*found.left.notes, OnlyMaps)))
    maps = []
    for one in (found.left, found.right):
        quality = {**one.quality, **seen.scores()}
        where = seen.elsewhere[one.items.columns["position"]]
        maps.append(one.but(quality=quality, per_point={**one.per_point, "attention_elsewhere": where}))
    return replace(found, left=maps[0], right=maps[1], attention=seen)


def _heads_named(left: Head, right: Head) -> tuple[str, str]:
    from langscape.views.heads import model_of

    models = [model_of(one.capture) for one in (left, right)]
    several = models[0] != models[1]
    made = [f"{model} head" if several else "head" for model in models]
    names = [f"{word} {one.layer}.{one.head}" for word, one in zip(made, (left, right), strict=True)]
    return (names[0], names[1]) if names[0] != names[1] else TEXTS


TEXTS = ("first text", "second text")
FILES = ("first file", "second file")


ComparedColor = Annotated[
    str | None, Setting("Colour", "The column that gives the colour; moved is how far it moved.")
]
Which = Annotated[
    Literal["left", "right", "attention"] | None,
    Setting(
        "Show",
        "What a figure shows: a map, or where two heads look (which it does if left out); a page shows all.",
    ),
]


@picture("scatter", name="left")
def left_map(found: Comparison, context: Any, *, color: ComparedColor = "moved") -> View:
    """The first map."""
    return found.scatter("left", title=context.title, color=color)


@picture("scatter", name="right")
def right_map(found: Comparison, context: Any, *, color: ComparedColor = "moved") -> View:
    """The second map, laid over the first."""
    return found.scatter("right", title=context.title, color=color)


@picture("attention", name="attention")
def attention_picture(found: Comparison, context: Any) -> View:
    """The attention of the second head less that of the first, of two heads that read the same tokens."""
    return found.attention_view(title=context.title)


def save(
    found: Comparison,
    path: Path,
    *,
    title: str | None = None,
    show: Which = None,
    color: ComparedColor = "moved",
) -> Path:
    """One file of a comparison."""
    return found.save(path, title=title, show=show, color=color)


def _notes(found: Comparison, inputs: Mapping[str, Any]) -> list[str]:
    scores = found.left.quality
    both = f"{len(found.left):,} items on both maps, moved by {scores['moved']:.3f} of the first one's radius"
    notes = [
        f"{both}; of their {found.neighbours} nearest on the map {100 * scores['shared']:.1f} % are shared"
    ]
    if found.attention is not None:
        score, value = SCORES["attention_elsewhere"], found.attention.mean
        against = score.against(value, Null(*found.attention.null))
        notes.insert(0, f"{score.text(value)} of a token’s attention goes elsewhere{against}")
    for side, one in (("left", found.left), ("right", found.right)):
        first, *more = summary(one, known=notes)
        notes += [f"{side}: {first}", *(line for line in more if line not in notes)]
    return notes


def lines(found: Comparison) -> list[str]:
    """The items that changed most: those whose attention goes elsewhere, or that moved."""
    by = "attention_elsewhere" if found.attention is not None else "moved"
    values, score = found.left.per_point[by], SCORES[by]
    order = np.argsort(-values, kind="stable")[:10]
    return [f"{found.left.labels[row]}  {score.text(float(values[row]))}" for row in order]


def _sides(settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """What tells the two sides apart; where one is not named, it is the same."""
    if settings["what"] == "words":
        return [(inputs.get("vectors"),), (inputs.get("other_vectors"),)]
    names = ["model", "layer", *(["head"] if settings["what"] == "head" else [])]
    mine = [inputs.get("text"), *(settings[name] for name in names)]
    theirs = [inputs.get("other_text"), *(settings[f"other_{name}"] for name in names)]
    return [tuple(mine), tuple(a if b is None else b for a, b in zip(mine, theirs, strict=True))]


_READING = ("text", "other_text", "model", "other_model", "layer", "other_layer", "special", "restarts",
            "steps", "cut", "generate")  # fmt: skip
_WORDS = ("vectors", "other_vectors", "words")


def _ignored(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What has no say in this comparison."""
    if settings["what"] == "words":
        return (*_READING, "head", "other_head")
    return (*_WORDS, "perplexity") if settings["what"] == "head" else (*_WORDS, "head", "other_head")


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    if settings["what"] == "words" and inputs.get("other_vectors") is None:
        raise SettingsError("two files of vectors are compared; give the other one")
    left, right = _sides(settings, inputs)
    if all(a is b or (isinstance(a, str | int | Path) and a == b) for a, b in zip(left, right, strict=True)):
        raise SettingsError(
            "both sides are the same; name another model, text, layer, head, or other vectors"
        )


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """What tells both sides apart, and then what they have in common."""
    if settings["what"] == "words":
        first = names.get("vectors", "5,000 common English words")
        return f"{first}{BESIDE}{names.get('other_vectors', 'others')}"
    models = model_title(settings["model"]), model_title(settings["other_model"] or settings["model"])
    places = _place(settings, ""), _place(settings, "other_")
    text = names.get("text", "a sample text")
    if "other_text" in names:
        same = places[0] == places[1] and models[0] == models[1]
        ends = ["", ""] if same else [f" ({model} {at})" for model, at in zip(models, places, strict=True)]
        common = f", {places[0]} of {models[0]}" if same else ""
        return f"{text}{ends[0]}{BESIDE}{names['other_text']}{ends[1]}{common}"
    if models[0] != models[1]:
        return f"{both_named((f'{models[0]} {places[0]}', f'{models[1]} {places[1]}'))}, over {text}"
    return f"{both_named(places)}, {models[0]} over {text}"


def _place(settings: Mapping[str, Any], which: Literal["", "other_"]) -> str:
    layer = _or(settings[f"{which}layer"], settings["layer"])
    if settings["what"] == "head":
        return f"head {layer or 0}.{_or(settings[f'{which}head'], settings['head'])}"
    return "last layer" if layer is None else f"layer {layer}"


What = Annotated[
    Literal["hidden", "head", "words"],
    Setting(
        "What is compared",
        "Maps of a layer’s hidden states, of a head’s attention, or of words.",
        labels={"hidden": "hidden states", "head": "a head"},
    ),
]
OtherModel = Annotated[
    str | None, Setting("Other model", "The second model; the same if left out.", names="model")
]
OneLayer = Annotated[
    int | None,
    Setting("Layer", "The layer, from 0; the last hidden one, or a head’s first, if left out.", ge=0),
]
OtherLayer = Annotated[int | None, Setting("Other layer", "The second layer; the same if left out.", ge=0)]
OneHead = Annotated[int, Setting("Head", "With a head: which, from 0.", ge=0)]
OtherHead = Annotated[int | None, Setting("Other head", "The second head; the same if left out.", ge=0)]
OtherText = Annotated[
    str | Path | None, Input("text", "Other text", "The second text; the same if left out.")
]
FirstVectors = Annotated[
    str | Path | Vectors | None,
    Input("vectors", "Vectors", "With words: the first file.", sample="sample-words"),
]
OtherVectors = Annotated[
    str | Path | Vectors | None, Input("vectors", "Other vectors", "With words: the second file.")
]


@analysis(
    version=5,
    title="Two side by side",
    room="compare",
    pictures=(left_map, right_map, attention_picture),
    uses=(head_analysis, hidden_analysis, words_analysis),
    describe=_title,
    check=_check,
    ignores=_ignored,
    lines=lines,
    notes=_notes,
    save=save,
    formats=FORMATS,
    example={"what": "hidden", "layer": 1, "other_layer": 6, "text": "sample-harbour"},
    group="measure",
    examples=(
        "langscape compare default --text letter.txt --layer 1 --other-layer 6 --out layers.html",
        "langscape compare default --text letter.txt --what head --layer 1 --head 8 --other-head 7 "
        "--out heads.html",
        "langscape compare --what words --vectors old.txt --other-vectors new.txt --out change.html",
    ),
)
def compare(
    model: Model = "default",
    text: Text = None,
    *,
    what: What = "hidden",
    other_model: OtherModel = None,
    other_text: OtherText = None,
    layer: OneLayer = None,
    other_layer: OtherLayer = None,
    head: OneHead = 0,
    other_head: OtherHead = None,
    vectors: FirstVectors = None,
    other_vectors: OtherVectors = None,
    words: ChosenWords = None,
    perplexity: Perplexity = 20.0,
    special: Special = "drop",
    restarts: Restarts = 8,
    steps: Steps = 1000,
    cut: Cut = True,
    generate: Generate = 0,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two models, texts, layers, heads or files of vectors: one map is laid over the other.

    Each map is the one that `hidden`, `head` or `words` makes. Items that only one of both has are left out.
    Of two heads that read the same tokens it also says whether they look at the same ones.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> found = compare("default", text, layer=1, other_layer=6, perplexity=4, restarts=1)
    >>> len(found.left) == len(found.right), found.left.quality["moved"] > 0
    (True, True)
    """
    if what == "words":
        how: dict[str, Any] = {"perplexity": perplexity, "seed": seed, "progress": progress}
        limit = WORDS if words is None else None
        left, right = (
            words_analysis(one, words, limit=limit, **how)  # type: ignore[arg-type]
            for one in (vectors, other_vectors)
        )
        return replace(compare_maps(left, right), names=FILES)
    how = {"special": special, "restarts": restarts, "steps": steps, "cut": cut, "seed": seed}
    how |= {"generate": generate, "progress": progress}
    models, texts = (model, other_model or model), (text, _or(other_text, text))
    layers, heads = (layer, _or(other_layer, layer)), (head, _or(other_head, head))
    if what == "head":
        return compare_heads(
            *(
                head_analysis(of, read, layer=where or 0, head=which, **how)
                for of, read, where, which in zip(models, texts, layers, heads, strict=True)
            )
        )
    left, right = (
        hidden_analysis(of, read, layer=where, perplexity=perplexity, **how)
        for of, read, where in zip(models, texts, layers, strict=True)
    )
    return replace(compare_maps(left, right), names=_states_named(models, layers))


def _states_named(models: tuple[str, str], layers: tuple[int | None, int | None]) -> tuple[str, str]:
    where = ["last layer" if layer is None else f"layer {layer}" for layer in layers]
    if models[0] != models[1]:
        where = [f"{model_title(model)} {one}" for model, one in zip(models, where, strict=True)]
    return (where[0], where[1]) if where[0] != where[1] else TEXTS


def _or(value: Any, other: Any) -> Any:
    return other if value is None else value


def _by_chance(still: np.ndarray, other: np.ndarray, k: int, radius: float) -> dict[str, float]:
    """What two maps have in common, and how far items move, with the items of one dealt anew."""
    from langscape.metrics import align, vectors
    from langscape.metrics.neighbours import local_of
    from langscape.metrics.random_layout import random_layouts

    places = vectors(still.astype(np.float32)), vectors(other.astype(np.float32))
    shared = [local_of(one.ranks).mean() for one in random_layouts(*places, k)]
    rng = np.random.default_rng(0)
    laid = [align(still, rng.permutation(other), same_size=True) for _ in shared]
    moved = [np.linalg.norm(one - still, axis=1).mean() / (radius or 1.0) for one in laid]
    return {**Null.of(shared).beside("shared"), **Null.of(moved).beside("moved")}


def _matched(left: Map, right: Map) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the one and of the other that are the same item."""
    if all("position" in one.items.columns for one in (left, right)):
        mine, theirs = (_read_in_order(one) for one in (left, right))
        matcher = difflib.SequenceMatcher(None, mine[1], theirs[1], autojunk=False)
        pairs = [
            (mine[0][a + at], theirs[0][b + at])
            for a, b, size in matcher.get_matching_blocks()
            for at in range(size)
        ]
    else:
        rows = {label: row for row, label in reversed(list(enumerate(right.labels)))}
        seen = {label: row for row, label in reversed(list(enumerate(left.labels)))}
        pairs = sorted((row, rows[label]) for label, row in seen.items() if label in rows)
    found = np.array(pairs, np.intp).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _read_in_order(one: Map) -> tuple[list[int], Sequence[str]]:
    """Rows in the order of the text, and what is read there, without the marks that models put on pieces."""
    order = np.argsort(one.items.columns["position"], kind="stable").tolist()
    texts = one.items.columns.get("text", np.array(one.labels, dtype=object))
    return order, [str(texts[row]).strip(" #Ġ▁").lower() for row in order]
