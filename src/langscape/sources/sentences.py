"""A text cut into sentences, by blank lines, full stops and a few rules; no model, no language data."""

from __future__ import annotations

import re

_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"""(?<=[.!?…])(["'”’»)\]]*)\s+(?=["'“‘«(\[]*[A-ZÀ-ÖØ-Þ0-9])""")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st mt vs etc e.g i.e cf no vol fig eq sec ch pp p inc ltd co jr sr "  # noqa: SIM905
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_LONGEST = 40
"""Letters before a full stop that are looked at, more than any abbreviation has."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line; a blank line always ends one.

    A full stop after an abbreviation ("Mr.", "e.g.") or a single capital ("J.") ends nothing.

    >>> sentences('He met Mr. Berg. "You are late," he said.')
    ['He met Mr. Berg.', '"You are late," he said.']
    """
    found: list[str] = []
    for paragraph in _PARAGRAPH.split(text):
        line = " ".join(paragraph.split())
        start = 0
        for end in _END.finditer(line):
            if not _abbreviated(line[max(start, end.start() - _LONGEST) : end.start()]):
                found.append(line[start : end.end(1)])
                start = end.end()
        if line[start:]:
            found.append(line[start:])
    return found


def _abbreviated(before: str) -> bool:
    if not before.endswith(".") or before.endswith(".."):
        return False
    word = before[:-1].rsplit(" ", 1)[-1].lstrip("(\"'“‘").lower()
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i")
