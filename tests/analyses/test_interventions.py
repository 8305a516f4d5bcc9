"""`edges`, `chunks`, `roles`, paths, effects in an atlas: their numbers are those of plain edited runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.commands import at_home_in, run
from tests.models.families import DECODERS, ENCODERS, built
from tests.models.folders import TEXT, bert_folder

import langscape
from langscape import Edit, capture
from langscape.analyses.chunks import split_text
from langscape.errors import DataError, SettingsError
from langscape.models import stream, wrap_model
from langscape.models.edge_effects import cut_edges, estimated_edges
from langscape.models.effect_estimates import head_shares, shares
from langscape.models.effect_measures import Measure
from langscape.models.effects import PartName, parts_of
from langscape.models.patching import Prompts, patch_grid
from langscape.models.role_tests import copying_test, looking_test, repeated_ids, text_test
from langscape.models.unedited import read_unedited

IDS = [7, 12, 9, 21, 12, 9, 30, 8, 12, 9, 44, 31, 7, 12]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert_folder(tmp_path_factory.mktemp("model") / "bert")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        at_home_in(tmp_path_factory.mktemp("home"), patch)
        yield


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert"])
def test_a_cut_edge_has_the_effect_of_the_plain_edited_run(name: str) -> None:
    model = wrap_model(built({**ENCODERS, **DECODERS}[name]), name=name)
    run = read_unedited(model, IDS)
    measure = Measure(run)
    ends = [(5, 2), (9, 4)]
    found = cut_edges(run, 1, 2, ends, measure)
    what = "hidden" if name == "bert" else "logits"
    for at, (query, key) in enumerate(ends):
        edits = [Edit.edge(1, 2, query, key)]
        before, after = (torch.tensor(capture(model, IDS, what, edits=some)[what]) for some in ([], edits))
        if name == "bert":
            plain = ((after[-1] - before[-1]).norm(dim=-1) / before[-1].norm(dim=-1)).mean()
        else:
            p, q = before.double().log_softmax(-1), after.double().log_softmax(-1)
            plain = (p.exp() * (p - q)).sum(-1)[1:].mean()
            assert found.after[at] == int(after[found.moved[at]].argmax())
        assert found.effect[at] == pytest.approx(float(plain), abs=1e-6, rel=1e-2)
    estimate, other = estimated_edges(run, [(1, 2), (0, 3)], measure, draws=2)
    np.testing.assert_allclose(other, estimated_edges(run, [(0, 3)], measure, draws=2)[0])
    assert estimate.shape == (len(IDS), len(IDS))
    if name != "bert":
        assert estimate[3, 9] == 0, "a decoder's token sees none behind it"


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_shares_from_a_run_that_keeps_nothing_are_those_of_the_stream(name: str) -> None:
    model = wrap_model(built({**ENCODERS, **DECODERS}[name]), name=name)
    found = head_shares(model, IDS)
    assert found is not None
    np.testing.assert_allclose(found.ravel(), shares(stream(model, IDS), parts_of(model)), rtol=1e-4)


def test_a_path_gives_a_later_head_what_the_sender_adds_and_nothing_else() -> None:
    model = wrap_model(built(DECODERS["llama"]), name="llama")
    other = [*IDS[:4], 50, *IDS[5:]]
    runs = read_unedited(model, IDS), read_unedited(model, other)
    prompts = Prompts(runs[0], runs[1], (3, 17), (Measure(runs[0]), Measure(runs[1])))
    found = patch_grid(prompts, "paths", sender=(0, 1))
    assert np.isnan(found.values[0]).all()
    assert np.isfinite(found.values[1:]).all()
    # by hand: the later head's output where its layer is given the stream with what the sender adds instead
    projection = model.parts.projections[0][1]
    sent = (runs[0].heads[0][:, :, 1] - runs[1].heads[0][:, :, 1]) @ projection.T
    given = (runs[1].states[1] + sent)[0].numpy()
    seen = capture(model, other, ("attention", "v"), edits=[Edit.residual(1, range(len(other)), given)])
    output = seen["attention"][1, 2] @ seen["v"][1, 2]
    after = capture(model, other, "logits", edits=[Edit.head(1, 2, range(len(other)), output)])["logits"][-1]
    assert found.values[1, 2] == pytest.approx(float(after[3] - after[17]), abs=1e-5)
    with pytest.raises(SettingsError, match="name the sender"):
        patch_grid(prompts, "paths")
    bert = wrap_model(built(ENCODERS["bert"]), name="bert")
    runs = read_unedited(bert, IDS), read_unedited(bert, other)
    with pytest.raises(DataError, match="no plain sum"):
        patch_grid(
            Prompts(runs[0], runs[1], (3, 17), (Measure(runs[0]), Measure(runs[1]))), "paths", sender=(0, 1)
        )


def test_tests_of_roles_lose_what_edited_runs_lose() -> None:
    model = wrap_model(built(DECODERS["llama"]), name="llama")
    ids = repeated_ids(model, 12)
    run = read_unedited(model, ids)
    group = [PartName("head", 0, 1), PartName("head", 2, 3)]
    edits = [Edit.head(0, 1), Edit.head(2, 3)]
    losses = []
    places = np.arange(13, len(ids) - 1)
    for some in ([], edits):
        logits = torch.tensor(capture(model, ids, "logits", edits=some)["logits"]).log_softmax(-1)
        losses.append(-float(logits[places, torch.tensor(ids)[places + 1]].mean()))
    found = copying_test(model, run).lost([group, group[:1]])
    assert found[0] == pytest.approx(losses[1] - losses[0], abs=1e-5)
    weights = [
        capture(model, ids, "attention", 2, 0, edits=some)["attention"][0, 0] for some in ([], edits[:1])
    ]
    before, after = (float(one[places, places - 11].mean()) for one in weights)
    looked = looking_test(run, [PartName("head", 2, 0)])
    assert looked.before == pytest.approx(before, abs=1e-6)
    assert looked.lost([group[:1]])[0] == pytest.approx(before - after, abs=1e-5)
    assert text_test(model, IDS, 64).lost([group])[0] > 0


def test_texts_are_parted_at_marks_paragraphs_or_sentences() -> None:
    parted = split_text("Hello. [[document 1]] One.\n[[document 2]]\nTwo. [[user]] Which?", "auto")
    assert [name for name, _ in parted] == ["opening", "document 1", "document 2", "user"]
    assert "".join(letters for _, letters in parted) == "Hello. One.\nTwo. Which?"
    assert len(split_text("A b.\n\nC d.\n\nE f.", "auto")) == 3
    assert len(split_text("“A b.” C d! E f?", "sentences")) == 3
    with pytest.raises(SettingsError, match="fewer than two marks"):
        split_text("No marks here.", "marks")


def test_where_every_chunk_is_a_word_a_passage_that_begins_anywhere_is_a_chunk(folder: Path) -> None:
    words = TEXT.split()[:6]
    marked = "".join(f"[[{at}]]{word} " for at, word in enumerate(words))
    found = langscape.chunks(str(folder), marked)
    effect = found.scores.columns["effect"]
    assert len(found.random) == 19
    assert np.abs(found.random[:, None] - effect[None]).min(axis=1).max() < 1e-6
    assert found.against_chance.startswith("None of 6 chunks changes more than any of 19 passages")
    # an encoder reads all tokens: even attention gives each the same
    columns = found.scores.columns
    even = columns["attention"].sum() * columns["tokens"] / columns["tokens"].sum()
    assert columns["even"] == pytest.approx(even)
    low, high = found.chance
    assert low < 0 < high < 1
    assert f"shuffled, {low:+.2f} to {high:+.2f}" in found.in_words


def test_edges_put_first_stand_against_those_drawn_at_random(folder: Path) -> None:
    found = langscape.edges(str(folder), TEXT, layer=1, head=2, verify=5, random=12, draws=2)
    drawn = found.cut.columns["drawn"] == "random"
    effect = found.cut.columns["effect"]
    beyond = int((effect[~drawn] > effect[drawn].max()).sum())
    # those that were drawn too are among the drawn alone, and the sentence says so
    said = (
        f"{beyond} of {int((~drawn).sum())} edges that the estimate puts first, and that were not drawn as "
        "well, change more than all 12"
    )
    assert (~drawn).any()
    assert found.in_words.startswith(said)
    assert "shuffled" in found.view().properties["chance"]


@pytest.mark.slow
def test_commands_write_pages_pictures_and_tables(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(f"{TEXT}. {TEXT}. {TEXT}.")
    asked = {
        "edges": ("--layer", 1, "--head", 2, "--verify", 3, "--random", 8, "--draws", 2),
        "chunks": ("--by", "sentences"),
        "atlas": ("--restarts", 1, "--steps", 50, "--matters", "exact"),
    }
    for name, settings in asked.items():
        for ending in ("html", "png", "csv"):
            out = tmp_path / f"{name}.{ending}"
            done = run(name, folder, "--text", text, *settings, "--out", out)
            assert out.stat().st_size > 200, done.output
    assert "matters" in (tmp_path / "atlas.csv").read_text().splitlines()[0]


def test_what_cannot_be_is_said_in_one_line(folder: Path) -> None:
    with pytest.raises(SettingsError, match="head 99"):
        langscape.edges(str(folder), TEXT, layer=1, head=99)
    with pytest.raises(DataError, match="looks as a role does"):
        langscape.roles(str(folder), f"{TEXT}. {TEXT}. {TEXT}.")
    with pytest.raises(SettingsError, match="takes three"):
        langscape.chunks(str(folder), "One. Two.", by="sentences")


def _moved_head(model: object, carries: np.ndarray, draws: int = 16, seed: int = 0) -> str:
    """What is said of head 1.1 where only these tokens have a value, and its weights lie on two keys."""
    from dataclasses import replace

    from langscape.analyses.roles import through_role, works

    test = text_test(model, IDS, 64)  # type: ignore[arg-type]
    run = test.runs[0]
    n = run.tokens
    weights = np.full((n, n), 0.01)
    weights[np.arange(1, n), np.arange(n - 1)] = 0.4
    weights[np.arange(2, n), np.arange(n - 2)] = 0.3
    all_weights, all_values = [one.clone() for one in run.weights], [one.clone() for one in run.values]
    all_weights[1][0, 1] = torch.tensor(weights)
    all_values[1][0, 1] *= torch.tensor(carries, dtype=all_values[1].dtype)[:, None]
    planted = replace(run, weights=tuple(all_weights), values=tuple(all_values))
    role = np.zeros((n, n), bool)
    # every second query asks, so that its token before and the one before that are of two kinds
    asked = np.arange(3, n, 2)
    role[asked, asked - 1] = True
    found = through_role(
        replace(test, runs=(planted,)), PartName("head", 1, 1), [role], draws, np.random.default_rng(seed)
    )
    return works(found, test.floor)


def test_a_head_works_through_its_role_only_where_the_roles_edges_carry_what_it_does() -> None:
    model = wrap_model(built(ENCODERS["bert"]), name="bert")
    even = np.arange(len(IDS)) % 2 == 0
    assert _moved_head(model, even) == "works through its role"
    assert _moved_head(model, ~even) == "other edges carry as much"


def test_random_roles_hold_no_more_often_than_chance() -> None:
    from langscape.analyses.roles import THROUGH, through_role, works

    model = wrap_model(built(ENCODERS["bert"]), name="bert")
    test = text_test(model, IDS, 64)
    rng = np.random.default_rng(0)
    n, tried, held = len(IDS), 0, 0
    for part in parts_of(model) * 8:
        role = np.zeros((n, n), bool)
        role[np.arange(1, n), rng.integers(0, n, n - 1)] = True
        held += works(through_role(test, part, [role], 9, rng), test.floor) == THROUGH
        tried += 1
    # one in ten by chance; three standard deviations above
    assert held <= tried / 10 + 3 * np.sqrt(tried * 0.09)
