"""One head: its map with every restart, its matrix, and the sentence with lines between tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import text_capture
from langscape.analyses._head_trust import (
    HeadProblem,
    head_partners,
    head_problem,
    null_scores,
    scored,
    verdict_of,
)
from langscape.analyses._restarts import head_schedules, restarted
from langscape.data import Affinities, Capture, Map, Progress, Shown, View
from langscape.declarations import Later, Setting, analysis, picture
from langscape.declarations.settings import (
    Cut,
    FirstTokens,
    Generate,
    Layer,
    Merge,
    Model,
    Point,
    Quantiles,
    Restarts,
    Seed,
    Side,
    Sinks,
    Special,
    Steps,
    Target,
    Text,
)
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.models.display_names import model_title

FORMATS = (".parquet", ".csv", ".html", ".svg", ".png", ".pdf")


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Head(Shown):
    """One head over one text.

    capture  its attention alone
    side     whose head of an encoder–decoder: the encoder's where None
    map      the tokens as the head sees them, of all restarts the one of lowest KL; None for cross-attention
    runs     (restarts, n, 2) every run laid over the map: moved, turned, mirrored and scaled
    """

    capture: Capture
    layer: int
    head: int
    side: Side
    map: Map | None
    runs: np.ndarray

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return tuple(dict.fromkeys((*self.capture.notes, *(self.map.notes if self.map else ()))))

    @property
    def title(self) -> str:
        """The model with its layer and head."""
        from langscape.views.heads import model_of

        return f"{model_of(self.capture) or 'Head'} {self.layer}.{self.head}"

    def views(self) -> list[View]:
        """The map, coloured by position, and the matrix; the matrix alone where there is no map."""
        return [*([self.scatter(color="position")] if self.map else []), self.matrix()]

    def scatter(
        self,
        *,
        title: str | None = None,
        color: str | None = None,
        quantiles: int | None = None,
        point: str | None = None,
    ) -> View:
        """The map as a picture, with the strongest partners of every token."""
        from langscape.views import scatter

        if self.map is None:
            raise SettingsError("queries and keys of cross-attention are different tokens: there is no map")
        partners = head_partners(self.capture, self.map, self.side)
        named = title or f"{self.title}: map"
        look: dict[str, Any] = {"color": color, "quantiles": quantiles, "point": point}
        tokens = self.capture.attention(self.side).keys
        return scatter(self.map, title=named, partners=partners, tokens=tokens, **look)

    def matrix(self, *, title: str | None = None) -> View:
        """The attention as a picture: who attends to whom."""
        from langscape.views import attention

        return attention(self.capture, self.layer, self.head, side=self.side, title=title or self.title)

    def save(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        show: Literal["map", "matrix"] = "map",
        color: str | None = "position",
        quantiles: int | None = None,
        point: str | None = None,
    ) -> Path:
        """Write the map as .parquet or .csv, both as .html, or one of them as .png, .svg or .pdf.

        point is a token, as word or word@position, whose strongest partners the map shows: kept near, or far.
        """
        from langscape.views import write

        path = Path(path)
        suffix = path.suffix.lower()
        matrix = self.matrix(title=title)
        if self.map is None:
            return write(matrix, path)
        if suffix in (".parquet", ".csv"):
            return self.map.save(path)
        look: dict[str, Any] = {"color": color, "quantiles": quantiles, "point": point}
        if suffix == ".html":
            return write([self.scatter(title=f"{title}: map" if title else None, **look), matrix], path)
        return write(matrix if show == "matrix" else self.scatter(title=title, **look), path)


def all_restarts(
    problem: Affinities, restarts: int, schedules: Any, seed: int = 0, progress: Progress | None = None
) -> tuple[Map, np.ndarray]:
    """The map of lowest KL, and every run laid over it: moved, turned, mirrored and scaled.

    `error` is each point's share of the KL, `spread` how far it wanders.
    """
    from langscape.metrics import align, kl_points, stability, stability_by_chance

    tries = [runs[0] for runs in restarted([problem], restarts, schedules, seed, progress)]
    kls = np.array([one.kl for one in tries])
    best = tries[int(np.nanargmin(kls))]
    per_point = {"error": kl_points(problem.P, best.xy)}
    quality: dict[str, float] = {}
    if restarts > 1:
        wander = stability(tries)
        per_point["spread"], quality["stability"] = wander.per_point, wander.mean
        quality |= stability_by_chance(tries).beside("stability")
    settings = {**best.settings, "seed": seed, "restarts": restarts, "kept": seed + int(np.nanargmin(kls))}
    result = best.but(kls=kls, quality=quality, per_point=per_point, settings=settings)
    return result, np.stack([align(best.xy, one.xy) for one in tries]).astype(np.float32)


def map_head(
    capture: Capture,
    layer: int,
    head: int,
    *,
    special: Literal["keep", "drop"] = "drop",
    sinks: Literal["keep", "drop"] = "drop",
    restarts: int = 8,
    steps: int = 1000,
    seed: int = 0,
    side: Side = None,
    progress: Progress | None = None,
) -> Map:
    """The tokens as one head sees them: attention-head t-SNE, of several restarts the lowest KL.

    side says whose head of an encoder–decoder: the encoder's if none is named.
    """
    problem = head_problem(capture, layer, head, special, sinks, side)
    return _mapped(problem, restarts, steps, seed, progress)[0]


def make_head(
    capture: Capture,
    layer: int,
    head: int,
    *,
    special: Literal["keep", "drop"] = "drop",
    sinks: Literal["keep", "drop"] = "drop",
    restarts: int = 20,
    steps: int = 1000,
    seed: int = 0,
    side: Side = None,
    progress: Progress | None = None,
) -> Head:
    """One head of a capture that holds its attention, with its map; cross-attention has none."""
    if side == "cross":
        return Head(capture, layer, head, side, None, np.empty((0, 0, 2), np.float32))
    problem = head_problem(capture, layer, head, special, sinks, side)
    map, runs = _mapped(problem, restarts, steps, seed, progress)
    return Head(capture, layer, head, side, map, runs)


def _mapped(
    problem: HeadProblem, restarts: int, steps: int, seed: int, progress: Progress | None
) -> tuple[Map, np.ndarray]:
    schedules = head_schedules(len(problem.affinities), steps)
    map, runs = all_restarts(problem.affinities, restarts, schedules, seed, progress)
    return scored(map, problem, null_scores([problem], steps, seed)[0]), runs


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = f"Layer {settings['layer']}, head {settings['head']}"
    return f"{where} of {model_title(settings['model'])} over {names.get('text', 'a sample text')}"


TokenColor = Annotated[
    Literal["position", "special", "text", "kept", "shown", "error", "spread", "generated"] | None,
    Setting("Colour", "Colour tokens by this column."),
]


def _whole(found: Head, context: Any, *, quantiles: int | None = None, color: str | None = None) -> View:
    if found.map is None:
        return found.matrix(title=context.title)
    return found.scatter(title=context.title, quantiles=quantiles, color=color)


def _runs(found: Head, context: Any, **_: Any) -> dict[str, Later]:
    return {"restarts": Later("float32", found.runs.shape, lambda: found.runs)} if found.map else {}


@picture("scatter", name="head", whole=_whole, later=_runs)
def one_map(found: Head, context: Any, *, quantiles: Quantiles = None, color: TokenColor = None) -> View:
    """The tokens as the head sees them, with the places of every other run."""
    view = found.scatter(title=context.title, quantiles=quantiles, color=color)
    assert found.map is not None
    kls = [float(one) for one in found.map.kls]
    return View(view.kind, {**view.properties, "kls": kls, "later": ["restarts"]}, view.arrays)


@picture("attention", name="attention")
def one_matrix(found: Head, context: Any) -> View:
    """The attention as a matrix, and as lines between tokens."""
    return found.matrix()


ShowHead = Annotated[
    Literal["map", "matrix"],
    Setting("Show", "What a figure shows: the map or the matrix; a page shows both."),
]


def save(
    found: Head,
    path: Path,
    *,
    title: str | None = None,
    show: ShowHead = "map",
    color: TokenColor = "position",
    quantiles: Quantiles = None,
    point: Point = None,
) -> Path:
    """One file of a head."""
    return found.save(path, title=title, show=show, color=color, quantiles=quantiles, point=point)


def lines(found: Head) -> list[str]:
    """What the command prints beside the summary of the map: how far that can be read, in a word."""
    return [] if found.map is None else [f"how far the map can be read: {verdict_of(found.map)}"]


HeadNumber = Annotated[int, Setting("Head", "The head, numbered from 0.", ge=0, names="head")]


@analysis(
    version=6,
    title="One head, many restarts",
    room="head",
    pictures=(one_map, one_matrix),
    uses=(text_capture,),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour", "layer": 2, "head": 1},
    examples=(
        "langscape head default --text letter.txt --layer 3 --head 10 --out head.html",
        "langscape head default --text letter.txt --layer 3 --head 10 --point harbour --out head.svg",
    ),
)
def head(
    model: Model = "default",
    text: Text = None,
    *,
    layer: Layer,
    head: HeadNumber,
    special: Special = "drop",
    sinks: Sinks = "drop",
    restarts: Restarts = 20,
    steps: Steps = 1000,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    merge: Merge = "none",
    seed: Seed = 0,
    side: Side = None,
    target: Target = None,
    progress: Progress | None = None,
) -> Head:
    """Look at one attention head: its map, its matrix, and the sentence with lines between tokens.

    Only this layer and this head are captured. Of all restarts the map of lowest KL is kept.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> found = head("default", text, layer=2, head=1, restarts=2)
    >>> len(found.map), found.runs.shape
    (15, (2, 15, 2))
    """
    seen = text_capture(
        model,
        text,
        want=["attention"],
        layers=[layer],
        heads=[head],
        cut=cut,
        first_tokens=first_tokens,
        generate=generate,
        merge=merge,
        target=target,
        progress=progress,
    )
    how: dict[str, Any] = {"restarts": restarts, "steps": steps, "seed": seed, "side": side}
    return make_head(seen, layer, head, special=special, sinks=sinks, progress=progress, **how)
