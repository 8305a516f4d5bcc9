"""Cells that a spreadsheet would run as formulas are shown as text, and read back as they were."""

import ast
import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import langscape
from langscape.data import Items, Map
from langscape.io.csvtext import csv_rows, guarded, may_be_guarded, unguarded
from langscape.sources import WordList, read_word_list
from langscape.sources.tables import columns_of, gaussians
from langscape.sources.wordlist import write_word_list
from langscape.views import scatter, write

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@pytest.mark.parametrize("first", FORMULAS)
def test_text_that_looks_like_a_formula_is_written_as_text(first):
    (cell,) = next(csv.reader(io.StringIO(csv_rows([[f"{first}cmd|' /C calc'!A0"]]), newline="")))
    assert cell == f"'{first}cmd|' /C calc'!A0"


def test_numbers_stay_numbers():
    row = [-0.5, np.float32(-0.1), -3, np.int64(-4), float("nan"), "-0.5", True]
    assert csv_rows([row]) == "-0.5,-0.1,-3,-4,,'-0.5,True\r\n"


texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text(alphabet="'=+-@\t\r\n a;,\"")
words = texts.map(str.strip).filter(lambda text: len(text.splitlines()) == 1)


@given(texts)
def test_every_text_comes_back_and_none_begins_like_a_formula(text):
    assert unguarded(guarded(text)) == text
    assert not guarded(text).lstrip().startswith(FORMULAS)
    assert may_be_guarded([guarded(text)])


@given(texts, texts)
def test_no_two_texts_are_written_alike(one, other):
    assert (guarded(one) == guarded(other)) == (one == other)


@given(st.lists(st.tuples(texts, st.floats(allow_nan=False), st.integers(), texts), max_size=4))
def test_every_table_that_is_written_comes_back(rows):
    held = list(csv.reader(io.StringIO(csv_rows(rows), newline="")))
    assert may_be_guarded(cell for row in held for cell in row)
    back = [(unguarded(a), float(x), int(n), unguarded(b)) for a, x, n, b in held]
    assert back == rows


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(words, words), min_size=1, unique_by=lambda row: row[0]),
    st.booleans(),
    st.sampled_from([".txt", ".bin", ".csv", ".tsv"]),
)
def test_every_word_list_that_is_written_comes_back(tmp_path_factory, rows, grouped, ending):
    path = tmp_path_factory.getbasetemp() / f"list{ending}"
    given = WordList([word for word, _ in rows], [group for _, group in rows] if grouped else None)
    write_word_list(path, given)
    back = read_word_list(path)
    assert (back.words, back.groups) == (given.words, given.groups)


@pytest.mark.parametrize("bare", ["=", "@x", "-", "+a"])
def test_a_list_that_another_program_wrote_keeps_its_apostrophes(tmp_path, bare):
    path = tmp_path / "tokens.csv"
    path.write_text(f"word,group\n'=,a\n'-,a\n{bare},b\n")
    assert read_word_list(path).words == ("'=", "'-", bare)


def test_a_table_that_another_program_wrote_keeps_its_apostrophes(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text("token,size\n'=,1.5\n'=,2.5\n=,3.5\n")
    assert sorted(gaussians(path, by="token").items.labels) == ["'=", "="]


def test_the_words_of_a_map_come_back_from_its_table(tmp_path):
    words = ["=1+1", "+x", "-y", "@z", "'=q", "''+", "tea", "'tis", "-", "O'Hara"]
    groups = np.array(["@a", "-b"] * 5, dtype=object)
    made = Map(np.zeros((10, 2)), Items(words, {"group": groups}))
    path = write(scatter(made), tmp_path / "map.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows][:4] == ["'=1+1", "'+x", "'-y", "'@z"]
    listed = read_word_list(path)
    assert list(listed.words) == words
    assert list(listed.groups or ()) == groups.tolist()


def test_individuals_of_a_table_come_back_as_they_were(tmp_path):
    names = ["=1+1", "-b", "'@c", "tea"]
    path = tmp_path / "visits.csv"
    path.write_text(csv_rows([["who", "pulse"], *([name, 60.5 + at] for at in (0, 1) for name in names)]))
    assert sorted(gaussians(path, by="who").items.labels) == sorted(names)


def test_names_of_columns_are_guarded_too(tmp_path):
    made = Map(np.zeros((2, 2)), Items(["a", "b"], {"=now()": np.array([1.5, -2.5])}))
    with write(scatter(made), tmp_path / "map.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["'=now()"] for row in rows] == ["1.5", "-2.5"]
    assert "=now()" in columns_of(tmp_path / "map.csv")
    back = gaussians(tmp_path / "map.csv", by="label", columns=["=now()"], standardise=False)
    assert back.items.columns["=now()"].tolist() == [1.5, -2.5]


def test_nothing_in_the_package_writes_csv_by_itself():
    source = Path(langscape.__file__).parent
    for path in source.rglob("*.py"):
        if path.name == "csvtext.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "csv"
            ):
                assert node.attr not in ("writer", "DictWriter"), path
