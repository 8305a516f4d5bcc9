import numpy as np
import pytest

from langscape.analyses._flow_baseline import baseline_of
from langscape.metrics.lstm_units import LEAST, WORDS, unit_words
from langscape.models import open_model


def test_a_unit_that_answers_one_word_is_told_by_it_and_a_smooth_one_is_not():
    rng = np.random.default_rng(0)
    ids = rng.integers(8, size=1200)
    answers = 1.0 * (ids == 5) - 1.0 * (ids == 2)
    # as smooth as a cell that forgets slowly, and as deaf to the words as chance
    drifts = np.zeros(len(ids))
    for step in range(1, len(ids)):
        drifts[step] = 0.97 * drifts[step - 1] + rng.normal()
    still = np.full(len(ids), 0.3)
    found = unit_words(np.stack([answers, drifts, still], axis=1)[None], ids)
    assert found.after[:, 0, 0, 0].tolist() == [5, 2]
    share, mean, most = found.told[:, 0].T[0]
    assert share == pytest.approx(1, abs=1e-6)
    assert most < 0.1
    assert mean < most
    assert found.told[0, 0, 1] <= found.told[2, 0, 1]
    assert np.isnan(found.told[:, 0, 2]).all()
    assert (found.after[:, 0, 2] == -1).all()


def test_a_share_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(1)
    ids = rng.choice(5, size=400, p=[0.4, 0.3, 0.2, 0.096, 0.004])
    cells = rng.normal(size=(2, 400, 3)) + 0.5 * ids[None, :, None]
    often = [word for word in range(5) if np.sum(ids == word) >= LEAST]
    rows = np.isin(ids, often)
    kept = cells[1, rows, 2]
    within = sum(((cells[1, ids == word, 2] - cells[1, ids == word, 2].mean()) ** 2).sum() for word in often)
    found = unit_words(cells, ids)
    assert found.told[0, 1, 2] == pytest.approx(1 - within / ((kept - kept.mean()) ** 2).sum(), abs=1e-6)
    means = {word: cells[1, ids == word, 2].mean() for word in often}
    assert found.after[0, 1, 2].tolist() == sorted(often, key=means.get)[::-1][:WORDS]


def test_a_short_text_says_nothing_of_units():
    found = unit_words(np.random.default_rng(2).normal(size=(1, 20, 2)), np.arange(20) % 3)
    assert np.isnan(found.told).all()
    assert (found.after == -1).all()


def test_units_of_the_packaged_model_answer_words_of_one_kind():
    model = open_model("lstm-tiny", device="cpu")
    usual = baseline_of(model)
    assert (usual.told[0] > usual.told[2]).all()
    # unit 5 is high after verbs that end a sentence, and low after nouns
    high, low = ({model.words[word] for word in usual.after[end, 0, 5]} for end in (0, 1))
    assert high <= {"sleeps", "barks", "bark", "sleep", "sings", "sing"}
    assert low <= {"dog", "dogs", "cat", "cats", "bird", "birds"}
    assert usual.furthest[0] < usual.furthest[1]
