"""Maps of tokens by a head or by hidden states, and of texts; and that their schedules converge."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.folders import TEXT, bert_folder

from langscape import affinity
from langscape.analyses._restarts import embed_restarts, head_schedules
from langscape.analyses._token_maps import map_hidden, map_texts, text_vectors
from langscape.analyses.head import map_head
from langscape.data import Items
from langscape.engine import embed_many
from langscape.errors import SettingsError
from langscape.models import Model, capture, get_model, open_model
from langscape.sources import samples


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return open_model(bert_folder(tmp_path_factory.mktemp("models") / "tiny"), device="cpu")


@pytest.fixture(scope="module")
def minilm() -> Model:
    get_model("default")
    return open_model("default", device="cpu")


def test_of_several_restarts_the_map_of_lowest_kl_is_kept(tiny: Model) -> None:
    seen = capture(tiny, TEXT)
    made = map_head(seen, 1, 2, restarts=4, steps=80)
    assert made.labels == tuple(TEXT.split())
    assert made.kl == made.kls.min()
    assert len(made.kls) == 4
    assert made.quality["stability"] > 0
    assert (made.settings["layer"], made.settings["head"], made.settings["special"]) == (1, 2, "drop")
    assert map_head(seen, 1, 2, special="keep", restarts=1, steps=80).labels[0] == "[CLS]"


def test_hidden_states_are_mapped_at_any_layer_with_their_figures(tiny: Model) -> None:
    seen = capture(tiny, TEXT)
    made = map_hidden(seen, 0, perplexity=4, restarts=2, steps=80)
    assert made.settings["layer"] == 0
    assert made.vectors is not None
    assert np.array_equal(made.vectors, seen["hidden"][0, 1:-1])
    assert 0 < made.quality["local"] <= 1
    assert map_hidden(seen, perplexity=4, restarts=1, steps=80).settings["layer"] == 2
    with pytest.raises(SettingsError, match="layer 3 is not there; this capture has"):
        map_hidden(seen, 3, perplexity=4)


def test_a_text_stands_at_its_first_special_token_or_at_the_mean(tiny: Model) -> None:
    words = ["cat", "lamp", "the red door"]
    X, layer, notes = text_vectors(tiny, words, 1)
    assert (layer, notes) == (1, ["first"])
    for row, word in zip(X, words, strict=True):
        np.testing.assert_allclose(row, capture(tiny, word, ("hidden",))["hidden"][1, 0], atol=1e-5)
    mean, layer, notes = text_vectors(tiny, words, pool="mean")
    assert (layer, notes) == (2, ["mean"])
    alone = capture(tiny, words[2], ("hidden",))["hidden"][2, 1:-1].mean(axis=0)
    np.testing.assert_allclose(mean[2], alone, atol=1e-5)
    with pytest.raises(SettingsError, match="same for every text"):
        text_vectors(tiny, words, 0)
    with pytest.raises(SettingsError, match=r"hidden layer 3 is not there; .* 0 .the embedding. to 2"):
        text_vectors(tiny, words, 3)
    with pytest.raises(SettingsError, match="pool 'sum'"):
        text_vectors(tiny, words, pool="sum")  # type: ignore[arg-type]


def test_words_carry_their_groups_to_the_map(tiny: Model) -> None:
    words = [*TEXT.split()[:8], "north door", "red lamp"]
    items = Items(words, {"group": ["a", "b"] * 5})
    made = map_texts(tiny, items, 1, perplexity=3, restarts=2)
    assert made.items.columns["group"].tolist() == ["a", "b"] * 5
    assert (made.settings["layer"], made.settings["pool"]) == (1, "first")
    assert not made.notes
    told = map_texts(tiny, words, 0, pool="mean", perplexity=3, restarts=1)
    assert told.settings["pool"] == "mean"


def test_the_rate_falls_to_a_tenth_at_the_end() -> None:
    for schedule in head_schedules(200):
        plan = schedule.plan(200)
        assert plan[1, -1] == pytest.approx(plan[1, 600] / 10)
        assert (np.diff(plan[1, 700:]) < 0).all()


@pytest.mark.slow
def test_maps_of_the_hardest_heads_and_of_hidden_states_come_within_five_per_cent(minilm: Model) -> None:
    """`scripts/check_schedules.py` judges all heads of all sample texts; here are those that stay highest."""
    seen = capture(minilm, samples.text("orchard"), ("attention", "hidden"))
    hardest = [(0, 2), (1, 8), (1, 9), (1, 11), (2, 11), (4, 9)]
    problems = [affinity.attention(seen, *head, "drop") for head in hardest]
    problems += [affinity.hidden(seen, layer, 20.0, "drop") for layer in (0, 3, 6)]
    n = len(problems[0])
    long = [
        np.array([one.kls for one in embed_many(problems, 2, "random", schedule, 3, quality=False, seed=500)])
        for schedule in head_schedules(n, 3000)
    ]
    best = np.concatenate(long, axis=1).min(axis=1)
    _, figures = embed_restarts(problems, 8, head_schedules(n))
    assert (figures["kl"] <= 1.05 * best).all(), (figures["kl"] / best).round(3)
