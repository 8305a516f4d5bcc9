"""Nouns and results show themselves: as text, as a page or a PNG, as a widget, as rows of other tools."""

from __future__ import annotations

import base64
import html
import re
import struct
import sys
import typing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import langscape
from langscape import Capture, Gaussians, Items, Map, View, affinity, embed, notebook
from langscape.data import Shown
from langscape.engine import Schedule
from langscape.errors import MissingError
from langscape.metrics.null import Null
from langscape.sources import samples

WORDS = ["tea", "coffee", "milk", "oslo", "rome", "paris", "bern", "cairo", "quito"]

NULL = Null(0.25, 0.1, 0.4)


def made(name: str):
    rng = np.random.default_rng(0)
    weights = rng.random((2, 3, 9, 9)).astype(np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    seen = Capture.of_tensors(attention=weights, tokens=WORDS)
    found = Map(rng.normal(size=(9, 2)), Items(WORDS, {"group": ["drink"] * 3 + ["city"] * 6}), kl=0.5)
    if name == "atlas":
        return langscape.look(seen, restarts=1, steps=20)
    if name == "head":
        return langscape.look(weights[0, 0], tokens=WORDS, restarts=1, steps=20)
    return {
        "map": found,
        "view": found.view(title="Words"),
        "capture": seen,
        "gaussians": Gaussians(rng.normal(size=(9, 5)), rng.random((9, 5)), found.items, counts=[3] * 9),
    }[name]


KINDS = ["map", "view", "capture", "gaussians", "atlas", "head"]


@pytest.fixture(params=KINDS)
def held(request):
    return made(request.param)


PLACES = {
    "jupyter": lambda patch: patch.setenv("JPY_SESSION_NAME", "notes.ipynb"),
    "vs code": lambda patch: patch.setitem(SHELL.user_ns, "__vsc_ipynb_file__", "/notes.ipynb"),
    "colab": lambda patch: patch.setitem(sys.modules, "google.colab", SimpleNamespace()),
}
SHELL = SimpleNamespace(kernel=object(), user_ns={})


def in_kernel(monkeypatch, place: str | None = "jupyter") -> None:
    """A kernel of IPython, with a notebook open before it or without."""
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(notebook, "_shell", lambda: SHELL)
    if place:
        PLACES[place](monkeypatch)


def test_the_text_is_short_and_names_what_it_is(held):
    text = repr(held)
    assert text.startswith(type(held).__name__)
    assert len(text.splitlines()) < 12
    assert len(text) < 1000
    assert "array([" not in text


def test_the_text_of_a_map_gives_each_score_beside_its_chance_and_says_when_items_are_too_few():
    made = Map(np.zeros((4, 2)), Items(list("abcd")), quality={"local": 0.75, **NULL.beside("local")}, kl=0.1)
    lines = repr(made).splitlines()
    assert "  Local 75.0 % (far better than chance, 25.0 %)" in lines
    assert lines[-1].startswith("  4 items are too few for t-SNE")
    assert "local_null" not in repr(made)


def test_the_words_of_the_package_are_a_live_page_in_a_notebook(monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    words = samples.words(groups_only=True)
    made = embed(
        affinity.points(words.matrix, 20, items=words.items()), schedule=Schedule(steps=20, early_steps=10)
    )
    assert "text/html" in made._repr_mimebundle_()


def test_outside_of_a_kernel_it_is_a_page_of_its_own_in_a_frame(held, monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    bundle = held._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert len(bundle["text/html"].encode()) < notebook.LARGEST_PAGE
    page = html.unescape(re.search("srcdoc='([^']*)'", bundle["text/html"])[1])
    assert page.startswith("<!doctype html>")
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_where_frames_and_styles_are_taken_out_a_readable_png_is_left(held, monkeypatch):
    # GitHub shows outputs so, and JupyterLab those of a notebook that is not trusted
    bleach = pytest.importorskip("bleach", reason="bleach comes with nbconvert")
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    output = held._repr_mimebundle_()["text/html"]
    rules = {
        "tags": {"img", "div", "p"},
        "attributes": {"img": ["src", "alt"]},
        "protocols": {"data", "https"},
    }
    left = bleach.clean(output, **rules, strip=True)
    assert "iframe" not in left
    assert "display" not in left
    drawn = base64.b64decode(
        re.fullmatch('<img src="data:image/png;base64,([^"]*)" alt="langscape">', left)[1]
    )
    width, height = struct.unpack(">II", drawn[16:24])
    assert width >= 600
    assert height >= 300


def test_a_large_picture_is_a_png(monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    rng = np.random.default_rng(0)
    large = Map(rng.normal(size=(60_000, 2)), Items.numbered(60_000))
    bundle = large._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    drawn = base64.b64decode(bundle["image/png"])
    assert drawn.startswith(b"\x89PNG")
    assert len(drawn) < notebook.LARGEST_PAGE


def test_a_large_atlas_is_a_page_without_attention_that_says_so(monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    found = made("atlas")
    whole = len(found._repr_mimebundle_()["text/html"])
    monkeypatch.setattr(notebook, "LARGEST_PAGE", whole - 1)
    lighter = html.unescape(found._repr_mimebundle_()["text/html"])
    assert len(lighter) < whole
    assert "attention is left out here" in lighter


def test_a_page_that_is_not_built_is_a_png(monkeypatch):
    def missing(views):
        raise MissingError("not built")

    monkeypatch.setattr(notebook, "_shell", lambda: None)
    monkeypatch.setattr("langscape.views.page.page_html", missing)
    assert set(made("map")._repr_mimebundle_()) == {"text/plain", "image/png"}


@pytest.mark.parametrize("place", PLACES)
def test_an_open_notebook_shows_the_widget(place, monkeypatch):
    in_kernel(monkeypatch, place)
    assert "application/vnd.jupyter.widget-view+json" in made("map")._repr_mimebundle_()


def test_marimo_shows_the_widget(monkeypatch):
    marimo = SimpleNamespace(running_in_notebook=lambda: True)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    assert "application/vnd.jupyter.widget-view+json" in made("map")._repr_mimebundle_()


def test_a_kernel_that_nobody_sits_before_writes_a_page(monkeypatch):
    in_kernel(monkeypatch, None)
    assert set(made("map")._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_an_open_notebook_gets_a_png_too_for_later_readers(held, monkeypatch):
    in_kernel(monkeypatch)
    bundle = held._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"}
    assert bundle["text/plain"] == repr(held)


def test_a_kernel_without_anywidget_shows_the_page(monkeypatch):
    def missing(view, **settings):
        raise MissingError("the widget needs anywidget")

    in_kernel(monkeypatch)
    monkeypatch.setattr(notebook, "widget", missing)
    assert set(made("map")._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_terminal_gets_text_alone(held, monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: SimpleNamespace())
    assert held._repr_mimebundle_() == {"text/plain": repr(held)}


def test_ipython_shows_the_bundle():
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(made("map"))
    assert {"text/plain", "text/html"} <= set(data)


def test_what_has_no_picture_says_why(monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    hidden = Capture.of_tensors(hidden=np.ones((1, 9, 3)), tokens=WORDS)
    assert "no picture: this capture holds hidden" in hidden._repr_mimebundle_()["text/plain"]


def test_a_notebook_of_ten_pictures_stays_below_ten_megabytes(monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    sizes = [len(value) for name in KINDS for value in made(name)._repr_mimebundle_().values()]
    assert 10 * max(sizes) < 10e6


def test_every_result_of_an_analysis_shows_itself():
    from langscape.declarations.declaration import analyses

    for one in analyses().values():
        if not one.hidden:
            result = typing.get_type_hints(one.function)["return"]
            assert issubclass(result, Shown), one.name
            assert hasattr(result, "view") or hasattr(result, "views") or result is Gaussians, one.name


def test_the_figure_is_matplotlibs(held):
    from matplotlib.figure import Figure

    assert isinstance(held.figure(), Figure)


def test_rows_go_to_arrow():
    found = made("map")
    table = found.to_arrow()
    assert table["label"].to_pylist() == WORDS
    assert table["group"].to_pylist() == found.items.columns["group"].tolist()
    assert np.array_equal(table["x"].to_numpy(), found.xy[:, 0])
    assert found.items.to_arrow().column_names == ["label", "group"]
    assert found.view().to_arrow()["label"].to_pylist() == WORDS
    assert made("atlas").to_arrow().num_rows == 6
    vectors = made("gaussians").to_arrow()["mean"]
    assert np.allclose(np.array(vectors.to_pylist()), made("gaussians").means)
    assert isinstance(made("head").to_arrow(), pa.Table)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_go_to_data_frames(library):
    frame = getattr(made("map"), f"to_{library}")()
    assert type(frame).__module__.split(".")[0] == library
    assert list(frame["label"]) == WORDS


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingError, match=f"pip install {library}"):
        getattr(made("map"), f"to_{library}")()


def test_a_view_is_its_own_picture():
    view = View("scatter", {"labels": ["tea"], "columns": []}, {"xy": np.array([[1.0, 2.0]])})
    assert notebook.pictures(view) == [view]


def test_a_head_is_named_by_model_layer_and_head_and_says_whether_it_can_be_read():
    head = made("head")
    assert [view.properties["title"] for view in head.views()] == ["Head 0.0: map", "Head 0.0"]
    named = replace(head, capture=replace(head.capture, metadata={"model": "default"}))
    assert named.title == "MiniLM-L6 0.0"
    (kept,) = [one for one in head.views()[0].properties["quality"] if one["name"] == "kept"]
    assert re.fullmatch(r"[\d.]+ % \((good|partly|not to be read)\)", kept["brief"])
