"""Prompt → flow: a model's vectors over a text, coloured by meaning, and what made each number.

The model runs once for a prompt (`flow.reading`), its words are mapped to colours once for a colour space
(`flow.word_colours`), and vectors are fitted among them once (`flow.vector_colours`). Each is kept in the
store: another number of words or another colour starts from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from langscape.analyses._flow_baseline import baseline_of
from langscape.analyses._flow_lens import fitted_lens
from langscape.analyses._flow_lstm import LSTMReading, lstm_flow, read_lstm, screen_bytes, with_references
from langscape.analyses._flow_stream import GREY, StreamReading, read_stream, stream_flow
from langscape.analyses._flow_words import DEEPEST, follows, honest, vectors_follow
from langscape.data import Flow, Progress, Step, View
from langscape.data.lstm_baseline import LSTMBaseline
from langscape.data.step import within
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import Generate, Seed
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.models.catalog import CATALOG, in_words
from langscape.models.display_names import model_title
from langscape.views.flow_lstm import GATES

if TYPE_CHECKING:
    from langscape.engine import WordColours

WHOLE = 10_000
"""Words up to which a transformer's vocabulary is coloured as a whole; of a larger one, those that are named.

A sample of the vocabulary would not do: in hundreds of dimensions other words are about equally far from all
of it, and take one colour."""

READ = 85
"""Hundredths of a flow's progress that the reading takes; colours take the rest."""

PROMPT = "The capital of France is Paris, and the capital of Italy is"
"""What a transformer reads where nothing is given."""

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
Baseline = Annotated[
    str | Path | None,
    Input(
        "text",
        "Compare with",
        "A text of the kind that an LSTM was trained on: what is unusual is "
        "told against it. Left out, it is the text that is kept with the model.",
        option="--baseline",
    ),
]
At = Annotated[
    int | None,
    Setting(
        "Token",
        "Of a prompt too long to show whole, the token that is looked at, from 0; the last if left out. "
        "For transformers.",
        ge=0,
    ),
]
OwnWords = Annotated[
    list[str] | None,
    Setting(
        "Words of your own",
        "Words whose logits are taken apart beside those that a transformer says; two can be set against "
        "each other, such as Rome and Paris.",
        option="--word",
    ),
]
Lens = Annotated[
    Literal["logit", "tuned"],
    Setting(
        "Lens",
        "How the nodes of a transformer are read: as if the model ended there, or also by a lens that was "
        "fitted to the model. It is fitted once, in a minute or two, and kept.",
        labels={"logit": "logit lens", "tuned": "logit lens and tuned lens"},
    ),
]
LensText = Annotated[
    str | Path | None,
    Input(
        "corpus",
        "Text of the lens",
        "What the tuned lens is fitted to: a text file, a folder, or a packaged corpus. Left out, sentences "
        "of State of the Union addresses that come with the package.",
        option="--lens-text",
    ),
]
Top = Annotated[int, Setting("Words", "Words named at every place.", ge=1, le=DEEPEST, document="003")]
Space = Annotated[
    Literal["oklab", "rgb"],
    Setting(
        "Colour space",
        "OKLab, where equal distances look equal, or red, green and blue as Sawatzky & Kozyr have it.",
        document="003",
        labels={"oklab": "OKLab", "rgb": "RGB"},
    ),
]
Fit = Annotated[
    Literal["exact", "force"],
    Setting(
        "Colour of vectors",
        "Found over all mapped words, or by the forces of Sawatzky & Kozyr from sixteen of them.",
        document="003",
    ),
]


@noun
@dataclass(frozen=True, eq=False)
class VectorColours:
    """The colours of an LSTM's vectors by their names, uint8; grey where a vector has no honest colour.

    scores      "colours", how well colours follow the vectors that have one, gates left out, and
                "colours_null"
    grey, of    how many vectors are grey, of how many
    references  the words that Sawatzky & Kozyr's method fits against, their places in the cube (word, 3) and
                colours, and `far` the distances (…, word) of every vector from them, by its name
    """

    colours: Mapping[str, np.ndarray]
    scores: Mapping[str, float]
    grey: int
    of: int
    references: tuple[str, ...]
    places: np.ndarray
    reference_colours: np.ndarray
    far: Mapping[str, np.ndarray]

    def fitting(self, space: str) -> dict[str, np.ndarray]:
        """What a page needs to show how a vector finds its colour."""
        from langscape.engine.colour import cube_frame

        arrays = {f"far_{name}": one for name, one in self.far.items()}
        return {**arrays, "reference_places": self.places, **cube_frame(space)}


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


