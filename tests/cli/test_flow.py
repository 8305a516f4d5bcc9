"""`langscape flow`: pages and figures from the command line, and what is said of wrong ones."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from langscape.cli.app import app
from langscape.errors import SettingsError

run = CliRunner()


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    from langscape.store import store

    monkeypatch.setattr(store, "home_folder", lambda: tmp_path / "home")


def test_a_prompt_becomes_a_figure_and_figures_of_trust_are_said(tmp_path):
    out = tmp_path / "flow.svg"
    done = run.invoke(app, ["flow", "lstm-tiny", "--prompt", "the the dog barks .", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.stat().st_size > 10_000
    assert "Tiny LSTM reads “the the dog barks .”" in out.read_text(encoding="utf-8")
    assert str(out) in done.stdout
    assert "Sum check: " in done.stderr
    assert "noticed: after “the” came “the”" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--out", "flow.txt"], "no suffix that is known"),
        (["--prompt", "  "], "the prompt is empty"),
        (["--prompt", "a", "--text", "b.txt"], "not both"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(given, said):
    done = run.invoke(app, ["flow", "lstm-tiny", *given])
    assert isinstance(done.exception, SettingsError)
    assert said in str(done.exception)


@pytest.mark.parametrize(
    ("option", "value"), [("--space", "hsv"), ("--fit", "near"), ("--top", "100000"), ("--seed", "-1")]
)
def test_a_choice_that_is_not_there_is_refused(option, value):
    done = run.invoke(app, ["flow", "lstm-tiny", option, value])
    assert done.exit_code == 2
    assert option in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_place_the_page_is_written_aside():
    done = run.invoke(app, ["flow", "lstm-tiny", "--prompt", "the dog", "--no-open"])
    assert done.exit_code == 0, done.output
    page = Path(done.stdout.splitlines()[-1])
    assert page.name == "flow.html"
    assert "the dog" in page.read_text(encoding="utf-8")
