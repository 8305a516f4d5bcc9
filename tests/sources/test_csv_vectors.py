"""Vectors in a CSV table, as spreadsheets and data frames save them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from langscape.errors import FileError
from langscape.sources import read_vectors, samples

WORDS = samples.words().rows(range(300))
ROWS = [
    f"{word},{','.join(map(repr, row.tolist()))}" for word, row in zip(WORDS.words, WORDS.matrix, strict=True)
]
HEADER = ",".join(["word", *(f"d{at}" for at in range(WORDS.dim))])


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("header", [(), (HEADER,), ("\ufeff" + HEADER,)])
def test_a_table_with_or_without_a_header_is_read_bit_for_bit(tmp_path, header):
    found = read_vectors(write(tmp_path / "v.csv", *header, *ROWS))
    assert found.words == WORDS.words
    assert np.array_equal(found.matrix, WORDS.matrix)
    assert found.notes == ()


def test_chosen_words_and_a_limit_hold_as_in_every_format(tmp_path):
    path = write(tmp_path / "v.csv", HEADER, *ROWS)
    word = WORDS.words[7]
    assert read_vectors(path, [word, "nowhere"]).missing == ("nowhere",)
    assert np.array_equal(read_vectors(path, [word]).matrix[0], WORDS.matrix[7])
    assert read_vectors(path, limit=11).words == WORDS.words[:11]


def test_quoted_words_hold_commas_quotes_and_lines_and_other_text_is_left_out(tmp_path):
    path = write(
        tmp_path / "v.csv",
        "id,word,kind,x,y",
        '1,"a, b",one,0.5,2',
        '2,"say ""hi""\nthere",two,1.5,3',
        "3,c;d,two,2,4",
    )
    found = read_vectors(path)
    assert found.words == ("a, b", 'say "hi"\nthere', "c;d")
    assert found.matrix.tolist() == [[1, 0.5, 2], [2, 1.5, 3], [3, 2, 4]]
    assert found.notes == ("the vector of a word is its 3 columns of numbers; left out: kind",)


def test_glove_lines_whose_words_hold_commas_are_not_taken_for_csv(tmp_path):
    path = write(tmp_path / "v.txt", ", 0.5 1.5", "1,000 0.25 2.5", "a,b 1.0 2.0")
    assert read_vectors(path).words == (",", "1,000", "a,b")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["0.5,1.5", "2.5,3.5"], "numbers alone; put the word of each row first"),
        (["word,x,y", "a,1,2", "b,3"], "no table of vectors from end to end"),
        (["word,x,y", "a,1,2", "b,3,four"], "no table of vectors from end to end .*four"),
        (["word,x", "a,1,2"], "line 1 has 2 cells and line 2 has 3"),
    ],
)
def test_what_is_no_table_of_vectors_is_refused_with_the_reason(tmp_path, lines, said):
    with pytest.raises(FileError, match=said):
        read_vectors(write(tmp_path / "v.csv", *lines))


def test_empty_cells_and_repeated_words_are_counted(tmp_path):
    path = write(tmp_path / "v.csv", "word,x,y", "a,1,2", "b,,4", "a,5,6", "c,7,8")
    found = read_vectors(path)
    assert found.words == ("a", "c")
    assert [note.split(" (")[0] for note in found.notes] == [
        "1 repeated words: the first row of each was kept",
        "1 rows with NaN or infinity were left out",
    ]
