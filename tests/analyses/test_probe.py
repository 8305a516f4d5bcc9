"""What vectors remember: probes of models whose answer is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

import langscape
from langscape.analyses._probe_examples import gather
from langscape.analyses._probe_questions import answers_of, subject_of, verb_after
from langscape.analyses.probe import lines, train_probes
from langscape.declarations import declaration_of
from langscape.errors import SettingsError
from langscape.models import LSTMModel, open_model

WORDS = {"tagger": "textblob", "most": 300, "words": 1600}


@pytest.fixture(scope="module")
def tiny():
    return declaration_of(langscape.probe).function("lstm-tiny", **WORDS)


def row(found, question, layer):
    columns = found.scores.columns
    at = int(np.flatnonzero((columns["question"] == question) & (columns["layer"] == layer))[0])
    return {name: values[at] for name, values in columns.items()}


@pytest.mark.slow
def test_the_cells_of_a_trained_lstm_remember_the_number_of_the_subject_and_those_of_a_random_one_less(tiny):
    number = row(tiny, "number", "layer 0")
    assert number["verdict"] == "remembered"
    assert number["low"] > max(number["untrained"], number["word"], number["majority"], number["shuffled"])
    # the word that is read does not say it
    assert row(tiny, "number", "word")["verdict"] != "remembered"


@pytest.mark.slow
def test_noise_in_place_of_cells_is_not_said_to_remember_anything():
    model = open_model("lstm-tiny")
    assert isinstance(model, LSTMModel)
    texts = [(line, None) for line in model.baseline.splitlines()[:300]]
    seen = gather(model, texts, "cell", [1, 2, 3], "none", 1600)
    chance = np.random.default_rng(0)
    noise = tuple(chance.normal(size=one.shape).astype(np.float32) for one in seen.vectors)
    found = train_probes(
        type(seen)(seen.names, noise, seen.words, seen.texts, seen.answers, seen.since, ()),
        None, "noise", "cell", model, 0,
    )  # fmt: skip
    assert set(found.scores.columns["verdict"]) == {"not found"}


@pytest.mark.slow
def test_the_table_and_the_picture_say_the_same(tiny, tmp_path):
    view = tiny.view()
    assert view.properties["questions"][:2] == ["subject", "subject until verb"]
    at = view.properties["labels"].index("number, layer 0")
    assert view.arrays["accuracy"][at] == np.float32(row(tiny, "number", "layer 0")["accuracy"])
    assert any("number" in line and "remembered" in line for line in lines(tiny))
    for name in ("probe.csv", "probe.html", "probe.svg"):
        assert tiny.save(tmp_path / name).stat().st_size > 1000


@pytest.mark.slow
def test_a_transformer_is_asked_by_layer_of_its_residual_stream():
    found = declaration_of(langscape.probe).function("default", words=700, most=60, tagger="none", back=[1])
    assert found.vector == "residual stream"
    assert found.layers == ("word", *(f"layer {at}" for at in range(6)))
    assert found.nearest == {}
    assert row(found, "class", "layer 0")["accuracy"] > 0.6
    with pytest.raises(SettingsError, match="has no cells"):
        declaration_of(langscape.probe).function("default", vector="cell", words=300, most=20)


@pytest.mark.parametrize(
    ("sentence", "tags", "subject"),
    [
        ("the dogs near a cat bark", "determiner noun preposition determiner noun verb", "dogs"),
        ("the dogs chase the cat", "determiner noun noun determiner noun", "dogs"),
        ("a cat chases the birds", "determiner noun noun determiner noun", "cat"),
        ("in the war the ships sailed", "preposition determiner noun determiner noun verb", "ships"),
        ("the state government acts", "determiner noun noun verb", "government"),
        ("returning home , we slept", "verb adverb punctuation pronoun verb", None),
    ],
)
def test_subjects_are_found_by_a_few_rules(sentence, tags, subject):
    words = sentence.split()
    at = subject_of(words, tags.split())
    assert (None if at is None else words[at]) == subject


def test_answers_stand_where_they_can_be_known():
    words = ["he", "said", '"', "no", "(", "not", "now", ")", '"', ".", "it", "fell", "."]
    found = answers_of(words, None, [2])
    assert found.answers["quote"][2:10] == ["open"] * 6 + ["closed", "closed"]
    assert found.answers["position"][10] == "1"  # a new sentence begins
    assert found.answers["back 2"][:3] == [None, None, "he"]
    assert "subject" not in found.answers  # nobody gave parts of speech


@pytest.mark.parametrize(
    ("sentence", "tags", "verb"),
    [
        (
            "the dogs near a cat bark .",
            "determiner noun preposition determiner noun verb punctuation",
            "bark",
        ),
        ("the cat that chases birds sleeps", "determiner noun pronoun verb noun verb", "sleeps"),
        ("the dogs chase the small cat", "determiner noun noun determiner adjective noun", "chase"),
        ("the dogs", "determiner noun", None),
    ],
)
def test_the_verb_of_a_subject_is_found_where_a_tagger_took_it_for_a_noun_too(sentence, tags, verb):
    words = sentence.split()
    at = verb_after(1, words, tags.split())
    assert (None if at is None else words[at]) == verb


def test_a_subject_is_asked_for_up_to_its_verb_and_no_further():
    words = ["the", "dogs", "near", "a", "cat", "bark", "loudly", "."]
    tags = ["determiner", "noun", "preposition", "determiner", "noun", "verb", "adverb", "punctuation"]
    found = answers_of(words, tags, [1]).answers
    assert found["subject until verb"] == [None, None, "dogs", "dogs", "dogs", "dogs", None, None]
    assert found["subject"][-1] == "dogs"
