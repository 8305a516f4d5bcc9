"""The tokens that a model read, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from langscape.data.noun import Noun, frozen
from langscape.data.token_text import readable_tokens
from langscape.errors import DataError


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Tokens(Noun, Sequence[str]):
    """What a model read, token by token: a sequence of their labels, and a column for whatever else is known.

    labels    the tokenizer's own tokens ("##ing", "Ġlamp")
    texts     what each stands for in the text ("ing", " lamp"); the labels where it is not known
    special   (n,) whether it is [CLS], </s> or the like rather than text
    sentence  (n,) the number of the sentence it stands in, from 0
    ids       (n,) its number in the vocabulary; None where it is not known
    offsets   (n, 2) where it begins and ends in the text, in characters; None where it is not known
    words     the number of its word, None for special tokens; None as a whole where words are not known
    parts_of_speech  one for each, where a tagger gave them
    generated (n,) whether the model wrote it itself, behind the text
    side      "encoder" or "decoder" in a model that has both

    >>> tokens = Tokens(["[CLS]", "lamp", "##light"], special=[True, False, False])
    >>> len(tokens), tokens[1], tokens.special.tolist(), tokens.take([1, 2])
    (3, 'lamp', [True, False, False], Tokens(['lamp', '##light']))
    """

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    special: np.ndarray
    sentence: np.ndarray
    ids: np.ndarray | None
    offsets: np.ndarray | None
    words: tuple[int | None, ...] | None
    parts_of_speech: tuple[str, ...] | None
    side: Literal["encoder", "decoder"] | None
    generated: np.ndarray

    codec_version = 2

    def __init__(
        self,
        labels: Sequence[str],
        texts: Sequence[str] | None = None,
        special: Any = None,
        sentence: Any = None,
        ids: Any = None,
        offsets: Any = None,
        words: Sequence[int | None] | None = None,
        parts_of_speech: Sequence[str] | None = None,
        side: Literal["encoder", "decoder"] | None = None,
        generated: Any = None,
    ) -> None:
        labels = tuple(str(label) for label in labels)
        n = len(labels)
        columns = {
            "labels": labels,
            "texts": labels if texts is None else tuple(str(text) for text in texts),
            "special": np.zeros(n, bool) if special is None else _column("special", special, "b"),
            "sentence": np.zeros(n, np.int64) if sentence is None else _column("sentence", sentence),
            "ids": None if ids is None else _column("ids", ids),
            "offsets": None if offsets is None else _column("offsets", offsets),
            "words": None if words is None else tuple(None if one is None else int(one) for one in words),
            "parts_of_speech": None
            if parts_of_speech is None
            else tuple(str(one) for one in parts_of_speech),
            "generated": np.zeros(n, bool) if generated is None else _column("generated", generated, "b"),
        }
        for name, column in columns.items():
            shape = None if column is None else getattr(column, "shape", (len(column),))
            if shape not in (None, (n, 2) if name == "offsets" else (n,)):
                raise DataError(f"{name} has shape {shape}, but there are {n} tokens; give one for each")
            object.__setattr__(self, name, frozen(column) if isinstance(column, np.ndarray) else column)
        if side not in (None, "encoder", "decoder"):
            raise DataError(
                f'side {side!r} is not known; tokens are of the "encoder", the "decoder" or of None'
            )
        object.__setattr__(self, "side", side)

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Tokens: ...
    def __getitem__(self, index: int | slice) -> str | Tokens:
        return self.take(range(len(self))[index]) if isinstance(index, slice) else self.labels[index]

    def __repr__(self) -> str:
        return f"Tokens({list(self.labels)!r})"

    @property
    def shown(self) -> tuple[str, ...]:
        """What each token stands for in the text; those that stand for nothing there, by their label."""
        both = zip(self.texts, self.labels, strict=True)
        return tuple(text if text.strip() else label for text, label in both)

    @property
    def readable(self) -> tuple[str, ...]:
        """Each token as pictures and tables write it: decoded, with ␣ for a leading space, and ‹1/2› behind
        a character that the tokenizer cut in two.

        >>> Tokens(["The", "Ġlamp"], ["The", " lamp"]).readable
        ('The', '␣lamp')
        """
        return readable_tokens(self.labels, self.texts, self.special.tolist())

    def text_between(self, begin: int, end: int) -> tuple[str, int]:
        """The text of the tokens from `begin` up to `end`, where it ends; characters cut in two, once."""
        if self.offsets is None:
            return "".join(self.texts[begin:end]), 0
        text, last = "", int(self.offsets[begin, 0])
        for i in range(begin, end):  # pieces of one character share its place in the text
            start, stop = self.offsets[i]
            text += self.texts[i][max(0, last - start) :] if stop > start else self.texts[i]
            last = max(last, int(stop))
        return text, last

    @property
    def cut_words(self) -> tuple[tuple[int, int, str], ...]:
        """(first token, the one after its last, text) of every word of several tokens; none where unknown.

        >>> Tokens(["un", "##seen", "lamp"], ["un", "seen", "lamp"], words=[0, 0, 1]).cut_words
        ((0, 2, 'unseen'),)
        """
        if self.words is None:
            return ()
        words = [*self.words, None]
        starts = [i for i in range(len(self)) if i == 0 or words[i] is None or words[i] != words[i - 1]]
        spans = zip(starts, [*starts[1:], len(self)], strict=True)
        cut = [
            (begin, end, self.text_between(begin, end)[0].strip()) for begin, end in spans if end > begin + 1
        ]
        return tuple(span for span in cut if span[2])

    @property
    def positions(self) -> np.ndarray:
        """(n,) how many tokens of the same sentence stand before each."""
        places = np.arange(len(self))
        begins = np.append(True, np.diff(self.sentence) != 0)[: len(self)]
        return places - np.maximum.accumulate(np.where(begins, places, 0))

    @property
    def text_positions(self) -> np.ndarray:
        """(n,) the number of each in the whole text, as one reading of all sentences at once would count.

        A special token that a sentence begins or ends with stands in the whole text only at its two ends;
        elsewhere it has the number -1.

        >>> two = [Tokens(["[CLS]", word, "[SEP]"], special=[True, False, True]) for word in ("bank", "boat")]
        >>> Tokens.joined(two).text_positions.tolist()
        [0, 1, -1, -1, 2, 3]
        """
        kept = ~self.special
        if kept.any():
            first, last = np.flatnonzero(kept)[[0, -1]]
            kept[:first], kept[last:] = True, True
        return np.where(kept, np.cumsum(kept) - 1, -1)

    def require_ids(self) -> np.ndarray:
        """The ids, (n,); tokens that have none are refused."""
        if self.ids is None:
            raise DataError("these tokens have no ids; capture the text with its model, or give ids")
        return self.ids

    def take(self, rows: Any) -> Tokens:
        """The chosen rows, in the order given."""
        rows = np.asarray(rows, np.intp)
        return Tokens(
            **{name: _rows(getattr(self, name), rows) for name in _COLUMNS},
            side=self.side,
        )

    def but(self, **changes: Any) -> Tokens:
        """A copy with some columns replaced."""
        columns = {name: getattr(self, name) for name in (*_COLUMNS, "side")}
        return Tokens(**{**columns, **changes})

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """The tokens of several texts one after another, each a sentence of its own; offsets are of none."""
        return cls(
            [label for part in parts for label in part],
            [text for part in parts for text in part.texts],
            np.concatenate([part.special for part in parts]),
            np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
            _all([part.ids for part in parts]),
            words=_all([part.words for part in parts]),
            side=parts[0].side,
            generated=np.concatenate([part.generated for part in parts]),
        )


_COLUMNS = (
    "labels",
    "texts",
    "special",
    "sentence",
    "ids",
    "offsets",
    "words",
    "parts_of_speech",
    "generated",
)


def _column(name: str, values: Any, kinds: str = "iu") -> np.ndarray:
    """Whole numbers, or with kinds "b" truth values, as an array."""
    try:
        column = np.asarray(values)
    except ValueError:  # rows of different lengths
        column = np.empty(1, object)
    if not column.size:  # an empty list has no kind of its own
        column = np.empty((0, 2) if name == "offsets" else 0, bool if kinds == "b" else np.int64)
    if column.dtype.kind not in kinds:
        kind = "truth values" if kinds == "b" else "whole numbers"
        raise DataError(f"the {name} of tokens must be {kind}, one for each")
    return column.astype(np.bool_ if kinds == "b" else np.int64, copy=False)


def _rows(column: Any, rows: np.ndarray) -> Any:
    if column is None or isinstance(column, np.ndarray):
        return None if column is None else column[rows]
    return tuple(column[int(row)] for row in rows)


def _all(columns: Sequence[Any]) -> list[Any] | None:
    """The columns as one; None where one of them is not known."""
    if any(column is None for column in columns):
        return None
    return [one for column in columns for one in column]
