"""Many texts as a stream: files, folders, tables, lists, and the file that parts are read from."""

from pathlib import Path

import pytest

from langscape.errors import DataError, FileError, SettingsError
from langscape.sources.texts import ROWS, count_texts, read_texts, sample_texts, stream_texts, write_texts


def test_files_are_read_by_sentences_and_folders_file_by_file(tmp_path):
    (tmp_path / "b.txt").write_text("Who came?\n\nNobody did.")
    (tmp_path / "a.txt").write_text("Rain fell. It was\ncold.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert list(stream_texts(tmp_path)) == ["Rain fell.", "It was cold.", "Who came?", "Nobody did."]


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("sentence", ["One. ", "Two three.", "Four."]),
        ("paragraph", ["One. Two three.", "Four."]),
        ("line", ["One. Two", "three.", "Four."]),
        ("whole", ["One. Two\nthree.\n\nFour."]),
    ],
)
def test_a_unit_says_what_a_text_is(tmp_path, unit, found):
    file = tmp_path / "a.txt"
    file.write_text("One. Two\nthree.\n\nFour.\n")
    assert list(stream_texts(file, unit)) == [one.strip() for one in found]


def test_a_list_a_column_and_a_table_of_the_same_texts_are_the_same_stream(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ["Rain fell. It was cold.", "=1+1 is two", "Who, then?"]
    table = pa.table({"text": texts, "year": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text('year,text\n1,Rain fell. It was cold.\n2,\'=1+1 is two\n3,"Who, then?"\n')
    for given in (texts, table["text"], iter(texts), tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert list(stream_texts(given)) == texts
    assert list(stream_texts(tmp_path / "t.csv", column="year")) == ["1", "2", "3"]
    assert list(stream_texts([tmp_path / "t.csv", tmp_path / "t.parquet"])) == [*texts, *texts]


def test_what_holds_no_texts_is_refused_with_the_next_step(tmp_path):
    (tmp_path / "two.csv").write_text("a,b\nx,y\n")
    with pytest.raises(SettingsError, match=r"name the column of two\.csv.*a, b"):
        list(stream_texts(tmp_path / "two.csv"))
    with pytest.raises(SettingsError, match="no column 'c'; it has a, b"):
        list(stream_texts(tmp_path / "two.csv", column="c"))
    with pytest.raises(SettingsError, match="some of the texts are files"):
        list(stream_texts(["A text.", Path("a.txt")]))
    with pytest.raises(DataError, match="text 1 is a int"):
        list(stream_texts(["A text.", 7]))
    with pytest.raises(SettingsError, match="the texts are a int"):
        list(stream_texts(7))
    with pytest.raises(FileError, match="there is no corpus nowhere"):
        list(stream_texts("nowhere"))
    (tmp_path / "w.docx").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(FileError, match="packed file"):
        list(stream_texts(tmp_path / "w.docx"))


@pytest.mark.slow
def test_a_file_without_an_end_is_read_in_constant_memory(tmp_path):
    """A paragraph of 7 MB is cut at lines: no more than a block of it is held."""
    import tracemalloc

    file = tmp_path / "long.txt"
    with file.open("w") as out:
        for _ in range(100_000):
            out.write("It rained for a hundred days and then for a hundred more. He was\nwet. ")
    tracemalloc.start()
    count = sum(1 for _ in stream_texts(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count >= 200_000
    assert peak < 4e6


def test_a_sample_is_drawn_evenly_by_seed_and_keeps_the_order():
    texts = [str(one) for one in range(1000)]
    drawn = list(sample_texts(lambda: texts, 100, seed=1))
    assert drawn == sorted(set(drawn), key=int)
    assert len(drawn) == 100
    assert drawn == list(sample_texts(lambda: iter(texts), 100, seed=1))
    assert drawn != list(sample_texts(lambda: texts, 100, seed=2))
    assert 400 < sum(map(int, drawn)) / 100 < 600
    assert list(sample_texts(lambda: texts[:5], 100)) == texts[:5]
    assert list(sample_texts(lambda: texts, None)) == texts


def test_a_part_of_the_file_is_read_alone(tmp_path):
    texts = [f"text {one}" for one in range(3 * ROWS + 5)]
    file = tmp_path / "texts"
    assert write_texts(file, iter(texts)) == len(texts) == count_texts(file)
    for first, count in ((0, 3), (ROWS - 1, 2), (ROWS, ROWS), (3 * ROWS, 64)):
        assert read_texts(file, first, count) == texts[first : first + count]
