"""The notebook widget: what travels, and what comes back."""

import json

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
    layout, data = packed(view)
    assert set(layout) == set(view.arrays)
    for name, one in layout.items():
        assert one["at"] % 8 == 0
        raw = np.frombuffer(data, one["dtype"], offset=one["at"], count=int(np.prod(one["shape"])))
        assert raw.reshape(one["shape"]).tobytes() == view.arrays[name].tobytes()


def test_the_selection_comes_back_as_rows_labels_and_table(view, built):
    shown = langscape.widget(view, height=400)
    assert json.loads(shown.properties)["labels"] == ["tea", "coffee", "oslo"]
    assert shown.height == 400
    shown.set_state({"selection": [2, 0]})  # as the page sends it
    assert shown.selected == ["oslo", "tea"]
    assert shown.rows["x"].tolist() == [4.0, 0.0]
    assert shown.rows["group"].tolist() == ["capitals", "drinks"]


def test_labels_are_data_and_never_markup(built):
    item = Items(["<script>alert(1)</script>", "</script>"])
    shown = langscape.widget(scatter(Map(np.zeros((2, 2)), item)))
    assert json.loads(shown.properties)["labels"] == list(item.labels)
