"""Prompt → flow: a model's vectors over a text, coloured by meaning, and what made each number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from langscape.data import Progress, Step, View
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import Seed
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.models.catalog import CATALOG, in_words
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.engine import WordColours

WHOLE = 10_000
"""Words up to which a vocabulary is coloured as a whole; of a larger one, those that a page speaks of."""

FORMATS = (".html", ".png", ".svg", ".pdf")

FlowModel = Annotated[
    str,
    Setting(
        "Model",
        f"{in_words('flow')}, a folder or a Hub id.",
        document="003",
        argument=True,
        names="model",
    ),
]
Prompt = Annotated[
    str | None, Setting("Prompt", "What it reads; a short text of its own if left out.", short="p")
]
PromptFile = Annotated[
    str | Path | None,
    Input("text", "Text", "A file with the text to read, instead of a prompt.", option="--text", short="t"),
]
Top = Annotated[int, Setting("Words", "Words named at every place.", ge=1, le=50, document="003")]
Space = Annotated[
    Literal["oklab", "rgb"],
    Setting(
        "Colour space",
        "OKLab, where equal distances look equal, or red, green and blue as in the document.",
        document="003",
        labels={"oklab": "OKLab", "rgb": "RGB"},
    ),
]
Fit = Annotated[
    Literal["exact", "force"],
    Setting(
        "Colour of vectors",
        "Found over all mapped words, or by the document’s forces from sixteen of them.",
        document="003",
    ),
]


@noun
@dataclass(frozen=True, eq=False)
class Flow:
    """What flowed through a model as it read a prompt: every vector, its words and its colour, laid out."""

    shown: View

    @property
    def notes(self) -> tuple[str, ...]:
        """Scores of trust, alarms, and what else a reader should know."""
        said = self.shown.properties
        scores = [f"{one['label']}: {one['shown']}" for one in said["quality"]]
        return (*scores, *(f"alarm: {one['text']}" for one in said["alarms"]), *said["notes"])

    def view(self, *, title: str | None = None) -> View:
        """The picture."""
        if title is None:
            return self.shown
        return View(self.shown.kind, {**self.shown.properties, "title": title}, self.shown.arrays)

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html) or a figure (.png, .svg, .pdf)."""
        from langscape.views import write

        return write(self.view(title=title), path)


@picture("flow", name="flow")
def flow_picture(found: Flow, context: Any) -> View:
    """Every vector on its way, and what made each number."""
    return found.view(title=context.title)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if settings["prompt"]:
        return flow_title(settings["model"], settings["prompt"])
    return f"{model_title(settings['model'])} reads {names.get('prompt_file', 'a text of its own')}"


