"""Heads over a corpus, part by part: the texts that are read, what heads do over some, and the probe.

Parts are kept in the store, so that a run that was stopped goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import check_reads_text, induction_probe
from langscape.data import Capture, Progress, Step
from langscape.declarations import Input, Setting, analysis
from langscape.declarations.running import opened
from langscape.declarations.settings import Layers, Model, Seed
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun
from langscape.metrics.head_tally import (
    HeadTally,
    HeadText,
    Passages,
    joined_passages,
    tally_texts,
    top_passages,
)
from langscape.store.results import Writes

SHORTEST = 8
"""Tokens that a text needs: in fewer a head has nothing to choose from."""

PROBES = 16
"""Rows of random tokens, each three times, on which decoders show induction."""

_AT_ONCE = 5e7
"""Bytes of weights that are scored together."""

Texts = Annotated[
    str | Path | Sequence[str] | Sequence[Path] | None,
    Input(
        "corpus",
        "Texts",
        "Many texts: a text file, a folder, a .csv or .parquet with a column of texts, or a packaged corpus "
        "(`langscape corpora`); sample texts if left out.",
        sample="sample-corpus",
        many=True,
        listed=True,
        short="t",
    ),
]
Unit = Annotated[
    Literal["auto", "sentence", "paragraph", "line", "whole"],
    Setting(
        "A text is",
        "A sentence, a paragraph, a line, or the whole of a file or row; auto is a sentence of a file, and "
        "the whole of a row of a table or list.",
        labels={
            "auto": "a sentence, or a row",
            "sentence": "a sentence",
            "paragraph": "a paragraph",
            "line": "a line",
            "whole": "the whole file or row",
        },
    ),
]
Column = Annotated[str | None, Setting("Column", "Of a table: the column that holds the texts.")]
Most = Annotated[
    int, Setting("Texts at most", "So many texts are drawn evenly from all there are; 0 reads all.", ge=0)
]
LongestText = Annotated[
    int,
    Setting("Tokens at most", "Of a longer text the first so many tokens are read.", ge=SHORTEST, le=4096),
]
First = Annotated[int, Setting("First", "The first text of the part.", ge=0)]
Count = Annotated[int, Setting("Count", "How many texts the part has.", ge=1)]


@noun
@dataclass(frozen=True, eq=False)
class HeadPart:
    """What the heads did over some texts.

    heads     (layer, head) of each, as the model numbers them; none where no text was long enough
    short     texts that had too few tokens, cut those that had too many
    """

    heads: tuple[tuple[int, int], ...]
    tally: HeadTally | None
    passages: Passages | None
    short: int
    cut: int


@noun
@dataclass(frozen=True, eq=False)
class Probe:
    """What the heads of a decoder did over random tokens that repeat; half of the rows each."""

    halves: tuple[HeadTally, ...]


@analysis(version=1, name="heads.texts", hidden=True)
def head_texts(
    texts: Texts = None,
    *,
    unit: Unit = "auto",
    column: Column = None,
    most: Most = 1000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Path:
    """The texts that are read, in a file of which parts are read alone."""
    from langscape.sources.texts import sample_texts, stream_texts, write_texts

    def write(path: Path) -> None:
        how = None if unit == "auto" else unit
        chosen = sample_texts(lambda: stream_texts(texts, how, column), most or None, seed)
        if not write_texts(path, chosen):
            raise DataError("the corpus holds no text; give files with some sentences")

    return Writes("file", write)  # type: ignore[return-value]


@analysis(version=3, name="heads.part", hidden=True)
def head_part(
    model: Model = "default",
    texts: Texts = None,
    *,
    layers: Layers = None,
    tokens: LongestText = 256,
    first: First = 0,
    count: Count = 64,
    progress: Progress | None = None,
) -> HeadPart:
    """What the heads do over `count` texts from `first` on, of a file that `heads.texts` made."""
    from langscape.sources.texts import read_texts

    network = opened(model)
    check_reads_text(network)
    (file,) = texts if isinstance(texts, list | tuple) else (texts,)
    read, short, cut = _readable(network, read_texts(Path(file), first, count), first, tokens)  # type: ignore[arg-type]
    heads: tuple[tuple[int, int], ...] = ()
    tally: HeadTally | None = None
    found: list[Passages] = []
    tell, done = progress or (lambda step: None), 0
    for some in _captured(network, read, layers, tokens):
        seen = some[0][1].attention()
        heads = tuple((layer, head) for layer in seen.layers for head in seen.heads)
        ready = [head_text(capture, number) for number, capture in some]
        more = tally_texts(ready)
        tally = more if tally is None else tally + more
        found.append(top_passages(ready, tally.mean_by_distance()))
        done += len(some)
        tell(Step(done, len(read), "texts"))
    passages = joined_passages(found, tally.mean_by_distance()) if tally is not None else None
    return HeadPart(heads, tally, passages, short, cut)


@analysis(version=2, name="heads.probe", hidden=True)
def head_probe(
    model: Model = "default", *, layers: Layers = None, seed: Seed = 0, progress: Progress | None = None
) -> Probe:
    """What a decoder’s heads do over random tokens that stand three times; of others, nothing."""
    network = opened(model)
    check_reads_text(network)
    halves: list[HeadTally] = []
    for half in range(2):
        tally: HeadTally | None = None
        for at in range(half, PROBES, 2):  # one at a time: the weights of a row of SmolLM2 take 16 MB
            row = induction_probe(network, layers, seed + at)
            if row is not None:
                more = tally_texts([head_text(row, at)])
                tally = more if tally is None else tally + more
        if tally is not None:
            halves.append(tally)
    return Probe(tuple(halves))


def head_text(capture: Capture, number: int) -> HeadText:
    """A capture as it is scored."""
    from langscape.metrics.sinks import separators_of
    from langscape.models.token_classes import token_classes

    seen = capture.attention()
    tokens = seen.keys
    ids = tokens.labels if tokens.ids is None else tokens.ids.tolist()
    words = tokens.words if tokens.words is not None else (None,) * len(tokens)
    classes = token_classes(tokens.texts, tokens.special.tolist(), words, tokens.sentence.tolist())
    return HeadText(
        np.asarray(seen.weights), number, ids, tokens.special, separators_of(tokens), words, tokens.texts,
        classes, tokens.readable,
    )  # fmt: skip


def _readable(
    network: Any, texts: Sequence[str], first: int, most: int
) -> tuple[list[tuple[int, str]], int, int]:
    """(number, text) of those that are long enough, cut to so many tokens; how many were short, and cut."""
    from langscape.models.tokens import split

    if network.tokenizer is None:
        raise SettingsError(f"{network.name} has no tokenizer, so it cannot read texts")
    limit = most if network.longest is None else min(most, network.longest)
    kept: list[tuple[int, str]] = []
    short = cut = 0
    for number, text in enumerate(texts, first):
        near = text[: 20 * limit]  # nobody's tokens are longer on average: the rest need not be tokenised
        try:
            tokens = split(network, near, "window")[0]
        except DataError:  # nothing in it that the tokenizer knows
            short += 1
            continue
        if len(tokens) < SHORTEST:
            short += 1
            continue
        if len(tokens) > limit or len(near) < len(text) or tokens.window is not None:
            plain = [end for (_, end), mark in zip(tokens.offsets, tokens.special, strict=True) if not mark]
            around = len(tokens) - len(plain)
            text = near[: plain[: max(limit - around, 1)][-1]]
            cut += 1
        kept.append((number, text))
    return kept, short, cut


def _captured(
    network: Any, texts: Sequence[tuple[int, str]], layers: list[int] | None, most: int
) -> Iterator[list[tuple[int, Capture]]]:
    """Captures with the numbers of their texts, as many together as take little memory."""
    from langscape.models import capture_each

    room = max(2 * _AT_ONCE, 8.0 * network.layers * network.heads * most**2)
    stream = capture_each(network, (text for _, text in texts), ("attention",), layers, memory=room)
    waiting: list[tuple[int, Capture]] = []
    size = 0
    for (number, _), capture in zip(texts, stream, strict=True):
        waiting.append((number, capture))
        size += capture.attention().weights.nbytes
        if size > _AT_ONCE:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting
