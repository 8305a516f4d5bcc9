"""Which row of the vectors a listed word means: exact, then lower case, then other joints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_JOINT = re.compile(r"[ _\-\u00a0]+")
_JOINTS = (" ", "_", "-")


@dataclass(frozen=True, eq=False)
class Matches:
    """Where listed words were found.

    rows      row of the vectors for each listed word that was found
    kept      its place in the list, so that a word listed twice counts twice
    missing   the listed words that were not found, in list order
    respelled listed word → the spelling it was found under, where that differs
    """

    rows: tuple[int, ...]
    kept: tuple[int, ...]
    missing: tuple[str, ...]
    respelled: Mapping[str, str]

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know, in sentences; empty if every word stood as listed."""
        sentences = []
        if self.missing:
            count = f"{len(self.missing)} of {len(self.missing) + len(self.kept)} listed words"
            was = "was" if len(self.missing) == 1 else "were"
            sentences.append(f"{count} {was} not found: {some(self.missing)}")
        if self.respelled:
            pairs = [f"{listed} → {found}" for listed, found in self.respelled.items()]
            words = counted(len(pairs), "word was", "words were")
            sentences.append(f"{words} found under another spelling: {some(pairs, 6)}")
        return tuple(sentences)


def match_words(listed: Sequence[str], rows: Mapping[str, int]) -> Matches:
    """The row of each listed word in `rows` (spelling → row); nothing is lost silently.

    >>> match_words(["Oslo", "New York", "tea"], {"oslo": 0, "new_york": 1}).missing
    ('tea',)
    """
    found, kept, missing, respelled = [], [], [], {}
    for place, word in enumerate(listed):
        spelling = next((s for s in spellings(word) if s in rows), None)
        if spelling is None:
            missing.append(word)
            continue
        found.append(rows[spelling])
        kept.append(place)
        if spelling != word:
            respelled[word] = spelling
    return Matches(tuple(found), tuple(kept), tuple(missing), respelled)


def spellings(word: str) -> tuple[str, ...]:
    """The ways a listed word may be spelled in a file of vectors, the likeliest first.

    >>> spellings("New York")[:4]
    ('New York', 'new york', 'New_York', 'New-York')
    """
    tried = [word, word.lower()]
    parts = _JOINT.split(word.strip())
    if len(parts) > 1:
        joined = [joint.join(parts) for joint in _JOINTS]
        tried += [*joined, *(spelling.lower() for spelling in joined)]
    return tuple(dict.fromkeys(tried))


def counted(count: int, one: str, many: str) -> str:
    """A number with the words that fit it.

    >>> counted(1, "word stands", "words stand"), counted(1200, "word stands", "words stand")
    ('1 word stands', '1,200 words stand')
    """
    return f"{count:,} {one if count == 1 else many}"


def some(words: Iterable[str], most: int = 12) -> str:
    """The first few, comma-separated, and how many more there are."""
    words = list(words)
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"
