"""Maps of tokens by a head or by hidden states; and that their schedules converge."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.folders import TEXT, bert_folder

from langscape import affinity
from langscape.analyses._restarts import embed_restarts, head_schedules
from langscape.analyses._token_maps import map_hidden
from langscape.analyses.head import map_head
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
