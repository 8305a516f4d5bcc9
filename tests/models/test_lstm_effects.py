"""What is measured of an LSTM's memory equals a run, word by word, with the gate held."""

import numpy as np
import pytest

from langscape.models import capture, open_model
from langscape.models import lstm_effects as module
from langscape.models.lstm import softmax
from langscape.models.lstm_effects import HELD, memory_effects

PROMPT = "the small dog barks ."


def by_hand(weights, seen, at, held):
    """The chances after the step `at`; held(step, layer, gate, now) gives a gate's values, None if free."""
    cells = [np.zeros(len(one) // 4) for one in weights["bias"]]
    hiddens = [cell.copy() for cell in cells]
    for step in range(at + 1):
        x = seen["embedding"][step].astype(np.float64)
        for layer, bias in enumerate(weights["bias"]):
            pre = (
                weights["input_weights"][layer] @ x + weights["hidden_weights"][layer] @ hiddens[layer] + bias
            )
            i, f, g, o = np.split(pre, 4)
            now = {
                "input": 1 / (1 + np.exp(-i)),
                "forget": 1 / (1 + np.exp(-f)),
                "output": 1 / (1 + np.exp(-o)),
            }
            for gate in now:
                value = held(step, layer, gate, now[gate])
                now[gate] = now[gate] if value is None else value
            cells[layer] = now["forget"] * cells[layer] + now["input"] * np.tanh(g)
            hiddens[layer] = x = now["output"] * np.tanh(cells[layer])
    return softmax((weights["decoder"] @ x + weights["decoder_bias"])[None])[0]


@pytest.fixture(scope="module", params=["lstm-tiny", "lstm"])
def measured(request):
    model = open_model(request.param, device="cpu")
    prompt = PROMPT if request.param == "lstm-tiny" else "the people of the united states"
    seen = capture(model, prompt)
    words = np.argsort(-seen["logits"], axis=-1)[:, :5]
    return model.weights(), seen, words, memory_effects(model.weights(), seen, words)


PLACES = ((-1, 0), (-1, 2), (-2, 3), (1, 1))
"""Predictions, some from the end, and words so many steps back from them."""


def test_a_word_that_writes_nothing_is_a_run_with_its_input_gates_shut(measured):
    weights, seen, words, found = measured
    for place, back in PLACES:
        at = place % len(words)

        def held(step, layer, gate, now, word=at - back):
            return 0 * now if (step, gate) == (word, "input") else None

        chances = by_hand(weights, seen, at, held)
        np.testing.assert_allclose(found.unwritten[0][at, back], chances[words[at]], atol=2e-5)
        assert found.unwritten[1][at, back] == chances.argmax()
        assert found.unwritten[2][at, back] == pytest.approx(chances.max(), abs=2e-5)
    assert np.isnan(found.unwritten[0][0, 1:]).all()
    assert (found.unwritten[1][0, 1:] == -1).all()


def test_a_skipped_word_is_a_text_that_does_not_hold_it(measured):
    _, seen, words, found = measured
    model = open_model(seen.metadata["model"], device="cpu")
    ids = seen.tokens.require_ids().tolist()
    for place, back in PLACES:
        at = place % len(words)
        rest = [one for step, one in enumerate(ids[: at + 1]) if step != at - back]
        chances = capture(model, rest)["softmax"][-1]
        np.testing.assert_allclose(found.skipped[0][at, back], chances[words[at]], atol=2e-5)
        assert found.skipped[1][at, back] == chances.argmax()


@pytest.mark.parametrize("which", range(len(HELD)))
def test_a_gate_is_held_in_all_layers_at_the_step_that_predicts(measured, which):
    weights, seen, words, found = measured
    name, value = HELD[which]
    at = len(seen.tokens) - 1
    chances = by_hand(
        weights, seen, at,
        lambda step, layer, gate, now: np.full_like(now, value) if (step, gate) == (at, name) else None,
    )  # fmt: skip
    np.testing.assert_allclose(found.gates[0][at, which], chances[words[at]], atol=2e-5)
    assert found.gates[1][at, which] == chances.argmax()


def test_no_unit_costs_a_word_more_than_the_one_that_is_named(measured):
    weights, seen, words, found = measured
    at, layers, units = len(seen.tokens) - 1, *seen["cell"][:, 0].shape
    each = []
    for number in range(layers * units):
        place = divmod(number, units)

        def held(step, layer, gate, now, place=place):
            forgets = (step, layer, gate) == (at, place[0], "forget")
            return np.where(np.arange(units) == place[1], 0, now) if forgets else None

        each.append(by_hand(weights, seen, at, held)[words[at]])
    np.testing.assert_allclose(found.units[0][at], np.min(each, axis=0), atol=2e-5)
    assert found.unit[at].tolist() == np.argmin(each, axis=0).tolist()


def test_a_large_model_measures_fewer_predictions_and_always_the_last(measured, monkeypatch):
    weights, seen, words, whole = measured
    monkeypatch.setattr(module, "PRODUCTS", 1)
    found = memory_effects(weights, seen, words)
    assert len(found.unit) == 1
    np.testing.assert_array_equal(found.skipped[0][-1], whole.skipped[0][-1])
    np.testing.assert_array_equal(found.unwritten[0][-1], whole.unwritten[0][-1])
    np.testing.assert_array_equal(found.gates[0][-1], whole.gates[0][-1])
    np.testing.assert_array_equal(found.units[0][-1], whole.units[0][-1])
