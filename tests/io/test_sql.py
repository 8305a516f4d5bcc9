"""Nothing read from a file is run as SQL, and no file but the one named is reached."""

import ast
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import langscape
from langscape import Items, Map, read_map
from langscape.errors import FileError
from langscape.io.parquet import open_parquet, read_columns, write_parquet
from langscape.io.sql import identifier, literal, table_of
from langscape.sources import tables
from langscape.sources.vectors import read_vectors

SOURCE = Path(langscape.__file__).parent
rng = np.random.default_rng(0)

# every one of them ends a quoted name and begins a statement of its own
HOSTILE = (
    "x\"; copy (select 1) to '{out}'; select \"x",
    "x\" from (select 1 as x, 2 as y, 3 as label); copy (select 1) to '{out}' (format csv); select \"x",
    "x'; copy (select 1) to '{out}'; --",
    "a;b\"c'd[e]*?{{f}}--/*",
)


def columns_named(name: str) -> dict[str, np.ndarray]:
    return {
        "label": np.array(["a", "b"], object),
        "x": np.float32([0, 1]),
        "y": np.float32([1, 0]),
        name: np.float64([3, 4]),
    }


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_map_whose_column_names_are_statements_writes_nothing(tmp_path, hostile):
    out = tmp_path / "written.csv"
    name = hostile.format(out=out)
    path = tmp_path / "map.parquet"
    write_parquet(path, columns_named(name))
    back = read_map(path)
    assert back.items.columns[name].tolist() == [3, 4]
    assert not out.exists()


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_whose_header_is_a_statement_becomes_gaussians_and_a_map_file(tmp_path, hostile, suffix):
    out, secret = tmp_path / "written.csv", tmp_path / "secret.txt"
    secret.write_text("secret")
    name = hostile.format(out=out)
    path = tmp_path / f"table{suffix}"
    columns = {"who": np.array(["a", "a", "b", "b"], object), name: np.float64([1, 2, 3, 5])}
    if suffix == ".csv":
        quoted = '"' + name.replace('"', '""') + '"'
        lines = [f"who,{quoted}", *(f"{w},{v}" for w, v in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(lines) + "\n")
    else:
        write_parquet(path, columns)
    found = tables.gaussians(path, "who")
    assert found.items.columns[name].tolist() == [1.5, 4]
    made = Map(np.float32([[0, 0], [1, 1]]), found.items)
    assert read_map(made.save(tmp_path / "map.parquet")).items.columns[name].tolist() == [1.5, 4]
    assert not out.exists()


def test_a_connection_reaches_its_one_file_and_cannot_be_unlocked(tmp_path):
    import duckdb

    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    own.write_text("a\n1\n")
    other.write_text("a\n2\n")
    asked = [
        f"select * from read_csv({literal(str(other))})",
        f"select * from read_text({literal(str(other))})",
        f"copy (select 1) to {literal(str(tmp_path / 'out.csv'))}",
        f"copy (select 1) to {literal(str(own))}",
        f"attach {literal(str(tmp_path / 'new.db'))} as d",
        "install httpfs",
        "set enable_external_access = true",
        "set memory_limit = '100GB'",
        "set allowed_paths = ['/']",
        f"select * from glob({literal(str(tmp_path / '*'))})",
    ]
    with table_of(own, "read_csv") as (connection, source):
        assert connection.execute(f"select * from {source}").fetchall() == [(1,)]
        for statement in asked:
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.csv", "own.csv"]
    assert own.read_text() == "a\n1\n"


@pytest.mark.parametrize(("own", "other"), [("m[1]", "m1"), ("m*", "mx"), ("m?", "mx"), ("a=1/m", "m")])
def test_a_path_is_that_file_and_no_pattern(tmp_path, own, other):
    for name, value in ((other, 7), (own, 1)):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        Map(np.full((2, 2), value, np.float32), Items(["a", "b"])).save(path)
        write_parquet(
            path.with_suffix(".vectors.parquet"),
            {"word": np.array(["w", "x"], object)},
            lists={"vector": np.full((2, 3), value, np.float32)},
        )
        path.with_suffix(".csv").write_text(f"who,v\na,{value}\na,{value}\n")
    path = tmp_path / f"{own}.parquet"
    assert read_map(path).xy[0, 0] == 1
    assert read_vectors(path.with_suffix(".vectors.parquet")).matrix[0, 0] == 1
    assert tables.gaussians(path.with_suffix(".csv"), "who", standardise=False).means[0, 0] == 1
    assert list(tables.columns_of(path.with_suffix(".csv"))) == ["who", "v"]


NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_column_names_of_any_letters_come_back_from_a_map_file(tmp_path_factory, names):
    columns = {name: np.arange(2.0) + at for at, name in enumerate(names)}
    made = Map(rng.random((2, 2)).astype(np.float32), Items(["a\0b", "'"], columns), per_point=columns)
    back = read_map(made.save(tmp_path_factory.mktemp("maps") / "m.parquet"))
    assert back.labels == made.labels
    assert list(back.items.columns) == names
    assert {k: v.tolist() for k, v in back.per_point.items()} == {k: v.tolist() for k, v in columns.items()}


def test_names_of_ten_thousand_letters_and_prefixes_of_each_other_come_back(tmp_path):
    names = ["n" * 10_000, "n", "n.list.element", "n.n", "vector", "item x", "x", "x_"]
    columns = {name: np.arange(3) + at for at, name in enumerate(names)}
    made = Map(rng.random((3, 2)).astype(np.float32), Items(list("abc"), columns), vectors=rng.random((3, 4)))
    back = read_map(made.save(tmp_path / "m.parquet"))
    assert {k: v.tolist() for k, v in back.items.columns.items()} == {
        k: v.tolist() for k, v in columns.items()
    }
    assert np.array_equal(back.vectors, made.vectors)


@settings(max_examples=60, deadline=None)
@given(NAMES)
def test_identifiers_and_literals_are_read_back_as_they_were(name):
    import duckdb

    with duckdb.connect() as connection:
        if "\0" in name:
            with pytest.raises(FileError, match="zero byte"):
                identifier(name)
            return
        done = connection.execute(f"select {literal(name)} as {identifier(name)}")
        assert done.description[0][0] == name
        assert done.fetchall() == [(name,)]


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "m.parquet"
    pq.write_table(
        pa.table([pa.array(["a"]), pa.array([1.0]), pa.array([2.0])], names=["label", "x", "x"]), path
    )
    with pytest.raises(FileError, match="two columns named 'x'"):
        read_map(path)


def test_lists_and_structures_of_a_foreign_table_are_left_out(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(
            {
                "n": pa.array([1, None]),
                "t": pa.array(["a", None]),
                "flag": pa.array([True, None]),
                "when": pa.array([0, 1], pa.timestamp("s")),
                "words": pa.array(["p", "p"]).dictionary_encode(),
                "list": pa.array([[1], [2]]),
                "deep": pa.array([{"a": 1}, {"a": 2}]),
                "raw": pa.array([b"x", b"y"]),
            }
        ),
        path,
    )
    with open_parquet(path) as opened:
        found = read_columns(opened)
    assert list(found) == ["n", "t", "flag", "when", "words"]
    assert found["n"][0] == 1
    assert np.isnan(found["n"][1])
    assert found["t"].tolist() == ["a", None]
    assert found["flag"].tolist() == [True, None]
    assert found["when"][0].startswith("1970-01-01 00:00:00")
    assert found["words"].tolist() == ["p", "p"]


def test_no_module_but_one_opens_duckdb():
    for path in SOURCE.rglob("*.py"):
        if path == SOURCE / "io" / "sql.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.value.id != "duckdb", (
                    f"{path.name}:{node.lineno} uses duckdb; io/sql.py is its door"
                )


STATEMENT = re.compile(
    r"\b(select|insert into|update|delete from|copy|describe|create|attach|set|pragma)\b .*"
)
PUT_TOGETHER = {  # what statements are put together from beside quoted names; each was looked at
    "sources/tables.py": {
        "source",  # from table_of
        "rows",
        "', '.join(each)",  # quoted names, as `cells` are
        "', '.join(cells)",
        "text",  # trim of a quoted name, beside quoted codes
        "given",
        "numbers",
        "kept",
        "distinct",
        "_each(names, 'stddev_pop')",
        "_each(names, 'avg', 'm')",
        "_each(names, 'var_pop', 's')",
    },
    "sources/documents.py": {"source", "', '.join(cells)", "cells"},  # casts and lengths of quoted names
}


def test_every_name_put_into_a_statement_is_quoted():
    seen = 0
    for path in SOURCE.rglob("*.py"):
        inside = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
            if not STATEMENT.match(text):
                continue
            seen += 1
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    value = ast.unparse(part.value)
                    quoted = value.startswith(("identifier(", "literal("))
                    assert quoted or value in PUT_TOGETHER.get(inside, set()), f"{inside}: {value}"
    assert seen > 5
