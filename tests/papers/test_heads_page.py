from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from papers.heads import claims, figures
from papers.heads.__main__ import main
from papers.heads.experiments import OCCUPATIONS

from langscape.data import Items, Map
from langscape.errors import FileError
from langscape.models import get_model
from langscape.sources import read_word_list


def test_the_words_that_the_document_names_are_on_the_list() -> None:
    listed = read_word_list(OCCUPATIONS)
    assert {*claims.ARTS, *claims.TRADES} <= set(listed.words)
    assert len(set(listed.words)) == len(listed.words)


def test_neighbours_of_the_own_group_are_counted() -> None:
    items = Items(["a", "b", "c", "d"], {"group": np.array(["x", "x", "y", "y"], object)})
    line = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    assert claims.same_group(items, claims.distances(line), k=1) == 1
    assert claims.same_group(items, claims.distances(line[[0, 2, 1, 3]]), k=1) == 0
    made = Map(line, items)
    assert claims.closeness(made, ("a", "b")) == pytest.approx(1 / 9.5)  # of 1, 1, 9, 10, 10, 11


def test_letters_to_change_are_a_metric() -> None:
    words = ["cook", "clerk", "chef", "coach", ""]
    for a in words:
        for b in words:
            assert claims.levenshtein(a, b) == claims.levenshtein(b, a)
            assert (claims.levenshtein(a, b) == 0) == (a == b)
            for c in words:
                assert claims.levenshtein(a, c) <= claims.levenshtein(a, b) + claims.levenshtein(b, c)


def test_order_and_repeats_are_read_off_a_map() -> None:
    places = np.column_stack([np.arange(10.0), np.zeros(10)])
    items = Items(list("abcdeabcde"), {"position": np.arange(10)})
    assert claims.in_order(Map(places, items), k=2) == 1
    assert claims.in_order(Map(places[np.arange(10) * 3 % 10], items), k=1) == 0
    assert claims.repeated(Map(places, items)) > 1
    assert claims.repeated(Map(np.tile(places[:5], (2, 1)), items)) == 0


def test_a_zoom_keeps_places_and_says_so() -> None:
    cloud = figures.gaussians()
    labelled = Map(cloud.xy, Items([str(i) for i in range(len(cloud))]))
    near = figures.zoomed(labelled, [7], 5)
    assert "7" in near.labels
    assert len(near) == 5
    assert "5 of" in near.notes[0]


@pytest.mark.slow
def test_one_command_writes_the_page_beside_the_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from langscape.models import model_path

    get_model("default")
    model = str(model_path("default"))
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "home"))
    asked = ["--quick", "--model", model, "--workers", "0"]
    main([*asked, "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in said} <= {"yes", "in", "NO"}
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for number in (2, *range(5, 16), *range(17, 25)):
        assert f"Figure {number}." in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert "nan" not in re.sub(r"base64,[^\"]*|<[^>]*>|\w*nan\w+|\w+nan\w*", "", text)
    for name in ("claims", "compared", "compared-left-off", "robustness", "robustness-left-off"):
        assert (tmp_path / "out" / f"{name}.csv").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be made a folder"):
        main([*asked, "--out", str(tmp_path / "file")])
