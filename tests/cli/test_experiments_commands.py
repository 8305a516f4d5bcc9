"""`langscape compare-kl` and `langscape robustness`, from the words typed to the files written."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.commands import at_home_in, run
from tests.models.folders import TEXT, bert_folder
from typer.testing import CliRunner

from langscape.cli.app import app
from langscape.errors import SettingsError
from langscape.store.results import read

FEW = ("--steps", "40", "--perplexity", "4", "--workers", "0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments")
    bert_folder(folder / "tiny")
    (folder / "text.txt").write_text(TEXT)
    (folder / "other.txt").write_text("a red cat sat on the lamp and saw the north door over the mat")
    return folder


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home_in(folder, monkeypatch)


def test_compare_writes_summary_runs_and_figure(folder: Path) -> None:
    words = ("compare-kl", "./tiny", "-t", "text.txt", "-t", "other.txt", "--runs", "3", *FEW)
    done = run(*words, "-o", "kl.csv", "-o", "kl.parquet", "-o", "kl.svg")
    assert done.stdout.splitlines()[-3:] == ["kl.csv", "kl.parquet", "kl.svg"]
    with (folder / "kl.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["layer"], row["method"]) for row in rows] == [
        ("0", "hidden"), ("0", "heads"), ("1", "hidden"), ("1", "heads"), ("2", "hidden")
    ]  # fmt: skip
    runs = read("table", folder / "kl.parquet")
    assert len(runs) == 2 * 3 * (3 + 2 * 3)
    chosen = runs["kl"][(runs["layer"] == 0) & (runs["head"] >= 0)]
    assert float(rows[1]["median"]) == pytest.approx(np.median(chosen))
    assert done.stdout.splitlines()[1].split()[:3] == ["0", "hidden", "6"]


def test_robustness_prints_both_methods_and_keeps_the_heads_for_the_table(folder: Path) -> None:
    words = ("robustness", "./tiny", "-t", "text.txt", "--repeats", "3", "--layers", "0", *FEW)
    done = run(*words, "-o", "changed.csv", "-o", "changed.png")
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["hidden", "heads"]
    with (folder / "changed.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["head"] for row in rows] == ["", "all", "0", "1", "2"]
    for row in rows:
        assert float(row["ratio"]) == pytest.approx(float(row["sd_disturbed"]) / float(row["sd"]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare-kl", "./tiny", "-o", "kl.docx"), "kl.docx"),
        (("compare-kl", "./tiny", "-t", "text.txt", "-t", "home/../text.txt"), "the same file name"),
        (
            ("compare-kl", "./tiny", "-t", "text.txt", "--heads", "x"),
            "--heads is 'x'; expected whole",
        ),
        (("robustness", "./tiny", "-t", "text.txt", "--share", "0"), "share 0 is not possible"),
        (
            ("robustness", "./tiny", "-t", "text.txt", "--layers", "9"),
            "hidden layer 9 is not there; tiny has",
        ),
        (
            ("compare-kl", "./tiny", "-t", "text.txt", "--heads", "7"),
            "head 7 is not there; tiny has heads 0 to 2",
        ),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        run(*words)


@pytest.mark.parametrize(("option", "value"), [("--special", "some"), ("--schedule", "fast")])
def test_a_choice_that_is_not_there_is_refused_with_those_that_are(option: str, value: str) -> None:
    done = CliRunner().invoke(app, ["compare-kl", "./tiny", option, value])
    assert done.exit_code == 2
    assert option in done.stderr
    assert value in done.stderr
