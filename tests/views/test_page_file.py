import base64
import gzip
import hashlib
import json
import re

import numpy as np
import pytest

from langscape.data import Items, Map, View
from langscape.errors import DataError, MissingError, SettingsError, StoreError
from langscape.views import page, scatter, write
from langscape.views.kinds import KINDS

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "\u2028",
    "\ud800",
    "'\"&",
]


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A stand-in for the built page that holds what could break out of its element."""
    static = tmp_path / "static"
    static.mkdir()
    (static / "page.js").write_text("const a = '</script>', b = '<!--', c = '</SCRIPT'", encoding="utf-8")
    (static / "page.css").write_text("body { color: red }", encoding="utf-8")
    monkeypatch.setattr(page, "STATIC", static)
    return static


def view(labels=HOSTILE):
    return scatter(Map(np.arange(2.0 * len(labels)).reshape(-1, 2), Items(labels)), title="</title><b>Map")


def data_of(html):
    return json.loads(re.search(r'id="langscape-data">(.*?)</script>', html, re.DOTALL).group(1))


@pytest.mark.usefixtures("built")
def test_data_come_back_from_the_page_bit_for_bit():
    html = page.page_html(view())
    packed = data_of(html)["views"][0]
    assert packed["properties"]["labels"] == HOSTILE
    raw = gzip.decompress(base64.b64decode(packed["arrays"]["xy"]["gzip"]))
    np.testing.assert_array_equal(
        np.frombuffer(raw, "<f4").reshape(packed["arrays"]["xy"]["shape"]), view().arrays["xy"]
    )


@pytest.mark.usefixtures("built")
def test_no_label_title_or_script_can_end_its_element():
    html = page.page_html(view())
    assert html.count("</script") == 2
    assert html.count("<script") == 2
    assert html.count("</title>") == 1
    assert "<!--" not in html
    assert "<img" not in html


@pytest.mark.usefixtures("built")
def test_the_policy_holds_the_hashes_of_what_stands_in_the_page_and_allows_nothing_else():
    html = page.page_html(view())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html).group(1)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL).group(1)
    sheet = re.search(r"<style>(.*?)</style>", html, re.DOTALL).group(1)
    for directive, text in (("script-src", script), ("style-src", sheet)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "connect-src" not in policy


@pytest.mark.usefixtures("built")
def test_the_same_view_gives_the_same_page():
    assert page.page_html(view()) == page.page_html(view())


@pytest.mark.usefixtures("built")
def test_several_views_are_one_page(tmp_path):
    path = write([view(), view(["a"])], tmp_path / "two.html")
    assert len(data_of(path.read_text(encoding="utf-8"))["views"]) == 2
    with pytest.raises(SettingsError, match="at least one view"):
        write([], tmp_path / "none.html")


def test_a_page_that_is_not_built_says_how_to_build_it(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "STATIC", tmp_path)
    with pytest.raises(MissingError, match=r"make page.*Node 20\.19"):
        write(view(), tmp_path / "map.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("built")
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "map.html"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match=r"cannot write .*map\.html: No space left"):
        write(view(), path)
    assert path.read_text() == "old"
    assert {entry.name for entry in tmp_path.iterdir()} == {"map.html", "static"}


@pytest.mark.usefixtures("built")
def test_missing_folders_are_made_and_a_path_that_is_a_folder_is_named(tmp_path):
    assert write(view(), tmp_path / "new" / "map.html").is_file()
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(StoreError, match="it is a folder"):
        write(view(), tmp_path / "folder.html")


def test_an_unknown_suffix_names_the_known_ones(tmp_path):
    with pytest.raises(SettingsError, match=r"'map\.gif' .* \.html, \.png, \.svg, \.pdf"):
        write(view(), tmp_path / "map.gif")
    with pytest.raises(SettingsError, match="takes one view, not 2"):
        write([view(), view()], tmp_path / "map.png")


@pytest.mark.usefixtures("built")
def test_kinds_and_arrays_that_no_page_can_draw_are_refused():
    with pytest.raises(SettingsError, match=r"no kind of view 'cloud'; there are .*scatter"):
        page.page_html(View("cloud"))
    with pytest.raises(DataError, match="'x' of a view is float64; a page takes float32"):
        page.page_html(View("scatter", {}, {"x": np.zeros(2)}))


def test_every_kind_is_registered_in_both_languages(pytestconfig):
    registry = (pytestconfig.rootpath / "web/src/registry.ts").read_text(encoding="utf-8")
    block = re.search(r"VIEWS[^=]*= \{(.*?)\}", registry, re.DOTALL).group(1)
    assert sorted(re.findall(r"^\s*(\w+):", block, re.MULTILINE)) == sorted(KINDS)
