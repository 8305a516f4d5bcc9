"""Faults planted in the packaged LSTMs are named in their places, and ordinary prompts raise no alarm."""

from functools import cache

import numpy as np
import pytest
from papers.flow.planted import (
    broken,
    fresh_faults,
    judged,
    named,
    ordinary_prompts,
    planted_faults,
    stand_out,
)

from langscape.analyses.flow import flow
from langscape.errors import DataError
from langscape.models import open_model, wrap_lstm


@cache
def model(name):
    return open_model(name, device="cpu")


TINY = [fault.name for fault in planted_faults(model("lstm-tiny"))]
LARGE = [
    "output gate of layer 0 stuck at 0",
    "input gate of layer 1 stuck at 0.5",
    "forget gate of layer 1 stuck at 1",
    "the cell of layer 1 explodes",
    "W_hh of layer 1 = 0",
    "one dead row of the embedding",
    "vocabulary shuffled",
    "untrained",
]


def fault_of(name, fault):
    return next(one for one in planted_faults(model(name)) if one.name == fault)


@pytest.mark.parametrize("fault", TINY)
def test_every_fault_of_the_tiny_model_is_named_in_its_place_and_nothing_else_is(fault):
    right, found = judged(model("lstm-tiny"), fault_of("lstm-tiny", fault))
    assert right, [one.text for one in found]


def test_a_decoder_that_hardly_reads_is_told_apart_from_words_in_another_order():
    tiny = model("lstm-tiny")
    (weak,) = (one for one in fresh_faults(tiny, 21) if one.name.startswith("decoder ×"))
    (found,) = named(broken(tiny, weak))
    assert found.kind == "worse than counts"
    assert "another order" not in found.text
    assert "with what was read" in found.text


@pytest.mark.slow
@pytest.mark.parametrize("fault", LARGE)
def test_faults_of_two_layers_are_not_blamed_on_the_other(fault):
    right, found = judged(model("lstm"), fault_of("lstm", fault))
    assert right, [one.text for one in found]


@pytest.mark.parametrize("name", ["lstm-tiny", pytest.param("lstm", marks=pytest.mark.slow)])
def test_the_packaged_models_have_no_fault_and_ordinary_prompts_raise_at_most_one_alarm(name):
    assert named(model(name)) == []
    prompts = ordinary_prompts(model(name), 100 if name == "lstm-tiny" else 40)
    alarms, noticed = stand_out(model(name), prompts)
    assert len(prompts) >= 40
    assert len(alarms + noticed) <= 1, alarms + noticed


def test_the_page_names_the_part_the_number_what_is_usual_and_the_evidence():
    fault = fault_of("lstm-tiny", "output gate of layer 0 stuck at 0")
    (alarm,) = flow(broken(model("lstm-tiny"), fault), "the small dog barks .").alarms
    assert (alarm["vector"], alarm["layer"], alarm["level"]) == ("output", 0, "alarm")
    assert alarm["text"].startswith(
        "layer 0: the output gate stands still at 0.00 (always closed) in 7 of 7 units: it varies by "
        "0, the others"
    )
    assert alarm["evidence"] == "over 1,500 words of the text that is kept with the model"


def test_without_a_text_parts_are_looked_at_over_random_words_and_predictions_are_not():
    tiny = model("lstm-tiny")
    shuffled = broken(tiny, fault_of("lstm-tiny", "vocabulary shuffled"))
    stuck = broken(tiny, fault_of("lstm-tiny", "forget gate of layer 0 stuck at 1"))
    for one, kinds in ((shuffled, []), (stuck, ["stuck"])):
        bare = wrap_lstm(one.net, words=one.tokenizer)
        assert [fault.kind for fault in named(bare)] == kinds


def test_an_unlikely_word_of_a_prompt_is_noticed_and_is_no_alarm():
    found = [one for one in flow(model("lstm-tiny"), "the the dog dog barks barks").alarms]
    assert [one["level"] for one in found if one["vector"] == "softmax"]
    assert {one["level"] for one in found if one["vector"] == "softmax"} == {"notice"}


def test_the_least_likely_word_is_of_lines_that_are_each_read_from_the_start():
    from langscape.analyses._flow_baseline import baseline_of
    from langscape.models import capture

    tiny = model("lstm-tiny")
    lines = [line for line in tiny.baseline.splitlines() if line.strip()][:60]
    worst = 0.0
    for line in lines:
        seen = capture(tiny, line)
        ids = np.array(seen.tokens.require_ids())
        worst = max(worst, float((-np.log(seen["softmax"][np.arange(len(ids) - 1), ids[1:]])).max()))
    assert baseline_of(tiny, "\n".join(lines)).surprise[1] == pytest.approx(worst, abs=1e-3)


def test_a_text_of_ones_own_is_what_alarms_compare_with():
    tiny = model("lstm-tiny")
    odd = "the the dog dog barks barks"
    assert any(one["vector"] == "softmax" for one in flow(tiny, odd).alarms)
    used = flow(tiny, odd, baseline="\n".join([odd] * 20))
    assert not any("least that any next word had" in one["text"] for one in used.alarms)
    with pytest.raises(DataError, match="fewer than 3 words"):
        flow(tiny, odd, baseline=".")


def test_a_baseline_counts_what_a_capture_holds():
    from langscape.analyses._flow_baseline import baseline_of
    from langscape.models import capture
    from langscape.models.lines import encode_lines

    tiny = model("lstm-tiny")
    lines = "the dogs bark .\na small cat sleeps .\nthe bird sings ."
    ids = encode_lines(lines.splitlines(), tiny.tokenizer)
    seen, usual = capture(tiny, ids[:-1]), baseline_of(tiny, lines)
    np.testing.assert_allclose(usual.hidden[1], seen["hidden"].max(1), atol=1e-5)
    np.testing.assert_allclose(usual.cell, np.abs(seen["cell"]).max(1), atol=1e-5)
    np.testing.assert_allclose(usual.gates[1, 1], seen["forget"].mean(1), atol=1e-5)
    given = seen["softmax"][np.arange(len(ids) - 1), ids[1:]]
    assert usual.surprise[0] == pytest.approx(-np.log(given).mean(), abs=1e-4)