@analysis(version=4, name="flow.baseline", hidden=True)
def flow_baseline(
    model: FlowModel = "lstm-tiny",
    *,
    baseline: Baseline = None,
    progress: Progress | None = None,
) -> LSTMBaseline:
    """What is usual of an LSTM over a text, with which the alarms of every prompt compare."""
    return baseline_of(opened(model), None if baseline is None else str(baseline))


@analysis(version=1, name="flow.lens", hidden=True)
def flow_lens(
    model: FlowModel = "decoder",
    *,
    lens_text: LensText = None,
    progress: Progress | None = None,
) -> Any:
    """A lens that is fitted to a transformer (`TunedLens`), kept with its scores for all prompts."""
    return fitted_lens(opened(model), lens_text, progress)


@analysis(version=13, name="flow.reading", hidden=True, uses=(flow_baseline, flow_lens))
def flow_reading(
    model: FlowModel = "lstm-tiny",
    prompt: Prompt = None,
    *,
    prompt_file: PromptFile = None,
    baseline: Baseline = None,
    generate: Generate = 0,
    at: At = None,
    words: OwnWords = None,
    lens: Lens = "logit",
    lens_text: LensText = None,
    progress: Progress | None = None,
) -> LSTMReading | StreamReading:
    """What a model does with a prompt, and what its vectors mean: all that needs the model itself."""
    if progress:
        progress(Step(0, 100, "reading the prompt", counts=False))
    network = opened(model)
    text = prompt if prompt_file is None else str(prompt_file).strip()
    if prompt_file is not None and not text:
        raise SettingsError("the text is empty; give at least one word")
    text = default_prompt(network) if text is None else text
    if network.kind in ("lstm", "gru"):
        if lens == "tuned":
            raise SettingsError(
                f"{network.name} is a recurrent network, which has no lens; leave the tuned lens out"
            )
        usual = flow_baseline(model, baseline=baseline) if network.kind == "lstm" else None
        return read_lstm(network, text, usual, generate)
    fitted = flow_lens(model, lens_text=lens_text, progress=progress) if lens == "tuned" else None
    return read_stream(network, text, generate, at, words or (), fitted, progress)


