"""Gaussians from tables, against numpy."""

import csv

import duckdb
import numpy as np
import pytest

from langscape import affinity, embed, read_map
from langscape.analyses.ellipses import ellipses
from langscape.engine import Schedule, pca
from langscape.errors import DataError, FileError, SettingsError
from langscape.sources import tables

rng = np.random.default_rng(0)


@pytest.fixture
def patients(tmp_path):
    """Thirty patients, one with a single row, one with holes, one without a complete row."""
    rows = []
    for i in range(30):
        for _ in range(1 if i == 3 else 5):
            rows.append([f"p{i:02d}", 1e6 + 20 * rng.normal() + i, 36 + rng.normal(), "ward"])
    rows[0][1] = ""
    rows.append(["p99", "", 36.5, "ward"])
    path = tmp_path / "patients.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerows([["patient", "pulse", "temperature", "place"], *rows])
    return path, rows


def test_means_and_variances_are_those_of_the_complete_rows(patients):
    path, rows = patients
    g = tables.gaussians(path, by="patient", standardise=False)
    assert g.metadata["columns"] == ["pulse", "temperature"]
    assert len(g) == 30
    for i, who in enumerate(g.labels):
        mine = np.array([[r[1], r[2]] for r in rows if r[0] == who and r[1] != ""], float)
        np.testing.assert_allclose(g.means[i], mine.mean(0), rtol=1e-12)
        np.testing.assert_allclose(g.variances[i], mine.var(0), rtol=1e-6, atol=1e-9)
        assert g.counts[i] == len(mine)
    assert g.variances[3].tolist() == [0, 0]
    assert "2 of 147 rows" in g.notes[0]
    assert "p99" in g.notes[-1]


def test_units_do_not_matter_unless_they_are_kept(patients, tmp_path):
    path, _ = patients
    a = tables.gaussians(path, "patient")
    with duckdb.connect() as db:
        db.execute(
            f"copy (select patient, pulse * 1000 as pulse, temperature from '{path}') "
            f"to '{tmp_path}/scaled.parquet'"
        )
    b = tables.gaussians(tmp_path / "scaled.parquet", "patient")
    np.testing.assert_allclose(a.variances, b.variances, rtol=1e-6, atol=1e-9)
    whole = a.samples.astype(float)
    np.testing.assert_allclose(whole.std(0), 1, rtol=1e-2)


def test_a_table_is_mapped_with_ellipses_of_every_kind(patients):
    path, _ = patients
    g = tables.gaussians(path, "patient")
    assert np.isfinite(pca(g).shapes).all()
    for shape in ("contexts", "diagonal", "full"):
        m = embed(
            affinity.gaussians(g, perplexity=8), shape=shape, schedule=Schedule(steps=120, early_steps=50)
        )
        assert np.isfinite(m.shapes).all()
        assert np.isfinite(m.xy).all()


def test_what_is_not_there_is_named(patients, tmp_path):
    path, _ = patients
    with pytest.raises(SettingsError, match="no column 'doctor'"):
        tables.gaussians(path, "doctor")
    with pytest.raises(SettingsError, match=r"'place' of .* holds VARCHAR"):
        tables.gaussians(path, "patient", ["place"])
    with pytest.raises(FileError, match="no table that is known"):
        tables.gaussians(tmp_path / "x.xlsx", "patient")
    with pytest.raises(FileError, match="there is no table"):
        tables.gaussians(tmp_path / "x.csv", "patient")
    (tmp_path / "holes.csv").write_text("who,x\na,\nb,\n")
    with pytest.raises((DataError, SettingsError)):
        tables.gaussians(tmp_path / "holes.csv", "who", ["x"])


def test_a_table_whose_name_is_not_utf8_is_to_be_renamed(tmp_path):
    path = tmp_path / "t\udcff.csv"
    path.write_text("who,height\na,1\n")
    for read in (tables.columns_of, lambda path: tables.gaussians(path, "who")):
        with pytest.raises(FileError, match="is not UTF-8"):
            read(path)


def _written(path, header, rows):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_missing_value_codes_are_read_as_missing_and_an_own_list_adds_to_them(tmp_path):
    cells = ["1.5", "NA", "2.5", "?", "", "3.5", "n/a", "-99", "4.5", "null"]
    path = _written(tmp_path / "na.csv", "who,pulse,day", [f"a,{cell},{i}" for i, cell in enumerate(cells)])
    found = tables.gaussians(path, "who", ["pulse"], standardise=False)
    assert found.counts.tolist() == [5]  # −99 is a number until it is said to be missing
    found = tables.gaussians(path, "who", ["pulse"], standardise=False, missing=["-99"])
    assert found.counts.tolist() == [4]
    np.testing.assert_allclose(found.means, [[3.0]])
    assert found.notes[0] == "6 of 10 rows with missing values were left out"
    every = tables.gaussians(path, "who", missing="-99")
    assert every.metadata["columns"] == ["pulse", "day"]


def test_a_column_with_a_few_wrong_cells_is_named_with_them_and_never_dropped_in_silence(tmp_path):
    cells = ["60", "61", "high", "63", "64", "high", "6o", "67", "68", "69"]
    path = _written(
        tmp_path / "wrong.csv", "who,pulse,day,town", [f"a,{cell},{i},oslo" for i, cell in enumerate(cells)]
    )
    found = tables.gaussians(path, "who")
    assert found.metadata["columns"] == ["day"]
    assert found.notes[0].startswith(
        "column 'pulse' of wrong.csv holds numbers but for 3 of 10 cells: 'high' (2 times), '6o'; it is left"
    )
    with pytest.raises(SettingsError, match=r"pulse.*'high' \(2 times\), '6o'; mend these cells"):
        tables.gaussians(path, "who", ["pulse", "day"])
    mended = tables.gaussians(path, "who", missing=["high", "6o"])
    assert mended.metadata["columns"] == ["pulse", "day"]
    assert mended.counts.tolist() == [7]


def test_items_of_few_rows_are_marked_as_words_of_few_contexts_are(tmp_path):
    path = _written(tmp_path / "few.csv", "who,x", [f"{'a' if i < 8 else 'b'},{i}" for i in range(10)])
    found = tables.gaussians(path, "who")
    assert found.items.columns["few"].tolist() == [False, True]
    assert "1 of 2 items have fewer than 5 rows: b" in found.notes


def test_column_names_of_any_letters_survive_the_map_file(tmp_path):
    names = ["x", "label", "pulse °C", "a.b", "v0", "who", "neighbours", "local", "vector", "y\"'", "日本"]
    rows = [",".join([f"p{i // 4}", *(str(i * j % 7) for j in range(len(names)))]) for i in range(40)]
    header = ",".join(["owner", *(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)])
    found = ellipses(table=_written(tmp_path / "any.csv", header, rows), by="owner", method="pca").map
    back = read_map(found.save(tmp_path / "map.parquet"))
    assert list(back.items.columns) == ["rows", "few", *names]
    for name in names:
        np.testing.assert_array_equal(back.items.columns[name], found.items.columns[name])
