"""Documents by a model: its own pooling, windows for long ones, columns, regions, periods, insertion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models.folders import TEXT, bert_folder

import langscape
from langscape.analyses._documents import states_of
from langscape.data import Items, Map
from langscape.errors import DataError, SettingsError
from langscape.metrics.periods import find_periods, with_periods
from langscape.metrics.regions import find_regions, name_regions
from langscape.models import Model, capture, get_model, open_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return open_model(str(bert_folder(tmp_path_factory.mktemp("tiny"))))


def test_a_text_stands_where_it_is_asked_to(tiny: Model) -> None:
    words = ["cat", "lamp", "the red door"]
    alone = [capture(tiny, word, ("hidden",))["hidden"] for word in words]
    for pool, take in {
        "first": lambda states: states[0],
        "auto": lambda states: states[1:-1].mean(axis=0),  # the folder ships no pooling
        "max": lambda states: states[1:-1].max(axis=0),
        "last": lambda states: states[-1],
    }.items():
        vectors, windows = states_of(tiny, words, 1, pool)
        np.testing.assert_allclose(vectors, [take(one[1]) for one in alone], atol=1e-5)
        assert windows.tolist() == [1, 1, 1]
    with pytest.raises(SettingsError, match="same for every text"):
        states_of(tiny, words, 0, "first")
    with pytest.raises(SettingsError, match="hidden layer 3 is not there"):
        states_of(tiny, words, 3, "mean")
    with pytest.raises(SettingsError, match="pool 'sum'"):
        states_of(tiny, words, 1, "sum")


@pytest.mark.slow
def test_the_models_own_pooling_is_that_of_its_files() -> None:
    """MiniLM ships the mean over all tokens, special ones too, scaled to length 1."""
    get_model("default")
    model = open_model("default")
    texts = ["The soup was cold.", "A quiet cabin, and a smooth ride on every hill."]
    vectors, _ = states_of(model, texts, None, "auto")
    for row, text in zip(vectors, texts, strict=True):
        with torch.no_grad():
            states = model.network(**model.tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(0).numpy()
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)


@pytest.mark.slow
def test_a_long_text_is_the_mean_of_its_windows_by_their_tokens() -> None:
    get_model("default")
    model = open_model("default")
    long = "The boat came in and the lamp was lit. " * 60
    vectors, windows = states_of(model, [long, "Short."], 3, "mean")
    assert windows.tolist() == [3, 1]
    parts = capture(model, long, ("hidden",), [3], long="window")
    assert all(len(part.tokens) <= 512 for part in parts)
    assert np.isfinite(vectors).all()


def test_columns_and_repeats_reach_the_map(tiny: Model, tmp_path: Path) -> None:
    words = [*TEXT.split()[:8], "red lamp", "red lamp"]
    table = tmp_path / "list.csv"
    table.write_text("text,year\n" + "".join(f"{word},{1800 + at}\n" for at, word in enumerate(words)))
    made = langscape.texts(tiny, table, perplexity=3, restarts=2)
    assert list(made.labels) == words
    assert made.items.columns["year"].tolist() == [1800 + at for at in range(10)]
    assert made.settings["pool"] == "mean"
    assert "repeat an earlier one, and stay" in " ".join(made.notes)
    with pytest.raises(SettingsError, match="period 'decade' is no column of the texts; they have year"):
        langscape.texts(tiny, table, perplexity=3, period="decade")


def clouds(n: int = 120) -> tuple[np.ndarray, list[str]]:
    """Three clouds whose texts share common words and have a word of their own, most of the time."""
    rng = np.random.default_rng(0)
    xy = np.concatenate([rng.normal(size=(n, 2)) + centre for centre in ([0, 0], [14, 0], [0, 14])])
    own = ("soup", "engine", "violin")
    texts = [
        f"the day was long and {own[at // n] if rng.random() < 0.8 else 'nothing'} came of it"
        for at in range(3 * n)
    ]
    return xy, texts


def test_regions_are_the_clouds_and_are_named_by_their_words() -> None:
    xy, texts = clouds()
    own = find_regions(xy)
    assert sorted(np.bincount(own).tolist()) == [120, 120, 120]
    found = name_regions(own, xy, lambda: [texts[:100], texts[100:]])
    assert {region.words[0] for region in found} == {"soup", "engine", "violin"}
    assert all(region.distinct > 0.6 and region.name for region in found)


def test_words_dealt_by_chance_name_no_region() -> None:
    xy, texts = clouds()
    dealt = [texts[at] for at in np.random.default_rng(1).permutation(len(texts))]
    found = name_regions(find_regions(xy), xy, lambda: [dealt])
    assert all(abs(region.distinct) < 0.3 for region in found)
    assert max(region.distinct for region in found) < 0.3


def test_one_cloud_is_one_region_and_few_stragglers_make_none() -> None:
    rng = np.random.default_rng(3)
    xy = np.concatenate([rng.normal(size=(500, 2)), [[9, 9], [9.1, 9]]])
    sizes = np.bincount(find_regions(xy))
    assert sizes[0] >= 480


def test_periods_that_move_are_told_from_periods_that_do_not() -> None:
    rng = np.random.default_rng(0)
    years = np.repeat(np.arange(1800, 1850, 10), 40)
    still = rng.normal(size=(200, 8))
    moving = still + 0.04 * (years - 1800)[:, None]
    assert find_periods(moving, years).p == 0.001
    assert find_periods(still, years).p > 0.02
    assert find_periods(moving, years).steps[0] < 0.05
    made = Map(
        still[:, :2],
        Items.numbered(
            200,
        ).with_columns(year=years),
        vectors=moving,
    )
    told = with_periods(made, "year")
    assert [one["name"] for one in told.settings["periods"]] == ["1800", "1810", "1820", "1830", "1840"]
    assert "of the variance lies between 5 periods of year" in told.notes[0]
    not_moved = with_periods(made.but(vectors=still), "year")
    assert not_moved.notes[0].startswith("the periods of year do not differ more than by chance")


def test_new_documents_join_a_map_without_moving_it(tmp_path: Path) -> None:
    folder = str(bert_folder(tmp_path / "tiny"))
    words = [*TEXT.split()[:8], "red lamp", "north door"]
    table = tmp_path / "list.csv"
    table.write_text("text,year\n" + "".join(f"{word},{1800 + at}\n" for at, word in enumerate(words)))
    made = langscape.texts(folder, table, perplexity=3, restarts=1)
    later = tmp_path / "later.jsonl"
    later.write_text('{"text": "red lamp", "year": 1900}\n{"text": "the north", "year": 1901}\n')
    grown = langscape.insert_texts(made, later)
    np.testing.assert_array_equal(grown.xy[:10], made.xy)
    assert grown.labels[10:] == ("red lamp", "the north")
    assert grown.items.columns["year"][8:].tolist() == [1808, 1809, 1900, 1901]
    assert "red lamp" in grown.items.columns["nearest"][10]
    np.testing.assert_allclose(grown.xy[10], made.xy[8], atol=0.5 * np.ptp(made.xy))
    with pytest.raises(DataError, match="not of documents read by a model by name"):
        langscape.insert_texts(made.but(settings={}), later)
