"""A map comes back from its file equal in every field; a damaged or foreign file is named."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langscape import Items, Map, Schedule, affinity, embed, read_map
from langscape.errors import FileError, SettingsError, StoreError

rng = np.random.default_rng(0)


def equal(a: Map, b: Map) -> None:
    assert a.labels == b.labels
    for name in ("xy", "kls", "history", "vectors", "shapes"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            assert x.dtype == y.dtype
            assert np.array_equal(x, y)
    assert list(a.items.columns) == list(b.items.columns)
    for x, y in ((a.items.columns, b.items.columns), (a.per_point, b.per_point)):
        assert set(x) == set(y)
        for key in x:
            assert x[key].dtype == y[key].dtype
            assert all(p == q or (p != p and q != q) for p, q in zip(x[key], y[key], strict=True))
    assert dict(a.settings) == dict(b.settings)
    assert dict(a.quality) == dict(b.quality)
    assert a.kl == b.kl or (np.isnan(a.kl) and np.isnan(b.kl))
    assert (a.notes, a.metric) == (b.notes, b.metric)


def full_map() -> Map:
    n = 40
    items = Items(
        ["it's", 'say "hi"', "ünï\u2028x", "", "\n", "<b>", "NULL", *(f"w{i}" for i in range(n - 7))],
        {
            "x": rng.random(n),
            "group": ["g1", "g2"] * (n // 2),
            "yes": np.arange(n) % 2 == 0,
            "count": np.arange(n),
        },
    )
    m = embed(affinity.points(rng.normal(size=(n, 6)).astype(np.float32), 8, items=items), restarts=2)
    return m.but(shapes=rng.random((n, 1, 1)) * np.eye(2), notes=("a 'quoted' note",))


def test_a_map_comes_back_equal(tmp_path):
    m = full_map()
    equal(read_map(m.save(tmp_path / "a 'b'.parquet")), m)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8),
        min_size=2,
        max_size=6,
    )
)
def test_any_labels_come_back(tmp_path_factory, labels):
    m = Map(rng.random((len(labels), 2)).astype(np.float32), Items(labels))
    equal(read_map(m.save(tmp_path_factory.mktemp("maps") / "m.parquet")), m)


@pytest.mark.parametrize("dims", [2, 3, 4])
def test_every_number_of_dimensions_comes_back(tmp_path, dims):
    m = embed(affinity.points(rng.normal(size=(20, 5)), 4), dims, schedule=Schedule(steps=60, early_steps=20))
    equal(read_map(m.save(tmp_path / "m.parquet")), m)


def test_vectors_can_be_left_out(tmp_path):
    m = full_map()
    back = read_map(m.save(tmp_path / "m.parquet", vectors=False))
    assert back.vectors is None
    assert np.array_equal(back.xy, m.xy)


def test_any_table_tool_reads_label_x_and_y(tmp_path):
    import duckdb

    m = full_map()
    path = m.save(tmp_path / "m.parquet")
    rows = duckdb.sql(f"SELECT label, x, y, \"group\" FROM '{path}'").fetchall()
    assert [r[0] for r in rows] == list(m.labels)
    assert [r[1] for r in rows] == m.xy[:, 0].tolist()


def test_a_table_of_someone_elses_opens_as_a_map(tmp_path):
    import duckdb

    path = tmp_path / "t.parquet"
    duckdb.sql(
        "COPY (SELECT 'w' || i AS label, i::DOUBLE AS x, 1.0 AS y, i % 2 AS kind FROM range(5) t(i)) "
        f"TO '{path}'"
    )
    m = read_map(path)
    assert m.labels == ("w0", "w1", "w2", "w3", "w4")
    assert list(m.items.columns["kind"]) == [0, 1, 0, 1, 0]


def test_damaged_missing_and_foreign_files_are_named(tmp_path):
    import duckdb

    path = full_map().save(tmp_path / "m.parquet")
    data = path.read_bytes()
    with pytest.raises(FileError, match="no map file"):
        read_map(tmp_path / "none.parquet")
    for cut in (0, 3, 100, len(data) - 5):
        path.write_bytes(data[:cut])
        with pytest.raises(FileError, match=r"m\.parquet"):
            read_map(path)
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{path}'")
    with pytest.raises(FileError, match="no column 'label'"):
        read_map(path)
    meta = json.dumps({"format": 99})
    duckdb.sql(
        f"COPY (SELECT 'a' AS label, 1.0 AS x, 1.0 AS y) TO '{path}' "
        f"(FORMAT parquet, KV_METADATA {{langscape: '{meta}'}})"
    )
    with pytest.raises(FileError, match="newer langscape"):
        read_map(path)


@pytest.mark.parametrize("name", ["m.xlsx", "m", "m.parquet.gz"])
def test_a_map_is_saved_under_no_ending_that_is_not_known(tmp_path, name):
    with pytest.raises(SettingsError, match=rf"{name} has no ending that a map is written as: \.parquet"):
        full_map().save(tmp_path / name)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("suffix", [".csv", ".html", ".svg"])
def test_a_map_is_saved_as_a_table_a_page_or_a_picture(tmp_path, suffix):
    made = full_map()
    text = made.save(tmp_path / f"m{suffix}", title="A map").read_text()
    assert "w11" in text
    assert suffix == ".csv" or "A map" in text


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot write"):
        full_map().save(tmp_path / "file" / "m.parquet")
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_leaves_the_old_map_and_no_stray(tmp_path):
    path = full_map().save(tmp_path / "m.parquet")
    before = path.read_bytes()
    code = f"""
import resource, numpy as np
from langscape import Map, Items
from langscape.errors import StoreError
import duckdb
m = Map(np.random.default_rng(0).random((200000, 2)).astype("f4"), Items.numbered(200000))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    m.save({str(path)!r})
except StoreError as error:
    print("said", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "said cannot write" in done.stdout, done.stderr
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.parquet"]


def test_a_small_file_that_stands_for_gigabytes_is_refused_before_they_are_taken(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 2_000_000
    flat = pa.array(np.zeros(rows, np.float32))
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["a"]))
    table = pa.table({"label": labels, "x": flat, "y": flat, **{f"c{i}": flat for i in range(20)}})
    pq.write_table(table, tmp_path / "m.parquet", compression="zstd")
    assert (tmp_path / "m.parquet").stat().st_size < 300_000
    with pytest.raises(FileError, match=r"^\S+m\.parquet unpacks from \d+ kB to \d+ MB or more"):
        read_map(tmp_path / "m.parquet")


def test_a_label_that_is_long_and_repeated_is_counted_each_time(tmp_path):
    """It stands in the file once, and would be a gigabyte; as often as real labels are, it is read."""
    import pyarrow
    import pyarrow.parquet

    def table(label, times):
        path = tmp_path / "m.parquet"
        x = np.arange(times, dtype=np.float32)
        columns = {"label": [label] * times, "x": x, "y": x}
        pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")
        return path

    with pytest.raises(FileError, match="unpacks from"):
        read_map(table("a" * 2_000_000, 500))
    assert read_map(table("a" * 200_000, 20)).labels == ("a" * 200_000,) * 20
    assert len(read_map(table("tea", 50_000))) == 50_000
