"""Training: what it learns, what is kept of it, and that a kill costs nothing."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.commands import run

from langscape.errors import DataError, FileError, SettingsError
from langscape.faces import speaking
from langscape.models import capture, open_model
from langscape.models.lines import encode_lines, split_lines
from langscape.models.lstm_train import CHECKPOINT, REPORT, Training, train_lstm
from langscape.models.perplexity import baselines, perplexity
from langscape.models.vocabulary import Vocabulary

LINES = ["tea is hot .", "ice is cold .", "hot tea is hot .", "cold ice is cold ."] * 60
SHORT = Training(dim=12, steps=60, batch=8, length=8, rate=2e-2, keep=20, held_out=0.1)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_model_learns_its_text_and_says_how_well(tmp_path: Path) -> None:
    steps = []
    told = train_lstm(LINES, tmp_path / "m", SHORT, progress=steps.append)
    assert told.history.shape == (60,)
    assert told.history[-5:].mean() < 0.5 * told.history[0]
    assert steps[-1].done == steps[-1].total == 60
    assert steps[-1].figures["loss"] == pytest.approx(told.history[-50:].mean(), rel=1e-5)
    assert told.perplexity < told.baselines["unigram"]
    assert not (tmp_path / "m" / CHECKPOINT).exists()
    report = json.loads((tmp_path / "m" / REPORT).read_text())
    assert report["perplexity"] == told.perplexity
    model = open_model(tmp_path / "m")
    assert model.words[capture(model, "tea is")["softmax"][-1].argmax()] == "hot"
    assert model.words[capture(model, "cold ice is")["softmax"][-1].argmax()] == "cold"


def test_characters_are_learned_too(tmp_path: Path) -> None:
    told = train_lstm(["abab" * 5] * 20, tmp_path / "m", Training(dim=8, steps=60, level="char", rate=3e-2))
    model = told.model
    shares = capture(model, "aba")["softmax"][-1]
    assert model.words[shares.argmax()] == "b"
    assert model.tokenizer.level == "char"
    assert " characters, 8 dimensions" in repr(model)


def test_perplexity_is_that_of_the_captured_probabilities(tmp_path: Path) -> None:
    told = train_lstm(LINES, tmp_path / "m", SHORT)
    _, held = split_lines(LINES, SHORT.held_out, SHORT.seed)
    ids = encode_lines(held, told.model.tokenizer)
    seen = capture(told.model, ids)
    chosen = seen["softmax"][np.arange(len(ids) - 1), ids[1:]].astype(np.float64)
    assert told.perplexity == pytest.approx(math.exp(-np.log(chosen).mean()), rel=1e-4)
    assert perplexity(told.model.network, ids, window=7) == pytest.approx(told.perplexity, rel=1e-5)  # type: ignore[arg-type]


def test_baselines_are_proper_probabilities_and_known_on_a_small_text() -> None:
    train = np.array([0, 1, 0, 1, 0, 2])
    # add-one counts: (3+1)/9, (2+1)/9, (1+1)/9
    found = baselines(train, np.array([0, 1]), 3)
    assert found["unigram"] == pytest.approx(9 / 3)
    total = sum(1 / baselines(train, np.array([0, w]), 3)["bigram"] for w in range(3))
    assert total == pytest.approx(1)
    unseen = sum(1 / baselines(train, np.array([2, w]), 3)["bigram"] for w in range(3))
    assert unseen == pytest.approx(1)


@pytest.mark.parametrize("tied", [False, True])
def test_a_run_that_stops_goes_on_and_ends_with_the_same_bits(tmp_path: Path, tied: bool) -> None:
    settings = Training(dim=12, layers=2, steps=50, batch=8, length=8, dropout=0.2, keep=10, tied=tied)
    whole = train_lstm(LINES, tmp_path / "whole", settings)

    class Stop(Exception):
        pass

    def stop(step) -> None:
        if step.done == 34:
            raise Stop

    with pytest.raises(Stop):
        train_lstm(LINES, tmp_path / "cut", settings, progress=stop)
    again = train_lstm(LINES, tmp_path / "cut", settings)
    assert again.resumed == 30
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    np.testing.assert_array_equal(again.history, whole.history)


KILLED = """
import os, pathlib, signal
from langscape.models.lstm_train import Training, train_lstm

