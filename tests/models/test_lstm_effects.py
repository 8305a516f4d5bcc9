"""What is measured of an LSTM's memory equals a run, word by word, with the one thing changed."""

import numpy as np
import pytest
from papers.flow.planted import ordinary_prompts

from langscape.analyses._flow_baseline import baseline_of
from langscape.metrics.lstm_baseline import MEANS
from langscape.models import capture, open_model
from langscape.models import lstm_effects as module
from langscape.models.lstm import softmax
from langscape.models.lstm_effects import HELD, memory_effects

PROMPT = "the small dog barks ."


def by_hand(weights, seen, at, held):
    """The chances after the step `at`.

    held(step, layer, name, now) gives values of a gate, of what is written or of the cell, None if free.
    """
    cells = [np.zeros(len(one) // 4) for one in weights["bias"]]
    hiddens = [cell.copy() for cell in cells]
    for step in range(at + 1):
        x = seen["embedding"][step].astype(np.float64)

        def put(layer, name, now, step=step):
            value = held(step, layer, name, now)
            return now if value is None else value

        for layer, bias in enumerate(weights["bias"]):
            pre = (
                weights["input_weights"][layer] @ x + weights["hidden_weights"][layer] @ hiddens[layer] + bias
            )
            i, f, g, o = np.split(pre, 4)
            own = {"input": i, "forget": f, "output": o}
            now = {name: put(layer, name, 1 / (1 + np.exp(-one))) for name, one in own.items()}
            written = put(layer, "written", now["input"] * np.tanh(g))
            cells[layer] = put(layer, "cell", now["forget"] * cells[layer] + written)
            hiddens[layer] = x = now["output"] * np.tanh(cells[layer])
    return softmax((weights["decoder"] @ x + weights["decoder_bias"])[None])[0]


@pytest.fixture(scope="module", params=["lstm-tiny", "lstm"])
def measured(request):
    model = open_model(request.param, device="cpu")
    prompt = PROMPT if request.param == "lstm-tiny" else "the people of the united states"
    seen = capture(model, prompt)
    words = np.argsort(-seen["logits"], axis=-1)[:, :5]
    usual = baseline_of(model)
    return model.weights(), seen, words, memory_effects(model.weights(), seen, words, usual), usual


def mean(usual, name, layer):
    return usual.means[MEANS.index(name), layer]


PLACES = ((-1, 0), (-1, 2), (-2, 3), (1, 1))
"""Predictions, some from the end, and words so many steps back from them."""


def test_a_word_without_what_it_writes_is_a_run_in_which_the_mean_is_written(measured):
    weights, seen, words, found, usual = measured
    for place, back in PLACES:
        at = place % len(words)

        def held(step, layer, name, now, word=at - back):
            return mean(usual, name, layer) if (step, name) == (word, "written") else None

        chances = by_hand(weights, seen, at, held)
        np.testing.assert_allclose(found.written.chances[at, back], chances[words[at]], atol=2e-5)
        assert found.written.first[at, back] == chances.argmax()
        assert found.written.chance[at, back] == pytest.approx(chances.max(), abs=2e-5)
    assert np.isnan(found.written.chances[0, 1:]).all()
    assert (found.written.first[0, 1:] == -1).all()


def test_a_skipped_word_is_a_text_that_does_not_hold_it(measured):
    _, seen, words, found, usual = measured
    model = open_model(seen.metadata["model"], device="cpu")
    ids = seen.tokens.require_ids().tolist()
    for place, back in PLACES:
        at = place % len(words)
        rest = [one for step, one in enumerate(ids[: at + 1]) if step != at - back]
        run = capture(model, rest)
        chances = run["softmax"][-1]
        np.testing.assert_allclose(found.skipped.chances[at, back], chances[words[at]], atol=2e-5)
        assert found.skipped.first[at, back] == chances.argmax()
        assert found.skipped.strays[at, back] == usual.strays(run["cell"][:, -1:], run["hidden"][:, -1:])[0]


def test_a_word_alone_is_a_text_that_begins_with_it(measured):
    _, seen, words, found, _ = measured
    model = open_model(seen.metadata["model"], device="cpu")
    ids = seen.tokens.require_ids().tolist()
    for at in range(1, len(words)):
        chances = capture(model, [ids[0], ids[at]])["softmax"][-1]
        np.testing.assert_allclose(found.alone.chances[at], chances[words[at]], atol=2e-5)
        assert found.alone.first[at] == chances.argmax()
    np.testing.assert_allclose(found.alone.chances[0], seen["softmax"][0][words[0]], atol=2e-5)


@pytest.mark.parametrize("which", range(len(HELD)))
def test_a_gate_is_at_its_mean_in_all_layers_at_the_step_that_predicts(measured, which):
    weights, seen, words, found, usual = measured
    gate = HELD[which]
    at = len(seen.tokens) - 1
    chances = by_hand(
        weights, seen, at,
        lambda step, layer, name, now: mean(usual, name, layer) if (step, name) == (at, gate) else None,
    )  # fmt: skip
    np.testing.assert_allclose(found.gates.chances[at, which], chances[words[at]], atol=2e-5)
    assert found.gates.first[at, which] == chances.argmax()


def test_no_unit_costs_a_word_more_than_the_one_that_is_named(measured):
    weights, seen, words, found, usual = measured
    at, layers, units = len(seen.tokens) - 1, *seen["cell"][:, 0].shape
    each = []
    for number in range(layers * units):
        place = divmod(number, units)

        def held(step, layer, name, now, place=place):
            put = (step, layer, name) == (at, place[0], "cell")
            return np.where(np.arange(units) == place[1], mean(usual, name, layer), now) if put else None

        each.append(by_hand(weights, seen, at, held)[words[at]])
    np.testing.assert_allclose(found.units.chances[at], np.min(each, axis=0), atol=2e-5)
    assert found.unit[at].tolist() == np.argmin(each, axis=0).tolist()


def test_a_large_model_measures_fewer_predictions_and_always_the_last(measured, monkeypatch):
    weights, seen, words, whole, usual = measured
    monkeypatch.setattr(module, "PRODUCTS", 1)
    found = memory_effects(weights, seen, words, usual)
    assert len(found.unit) == 1
    for name in ("skipped", "written", "alone", "gates", "units"):
        for one, other in zip(getattr(found, name), getattr(whole, name), strict=True):
            np.testing.assert_array_equal(one[-1], other[-1])


@pytest.mark.parametrize("name", ["lstm-tiny", "lstm"])
def test_ordinary_prompts_stay_within_what_the_model_does_and_opened_output_gates_do_not(name):
    model = open_model(name, device="cpu")
    usual = baseline_of(model)
    runs = [capture(model, prompt) for prompt in ordinary_prompts(model, 40)]
    strays = np.concatenate([usual.strays(one["cell"], one["hidden"]) for one in runs])
    opened = np.concatenate([usual.strays(one["cell"], np.tanh(one["cell"])) for one in runs])
    assert np.mean(strays > usual.outside) < 0.01
    assert np.mean(opened > usual.outside) > (0.9 if name == "lstm" else 0.1)
