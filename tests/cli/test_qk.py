"""`langscape qk` on a tiny model that is made here."""

import csv

import pytest
from tests.commands import at_home_in, run

from langscape import read_map
from langscape.errors import SettingsError

TEXT = "the cat sat on a mat. The red lamp saw the door and a cat. " * 4 + "\n\nA cat over the north door."
SHORT = ("--steps", 60, "--perplexity", 5)


@pytest.fixture
def texts(tiny_gpt, monkeypatch):
    at_home_in(tiny_gpt, monkeypatch)
    (tiny_gpt / "many.txt").write_text(TEXT)
    return tiny_gpt


@pytest.mark.slow
def test_every_head_is_mapped_and_kept(texts):
    words = ("qk", "tiny", "--text", "many.txt", "--all", "--workers", 0, *SHORT)
    done = run(*words, "-o", "all.csv", "-o", "all.png")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:9]] == [f"{a}.{b}" for a in range(2) for b in range(4)]
    assert lines[9].startswith("mean")
    with (texts / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["layer"], row["head"]) for row in rows] == [
        (str(a), str(b)) for a in range(2) for b in range(4)
    ]
    assert lines[1].split()[1] == f"{float(rows[0]['order']):.3f}"
    assert run(*words).stdout.splitlines()[:10] == lines[:10]


@pytest.mark.slow
def test_one_head_by_distance_with_a_chosen_scale(texts):
    words = ("qk", "tiny", "-t", "many.txt", "--layer", 1, "--head", 2, "--c", "norms", *SHORT)
    done = run(*words, "--scales", "-o", "one.parquet", "-o", "one.svg")
    assert "c by norms" in done.stdout
    assert "on unseen sentences" in done.stdout
    made = read_map(texts / "one.parquet")
    assert made.settings["by"] == "distance"
    assert made.settings["c"] > 0
    assert "order" in made.quality


@pytest.mark.slow
def test_one_head_two_ways(texts):
    words = ("qk", "tiny", "-t", "many.txt", "--layer", 0, "--head", 1, "--beside", *SHORT)
    assert "agreement of both maps" in run(*words, "-o", "two.png").stdout
    assert (texts / "two.png").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which head"),
        (("--all", "--layer", 1), "say which head"),
        (("--layer", 0, "--head", 0, "--special", "some"), "--special some"),
        (("--layer", 0, "--head", 0, "-o", "map.docx"), "map.docx"),
        (("--all", "-o", "map.parquet"), "takes one map"),
        (("--layer", 0, "--head", 0, "--method", "pca", "--by", "attention"), "--by distance"),
        (("--all", "--beside"), "--beside shows one head"),
    ],
)
def test_wrong_wishes_are_said_in_one_message(words, said):
    with pytest.raises(SettingsError, match=said):
        run("qk", "tiny", *words)
