"""`langscape qk` and the commands beside it on a tiny model that is made here."""

import csv

import pytest
from tests.commands import at_home_in, run
from typer.testing import CliRunner

from langscape import read_map
from langscape.cli.app import app
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
    words = ("query-key-grid", "tiny", "--text", "many.txt", "--workers", 0, *SHORT)
    done = run(*words, "-o", "all.csv", "-o", "all.png")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:9]] == [f"{a}.{b}" for a in range(2) for b in range(4)]
    assert lines[9].startswith("mean")
    assert lines[10].startswith("blind")
    assert "key popularity alone: " in "\n".join(lines[11:])
    with (texts / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["layer"], row["head"]) for row in rows] == [
        (str(a), str(b)) for a in range(2) for b in range(4)
    ]
    assert lines[1].split()[1] == f"{float(rows[0]['specific_order']):.3f}"
    assert run(*words).stdout.splitlines()[:10] == lines[:10]


@pytest.mark.slow
def test_one_head_by_distance_with_a_chosen_scale(texts):
    words = ("qk", "tiny", "-t", "many.txt", "--layer", 1, "--head", 2, "--choose", "norms", *SHORT)
    done = run(*words, "-o", "one.parquet", "-o", "one.svg")
    assert "c by norms" in done.stdout
    made = read_map(texts / "one.parquet")
    assert made.settings["by"] == "distance"
    assert made.settings["c"] > 0
    assert "order" in made.quality
    assert run("query-key", *words[1:]).stdout.splitlines() == done.stdout.splitlines()[:-2]


@pytest.mark.slow
def test_the_choice_of_c_is_told_for_all_metrics(texts):
    done = run("query-key-scale", "tiny", "-t", "many.txt", "--percentile", 20, "-o", "c.csv", "-o", "c.png")
    assert "c by norms" in done.stdout
    assert "on unseen sentences" in done.stdout
    with (texts / "c.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 8


@pytest.mark.slow
def test_one_head_under_six_constants(texts):
    words = ("query-key-constants", "tiny", "-t", "many.txt", "--layer", 1, "--head", 2, "--workers", 0)
    lines = run(*words, *SHORT, "-o", "six.png").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["c", "=", "0.2"], ["c", "=", "0.4"]]
    assert (texts / "six.png").exists()


@pytest.mark.slow
def test_one_head_two_ways(texts):
    words = ("query-key-beside", "tiny", "-t", "many.txt", "--layer", 0, "--head", 1, *SHORT)
    assert "agreement of both maps" in run(*words, "-o", "two.png").stdout
    assert (texts / "two.png").exists()


@pytest.mark.slow
def test_several_files_are_read_one_after_another(texts):
    (texts / "more.txt").write_text("A red door saw the mat.")
    words = ("qk", "tiny", "--layer", 0, "--head", 1, *SHORT)
    run(*words, "-t", "many.txt", "-o", "one.parquet")
    run(*words, "-t", "many.txt", "-t", "more.txt", "-o", "both.parquet")
    one, both = (read_map(texts / name) for name in ("one.parquet", "both.parquet"))
    assert both.items.columns["sentence"].max() == one.items.columns["sentence"].max() + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("qk", "tiny", "--layer", 0, "--head", 0, "-o", "map.docx"), "map.docx"),
        (("query-key-grid", "tiny", "-o", "map.docx"), "map.docx"),
        (("qk", "tiny", "--layer", 0, "--head", 4), "head 4 is not there"),
        (
            ("qk", "tiny", "--layer", 0, "--head", 0, "--pipeline", "de_core_news_sm", "-t", "many.txt"),
            "tagger spacy",
        ),
    ],
)
def test_wrong_wishes_are_said_in_one_message(texts, words, said):
    with pytest.raises(SettingsError, match=said):
        run(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--head", 1), "--layer"), (("--layer", 1, "--head", 1, "--special", "some"), "keep")],
)
def test_a_missing_head_and_an_unknown_choice_are_said(texts, words, said):
    done = CliRunner().invoke(app, ["qk", "tiny", *map(str, words)])
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("query-key-scale", "--percentile", 20), "rows"),
        (("query-key-search",), "Which head"),
        (("query-key-grid", "--workers", 0, *SHORT), "Query-specific order"),
    ],
    ids=["scale", "search", "grid"],
)
def test_measure_reads_every_table_of_heads(texts, words, said):
    run(words[0], "tiny", "-t", "many.txt", *words[1:], "-o", "table.parquet")
    assert said in run("measure", "table.parquet").stdout
