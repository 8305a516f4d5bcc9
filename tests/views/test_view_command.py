from pathlib import Path

import numpy as np
import pytest
from tests import commands

from langscape.data import Items, Map
from langscape.errors import LangscapeError, SettingsError
from langscape.views import page as pages


@pytest.fixture
def saved(tmp_path, monkeypatch):
    static = tmp_path / "static"
    static.mkdir()
    (static / "page.js").write_text("0")
    (static / "page.css").write_text("")
    monkeypatch.setattr(pages, "STATIC", static)
    items = Items(["tea", "oslo"], {"kind": ["drink", "capital"]})
    return Map(np.array([[0.0, 1], [2, 3]]), items).save(tmp_path / "words.parquet")


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr("webbrowser.open", lambda address: addresses.append(address) or True)
    return addresses


def run(*arguments):
    return commands.run("view", *arguments)


def test_a_page_is_written_where_asked_and_opened(saved, opened, tmp_path):
    result = run(saved, "--out", tmp_path / "map.html", "--color", "kind", "--quantiles", 5)
    assert result.stdout.strip() == str(tmp_path / "map.html")
    assert opened == [(tmp_path / "map.html").as_uri()]
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert '"color":"kind"' in page
    assert '"quantiles":5' in page


def test_without_out_a_temporary_page_is_made_and_its_path_printed(saved, opened, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run(saved, "--no-open")
    assert opened == []
    path = Path(result.stdout.strip())
    assert path.name == "words.html"
    assert "<title>words</title>" in path.read_text(encoding="utf-8")


def test_pictures_are_written_too(saved, opened, tmp_path):
    run(saved, "--out", tmp_path / "map.svg", "--no-open")
    assert (tmp_path / "map.svg").read_text().startswith("<?xml")


@pytest.mark.usefixtures("opened")
def test_what_is_wrong_is_said_and_nothing_is_written(saved, tmp_path):
    with pytest.raises(SettingsError, match="'grup' is not a column"):
        run(saved, "--out", tmp_path / "map.html", "--color", "grup")
    with pytest.raises(LangscapeError, match=r"missing\.parquet"):
        run(tmp_path / "missing.parquet", "--out", tmp_path / "map.html")
    assert not (tmp_path / "map.html").exists()
