"""Effects as an analysis: one table for all ways, intervals over texts, words that say what was done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.commands import at_home_in, run
from tests.models.folders import TEXT, bert_folder

import langscape
from langscape.analyses._group_effects import GroupEffects
from langscape.analyses._text_effects import TextEffects
from langscape.analyses.effects import Effects, gather_effects, lines
from langscape.errors import SettingsError
from langscape.views import write
from langscape.views.table import table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert_folder(tmp_path_factory.mktemp("model") / "bert")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One store for all tests here: what one computed, another reads."""
    with pytest.MonkeyPatch.context() as patch:
        at_home_in(tmp_path_factory.mktemp("home"), patch)
        yield


def told(effect: list[float], floor: float = 1e-6) -> TextEffects:
    values = np.array(effect)
    heads = np.arange(len(values))
    blank = np.full(len(values), np.nan)
    return TextEffects(
        tuple(f"0.{head}" for head in heads), ("head",) * len(values), np.zeros(len(values), int), heads,
        values, blank, blank, values / 2, values[::-1].copy(), ("induction", "", ""), floor, 10,
    )  # fmt: skip


def gathered(*texts: TextEffects) -> Effects:
    return gather_effects(texts, model="tiny", how="exact")


def test_the_interval_is_that_of_the_mean_over_texts() -> None:
    found = gathered(told([0.1, 0.2, 0.3]), told([0.3, 0.2, 0.5]), told([0.2, 0.2, 0.1]))
    columns = found.scores.columns
    np.testing.assert_allclose(columns["matters"], [0.2, 0.2, 0.3])
    # t of two degrees of freedom is 4.303; the standard error of the first is 0.1 / √3
    np.testing.assert_allclose(
        columns["matters_high"], [0.2 + 4.3027 * 0.1 / 3**0.5, 0.2, 0.3 + 4.3027 * 0.2 / 3**0.5], rtol=1e-4
    )
    assert columns["matters_low"].min() >= 0
    assert found.scores.labels[int(found.ranked()[0])] == "0.2"


def test_groups_stand_beside_random_ones_over_all_texts() -> None:
    none = [np.nan, np.nan]
    taken = [
        GroupEffects(np.array([0.5, 0.02]), np.array([0.1, 0.0]), np.array([[0.1, 0.3], none]), 1e-6),
        GroupEffects(np.array([0.3, 0.02]), np.array([0.3, 0.0]), np.array([[0.5, 0.1], none]), 1e-6),
    ]
    found = gather_effects(
        [told([0.1, 0.2, 0.3]), told([0.1, 0.2, 0.3])], model="tiny", how="exact",
        groups=[("both", ["0.0", "0.1"]), ("all", ["0.0", "0.1", "0.2"])], taken=taken,
    )  # fmt: skip
    columns = found.scores.columns
    assert list(found.scores.labels[:2]) == ["both", "all"]
    np.testing.assert_allclose(columns["matters"][:2], [0.4, 0.02])
    np.testing.assert_allclose(columns["alone"][:2], [0.3, 0.6])
    np.testing.assert_allclose(columns["others"][:2], [0.25, np.nan])
    np.testing.assert_allclose(columns["others_most"][:2], [0.3, np.nan])
    assert columns["tags"][0] == "2 parts; more than 2 of 2 random groups (at most 0.3)"
    assert "no other group" in columns["tags"][1]
    assert np.isnan(columns["others"][2:]).all()
    assert found.scores.labels[int(found.ranked()[0])] == "both"


def test_an_effect_below_the_rounding_floor_is_none_found() -> None:
    found = gathered(told([1e-8, 0.2, 0.3]))
    assert found.scores.columns["found"].tolist() == ["none found", "", ""]
    assert np.isnan(found.scores.columns["matters_low"]).all()
    assert any("none found" in line for line in lines(found))


