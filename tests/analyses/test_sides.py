"""Atlases and maps of decoders and encoder–decoders: whose heads, over whose tokens."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.families import DECODERS, PAIRS, built, tokenizer

import langscape
from langscape.analyses._captures import captured
from langscape.analyses._kl_runs import HIDDEN, layer_problems
from langscape.analyses._token_maps import map_hidden
from langscape.analyses.atlas import make_atlas
from langscape.analyses.head import map_head
from langscape.engine import Schedule
from langscape.errors import DataError
from langscape.models import capture, wrap_model

SOURCE = "the red lamp hung over the north door of stone"
TARGET = "green boat over water , south of the lamp"
SHORT = Schedule(steps=60, early_steps=15)


@pytest.mark.parametrize("name", list(PAIRS))
def test_an_encoder_decoder_has_an_atlas_of_each_side(name: str) -> None:
    model = wrap_model(built(PAIRS[name]), tokenizer(), name=name)
    seen = captured(model, SOURCE, ("attention", "hidden"), target=TARGET)
    words = {"encoder": SOURCE.split(), "decoder": TARGET.split()}
    for side, expected in words.items():
        made = make_atlas(seen, restarts=1, schedule=SHORT, side=side, special="drop")
        first = next(iter(made.maps.values()))
        assert list(first.items.columns["text"]) == expected
        assert len(made.maps) == len(made.scores) == np.prod(seen[f"{side}_attention"].shape[:2])
        view = made.view(side)
        assert view.properties["title"] == side
        by_state = map_hidden(seen, perplexity=3, side=side, restarts=1, steps=60)
        assert list(by_state.items.columns["text"]) == expected
    assert make_atlas(seen, restarts=1, schedule=SHORT).side is None
    assert len(map_head(seen, 0, 0, restarts=1, steps=60)) == len(SOURCE.split())
    problems = layer_problems(seen, perplexity=3.0)
    assert len(problems[0, HIDDEN]) == len(problems[0, 1]) == len(seen.tokens)
    texts = langscape.texts(model, SOURCE.split(), perplexity=3, restarts=1)
    assert len(texts) == len(SOURCE.split())


def test_a_decoder_without_a_target_has_nothing_to_map() -> None:
    model = wrap_model(built(PAIRS["t5"]), tokenizer(), name="t5")
    with pytest.raises(DataError, match="0 tokens to map; give a longer one"):
        make_atlas(captured(model, SOURCE, ("attention",)), restarts=1, side="decoder")


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2"])
def test_a_decoder_has_an_atlas_hidden_states_and_texts(name: str) -> None:
    model = wrap_model(built(DECODERS[name]), tokenizer(), name=name)
    seen = capture(model, SOURCE, ("attention", "hidden"))
    made = make_atlas(seen, restarts=1, schedule=SHORT)
    assert len(made.maps) == np.prod(seen["attention"].shape[:2])
    assert "steps" in made.scores.columns
    assert made.view().arrays["xy"].shape[0] == len(made.maps)
    assert map_hidden(seen, perplexity=3, restarts=1, steps=60).settings["layer"] == len(seen["hidden"]) - 1
    problems = layer_problems(seen, perplexity=3.0)
    assert {layer for layer, head in problems if head == HIDDEN} == set(range(len(seen["hidden"])))
