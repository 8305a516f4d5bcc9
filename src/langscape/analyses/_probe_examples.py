"""Texts → the words that a probe is trained and judged on: a model's vectors there, and the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.analyses._probe_questions import answers_of
from langscape.data import Progress, Step
from langscape.errors import DataError, MissingError, SettingsError

DOCUMENTS = 12
"""Documents at most that a corpus is read from, so that each has some texts."""

LONGEST = 80
"""Words of a text that are looked at."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Words, row by row: what a model held there, and every answer.

    names      of the rows of vectors: "word", then the layers
    vectors    (row, n, dim), one array for each; of an LSTM the word's embedding may have another width
    words      what is read at each, and `texts` (n,) the number of its text
    answers    by question, None where there is none; since by question, how long ago it could be read
    """

    names: tuple[str, ...]
    vectors: tuple[np.ndarray, ...]
    words: tuple[str, ...]
    texts: np.ndarray
    answers: dict[str, np.ndarray]
    since: dict[str, np.ndarray]
    notes: tuple[str, ...]


def labelled_texts(
    model: Any, texts: Any, unit: Any, column: str | None, most: int, seed: int
) -> list[tuple[str, str | None]]:
    """Texts with the document each is of, None where there are no several documents."""
    from langscape.declarations.inputs import SAMPLES
    from langscape.sources.corpora import corpus_path
    from langscape.sources.corpus import corpus
    from langscape.sources.texts import sample_texts, stream_texts

    if texts is None:
        own: str = getattr(model, "baseline", "")
        if own:
            lines: list[tuple[str, str | None]] = [(line, None) for line in own.splitlines() if line.strip()]
            return lines[:most]
        if model.kind in ("lstm", "gru"):
            raise SettingsError(f"{model.name} keeps no text of its own; give some to read")
        texts = SAMPLES["sample-corpus"][2]
    paths = [texts] if isinstance(texts, str | Path) else list(texts)
    files: list[Path] = []
    for path in (corpus_path(one) for one in paths):
        files += corpus(path).files if path.is_dir() else [path]
    if len(files) > DOCUMENTS:
        files = [files[round(at)] for at in np.linspace(0, len(files) - 1, DOCUMENTS)]
    how = None if unit == "auto" else unit
    each = max(1, most // len(files))
    found: list[tuple[str, str | None]] = []
    for file in files:
        name = file.stem if len(files) > 1 else None
        found += [
            (one, name) for one in sample_texts(lambda f=file: stream_texts(f, how, column), each, seed)
        ]
    return found


def gather(
    model: Any,
    texts: Sequence[tuple[str, str | None]],
    vector: str,
    back: Sequence[int],
    tagger: str,
    most: int,
    progress: Progress | None = None,
) -> Examples:
    """The model over the texts, word by word, until there are so many words."""
    tag, notes = _tagger(tagger)
    tell = progress or (lambda step: None)
    rows: list[list[np.ndarray]] = []
    words: list[str] = []
    of: list[int] = []
    answers: dict[str, list[Any]] = {}
    since: dict[str, list[int]] = {}
    reader = _recurrent if model.kind in ("lstm", "gru") else _transformer
    for number, (read, vectors) in enumerate(reader(model, [text for text, _ in texts], vector)):
        if not read:
            continue
        tags = None if tag is None else list(tag(list(read)))
        found = answers_of(read, tags, back, texts[number][1])
        for name, given in found.answers.items():
            answers.setdefault(name, [None] * len(words)).extend(given)
            since.setdefault(name, [-1] * len(words)).extend(found.since.get(name, [-1] * len(read)))
        rows.append(vectors)
        words += [word.lower() for word in read]
        of += [number] * len(read)
        tell(Step(min(len(words), most), most, "words"))
        if len(words) >= most:
            break
    if not rows:
        raise DataError("the texts hold no words; give some sentences")
    joined = tuple(np.concatenate([one[at] for one in rows]) for at in range(len(rows[0])))
    names = ("word", *(f"layer {layer}" for layer in range(len(joined) - 1)))
    return Examples(
        names, joined, tuple(words), np.array(of),
        {name: np.array(given, object) for name, given in answers.items()},
        {name: np.array(given) for name, given in since.items()}, notes,
    )  # fmt: skip


def _tagger(name: str) -> tuple[Any, tuple[str, ...]]:
    from langscape.models.taggers import find_tagger

    if name == "none":
        return None, ()
    try:
        return find_tagger(name), ()
    except MissingError:
        if name != "auto":
            raise
        return None, (
            "no part-of-speech tagger is installed, so subjects were not looked for: pip install textblob, "
            "then choose the tagger textblob",
        )


Read = tuple[list[str], list[np.ndarray]]


def _recurrent(model: Any, texts: Sequence[str], vector: str) -> Iterator[Read]:
    """An LSTM or GRU over each text from its own start: the words, and embedding and states at each."""
    weights = model.weights()
    known = model.tokenizer
    start = [] if known.start is None else [known.number[known.start]]
    for text in texts:
        places = known.places(text)[:LONGEST]
        if known.level != "word":
            raise SettingsError(f"{model.name} reads characters; probes ask about words")
        begun = start if places and places[0][0] != (start or [-1])[0] else []
        ids = np.array([*begun, *(row for row, _, _ in places)], int)
        if len(ids) == 0:
            yield [], []
            continue
        inputs = weights["embedding"][ids]
        states = model.states(ids)[vector]
        yield [word for _, word, _ in places], [inputs[len(begun) :], *(one[len(begun) :] for one in states)]


def _transformer(model: Any, texts: Sequence[str], vector: str) -> Iterator[Read]:
    """A transformer over each text: its words, and the residual stream at the last token of each."""
    from langscape.models import capture_each
    from langscape.models.token_classes import whole_words

    if vector != "hidden":
        raise SettingsError(f"{model.name} has no cells; its residual stream is called hidden")
    near = [text[: 20 * LONGEST] for text in texts]
    for seen in capture_each(model, near, want=("hidden",), long="start"):
        tokens = seen.tokens
        numbers = tokens.words if tokens.words is not None else tuple(range(len(tokens)))
        whole = whole_words(tokens.texts, numbers, tokens.sentence.tolist())
        last = [
            at
            for at, number in enumerate(numbers)
            if number is not None
            and not tokens.special[at]
            and (at + 1 == len(numbers) or numbers[at + 1] != number)
        ][:LONGEST]
        yield [whole[at] for at in last], [np.asarray(one)[last] for one in seen["hidden"]]
