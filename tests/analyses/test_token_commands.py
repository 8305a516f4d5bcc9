"""`langscape head`, `max-attention`, `hidden` and `texts`, from the words typed to the files written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.commands import at_home_in, run
from tests.models.folders import TEXT, bert_folder

from langscape import read_map
from langscape.errors import SettingsError

FEW = ("--restarts", "2", "--steps", "60")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    bert_folder(folder / "tiny")
    (folder / "text.txt").write_text(TEXT)
    words = dict.fromkeys(TEXT.split())
    (folder / "list.csv").write_text("word,group\n" + "".join(f"{w},{len(w)} letters\n" for w in words))
    return folder


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home_in(folder, monkeypatch)


def test_one_head_becomes_a_map_and_a_matrix(folder: Path) -> None:
    chosen = ("head", "./tiny", "-t", "text.txt", "--layer", "1", "--head", "2", *FEW)
    run(*chosen, "-o", "head.parquet", "-o", "map.svg")
    made = read_map(folder / "head.parquet")
    assert made.labels == tuple(TEXT.split())
    assert (made.settings["layer"], made.settings["head"]) == (1, 2)
    run(*chosen, "--show", "matrix", "-o", "matrix.svg", "-o", "again.parquet")
    assert "key: is attended to" in (folder / "matrix.svg").read_text()
    assert "key: is attended to" not in (folder / "map.svg").read_text()
    assert (read_map(folder / "again.parquet").xy == made.xy).all()


def test_maximum_attention_is_printed_drawn_and_listed(folder: Path) -> None:
    done = run("max-attention", "./tiny", "-t", "text.txt", "-o", "most.svg", "-o", "most.csv")
    with (folder / "most.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3 * (len(TEXT.split()) + 2)
    means: dict[str, list[float]] = {}
    for row in rows:
        assert float(row["mean"]) <= float(row["maximum"]) <= 1
        means.setdefault(f"{row['layer']}.{row['head']}", []).append(float(row["maximum"]))
    assert done.stdout.split()[0] == max(means, key=lambda head: sum(means[head]))


def test_hidden_states_and_texts_become_maps(folder: Path) -> None:
    run(
        "hidden",
        "./tiny",
        "-t",
        "text.txt",
        "--layer",
        "1",
        "--perplexity",
        "4",
        *FEW,
        "-o",
        "hidden.parquet",
    )
    assert read_map(folder / "hidden.parquet").settings["layer"] == 1
    words = ("texts", "list.csv", "--model", "./tiny", "--perplexity", "3", "--restarts", "2")
    run(*words, "--layer", "1", "-o", "texts.parquet", "-o", "texts.svg")
    made = read_map(folder / "texts.parquet")
    assert made.items.columns["group"][0] == "3 letters"
    assert "list.csv by layer 1 of tiny" in (folder / "texts.svg").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("head", "./tiny", "--layer", "4", "--head", "0"), "layer 4 is not there; tiny has layers 0, 1$"),
        (("head", "./tiny", "--layer", "0", "--head", "9"), "head 9 is not there; tiny has heads 0 to 2"),
        (("max-attention", "./tiny", "--layers", "0,5"), "layer 5 is not there; tiny has layers 0, 1$"),
        (
            ("hidden", "./tiny", "--layer", "3"),
            r"hidden layer 3 is not there; tiny has .* 0 \(the embedding\) to 2",
        ),
        (("texts", "list.csv", "--model", "./tiny", "--layer", "8"), "hidden layer 8 is not there; tiny has"),
        (("atlas", "./tiny", "--layers", "2-4"), "layer 2 is not there; tiny has layers 0, 1$"),
        (("qk", "./tiny", "--layer", "1", "--head", "3"), "head 3 is not there; tiny has heads 0 to 2"),
        (
            ("gaussians", "./tiny", "--corpus", "text.txt", "--word", "cat", "--layer", "7"),
            "hidden layer 7 is not there",
        ),
        (
            ("head", "./tiny", "-t", "text.txt", "--layer", "0", "--head", "0", "--side", "decoder"),
            "one side",
        ),
        (("max-attention", "./tiny", "-o", "most.parquet"), "most.parquet"),
        (
            ("texts", "list.csv", "--model", "./tiny", "--layer", "0", "--pool", "first"),
            "same for every text",
        ),
        (
            ("texts", "text.txt", "--model", "./tiny", "--color", "group"),
            "color 'group' is not known; use text, region, windows, kept, local",
        ),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        run(*words)


def test_a_text_of_few_tokens_is_warned_of_and_named_in_the_title(folder: Path) -> None:
    (folder / "short.txt").write_text(" ".join(TEXT.split()[:2]))
    chosen = ("./tiny", "-t", "short.txt", *FEW)
    done = run("head", *chosen, "--layer", "1", "--head", "2", "-o", "short.svg", "-o", "short.html")
    assert "2 items are too few for t-SNE" in done.stderr
    assert "-0.000" not in done.stderr
    drawn = (folder / "short.svg").read_text()
    assert "2 items are too few for t-SNE" in drawn
    assert "Layer 1, head 2 of tiny over short.txt" in drawn
    assert "2 items are too few for t-SNE" in (folder / "short.html").read_text()
    done = run("atlas", *chosen, "-o", "atlas.html")
    assert "2 items are too few for t-SNE" in done.stderr
    assert "2 items are too few for t-SNE" in (folder / "atlas.html").read_text()