@pytest.mark.slow
def test_every_way_gives_one_table_and_says_what_was_done(folder: Path) -> None:
    asked = {"model": str(folder), "text": TEXT}
    exact = langscape.effects(**asked, how="exact", parts="all")
    screened = langscape.effects(**asked, how="screen", verify=3)
    share = langscape.effects(**asked, how="share")
    columns = screened.scores.columns
    assert (columns["source"] == "exact").sum() == 3
    heads = exact.scores.columns["part"] == "head"
    taken = columns["source"] == "exact"
    np.testing.assert_allclose(
        columns["effect"][taken], exact.scores.columns["effect"][heads][taken], rtol=1e-5
    )
    assert set(screened.ranked()[:3]) == set(np.flatnonzero(taken))
    assert (share.scores.columns["source"] == "share").all()
    np.testing.assert_allclose(share.scores.columns["share"], exact.scores.columns["share"][heads])
    assert set(exact.scores.columns["part"]) == {"head", "mlp", "layer"}
    assert "nothing was taken away" in share.notes[0]
    assert "taken away alone: it was replaced by its own mean" in exact.notes[0]
    assert "as a share of their length" in exact.measure


@pytest.mark.slow
def test_groups_have_the_effect_of_plain_edited_runs_and_a_null(folder: Path) -> None:
    asked = {"how": "exact", "groups": ["0.1 1.2", "all but 0.0", "layer 1"], "others": 6}
    found = langscape.effects(str(folder), TEXT, **asked)
    columns = found.scores.columns
    assert columns["part"].tolist()[:3] == ["group"] * 3
    seen = [
        langscape.capture(str(folder), TEXT, "hidden", edits=some)["hidden"][-1]
        for some in ([], ["0.1", "1.2"])
    ]
    moved = np.linalg.norm(seen[1] - seen[0], axis=-1) / np.linalg.norm(seen[0], axis=-1)
    assert columns["matters"][0] == pytest.approx(float(moved.mean()), rel=1e-4)
    assert columns["drawn"][:3].tolist() == [4, 2, 0]
    assert (columns["others_most"][:2] >= columns["others"][:2]).all()
    assert any("Random groups" in note for note in found.notes)
    with pytest.raises(SettingsError, match="groups are taken away, and a share is not"):
        langscape.effects(str(folder), TEXT, how="share", groups=["0.1"])
    with pytest.raises(SettingsError, match="is not understood"):
        langscape.effects(str(folder), TEXT, how="exact", groups=["the loud ones"])


@pytest.mark.slow
def test_a_classifier_in_a_folder_keeps_its_head_and_is_measured_by_it(tmp_path: Path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    folder = bert_folder(tmp_path / "classifier")
    config = BertConfig.from_pretrained(folder, num_labels=2)
    BertForSequenceClassification(config).save_pretrained(folder)
    found = langscape.effects(str(folder), TEXT, how="exact", measure="classes")
    assert found.measure == "KL divergence of the classes from the unedited run, in nats"
    assert (found.scores.columns["effect"] > 0).any()
    done = run("effects", folder, "--how", "exact", "--measure", "pooled", "--show", 2)
    assert "the text’s vector moves (pooling: mean)" in done.output


@pytest.mark.slow
def test_the_command_reads_several_texts_and_writes_page_picture_and_table(
    folder: Path, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n\n".join([TEXT, TEXT[::-1], TEXT.upper()]))
    for name in ("e.html", "e.png", "e.csv"):
        asked = ("--texts", texts, "--unit", "paragraph", "--how", "exact", "--out", tmp_path / name)
        done = run("effects", folder, *asked)
        assert (tmp_path / name).stat().st_size > 500
    assert "3 texts" in done.output
    header = (tmp_path / "e.csv").read_text().splitlines()[0]
    assert header.startswith("part,layer,head,matters,matters_low,matters_high,source,found")


def test_the_view_has_a_row_for_every_part_in_its_table(folder: Path, tmp_path: Path) -> None:
    found = langscape.effects(str(folder), TEXT, how="exact")
    view = found.view()
    assert len(table(view)["label"]) == len(found.scores)
    assert write(view, tmp_path / "view.svg").stat().st_size > 1000


def test_what_cannot_be_is_said_in_one_line(folder: Path) -> None:
    with pytest.raises(SettingsError, match="how"):
        langscape.effects(str(folder), TEXT, how="guess")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="is an LSTM and has no attention heads"):
        langscape.effects("lstm-tiny", TEXT)