@analysis(version=4, name="flow.word_colours", hidden=True)
def flow_word_colours(
    model: FlowModel = "lstm-tiny",
    *,
    space: Space = "oklab",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Any:
    """A colour for every word of a model (`engine.WordColours`)."""
    network = opened(model)
    if network.kind in ("lstm", "gru"):
        return _word_colours(_Table(network.weights()["embedding"], network.revision), space, seed)
    from langscape.models import word_table

    return _word_colours(_Table(word_table(network), network.revision), space, seed)


@analysis(version=4, name="flow.vector_colours", hidden=True, uses=(flow_reading, flow_word_colours))
def flow_vector_colours(
    model: FlowModel = "lstm-tiny",
    prompt: Prompt = None,
    *,
    prompt_file: PromptFile = None,
    baseline: Baseline = None,
    generate: Generate = 0,
    space: Space = "oklab",
    fit: Fit = "exact",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> VectorColours:
    """The colours of an LSTM's vectors, each fitted among the words."""
    reading = flow_reading(model, prompt, prompt_file=prompt_file, baseline=baseline, generate=generate)
    assert isinstance(reading, LSTMReading)
    words = flow_word_colours(model, space=space, seed=seed)
    found, flat, fitted, greys, far = {}, [], [], [], {}
    plain = GATES[reading.kind]  # they have another meaning, and are no part of the score
    for name, vectors in reading.coloured_vectors().items():
        rows = vectors.reshape(-1, vectors.shape[-1])
        rgb = words.fit(rows, fit)
        grey = (words.follows(rows, rgb) < honest(len(words.mapped))) | ~words.near(rows, seed)
        found[name] = np.where(grey[:, None], GREY, screen_bytes(rgb)).astype(np.uint8)
        found[name] = found[name].reshape(*vectors.shape[:-1], 3)
        far[name] = words.distances(rows).reshape(*vectors.shape[:-1], -1).astype(np.float32)
        if name not in plain:
            flat.append(rows)
            fitted.append(rgb)
            greys.append(grey)
    told = np.concatenate(greys)
    scores = vectors_follow(np.concatenate(flat)[~told], np.concatenate(fitted)[~told], seed)
    known = opened(model).words
    return VectorColours(
        found, scores, int(told.sum()), len(told), tuple(known[row] for row in words.references.tolist()),
        words.points[words.references].astype(np.float32), screen_bytes(words.rgb[words.references]), far,
    )  # fmt: skip


@analysis(
    version=19,
    pictures=(flow_picture,),
    uses=(flow_baseline, flow_lens, flow_reading, flow_word_colours, flow_vector_colours),
    describe=_title,
    check=_check,
    ignores=lambda settings: () if settings["lens"] == "tuned" else ("lens_text",),
    formats=FORMATS,
    opens=True,
    example={"model": "decoder", "prompt": "The capital of France is"},
    examples=(
        "langscape flow lstm-tiny --prompt 'the cat' --out flow.html",
        "langscape flow decoder --prompt 'The capital of France is' --lens tuned --out flow.html",
    ),
)
def flow(
    model: FlowModel = "lstm-tiny",
    prompt: Prompt = None,
    *,
    prompt_file: PromptFile = None,
    baseline: Baseline = None,
    generate: Generate = 0,
    at: At = None,
    words: OwnWords = None,
    lens: Lens = "logit",
    lens_text: LensText = None,
    top: Top = 8,
    space: Space = "oklab",
    fit: Fit = "exact",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Flow:
    """Watch vectors move through an LSTM or a transformer, and see what made each number.

    >>> found = flow("lstm-tiny", "the small dog barks .")
    >>> found.tokens
    ('.', 'the', 'small', 'dog', 'barks', '.')
    """
    text: dict[str, Any] = {
        "prompt": prompt, "prompt_file": prompt_file, "baseline": baseline, "generate": generate,
    }  # fmt: skip
    tell = within(progress, 0, 100)
    reading = flow_reading(
        model, **text, at=at, words=words, lens=lens, lens_text=lens_text, progress=within(progress, 0, READ)
    )
    title = flow_title(reading.model, reading.prompt)
    tell(Step(READ, 100, "colours of words"))
    if isinstance(reading, LSTMReading):
        mapped = flow_word_colours(model, space=space, seed=seed)
        tell(Step(READ + 5, 100, "colours of vectors"))
        vectors = flow_vector_colours(model, **text, space=space, fit=fit, seed=seed)
        found = lstm_flow(reading, title, top, vectors.colours, mapped, vectors.scores)
        found = with_references(found, vectors.references, vectors.reference_colours, vectors.fitting(space))
        if vectors.grey:
            said = (
                f"{vectors.grey} of {vectors.of} vectors, gates left out, are grey: their nearest words are "
                "about equally far, or no colour says where they stand among the words"
            )
            found = replace(found, remarks=(*found.remarks, said))
        return found
    if reading.vocabulary <= WHOLE:
        mapped = flow_word_colours(model, space=space, seed=seed)
        return stream_flow(reading, title, top, lambda ids: (_screen(mapped, ids), follows(mapped)))
    return stream_flow(reading, title, top, lambda ids: _colours_of_named(reading, ids, space, seed))


def flow_title(model: str, prompt: str) -> str:
    """What a flow is called: who reads, and how the text begins.

    >>> flow_title("lstm-tiny", "the cat  sat")
    'Tiny LSTM reads “the cat sat”'
    """
    text = " ".join(prompt.split())
    return f"{model_title(model)} reads “{text if len(text) <= 40 else text[:39] + '…'}”"


def default_prompt(model: Any) -> str:
    """A short prompt that suits the model."""
    if own := own_prompt(model.name):
        return own
    if model.kind in ("lstm", "gru"):
        return (
            " ".join(word for word in model.words if word.isalpha())[:60].rpartition(" ")[0] or model.words[0]
        )
    return PROMPT


def own_prompt(name: str) -> str:
    """What a model of the catalog reads where nothing is given; empty of others, which must be opened first.

    >>> own_prompt("lstm-tiny")
    'the small dog that chases a bird barks .'
    """
    known = CATALOG.get(name)
    return "" if known is None else known.prompt or PROMPT


def _screen(words: WordColours, ids: Sequence[int]) -> np.ndarray:
    return screen_bytes(words.rgb[list(ids)])


def _colours_of_named(
    reading: StreamReading, ids: Sequence[int], space: Any, seed: int
) -> tuple[np.ndarray, dict[str, float]]:
    """Of a large vocabulary, the colours of the words that a flow names: they are mapped together."""
    from langscape.engine import colours

    words = colours(reading.words.rows[reading.words.places(ids)], space=space, seed=seed)
    return screen_bytes(words.rgb), follows(words)


class _Table:
    """A matrix of words, torch's or ours, that the cache of colours knows by its model's revision."""

    def __init__(self, rows: Any, revision: str) -> None:
        self.rows = rows
        self.name = (revision, tuple(rows.shape))

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Table) and self.name == other.name


@lru_cache(maxsize=2)
def _word_colours(table: _Table, space: Any, seed: int) -> WordColours:
    """The words' map, made once in a process: an opened model, which the store cannot name, finds it here."""
    from langscape.engine import colours

    return colours(np.asarray(table.rows), space=space, seed=seed)
