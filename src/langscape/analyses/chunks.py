"""Parts of a long text: how much heads attend to each, beside what leaving it out changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import check_reads_text
from langscape.data import Items, Progress, Shown, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import Model, Text
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.metrics.null import Null, rank_null
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")
LONGEST = 2000
"""Tokens of a text at most."""

FEWEST = 5
"""Chunks from which a rank correlation is told."""

PASSAGES = 19
"""Passages of like length that are left out to compare with: one more lies beyond all once in twenty."""

_MARK = re.compile(r"\[\[([^\[\]\n]{1,60})\]\][ \t]*\n?")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")

By = Annotated[
    Literal["auto", "marks", "paragraphs", "sentences"],
    Setting(
        "Chunks",
        "Where the text is parted: at marks such as [[document 1]], which the model does not read; at empty "
        "lines; or after sentences. Auto takes the first that parts it.",
    ),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Chunks(Shown):
    """The chunks of a text but the last, which reads them (of an encoder, each is read by all others).

    scores     a row per chunk: name, tokens, effect (what leaving it out changes for its readers), attention
               (their weight on it, mean of all heads), even (the same weight of all chunks, spread alike over
               their tokens) and per_token (attention over its tokens)
    attention  (layer, head, chunk) the mean weight that readers put on each chunk, the first token left out
    agreement  the rank correlation of attention and effect over chunks; NaN for fewer than five.
               agreement_per_token is that of attention over a chunk's tokens, chance the range that nine of
               ten have whose attention is shuffled among the chunks
    random     what leaving out passages as long as chunks changes, wherever they begin
    heads      (layer, head) the same of each head
    """

    model: str
    decoder: bool
    tokens: int
    reader: str
    scores: Items
    attention: np.ndarray
    agreement: float
    agreement_per_token: float
    chance: tuple[float, float]
    random: np.ndarray
    heads: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def measure(self) -> str:
        """What the effect is, in words."""
        if self.decoder:
            return f"mean KL of the next tokens of {self.reader!r}, in nats"
        return "how far the last states of the other chunks move, as a share of their length"

    def row_columns(self) -> Mapping[str, Any]:
        """A row per chunk."""
        return self.scores.row_columns()

    def view(self, title: str | None = None) -> View:
        """What leaving each chunk out changes, beside how much heads attend to it."""
        from langscape.views import Matrix, matrices

        columns = self.scores.columns
        names = list(self.scores.labels)
        left_out = Matrix(
            "Leave it out", names, ["effect"], np.asarray(columns["effect"])[:, None], "plain", 0.0, 3,
            self.measure,
        )  # fmt: skip
        looked = Matrix(
            "Attention, all heads", names, ["weight", "if even"],
            np.stack([columns["attention"], columns["even"]], 1), "plain", 0.0, 3,
            "mean of all heads, the first token left out",
        )  # fmt: skip
        some = np.array_split(np.arange(len(self.attention)), min(8, len(self.attention)))
        layers = Matrix(
            "Attention by layer", names,
            [str(one[0]) if len(one) == 1 else f"{one[0]}–{one[-1]}" for one in some],
            np.stack([self.attention[one].mean(axis=(0, 1)) for one in some], 1), "plain", 0.0, 2,
            "mean weight of these layers’ heads",
        )  # fmt: skip
        return matrices(
            [left_out, looked, layers],
            title=title or f"What the chunks of a text do in {self.model}",
            subtitle=f"{self.against_chance}. {self.in_words}. {self.tokens:,} tokens",
            row_name="chunk",
            column_name="",
            notes=self.notes,
        )

    @property
    def most_random(self) -> float:
        """The most that leaving out a passage that begins anywhere changes; NaN where none was."""
        return float(np.nanmax(self.random)) if np.isfinite(self.random).any() else float("nan")

    @property
    def against_chance(self) -> str:
        """Which chunks do more than passages that begin anywhere, and how many would by chance."""
        drawn = int(np.isfinite(self.random).sum())
        if not drawn:
            return "No passage could be left out to compare with"
        effect = self.scores.columns["effect"]
        beyond = [
            name for name, one in zip(self.scores.labels, effect, strict=True) if one > self.most_random
        ]
        which = f": {', '.join(f'“{name}”' for name in beyond)}" if 0 < len(beyond) <= 3 else ""
        return (
            f"{len(beyond) or 'None'} of {len(effect)} chunks "
            f"{'changes' if len(beyond) < 2 else 'change'} more than any of {drawn} passages as long, "
            f"left out at random places, which change {np.nanmin(self.random):.3f} to {self.most_random:.3f}"
            f"{which}; by chance {len(effect) / (drawn + 1):.1f} chunks would"
        )

    @property
    def in_words(self) -> str:
        """The rank correlation beside what chance gives, or why there is none."""
        if not np.isfinite(self.agreement):
            return f"{len(self.scores)} chunks are too few for a rank correlation of attention and effect"
        low, high = self.chance
        told = "not told apart from chance" if low <= self.agreement <= high else "beyond chance"
        return (
            f"Rank correlation of attention and effect over {len(self.scores)} chunks {self.agreement:+.2f}, "
            f"{told}: shuffled, {low:+.2f} to {high:+.2f} in nine of ten cases (attention per token "
            f"{self.agreement_per_token:+.2f})"
        )

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per head and chunk (.csv)."""
        from langscape.views import write
        from langscape.views.table import write_columns

        path = Path(path)
        if path.suffix.lower() != ".csv":
            return write(self.view(title), path)
        layers, heads, chunks = (one.ravel() for one in np.indices(self.attention.shape))
        return write_columns(
            {
                "layer": layers, "head": heads, "chunk": np.array(self.scores.labels, object)[chunks],
                "attention": self.attention.ravel(), "effect": self.scores.columns["effect"][chunks],
            },
            path,
        )  # fmt: skip