def _check(settings: Mapping[str, Any], given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    if settings["prompt"] is not None:
        if "prompt_file" in given:
            raise SettingsError("give a prompt or a text, not both")
        if not settings["prompt"].strip():
            raise SettingsError("the prompt is empty; give at least one word")


@analysis(
    version=5,
    pictures=(flow_picture,),
    describe=_title,
    check=_check,
    formats=FORMATS,
    opens=True,
    example={},
)
def flow(
    model: FlowModel = "lstm-tiny",
    prompt: Prompt = None,
    *,
    prompt_file: PromptFile = None,
    top: Top = 8,
    space: Space = "oklab",
    fit: Fit = "exact",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Flow:
    """Watch vectors move through an LSTM or a transformer, and see what made each number.

    >>> found = flow("lstm-tiny", "the small dog barks .")
    >>> found.view().properties["tokens"]
    ['.', 'the', 'small', 'dog', 'barks', '.']
    """
    said = prompt if prompt_file is None else str(prompt_file).strip()
    return Flow(make_flow(opened(model), said, top=top, space=space, fit=fit, seed=seed, progress=progress))


def make_flow(
    model: Any,
    prompt: str | None = None,
    *,
    top: int = 8,
    space: str = "oklab",
    fit: str = "exact",
    seed: int = 0,
    title: str | None = None,
    progress: Progress | None = None,
) -> View:
    """The flow of an opened model over a prompt: an LSTM, or a decoder or encoder that can be taken apart."""
    from langscape.models import capture
    from langscape.views import flow

    if top < 1:
        raise SettingsError(f"top {top} is not possible; it must be at least 1")
    tell = progress or (lambda step: None)
    prompt = default_prompt(model) if prompt is None else prompt
    title = title or flow_title(model.name, prompt)
    tell(Step(0, 3, "reading the prompt"))
    if model.kind == "lstm":
        seen, weights = capture(model, prompt), model.weights()
        tell(Step(1, 3, "colours of words"))
        colours = _colours(weights["embedding"], model.revision, space, fit, seed)
        tell(Step(2, 3, "nearest words and sums"))
        made = flow(seen, weights, model.words, colours=colours, top=top, title=title)
    else:
        from langscape.models import stream

        held = stream(model, prompt)
        tell(Step(1, 3, "colours of words"))
        colours = _colours(held.words, model.revision, space, fit, seed)
        tell(Step(2, 3, "words and contributions at every node"))
        made = flow(held, colours=colours, top=top, title=title)
    tell(Step(3, 3, "done"))
    return made


def flow_title(model: str, prompt: str) -> str:
    """What a flow is called: who reads, and how the text begins.

    >>> flow_title("lstm-tiny", "the cat  sat")
    'Tiny LSTM reads “the cat sat”'
    """
    said = " ".join(prompt.split())
    return f"{model_title(model)} reads “{said if len(said) <= 40 else said[:39] + '…'}”"


def default_prompt(model: Any) -> str:
    """A short prompt that suits the model."""
    if model.name in CATALOG and CATALOG[model.name].prompt:
        return CATALOG[model.name].prompt
    if model.kind == "lstm":
        return (
            " ".join(word for word in model.words if word.isalpha())[:60].rpartition(" ")[0] or model.words[0]
        )
    return "The capital of France is Paris, and the capital of Italy is"


@dataclass(frozen=True, eq=False)
class Palette:
    """Colours of a whole vocabulary, with the method of fitting chosen."""

    base: WordColours
    method: Literal["force", "exact"]

    @property
    def quality(self) -> Mapping[str, float]:
        """How well colours follow vectors."""
        return self.base.quality

    def of(self, ids: Sequence[int]) -> np.ndarray:
        """The colours of words by their numbers."""
        return self.base.rgb[list(ids)]

    def fit(self, vectors: Any) -> np.ndarray:
        """The colours of other vectors."""
        return self.base.fit(vectors, self.method)


class PagePalette:
    """Colours of a vocabulary too large to be mapped: those words are mapped together that are asked for.

    A sample of the vocabulary would not do: in hundreds of dimensions other words are about equally far
    from all of it, and take one colour.
    """

    def __init__(self, table: Any, space: str, seed: int) -> None:
        self.table, self.space, self.seed = table, space, seed
        self.quality: dict[str, float] = {}

    def of(self, ids: Sequence[int]) -> np.ndarray:
        """The colours of words by their numbers; `quality` then says how well they follow the vectors."""
        from langscape.engine import colours

        base = colours(np.asarray(self.table[list(ids)]), space=self.space, seed=self.seed)  # type: ignore[arg-type]
        self.quality = dict(base.quality)
        return base.rgb

    def fit(self, vectors: Any) -> np.ndarray:
        """Not to be had: a stream takes the colours of its words."""
        raise SettingsError("vectors of a large vocabulary take the colours of the words they say")


class _Table:
    """A matrix of words, torch's or ours, that the cache of colours knows by its model's revision."""

    def __init__(self, rows: Any, revision: str) -> None:
        self.rows = rows
        self.name = (revision, tuple(rows.shape))

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Table) and self.name == other.name


def _colours(rows: Any, revision: str, space: str, fit: str, seed: int) -> Palette | PagePalette:
    if fit not in ("force", "exact"):
        raise SettingsError(f"fit {fit!r} is not known; use force or exact")
    if len(rows) > WHOLE:
        return PagePalette(rows, space, seed)
    return Palette(_base(_Table(rows, revision), space, seed), fit)  # type: ignore[arg-type]


@lru_cache(maxsize=2)
def _base(table: _Table, space: str, seed: int) -> WordColours:
    """The words' map, made once for a model: a new prompt finds it there."""
    from langscape.engine import colours

    return colours(np.asarray(table.rows), space=space, seed=seed)  # type: ignore[arg-type]
