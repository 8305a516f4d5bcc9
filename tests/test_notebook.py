"""The notebook widget: what travels, and what comes back."""

import json
import sys
from itertools import pairwise

import numpy as np
import pytest

import langscape
from langscape.data import Items, Map
from langscape.notebook import packed
from langscape.views import scatter
from langscape.views.page import STATIC

pytest.importorskip("anywidget", reason="the widget needs the extra `notebook`")


@pytest.fixture
def view():
    items = Items(["tea", "coffee", "oslo"], {"group": ["drinks", "drinks", "capitals"], "count": [1, 2, 3]})
    return scatter(Map(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), items), title="Three")


@pytest.fixture
def built(monkeypatch, tmp_path):
    """The page's bundle, or a stand-in where it was not built: Python's half is what is tested here."""
    if not (STATIC / "widget.js").exists():
        (tmp_path / "widget.js").write_text("export default { render() {} }")
        (tmp_path / "widget.css").write_text("")
        monkeypatch.setattr("langscape.notebook.STATIC", tmp_path)


def test_arrays_travel_as_bytes_that_begin_at_multiples_of_eight(view):
    told, data = packed([view, view])
    pictures = json.loads(told)
    assert [one["kind"] for one in pictures] == ["scatter", "scatter"]
    places = [(one["at"], one["bytes"]) for picture in pictures for one in picture["arrays"].values()]
    assert all(at % 8 == 0 and at + size <= after for (at, size), (after, _) in pairwise(places))
    for picture in pictures:
        assert set(picture["arrays"]) == set(view.arrays)
        for name, one in picture["arrays"].items():
            raw = np.frombuffer(data, one["dtype"], offset=one["at"], count=int(np.prod(one["shape"])))
            assert raw.reshape(one["shape"]).tobytes() == view.arrays[name].tobytes()


def test_the_selection_comes_back_as_rows_of_a_data_frame(view, built):
    shown = langscape.widget(view, height=400)
    assert json.loads(shown.pictures)[0]["properties"]["labels"] == ["tea", "coffee", "oslo"]
    assert shown.height == 400
    assert len(shown.selection) == 0
    assert list(shown.selection.columns) == ["label", "x", "y", "group", "count"]
    shown.set_state({"rows": [2, 0]})  # as the page sends it
    assert shown.rows == [2, 0]
    assert shown.selected == ["oslo", "tea"]
    frame = shown.selection
    assert type(frame).__module__.startswith("pandas")
    assert frame.index.tolist() == [2, 0]
    assert frame["x"].tolist() == [4.0, 0.0]
    assert frame["group"].tolist() == ["capitals", "drinks"]


def test_without_pandas_the_selection_is_an_arrow_table(view, built, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    shown = langscape.widget(view)
    shown.rows = [1]
    assert shown.selection.to_pylist() == [
        {"label": "coffee", "x": 2.0, "y": 3.0, "group": "drinks", "count": 2.0}
    ]


def test_a_result_has_all_its_pictures_and_the_selection_is_of_the_one_shown(built):
    weights = np.full((5, 5), 0.2)
    found = langscape.look(weights, tokens=list("abcde"), restarts=1, steps=20)
    shown = langscape.widget(found)
    assert [one["kind"] for one in json.loads(shown.pictures)] == ["scatter", "attention"]
    shown.set_state({"picture": 0, "rows": [3]})
    assert shown.selection["label"].tolist() == [shown.selected[0]] == ["d"]
    shown.set_state({"picture": 1, "rows": [3, 1]})
    assert shown.selected == ["d", "b"]
    assert shown.selection["query"].tolist() == ["d"] * 5 + ["b"] * 5
    assert shown.selection["key"].tolist() == list("abcde") * 2


def test_selected_tokens_of_an_atlas_are_rows_with_their_positions(built):
    found = langscape.look(np.full((1, 2, 5, 5), 0.2), tokens=list("abcde"), restarts=1, steps=20)
    shown = langscape.widget(found)
    shown.rows = [4]
    assert shown.selection.to_dict("list") == {"position": [4], "label": ["e"]}


def test_labels_are_data_and_never_markup(built):
    item = Items(["<script>alert(1)</script>", "</script>"])
    shown = langscape.widget(scatter(Map(np.zeros((2, 2)), item)))
    assert json.loads(shown.pictures)[0]["properties"]["labels"] == list(item.labels)
