"""Where vectors change, what they are near, what is stuck: by cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from langscape import metrics
from langscape.data import Capture, Tokens
from langscape.errors import DataError, SettingsError

LAYERED = ("layer", "step", "unit")


def read(steps: int = 40, layers: int = 2, units: int = 4, **fixed: np.ndarray | float) -> Capture:
    """What a network of random gates would leave; `fixed` arrays replace its own."""
    rng = np.random.default_rng(0)
    shape = (layers, steps, units)
    arrays = {name: rng.uniform(0.2, 0.8, shape) for name in ("input", "forget", "output")}
    names = ("candidate", "forget_product", "remember_product", "cell", "cell_tanh", "hidden")
    arrays |= {name: rng.normal(size=shape) for name in names}
    for name, values in fixed.items():
        arrays[name] = np.broadcast_to(np.asarray(values, float), shape).copy()
    arrays |= {"cell_before": np.zeros((layers, units)), "hidden_before": np.zeros((layers, units))}
    axes = {name: LAYERED if array.ndim == 3 else ("layer", "unit") for name, array in arrays.items()}
    return Capture(["w"] * steps, arrays, axes)


def test_change_is_zero_for_the_same_one_for_the_opposite_and_between_for_the_rest() -> None:
    a = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [1.0, 0.0]])
    b = np.array([[1.0, 2.0], [-2.0, -4.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(metrics.change(a, b), [0, 1, 1, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(metrics.change(a, b), metrics.change(b, a))
    with pytest.raises(DataError, match="one width"):
        metrics.change([1.0, 2.0], [1.0])


def test_the_changes_of_an_lstm_are_those_between_its_vectors() -> None:
    seen = read()
    found = metrics.lstm_changes(seen)
    assert list(found) == ["forget", "remember", "add", "squash", "show", "step"]
    np.testing.assert_allclose(found["squash"], metrics.change(seen["cell"], seen["cell_tanh"]))
    np.testing.assert_allclose(
        found["forget"][:, 1:], metrics.change(seen["cell"][:, :-1], seen["forget_product"][:, 1:])
    )
    np.testing.assert_allclose(found["step"][:, 0], 1)  # from nothing


def test_nearest_words_by_distance_and_by_logit() -> None:
    rng = np.random.default_rng(1)
    rows, vectors, bias = rng.normal(size=(30, 5)), rng.normal(size=(4, 5)), rng.normal(size=30)
    near, far = metrics.nearest_words(vectors, rows, 3)
    plain = np.linalg.norm(vectors[:, None] - rows[None], axis=2)
    np.testing.assert_array_equal(near, plain.argsort(1)[:, :3])
    np.testing.assert_allclose(far, np.sort(plain, 1)[:, :3])
    likely, logits = metrics.nearest_words(vectors, rows, 3, by="logit", bias=bias)
    plain = vectors @ rows.T + bias
    np.testing.assert_array_equal(likely, (-plain).argsort(1)[:, :3])
    np.testing.assert_allclose(logits, -np.sort(-plain, 1)[:, :3])
    assert metrics.nearest_words(vectors, rows, 99)[0].shape == (4, 30)
    with pytest.raises(DataError, match='words of 5; compare through the output projection with by="logit"'):
        metrics.nearest_words(np.zeros((1, 6)), rows)
    with pytest.raises(SettingsError, match="by 'ear'"):
        metrics.nearest_words(vectors, rows, by="ear")  # type: ignore[arg-type]


def test_predicted_vectors_lie_by_the_word_that_is_sure_and_in_the_middle_when_none_is() -> None:
    rng = np.random.default_rng(2)
    embeddings, decoder = rng.normal(size=(6, 3)), np.eye(6)
    found = metrics.predicted_vectors([100 * decoder[4], np.zeros(6)], decoder, embeddings)
    np.testing.assert_allclose(found, [embeddings[4], embeddings.mean(0)])
    bias = np.log([4.0, 1, 1, 1, 1, 1])
    shifted = metrics.predicted_vectors(np.zeros((1, 6)), decoder, embeddings, bias)
    np.testing.assert_allclose(shifted[0], (4 * embeddings[0] + embeddings[1:].sum(0)) / 9)


def test_a_sound_network_raises_no_alarm() -> None:
    assert metrics.alarms(read()) == []


@pytest.mark.parametrize("gate", ["input", "forget", "output"])
@pytest.mark.parametrize(("kind", "value"), [("open", 0.99), ("closed", 0.01)])
def test_a_stuck_gate_is_named_with_its_layer_and_units(gate: str, kind: str, value: float) -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(0.2, 0.8, (2, 40, 4))
    values[1, :, :3] = value
    (alarm,) = metrics.alarms(read(**{gate: values}))
    assert (alarm.kind, alarm.layer, alarm.where, alarm.units) == (kind, 1, gate, (0, 1, 2))
    assert alarm.text == f"layer 1: the {gate} gate is always {kind} in 3 of 4 units"
    assert metrics.alarms(read(**{gate: values}), share=0.8) == []
    values[1, :3] = 0.5  # three steps of forty are more than one in twenty
    assert metrics.alarms(read(**{gate: values})) == []


def test_dead_units_are_named_and_several_texts_count_together() -> None:
    hidden = np.random.default_rng(0).normal(size=(2, 40, 4))
    hidden[0, :, 2] = 0.3
    (alarm,) = metrics.alarms(read(hidden=hidden))
    assert (alarm.kind, alarm.layer, alarm.units, alarm.share) == ("dead", 0, (2,), 0.25)
    assert metrics.alarms([read(hidden=hidden), read()]) == []
    with pytest.raises(DataError, match="no capture"):
        metrics.alarms([])


def test_twins_are_words_on_one_spot() -> None:
    rows = np.random.default_rng(0).normal(size=(9, 4))
    words = list("abcdefghi")
    assert metrics.twins(rows, words) == []
    rows[5] = rows[2] + 1e-3
    (alarm,) = metrics.twins(rows, words)
    assert (alarm.kind, alarm.units) == ("twins", (2, 5))
    assert alarm.text.startswith("'c' and 'f' have one vector")
    rows[5] = rows[2]
    assert len(metrics.twins(rows, words)) == 1


def test_weak_pairs_are_those_the_text_has_and_the_model_has_not() -> None:
    ids = [0, 1, 0, 2] * 10
    softmax = np.full((40, 3), 0.3)
    words = ["the", "cat", "dog"]

    def told(probabilities: np.ndarray) -> list:
        axes = {"softmax": ("step", "word")}
        return metrics.weak_pairs(
            Capture(Tokens([words[i] for i in ids], ids=ids), {"softmax": probabilities}, axes), words
        )

    assert told(softmax) == []
    softmax[0::4, 1] = 0.01
    (alarm,) = told(softmax)
    assert alarm.units == (0, 1)
    assert alarm.share == pytest.approx(0.01 / 0.5)
    assert alarm.text == "'cat' follows 'the' in 50.0% of places, but the model gives it 1.00%"


@pytest.mark.parametrize("by", ["distance", "logit"])
def test_nearest_words_found_in_blocks_are_those_of_a_full_sort(by, monkeypatch) -> None:
    monkeypatch.setattr("langscape.metrics.flow._AT_ONCE", 70)
    rng = np.random.default_rng(0)
    vectors, rows = rng.normal(size=(11, 3)), rng.normal(size=(20, 3))
    best, values = metrics.nearest_words(vectors, rows, 4, by=by)
    full = vectors @ rows.T if by == "logit" else -np.linalg.norm(vectors[:, None] - rows, axis=2)
    np.testing.assert_array_equal(best, np.argsort(-full, axis=1)[:, :4])
    np.testing.assert_allclose(np.abs(values), np.abs(np.take_along_axis(full, best, 1)), atol=1e-9)


def test_contributions_ask_for_places_that_are_there() -> None:
    seen = read()
    with pytest.raises(SettingsError, match="gate 'exit' is not known"):
        metrics.contributions({}, seen, 0, 0, "exit")
