"""Documents from everything that holds them: the text, its label, and every other column."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from langscape.errors import DataError, FileError, SettingsError
from langscape.sources.documents import (
    as_parquet,
    columns_of,
    documents_bytes,
    pack_documents,
)
from langscape.sources.packed_documents import read_documents, some_texts

ROWS = [
    {"title": "One", "review": "The soup was cold, and the waiter rude.", "stars": 1, "good": False},
    {
        "title": "Two",
        "review": 'She said "never again", twice.\nThen she came back.',
        "stars": 4,
        "good": True,
    },
    {"title": "Three", "review": "The soup was cold, and the waiter rude.", "stars": 2, "good": False},
    {"title": "Four", "review": "   ", "stars": 5, "good": True},
]


def written(folder, ending):
    path = folder / f"reviews{ending}"
    if ending == ".csv":
        pyarrow.csv.write_csv(pa.Table.from_pylist(ROWS), path)
    elif ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif ending == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def packed(given, folder, **columns):
    pack_documents(given, folder / "packed", **columns)
    return read_documents(folder / "packed")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", "frame"])
def test_a_table_gives_texts_labels_and_all_other_columns(tmp_path, ending):
    given = pa.Table.from_pylist(ROWS) if ending == "frame" else written(tmp_path, ending)
    found = packed(given, tmp_path)
    assert found.items.labels == ("One", "Two", "Three")
    assert found.items.columns["stars"].tolist() == [1, 4, 2]
    assert found.items.columns["good"].tolist() == [False, True, False]
    assert found.items.columns["text"][1].startswith('She said "never again", twice. Then')
    assert [text for part in found.texts() for text in part] == [row["review"] for row in ROWS[:3]]
    assert some_texts(found.path, 1, 1) == [ROWS[1]["review"]]
    notes = " ".join(found.notes)
    assert "1 rows without a text are left out" in notes
    assert "1 of 3 texts repeat an earlier one, and stay" in notes
    assert "column 'review'" in notes


@pytest.mark.parametrize(
    ("first", "rows", "labels"),
    [
        ("text,category", ["Tea is hot,drinks", "Oslo is far,towns"], ["Tea is hot", "Oslo is far"]),
        ("words", ["tea", "oslo"], ["tea", "oslo"]),
        ("Country,Norway", ["Country,Peru", "Drink,tea"], None),
        ("quoted words,n", ['"a long text, with a comma",3', '"another, and longer one",4'], None),
    ],
)
def test_the_first_line_is_a_heading_where_it_names_columns(tmp_path, first, rows, labels):
    path = tmp_path / "list.csv"
    path.write_text("\n".join([first, *rows]) + "\n")
    found = packed(path, tmp_path)
    if labels is None:
        headed = first.startswith("quoted")
        assert len(found) == (2 if headed else 3)
    else:
        assert list(found.items.labels) == labels


def test_the_columns_may_be_named(tmp_path):
    path = written(tmp_path, ".csv")
    found = packed(path, tmp_path, text="title", label="review")
    assert [text for part in found.texts() for text in part] == ["One", "Two", "Three", "Four"]
    assert found.items.labels[0].startswith("The soup was cold")
    assert columns_of(path)["stars"] == "BIGINT"
    with pytest.raises(SettingsError, match="no column 'body' for text; it has title"):
        packed(path, tmp_path, text="body")


def test_a_folder_is_a_text_a_file_and_a_list_a_text_a_line(tmp_path):
    folder = tmp_path / "letters"
    (folder / "1790").mkdir(parents=True)
    (folder / "1790" / "first.txt").write_text("Dear Sir, " + "it rained. " * 200)
    (folder / "second.txt").write_text("Dear Madam.")
    found = packed(folder, tmp_path)
    assert sorted(found.items.labels) == ["first", "second"]
    assert sorted(found.items.columns["folder"]) == ["", "1790"]
    lines = tmp_path / "list.txt"
    lines.write_text("one, two\n\nthree\n")
    assert packed(lines, tmp_path).items.labels == ("one, two", "three")
    with pytest.raises(SettingsError, match="is a list of lines and has no column 'a'; leave text out"):
        packed(lines, tmp_path, text="a")


def test_a_list_in_memory_keeps_repeats_and_says_what_is_no_text(tmp_path):
    found = packed(["tea", "tea", None, "oslo"], tmp_path)
    assert found.items.labels == ("tea", "tea", "oslo")
    assert found.items.columns == {}
    with pytest.raises(DataError, match="holds a int; a list of texts holds text alone"):
        packed(["tea", 3], tmp_path)
    with pytest.raises(DataError, match="every row is empty"):
        packed(["", " "], tmp_path)
    with pytest.raises(SettingsError, match="the texts are a int"):
        documents_bytes(3)


def test_an_upload_becomes_parquet_with_its_columns(tmp_path):
    for ending in (".csv", ".jsonl", ".parquet"):
        source = written(tmp_path, ending)
        kept = tmp_path / "kept"
        kept.write_bytes(source.read_bytes())
        said = as_parquet(kept, ending)
        assert said == {"texts": 4, "columns": ["title", "review", "stars", "good"]}
        assert packed(kept, tmp_path).items.labels == ("One", "Two", "Three")


def test_what_is_no_table_is_refused(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"\x00\x01\x02" * 100)
    with pytest.raises(FileError, match="no table and no text"):
        packed(bad, tmp_path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FileError):
        packed(tmp_path / "bad.parquet", tmp_path)


@pytest.mark.slow
def test_a_large_table_is_packed_in_bounded_memory(tmp_path):
    """Text of 30 MB goes through in parts: what Python holds at once is a small share of it."""
    import tracemalloc

    path = tmp_path / "large.csv"
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("text,year\n")
        for at in range(3000):
            file.write(f"{at} " + "word " * 2000 + f",{rng.integers(1800, 2000)}\n")
    tracemalloc.start()
    pack_documents(path, tmp_path / "packed")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000
    assert len(read_documents(tmp_path / "packed")) == 3000
