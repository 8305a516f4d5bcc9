"""From a corpus, or a table, to ellipses on the command line."""

import csv
import re

import numpy as np
import pytest
from tests.commands import run

from langscape import read_gaussians, read_map
from langscape.analyses.ellipses import ellipses
from langscape.analyses.gaussians import gaussians, gaussians_part
from langscape.declarations.running import using
from langscape.errors import FileError, SettingsError
from langscape.io.codec import differences
from langscape.store.store import Store


@pytest.fixture(autouse=True)
def store_of_its_own(tmp_path, monkeypatch):
    """Results go to a folder of the test; the packaged model stays where it is."""
    monkeypatch.setattr("langscape.store.store.home_folder", lambda: tmp_path / "home")


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "story.txt"
    things = ["tea", "coffee", "milk", "boat", "horse", "lamp", "river", "bread"]
    ways = ["She saw the {} again.", "A {} was there before dawn.", "Nobody spoke of the {}, or of the {}."]
    text = " ".join(way.format(a, b) for a in things for b in things for way in ways)
    path.write_text(text, encoding="utf-8")
    rows = [f"{thing},{'drinks' if i < 3 else 'things'}" for i, thing in enumerate([*things, "xyzzy"])]
    (path.parent / "words.csv").write_text("\n".join(["word,group", *rows]))
    return path


@pytest.mark.slow
def test_words_of_a_corpus_become_ellipses_that_can_be_read(story, tmp_path):
    out = tmp_path / "words.safetensors"
    done = run(
        "gaussians", "default", "--corpus", story, "--words", story.parent / "words.csv", "--contexts", 12,
        "--out", out,
    )  # fmt: skip
    assert "1 word does not occur in the corpus: xyzzy" in done.stderr
    g = read_gaussians(out)
    assert len(g) == 8
    assert g.metadata["missing"] == ["xyzzy"]
    assert set(g.items.columns["group"]) == {"drinks", "things"}
    assert all(one.text[one.start : one.end].lower() == "tea" for one in g.contexts[0])
    for options in (("--shape", "contexts"), ("--shape", "diagonal"), ("--method", "pca")):
        done = run(
            "ellipses", out, *options, "--out", tmp_path / "map.parquet", "--out", tmp_path / "map.svg"
        )
        # areas that are the variance by construction are judged by the rows that they were not made of
        score = "Area and variance" if options[1] == "diagonal" else "Held-out area"
        assert f"{score}: rank correlation" in done.stderr
        m = read_map(tmp_path / "map.parquet")
        assert m.shapes.shape == (8, 2, 2)
    run("view", tmp_path / "map.parquet", "--no-open", "--out", tmp_path / "again.svg")
    assert "50% mass" in (tmp_path / "again.svg").read_text()  # letters are paths, named in comments


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_where_it_stood(story, tmp_path, monkeypatch):
    words = ["tea", "coffee", "milk", "boat"]
    monkeypatch.setattr("langscape.analyses.gaussians.PART", 2)
    store = Store(tmp_path)
    with using(store):
        # what stood when it was stopped
        gaussians_part("default", story, words, contexts=6, first=0, count=2)
        assert store.size()[0] == 3  # the list, its contexts, and a part
        whole = gaussians("default", story, words=words, contexts=6)
        assert store.size()[0] == 5  # and the other part, and the whole
        again = gaussians("default", [story], words=words, contexts=6, layer=-1)
        assert store.size()[0] == 5
        assert differences(whole, again) == []
        assert whole.labels == tuple(words)
        drawn = ellipses(corpus=story, words=words, contexts=6, method="pca")
        assert store.size()[0] == 6  # the distributions were there
        assert drawn.view().arrays["context_counts"].tolist() == [6] * 4
        assert drawn.gaussians.samples is None
        plain = ellipses(whole, shape="none", perplexity=1.0)
        assert plain.view().kind == "scatter"
    monkeypatch.setattr("langscape.analyses.gaussians.PART", 4)
    with using(Store(tmp_path / "other")):
        one = gaussians("default", story, words=words, contexts=6)
    np.testing.assert_allclose(one.means, whole.means, atol=1e-5)


def test_a_table_becomes_ellipses(tmp_path):
    rng = np.random.default_rng(0)
    with (tmp_path / "patients.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["patient", "pulse", "temperature"])
        out.writerows(
            [f"p{i}", 60 + i + rng.normal(), 36 + rng.normal()] for i in range(20) for _ in range(6)
        )
    made = tmp_path / "patients.safetensors"
    done = run("gaussians", "--table", tmp_path / "patients.csv", "--by", "patient", "--out", made)
    assert re.search(r"vary least: p\d+(, p\d+){4}; most: p\d+(, p\d+){4}$", done.stdout, re.MULTILINE)
    done = run("ellipses", made, "--steps", 60, "--out", tmp_path / "map.csv", "--only", "p3,p4")
    assert "perplexity 30 is too many for 20 items" in done.stderr
    with (tmp_path / "map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    assert float(rows[0]["shape_xx"]) > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gaussians", "--table", "x.csv"], "say what to group the table by: the column"),
        (["gaussians", "--table", "x.csv", "--by", "a", "--word", "tea"], "one or the other"),
        (["gaussians", "--table", "x.csv", "--by", "a", "--corpus", "x.txt"], "one or the other"),
        (["gaussians", "--word", "tea", "--words", "x.csv"], "named twice"),
        (["ellipses", "x.csv", "--word", "tea"], "one or the other"),
        (["gaussians", "--word", "tea", "--out", "x.npz"], r"use one of \.safetensors$"),
        (
            ["gaussians", "--word", "tea", "--corpus", "wordnett"],
            "wordnett; did you mean wordnet.*`langscape corpora`",
        ),
        (["ellipses", "nowhere.safetensors"], "nowhere.safetensors"),
    ],
)
def test_what_is_missing_is_named(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((SettingsError, FileError), match=said):
        run(*arguments)


def test_words_may_be_named_one_by_one_or_not_at_all(story, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("gaussians", "--corpus", story, "--word", "tea", "--word", "lamp,boat", "--contexts", 2)
    assert read_gaussians("gaussians.safetensors").labels == ("tea", "lamp", "boat")
    run("gaussians", "--corpus", story, "--most", 5, "--contexts", 2, "--out", "often.safetensors")
    assert len(read_gaussians("often.safetensors")) == 5