def split_text(text: str, by: str) -> list[tuple[str, str]]:
    """(name, letters) of every chunk, in order; letters together are what the model reads.

    >>> split_text("[[system]] Be brief. [[user]] Why?", "auto")
    [('system', 'Be brief. '), ('user', 'Why?')]
    >>> [name for name, _ in split_text("One day. It rained.", "sentences")]
    ['1 One day.', '2 It rained.']
    """
    marks = list(_MARK.finditer(text))
    if by == "marks" or (by == "auto" and marks):
        if len(marks) < 2:
            raise SettingsError(
                "the text has fewer than two marks such as [[document 1]]; write one before each chunk"
            )
        ends = [one.start() for one in marks[1:]] + [len(text)]
        found = [(one[1].strip(), text[one.end() : end]) for one, end in zip(marks, ends, strict=True)]
        opening = text[: marks[0].start()]
        found = ([("opening", opening)] if opening.strip() else []) + found
        names = [name for name, _ in found]
        return [
            (name if names.count(name) == 1 else f"{name} {at + 1}", letters)
            for at, (name, letters) in enumerate(found)
            if letters.strip()
        ]
    breaks = [one.end() for one in re.finditer(r"\n\s*\n", text)]
    if by == "sentences" or (by == "auto" and len(_pieces(text, breaks)) < 3):
        breaks = [one.end() for one in _SENTENCE.finditer(text)]
    return [(f"{at + 1} {_brief(one)}", one) for at, one in enumerate(_pieces(text, breaks))]


def _pieces(text: str, breaks: Sequence[int]) -> list[str]:
    ends = [*breaks, len(text)]
    pieces = [text[start:end] for start, end in zip([0, *breaks], ends, strict=True)]
    return [one for one in pieces if one.strip()]


