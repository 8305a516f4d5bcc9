"""CSV that a spreadsheet shows as it is: no text cell is run as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

import numpy as np

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


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

    >>> guarded("@home"), guarded("tea"), guarded("'=1")
    ("'@home", 'tea', "''=1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text as it was before `guarded`."""
    return text[1:] if _GUARDED.match(text) else text


def _cell(cell: object) -> object:
    """Numbers in as few digits as give them back, nothing where there is none; text guarded."""
    if isinstance(cell, float | np.floating):
        return "" if cell != cell else np.format_float_positional(cell, trim="-")
    return guarded(cell) if isinstance(cell, str) else cell
