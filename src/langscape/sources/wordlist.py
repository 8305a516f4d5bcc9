"""Lists of words to map, with groups where they have them: `.txt`, `.csv`, `.tsv`."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from langscape.data import Items
from langscape.errors import DataError, FileError
from langscape.io.csvtext import csv_rows, may_be_guarded, unguarded
from langscape.io.regular_file import open_regular
from langscape.memory_limits import check_memory
from langscape.sources.word_lookup import counted, some

_WORD_HEADS = ("word", "words", "token", "term", "label", "name")
_SURE_HEADS = ("word", "words")
_LINE_ENDS = (
    *(bytes([code]) for code in (10, 11, 12, 13, 28, 29, 30)),
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xa9",
)
# bytes in memory of a line that holds one letter (its text, cell, row and entry), and of each further cell
_LINE_BYTES, _CELL_BYTES = 600, 80
_LINE_BREAK = re.compile(r"\s*[\r\n]\s*")
_TABLES = (".csv", ".tsv")
_GROUP_HEADS = ("group", "groups", "category", "class", "topic", "type")


@dataclass(frozen=True, eq=False)
class WordList:
    """Words in the order of their file, one entry per row, so that a word in two groups stands twice.

    >>> WordList(["tea", "oslo"], ["drinks", "capitals"]).items().columns["group"].tolist()
    ['drinks', 'capitals']
    """

    words: Sequence[str]
    groups: Sequence[str] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(self.groups))
            if len(self.groups) != len(self.words):
                raise DataError(f"{len(self.groups)} groups for {len(self.words)} words; give one per word")

    def __len__(self) -> int:
        return len(self.words)

    def items(self) -> Items:
        """The words as `Items`, with a "group" column where there are groups."""
        return Items(self.words, {} if self.groups is None else {"group": np.asarray(self.groups, object)})


def read_word_list(path: str | Path, *, ending: str | None = None) -> WordList:
    """The words of a list, and the group of each if the list has a group column.

    One word or name a line, or two columns, word and group in either order, with or without a
    first line that names them. Without one, the column with fewer different values is the group.
    Rows that repeat both word and group are counted in `notes` and kept once. A quotation mark that no other
    one closes is a letter of its word. `ending` is that of the list's own name, where the path has another.
    """
    path = Path(path)
    lines = _lines(path)
    rows = _rows(path, lines, path.suffix if ending is None else ending)
    if not rows:
        raise FileError(f"{path} holds no words")
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    for number, cells in rows:
        if len(cells) != width:
            raise FileError(f"{path}, line {number}: {len(cells)} columns where most lines have {width}")
    filled = [at for at in range(width) if any(cells[at] for _, cells in rows)]
    if len(filled) < width:  # spreadsheets write columns without a name and without values
        rows, width = [(number, [cells[at] for at in filled]) for number, cells in rows], len(filled)
    word, group, notes, rows = _columns(path, rows, width)
    if not rows:
        raise FileError(f"{path} holds no words below its first line")
    return _listed(path, rows, word, group, notes)


def _lines(path: Path) -> list[str]:
    try:
        with open_regular(path) as file:
            check_memory(4 * os.fstat(file.fileno()).st_size, f"the words of {path}", "give a shorter list")
            raw = file.read()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from error
    lines, cells = (sum(map(raw.count, marks)) for marks in (_LINE_ENDS, (b"\t", b";", b",")))
    needed = 4 * len(raw) + _LINE_BYTES * lines + _CELL_BYTES * cells
    check_memory(needed, f"the words of {path}", "give a shorter list")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileError(f"{path} is UTF-16 text; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise FileError(f"{path}, line {line}: not valid UTF-8; save the list as UTF-8") from None


def write_word_list(path: Path, listed: WordList) -> None:
    """Write a list so that `read_word_list` reads the same, whatever the words hold and the path ends in.

    Spaces around a word and line breaks within it are not a part of it.
    """
    groups = listed.groups
    marks = "\t;," if path.suffix.lower() in _TABLES else "\t;"
    plain = groups is None and not any(mark in word for word in listed.words for mark in marks)
    with path.open("w", encoding="utf-8", newline="") as file:
        if plain:  # a word a line is not taken apart
            file.writelines(f"{word}\n" for word in ("word", *listed.words))
            return
        head = ("word", "" if groups is None else "group")
        file.write(
            csv_rows([head, *zip(listed.words, groups or [""] * len(listed), strict=True)], delimiter="\t")
        )


def _rows(path: Path, lines: list[str], ending: str) -> list[tuple[int, list[str]]]:
    """Line number and cells of the lines that are not blank."""
    delimiter = _delimiter(ending, [line for line in lines if line.strip()])
    if delimiter is None:
        return [(number, [line.strip()]) for number, line in enumerate(lines, 1) if line.strip()]
    try:
        rows = _cells(lines, delimiter, csv.QUOTE_MINIMAL)
    except csv.Error:  # a quotation mark that is not closed, or within a word: marks are letters here
        try:
            rows = _cells(lines, delimiter, csv.QUOTE_NONE)
        except csv.Error as error:
            raise FileError(f"{path}: {error}; save the list with one word a line") from None
    return [(number, cells) for number, cells in rows if any(cells)]


def _cells(lines: list[str], delimiter: str, quoting: Literal[0, 3]) -> list[tuple[int, list[str]]]:
    text = "\n".join(lines)
    reader = csv.reader(
        io.StringIO(text), delimiter=delimiter, skipinitialspace=True, quoting=quoting, strict=True
    )
    rows = [(reader.line_num, [_in_one_line(cell) for cell in cells]) for cells in reader]
    if "'" in text and may_be_guarded(cell for _, cells in rows for cell in cells):
        for _, cells in rows:
            cells[:] = map(unguarded, cells)
    return rows


def _in_one_line(cell: str) -> str:
    cell = cell.strip()
    return _LINE_BREAK.sub(" ", cell) if "\n" in cell else cell


def _delimiter(ending: str, lines: list[str]) -> str | None:
    """What parts the columns; None when a line is a word, whatever stands in it."""
    for delimiter in "\t;,":
        holding = sum(delimiter in line for line in lines)
        if delimiter in "\t;" and 2 * holding > len(lines):
            return delimiter
        if delimiter == ",":
            plain_text = ending.lower() not in _TABLES
            if holding == len(lines) or (holding and not plain_text):
                return delimiter
    return None


def _columns(
    path: Path, rows: list[tuple[int, list[str]]], width: int
) -> tuple[int, int | None, list[str], list[tuple[int, list[str]]]]:
    """Which column holds the words and which the groups, and the rows without their heading."""
    heads = [cell.lower() for cell in rows[0][1]]
    group = next((heads.index(head) for head in _GROUP_HEADS if head in heads), None)
    word = next((heads.index(head) for head in _WORD_HEADS if head in heads), None)
    if word is not None and (group is not None or heads[word] in _SURE_HEADS):
        if group is None and width == 2:
            group = 1 - word
        unused = [rows[0][1][i] for i in range(width) if i not in (word, group)]
        return word, group, [f"columns not used: {', '.join(unused)}"] if unused else [], rows[1:]
    if width == 1:
        return 0, None, [], rows
    if width > 2:
        raise FileError(f"{path} has {width} columns; name the one with the words 'word' in the first line")
    kinds = [len({cells[i] for _, cells in rows}) for i in range(2)]
    if kinds[0] == kinds[1]:
        note = "both columns have as many different values; the first was read as word, the second as group"
        return 0, 1, [note], rows
    return (1, 0, [], rows) if kinds[0] < kinds[1] else (0, 1, [], rows)


def _listed(
    path: Path, rows: list[tuple[int, list[str]]], word: int, group: int | None, notes: list[str]
) -> WordList:
    seen: dict[tuple[str, str | None], int] = {}
    repeated = []
    for number, cells in rows:
        if not cells[word]:
            raise FileError(f"{path}, line {number}: there is no word")
        entry = (cells[word], None if group is None else cells[group])
        if entry in seen:
            repeated.append(cells[word])
        else:
            seen[entry] = number
    words = [entry[0] for entry in seen]
    groups = None if group is None else [entry[1] or "" for entry in seen]
    if repeated:
        notes.append(
            f"{counted(len(repeated), 'repeated row was', 'repeated rows were')} kept once: {some(repeated)}"
        )
    twice = [name for name, count in Counter(words).items() if count > 1]
    if twice:
        notes.append(
            f"{counted(len(twice), 'word stands', 'words stand')} in more than one group: {some(twice)}"
        )
    return WordList(words, groups, tuple(notes))