def _brief(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 28 else f"{words[:27].rstrip()}…"


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Chunks of {names.get('text', 'a sample text')} in {model_title(settings['model'])}"


@picture("matrices", name="chunks")
def chunks_picture(found: Chunks, context: Any) -> View:
    """What leaving each chunk out changes, beside how much heads attend to it."""
    return found.view(context.title)


def lines(found: Chunks) -> list[str]:
    """The chunks, as lines of text."""
    columns = found.scores.columns
    out = [found.measure, f"{'chunk':<34} {'tokens':>6} {'effect':>9} {'attention':>9} {'per 100':>8}"]
    for row, name in enumerate(found.scores.labels):
        out.append(
            f"{name[:34]:<34} {columns['tokens'][row]:>6} {columns['effect'][row]:9.4f} "
            f"{columns['attention'][row]:9.3f} {100 * columns['per_token'][row]:8.3f}"
        )
    return [*out, found.against_chance, found.in_words]


@analysis(
    version=3,
    title="Chunks of a text",
    room="test",
    pictures=(chunks_picture,),
    describe=_title,
    lines=lines,
    formats=FORMATS,
    example={"model": "default", "text": "sample-harbour"},
    group="measure",
    examples=(
        "langscape chunks decoder --text letter.txt --by sentences",
        "langscape chunks decoder --text letter.txt --out chunks.html",
    ),
)
def chunks(
    model: Model = "decoder", text: Text = None, *, by: By = "auto", progress: Progress | None = None
) -> Chunks:
    """Leave each chunk of a text out and see what changes, beside how much every head attends to it.

    Chunks are marked in the text ([[system]], [[document 1]] …, which the model does not read), or are its
    paragraphs or sentences. Of a decoder the last chunk reads the others: the effect is the KL divergence
    of its next tokens, attention that of its queries. Of an encoder every chunk is read by all others.

    >>> found = chunks("default", "The cat sat. A dog barked. It rained.", by="sentences")
    >>> list(found.scores.labels), found.attention.shape
    (['1 The cat sat.', '2 A dog barked.', '3 It rained.'], (6, 12, 3))
    """
    from scipy.stats import spearmanr

    from langscape.models.chunk_effects import read_chunks
    from langscape.sources.word_lookup import counted

    network = opened(model)
    check_reads_text(network)
    parted = split_text(str(text), by)
    if len(parted) < 3:
        raise SettingsError(f"the text has {counted(len(parted), 'chunk', 'chunks')}; it takes three")
    letters = [letters for _, letters in parted]
    found = read_chunks(network, letters, LONGEST, draws=PASSAGES, progress=progress)
    names = [name for name, _ in parted]
    kept = names if not found.decoder else names[:-1]
    mean = found.attention.mean(axis=(0, 1))
    columns = {
        "tokens": found.sizes, "effect": found.effect, "attention": mean,
        "even": mean.sum() * found.even / found.even.sum(),
        "per_token": mean / np.maximum(found.sizes, 1),
    }  # fmt: skip
    enough = len(kept) >= FEWEST

    def rank(values: np.ndarray) -> float:
        return (
            float(np.asarray(spearmanr(values, found.effect))[0])
            if enough and np.ptp(values) > 0
            else float("nan")
        )

    by_head = np.array([[rank(one) for one in layer] for layer in found.attention])
    shuffled = rank_null(len(kept)) if enough else Null.of([])
    notes = [
        "A chunk is left out by giving the model the text without it, so that what follows moves up. "
        "Attention is the mean weight that the readers put on a chunk; weight on the first token counts for "
        "none. “If even” is the same weight, spread alike over all tokens of the chunks in sight",
        f"The {PASSAGES} passages beside have as many words as one of the chunks and begin at any word",
    ]
    if found.unaligned:
        notes.append(
            f"{found.unaligned} tokens at the borders of chunks are parted otherwise without a chunk, and "
            "are not compared"
        )
    name = title_of(model)
    return Chunks(
        name, found.decoder, found.tokens, names[-1], Items(kept, columns), found.attention, rank(mean),
        rank(columns["per_token"]), (shuffled.low, shuffled.high), found.random, by_head, tuple(notes),
    )  # fmt: skip
