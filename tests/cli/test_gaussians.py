"""From a corpus, or a table, to ellipses on the command line."""

import csv
import re

import numpy as np
import pytest
from tests.commands import run

from langscape import read_gaussians, read_map
from langscape.errors import FileError, SettingsError
from langscape.run import Recipe
from langscape.run.distributions import ellipse_view, make_gaussians, word_recipe
from langscape.run.store import Store


@pytest.fixture(autouse=True)
def store_of_its_own(tmp_path, monkeypatch):
    """Results go to a folder of the test; the packaged model stays where it is."""
    monkeypatch.setattr("langscape.run.store.home", lambda: tmp_path / "home")


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
    assert "1 word stands nowhere in the corpus: xyzzy" in done.stderr
    g = read_gaussians(out)
    assert len(g) == 8
    assert g.made["missing"] == ["xyzzy"]
    assert set(g.items.columns["group"]) == {"drinks", "things"}
    assert all(one.text[one.start : one.end].lower() == "tea" for one in g.contexts[0])
    for options in (("--shape", "contexts"), ("--shape", "diagonal"), ("--method", "pca")):
        done = run(
            "ellipses", out, *options, "--out", tmp_path / "map.parquet", "--out", tmp_path / "map.svg"
        )
        assert "area and variance: rank correlation" in done.stderr
        m = read_map(tmp_path / "map.parquet")
        assert m.shapes.shape == (8, 2, 2)
    run("view", tmp_path / "map.parquet", "--no-open", "--out", tmp_path / "again.svg")
    assert "50% mass" in (tmp_path / "again.svg").read_text()  # letters are paths, named in comments


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_where_it_stood(story, tmp_path):
    store = Store(tmp_path)
    words = ["tea", "coffee", "milk", "boat"]
    recipe, parts = word_recipe(words, [story], contexts=6, part=2)
    first = next(iter(parts.values()))
    store.run(first)  # what stood when it was stopped
    asked = []
    path = make_gaussians(recipe, parts, store=store, progress=lambda step: asked.append(step.doing))
    assert store.size()[0] == 4  # contexts, two parts, and the whole
    again = make_gaussians(recipe, parts, store=store)
    assert again == path
    whole = read_gaussians(path)
    one = word_recipe(words, [story], contexts=6, part=4)
    np.testing.assert_allclose(
        read_gaussians(make_gaussians(*one, store=store)).means, whole.means, atol=1e-5
    )
    assert whole.labels == tuple(words)
    view = ellipse_view(Recipe("gaussians.map", {"method": "pca"}, {"gaussians": recipe}), store=store)
    assert view.arrays["context_counts"].tolist() == [6] * 4
    plain = Recipe("gaussians.map", {"shape": None, "perplexity": 1.0}, {"gaussians": path})
    assert ellipse_view(plain, store=store).kind == "scatter"


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
    assert re.search(r"vary least: p\d+(, p\d+){4}; most: p\d+(, p\d+){4}$", done.stderr, re.MULTILINE)
    done = run("ellipses", made, "--steps", 60, "--out", tmp_path / "map.csv", "--only", "p3,p4")
    assert "perplexity 30 is too many for 20 items" in done.stderr
    with (tmp_path / "map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    assert float(rows[0]["shape_xx"]) > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gaussians", "--corpus", "x.txt"], "name the words"),
        (["gaussians", "--word", "tea"], "name a corpus"),
        (["gaussians", "--table", "x.csv"], "--table needs --by"),
        (["gaussians", "--word", "tea", "--corpus", "x", "--out", "x.npz"], r"must end in \.safetensors$"),
        (
            ["gaussians", "--word", "tea", "--corpus", "x", "--out", "x.html"],
            "`langscape ellipses FILE --out x.html`",
        ),
        (
            ["gaussians", "--word", "tea", "--corpus", "wordnett"],
            "wordnett; did you mean wordnet.*`langscape corpora`",
        ),
        (["gaussians", "--word", "tea", "--corpus", "x.txt", "--unit", "page"], "--unit page is not known"),
        (["ellipses", "nowhere.safetensors"], "there is no file nowhere"),
        (["ellipses", "x.safetensors", "--shape", "round"], "--shape round"),
    ],
)
def test_what_is_missing_is_named(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((SettingsError, FileError), match=said):
        run(*arguments)
