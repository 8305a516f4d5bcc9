"""`patch`, `why` and `edit` as analyses: files, lines, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.commands import at_home_in, run
from tests.models.folders import bert_folder

import langscape
from langscape.errors import SettingsError

TEXT = "the cat sat on the mat and the cat saw a red lamp"


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        at_home_in(tmp_path_factory.mktemp("home"), patch)
        yield


@pytest.mark.slow
def test_each_command_writes_page_picture_and_table(tiny_gpt: Path, tmp_path: Path) -> None:
    model = tiny_gpt / "tiny"
    (tmp_path / "a.txt").write_text("the cat sat on a mat\n")
    (tmp_path / "b.txt").write_text("the lamp sat on a mat\n")
    (tmp_path / "c.txt").write_text(TEXT)
    prompts = (
        "--clean",
        tmp_path / "a.txt",
        "--corrupt",
        tmp_path / "b.txt",
        "--words",
        "door",
        "--words",
        "red",
    )
    asked = {
        "patch": (*prompts, "--of", "heads"),
        "why": ("--text", tmp_path / "c.txt", "--layer", 1, "--head", 2, "--query", 8, "--key", 3),
        "edit": ("--text", tmp_path / "c.txt", "--edits", "head 0.1 zero", "--edits", "edge 1.2 8>3"),
    }
    for name, options in asked.items():
        for suffix in (".html", ".png", ".csv"):
            done = run(name, model, *options, "--out", tmp_path / f"{name}{suffix}")
            assert (tmp_path / f"{name}{suffix}").stat().st_size > 100, done.output
    assert "head 0.1 replaced by zero" in done.output
    assert (tmp_path / "patch.csv").read_text().startswith("layer,position,column,difference,restored\n")


def test_why_names_what_an_edit_confirms(tiny_gpt: Path) -> None:
    found = langscape.why(str(tiny_gpt / "tiny"), TEXT, layer=1, head=2, query=8, key=3, confirm=8)
    assert found.error < 1e-4
    heads = [at for at, name in enumerate(found.key_parts) if name[0].isdigit()]
    edited = langscape.capture(
        str(tiny_gpt / "tiny"), TEXT, ("attention",), edits=[f"head {found.key_parts[heads[0]]}"]
    )
    assert found.key_without[heads[0]] == pytest.approx(float(edited["attention"][1, 2, 8, 3]), abs=1e-6)
    assert np.isnan(found.key_without[[at for at, n in enumerate(found.key_parts) if n == "constant"]]).all()
    assert sorted(found.key_adds, reverse=True) == found.key_adds.tolist()


def test_an_edited_run_says_what_the_model_would_write(tiny_gpt: Path) -> None:
    found = langscape.edit(str(tiny_gpt / "tiny"), TEXT, edits=["head 0.1 zero"])
    assert len(found.after) == len(found.tokens) == len(found.effect)
    assert found.effect[0] == 0  # the first token keeps its head, and sees no other
    assert found.effect[1:].max() > 0
    assert found.view().properties["notes"][0].startswith("Edited run: head 0.1")


def test_an_edited_run_stands_beside_the_same_edit_of_other_heads(tiny_gpt: Path) -> None:
    model = str(tiny_gpt / "tiny")
    found = langscape.edit(model, TEXT, edits=["head 0.1 zero"])
    alone = [
        langscape.edit(model, TEXT, edits=[f"head 0.{head} zero"]).effect
        for head in range(found.capture["attention"].shape[1])
        if head != 1
    ]
    order = lambda rows: sorted(tuple(np.round(one, 6)) for one in rows)  # noqa: E731
    assert order(found.others) == order(alone)
    assert found.others_name == f"{len(alone)} other heads of layer 0"
    less = sum(one[1:].mean() < found.effect[1:].mean() for one in alone)
    assert f"changes more than {less} of {len(alone)}." in found.sentence
    view = found.view()
    np.testing.assert_allclose(view.arrays["others_most"], np.max(alone, axis=0), atol=1e-6)
    stream = langscape.edit(model, TEXT, edits=["residual 1 mean"])
    assert len(stream.others) == 0
    assert "no other of its kind" in stream.sentence


def test_why_without_a_query_takes_one_that_looks_clearly_and_tries_the_word_itself() -> None:
    langscape.models.get_model("default")
    found = langscape.why("default", "The bank raised its rates. She sat on the bank.", layer=1, head=8)
    assert found.weight > 0.5  # a next-token head, whose last token has no next
    assert found.key == found.query + 1
    assert found.key_parts[0] == "embedding"
    assert found.key_without[0] < found.weight
    assert "not known" not in found.sentence
    assert f"would be {1 / found.seen:.3f}" in found.subtitle


def test_a_picture_of_an_edited_run_says_which_head_looks_elsewhere_most(tiny_gpt: Path) -> None:
    found = langscape.edit(str(tiny_gpt / "tiny"), TEXT, edits=["head 0.1 zero"])
    layer, head = found.shown_head(None, None)
    assert layer > 0
    said = found.attention(layer, head).properties["subtitle"]
    assert "of all heads it looks elsewhere most after the edit" in said
    own = found.attention(0, 1).properties["subtitle"]  # what it writes is replaced, not where it looks
    assert f"it looks at the same tokens in both runs; head {layer}.{head} looks elsewhere most" in own


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: langscape.edit(model, TEXT, edits=["everything"]), "is not understood; write"),
        (lambda model: langscape.why(model, TEXT, layer=1, head=1, query=3, key=5), "does not see token 5"),
        (lambda model: langscape.why(model, TEXT, layer=1, head=1, query=99), "query 99 is not there"),
        (lambda model: langscape.patch("lstm-tiny"), "is an LSTM"),
        (lambda model: langscape.patch(model, TEXT), "takes two prompts and one is given"),
        (lambda model: langscape.patch(model, corrupt=TEXT), "takes two prompts and one is given"),
        (lambda model: langscape.edit("lstm-tiny", TEXT), "is an LSTM"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tiny_gpt: Path, call, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call(str(tiny_gpt / "tiny"))


def test_why_asks_of_words_where_nothing_is_named(tmp_path: Path) -> None:
    model = str(bert_folder(tmp_path / "bert"))
    found = langscape.why(model, TEXT, layer=1, head=0, confirm=0)
    assert {found.tokens[0], found.tokens[-1]} == {"[CLS]", "[SEP]"}
    assert 0 < found.query < len(found.tokens) - 1  # a word, and not [SEP]
    assert 0 < found.key < len(found.tokens) - 1
