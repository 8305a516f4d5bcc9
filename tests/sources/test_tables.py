"""Gaussians from tables, against numpy."""

import csv

import duckdb
import numpy as np
import pytest

from langscape import affinity, embed
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
    assert "p99" in g.notes[1]


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
