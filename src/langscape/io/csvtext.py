"""CSV that a spreadsheet shows as it is: no text cell is run as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

import numpy as np

_BEGINS = r"[\s']*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # some spreadsheets take spaces away first
_FORMULA = re.compile(_BEGINS)
_GUARDED = re.compile(f"'{_BEGINS}")


def csv_rows(rows: Iterable[Sequence[object]], *, delimiter: str = ",") -> str:
    """Rows as CSV. Numbers stay numbers; text goes through `guarded`.

    >>> csv_rows([["word", "x"], ["=1+1", -0.5]])
    "word,x\\r\\n'=1+1,-0.5\\r\\n"
    """
    text = io.StringIO()
    lines = csv.writer(text, delimiter=delimiter)
    lines.writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def guarded(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula.

    A text that begins with an apostrophe and then like a formula gets one more, so that no two texts are
    written alike.

    >>> guarded("@home"), guarded("tea"), guarded("'=1")
    ("'@home", 'tea', "''=1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text as it was before `guarded`."""
    return text[1:] if _GUARDED.match(text) else text


def may_be_guarded(texts: Iterable[str]) -> bool:
    """Whether texts of a file may have gone through `guarded`: none begins like a formula, but for numbers.

    Where one does, somebody else wrote the file, and an apostrophe before another is a part of it.

    >>> may_be_guarded(["'=1", "-0.5"]), may_be_guarded(["'=1", "=1"])
    (True, False)
    """
    return all(text[:1] == "'" or not _FORMULA.match(text) or _is_number(text) for text in texts)


def _cell(cell: object) -> object:
    """Numbers in as few digits as give them back, nothing where there is none; text guarded."""
    if isinstance(cell, float | np.floating):
        return "" if cell != cell else np.format_float_positional(cell, trim="-")
    return guarded(cell) if isinstance(cell, str) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