def kill(step):
    if step.done == 130:
        os.kill(os.getpid(), signal.SIGKILL)

lines = pathlib.Path("corpus.txt").read_text(encoding="utf-8").splitlines()
train_lstm(lines, "cut", Training(dim=16, steps=300, batch=8, length=8, keep=40), progress=kill)
"""


@pytest.mark.slow
def test_the_command_goes_on_where_a_killed_run_had_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(LINES), encoding="utf-8")
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [file.name for file in (tmp_path / "cut").iterdir()] == [CHECKPOINT]
    options = ["--dim", "16", "--steps", "300", "--batch", "8", "--length", "8", "--keep", "40"]
    monkeypatch.chdir(tmp_path)
    again = run("train-lstm", "corpus.txt", "--out", "cut", *options)
    assert "went on from step 120" in again.stderr
    assert "step 300 of 300  loss" in again.stderr
    assert "held-out perplexity" in again.stdout
    same = Training(dim=16, steps=300, batch=8, length=8)
    assert train_lstm(LINES, tmp_path / "whole", same).resumed == 0
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")


def test_another_run_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    def stop(step) -> None:
        if step.done == 25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_lstm(LINES, tmp_path, SHORT, progress=stop)
    with pytest.raises(SettingsError, match="the checkpoint of another run"):
        train_lstm(LINES[:-4], tmp_path, SHORT)
    data = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(data[:200])
    with pytest.raises(FileError, match=r"is damaged .* delete it to train from the beginning"):
        train_lstm(LINES, tmp_path, SHORT)
    (tmp_path / CHECKPOINT).write_bytes(data)
    train_lstm(LINES, tmp_path, SHORT)
    with pytest.raises(SettingsError, match="already holds a model"):
        train_lstm(LINES, tmp_path, SHORT)


def test_bad_settings_and_texts_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="steps=0 is not possible"):
        Training(steps=0)
    with pytest.raises(SettingsError, match="held_out=1 is not possible"):
        Training(held_out=1)
    with pytest.raises(SettingsError, match=r"tied=True needs as many .* hidden=3 and dim=4"):
        Training(dim=4, hidden=3, tied=True)
    with pytest.raises(SettingsError, match="seed=-1 is not possible; it is a whole number from 0 on"):
        Training(seed=-1)
    with pytest.raises(SettingsError, match=r"training has exploded; lower rate=1000000000.0"):
        train_lstm(LINES, tmp_path / "exploded", replace(SHORT, rate=1e9))
    with pytest.raises(DataError, match="the corpus holds no words"):
        train_lstm(["", "  "], tmp_path / "m")
    with pytest.raises(DataError, match="one line"):
        train_lstm(["all on one line"], tmp_path / "m")
    with pytest.raises(DataError, match=r"fewer than one window of them; .* lower length=32"):
        train_lstm(["few words", "in it"], tmp_path / "m")
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingsError, match="is a file; name a folder"):
        train_lstm(LINES, tmp_path / "file", SHORT)
    with pytest.raises(DataError, match="does not know 'ice'"):
        train_lstm(LINES, tmp_path / "m", SHORT, vocabulary=Vocabulary(("tea", "is", "hot", ".")))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--rate", "-1"], "--rate -1.0 is not possible; it must be above 0"),
        (["--held-out", "1"], "--held-out 1.0 is not possible; it is a share between 0 and 1"),
        (["--seed", "-1"], "--seed -1 is not possible; it is a whole number from 0 on"),
        (["--tied", "--hidden", "3", "--dim", "4"], "--tied needs as many hidden units as dimensions"),
        (["--length", "5000"], "give a longer text, or lower --length 5000"),
        (
            ["--rate", "1e9", "--length", "8", "--steps", "20"],
            "lower --rate 1000000000.0, for example to a tenth",
        ),
    ],
)
def test_the_command_names_its_own_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    with speaking("command"), pytest.raises((SettingsError, DataError), match=re.escape(said)):
        run("train-lstm", "lines.txt", "--out", "mine", "--dim", "4", *given)


def test_the_command_says_what_is_wrong_with_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blank.txt").write_text("\n \n")
    for name, said in {"nowhere.txt": "there is no corpus nowhere", "blank.txt": "holds no text"}.items():
        with pytest.raises(FileError, match=said):
            run("train-lstm", name, "--out", "m")
    assert not (tmp_path / "m").exists()
