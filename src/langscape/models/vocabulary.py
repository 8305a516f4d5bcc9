"""The words of a language model of our own: text → word numbers and back, by word or by character."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from langscape.errors import DataError, SettingsError

Level = Literal["word", "char"]
UNKNOWN = "<unk>"
START = "<s>"
# a name in angle brackets, a word with its inner hyphens and apostrophes, or one mark
_WORD = re.compile(r"<\w+>|\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Vocabulary:
    """The words a model knows, in the order of its rows.

    level    "word": words and marks; "char": every character
    lower    text is lowered before it is looked up
    unknown  the word that stands for all others; None where others are an error
    start    the word every text begins with; None where it begins with its own first word

    >>> Vocabulary(("the", "cat", "sleeps", "."), start=".").encode("The cat sleeps")
    [0, 1, 2]
    """

    words: tuple[str, ...]
    level: Level = "word"
    lower: bool = True
    unknown: str | None = None
    start: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        if self.level not in get_args(Level):
            raise SettingsError(f'level {self.level!r} is not known; use "word" or "char"')
        if len(self.words) < 2:
            raise DataError(f"a vocabulary needs at least 2 words, and this has {len(self.words)}")
        for word in self.words:
            if not isinstance(word, str) or not word:
                raise DataError(f"{word!r} is not a word; a vocabulary is a list of texts, none empty")
        if len(self.number) < len(self.words):
            word, count = Counter(self.words).most_common(1)[0]
            raise DataError(f"the vocabulary holds {word!r} {count} times; every word has one row")
        for name in ("unknown", "start"):
            if (word := getattr(self, name)) is not None and word not in self.number:
                raise SettingsError(f"{name} is {word!r}, which is not in the vocabulary; use None or a word")

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def number(self) -> dict[str, int]:
        """The row of every word."""
        return {word: row for row, word in enumerate(self.words)}

    def split(self, text: str) -> list[str]:
        """The text in its words, known or not."""
        return [piece for piece, _ in self._pieces(text)]

    def encode(self, text: str) -> list[int]:
        """The rows of the text's words; a word without one is `unknown`, or an error where there is none."""
        return [row for row, _, _ in self.places(text)]

    def places(self, text: str) -> list[tuple[int, str, int]]:
        """For every word its row, what the text says, and where in the text that begins."""
        rows, strange = [], []
        for piece, at in self._pieces(text):
            row = self.number.get(piece.lower() if self.lower and piece not in self.number else piece)
            if row is None and self.unknown is not None:
                row = self.number[self.unknown]
            if row is None:
                strange.append(piece)
            else:
                rows.append((row, piece, at))
        if strange:
            some = ", ".join(repr(word[:40]) for word in list(dict.fromkeys(strange))[:5])
            known = " ".join(" ".join(word[:40].split()) for word in self.words[:30]) + (
                " …" if len(self) > 30 else ""
            )
            raise DataError(f"this model does not know {some}; its {len(self)} words are: {known}")
        return rows

    def _pieces(self, text: str) -> list[tuple[str, int]]:
        if self.level == "char":
            return [(letter, at) for at, letter in enumerate(text)]
        return [(found[0], found.start()) for found in _WORD.finditer(text)]

    def settings(self) -> dict[str, Any]:
        """All of it as JSON takes it; `Vocabulary(**settings)` makes it again."""
        names = ("level", "lower", "unknown", "start", "words")
        return {name: list(self.words) if name == "words" else getattr(self, name) for name in names}


def closed_vocabulary(folder: Path) -> list[str]:
    """The words of a model in a folder that `LSTMModel.save` wrote, where it refuses texts with any other.

    Empty of a model that has a word for those it does not know, and of one by character. Opens no model.

    >>> from langscape.models.packaged import model_path
    >>> len(closed_vocabulary(model_path("lstm-tiny"))), closed_vocabulary(model_path("lstm"))
    (20, [])
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return list(config["words"]) if config["level"] == "word" and config["unknown"] is None else []


def count_words(
    texts: Iterable[str], *, most: int | None = None, level: Level = "word", lower: bool = True
) -> Vocabulary:
    """The `most` frequent words of some texts, the more frequent first, with a start and an unknown word.

    `most` counts those two as well; None keeps every word that occurs. Equal counts are in the order
    of the alphabet.

    >>> count_words(["a rose is a rose"], most=4).words
    ('<s>', '<unk>', 'a', 'rose')
    """
    if most is not None and most < 3:
        raise SettingsError(f"a vocabulary of {most} words is not possible; it needs at least 3")
    blank = Vocabulary((START, UNKNOWN), level, lower, UNKNOWN, START)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(blank.split(text.lower() if lower else text))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    special: Sequence[str] = (START, UNKNOWN)
    kept = [word for word, _ in ranked if word not in special][: None if most is None else most - 2]
    if not kept:
        raise DataError("the text holds no words; give one that does")
    return Vocabulary((*special, *kept), level, lower, UNKNOWN, START)
