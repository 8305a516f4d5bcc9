"""Views as tables: what is in the picture, row by row, in files that other tools read."""

import csv

import duckdb
import numpy as np
import pytest
from tests.commands import run

from langscape.data import Capture, Items, Map, View
from langscape.errors import SettingsError
from langscape.views import attention, boxes, max_attention, scatter, write
from langscape.views.effects import NUMBERS, effects
from langscape.views.kinds import KINDS
from langscape.views.matrices import Matrix, matrices
from langscape.views.table import table


@pytest.fixture
def map():
    items = Items(["tea", "a,b", 'say "x"'], {"group": ["drinks", "", "odd"], "count": [1.0, np.nan, 3.0]})
    return Map(np.array([[0.1, 1], [2, 3], [4, 5]]), items, per_point={"local": np.array([0.5, 0.25, 1.0])})


def test_a_map_is_the_same_in_csv_and_parquet(map, tmp_path):
    view = scatter(map)
    rows = list(csv.DictReader(write(view, tmp_path / "m.csv").open(newline="")))
    assert [row["label"] for row in rows] == list(map.labels)
    assert [row["group"] for row in rows] == ["drinks", "", "odd"]
    assert [row["count"] for row in rows] == ["1", "", "3"]
    assert (
        np.array([float(row["x"]) for row in rows], np.float32).tolist()
        == map.xy[:, 0].astype(np.float32).tolist()
    )
    path = write(view, tmp_path / "m.parquet")
    read = duckdb.sql(f"select label, x, \"group\", local from read_parquet('{path}')").fetchnumpy()
    assert read["x"].tobytes() == np.ascontiguousarray(map.xy[:, 0], np.float32).tobytes()
    assert read["local"].tolist() == [0.5, 0.25, 1.0]


def test_a_column_named_like_a_coordinate_keeps_its_values(tmp_path):
    made = table(scatter(Map(np.zeros((2, 2)), Items(["a", "b"], {"x": [7.0, 8.0]}))))
    assert made["x"].tolist() == [0, 0]
    assert made["x_"].tolist() == [7, 8]


def test_attention_has_a_row_for_every_query_and_key():
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2, 3))
    capture = Capture(
        ["a", "b", "c"], {"attention": weights}, {"attention": ("layer", "head", "query", "key")}
    )
    made = table(attention(capture, 1, 0))
    assert len(made["weight"]) == 9
    at = np.flatnonzero((made["query"] == "b") & (made["key"] == "c"))
    assert made["weight"][at] == np.float32(weights[1, 0, 1, 2])
    strips = table(max_attention(capture))
    row = np.flatnonzero((strips["layer"] == 1) & (strips["head"] == 1) & (strips["token"] == "c"))
    assert strips["maximum"][row] == np.float32(weights[1, 1, :, 2].max())


def test_tables_and_boxes_have_a_row_for_every_cell():
    made = table(matrices([Matrix("one", ["r"], ["c", "d"], np.array([[1.0, 2.0]]))], title="T"))
    assert made["column"].tolist() == ["c", "d"]
    assert made["value"].tolist() == [1.0, 2.0]
    drawn = table(boxes({("0", "heads"): [1, 2, 3, 4]}))
    assert (drawn["count"].tolist(), drawn["median"].tolist()) == ([4.0], [2.5])


def test_effects_are_listed_in_the_order_of_the_picture_and_measured_by_their_own_scores(tmp_path):
    columns: dict[str, np.ndarray] = {name: np.array([0.1, 0.3, 0.2]) for name in NUMBERS}
    columns |= {name: np.array(["a", "b", "c"], object) for name in ("part", "tags", "source", "found")}
    columns |= {"layer": np.arange(3), "head": np.arange(3)}
    told = {"title": "T", "measure": "m", "how": "exact", "texts": 1}
    view = effects(Items(["0.0", "1.1", "2.2"], columns), [1, 2, 0], **told, tokens=64, cut=True)
    assert view.properties["subtitle"].endswith("1 text, the first 64 tokens")
    whole = effects(Items(["0.0", "1.1", "2.2"], columns), [1, 2, 0], **told, tokens=135, cut=False)
    assert whole.properties["subtitle"].endswith("1 text, all 135 tokens")
    made = table(view)
    assert made["label"].tolist() == ["1.1", "2.2", "0.0"]
    assert made["source"].tolist() == ["b", "c", "a"]
    assert made["matters"].tolist() == pytest.approx([0.3, 0.2, 0.1])
    assert "Attention order" not in run("measure", write(view, tmp_path / "effects.parquet")).stdout


def test_other_kinds_list_what_there_is_one_of_for_each_label():
    view = View(
        "other", {"labels": ["a", "b"]}, {"xy": np.zeros((2, 2)), "size": np.ones(2), "odd": np.ones(5)}
    )
    assert list(table(view)) == ["label", "x", "y", "size"]
    with pytest.raises(SettingsError, match="no rows"):
        table(View("other", {}, {}))
    assert "scatter" in KINDS
