from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.models.families import DECODERS, PAIRS, built, tokenizer

from langscape.affinity import head_vectors, heads_of
from langscape.errors import DataError, MissingError, SettingsError
from langscape.models import capture, collect_query_key, taggers, token_classes, wrap_model
from langscape.models.taggers import PARTS, find_tagger, parts_of_speech
from langscape.models.token_classes import CLASSES

SENTENCES = ["the red lamp .", "a boat hung over the door", "the boat", "lamp lamp lamp lamp lamp ."]


def test_every_sentence_is_read_on_its_own(tiny) -> None:
    seen = collect_query_key(tiny, SENTENCES, batch=2)
    start = 0
    for at, text in enumerate(SENTENCES):
        alone = capture(tiny, text, ("q", "k", "v", "attention"))
        stop = start + len(alone.tokens)
        assert list(seen.tokens[start:stop]) == list(alone.tokens)
        assert seen.tokens.sentence.tolist()[start:stop] == [at] * (stop - start)
        assert seen.tokens.positions.tolist()[start:stop] == list(range(stop - start))
        np.testing.assert_allclose(seen["q"][:, :, start:stop], alone["q"], atol=1e-5)
        np.testing.assert_allclose(seen["k"][:, :, start:stop], alone["k"], atol=1e-5)
        norms = np.linalg.norm(alone["v"], axis=3)
        np.testing.assert_allclose(seen["value_norm"][:, :, start:stop], norms, atol=1e-5)
        start = stop
    assert start == len(seen.tokens)
    assert seen.metadata["sentences"][0] == SENTENCES[0]
    assert heads_of(seen) == [(layer, head) for layer in range(3) for head in range(4)]


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "gemma2"])
def test_weights_from_queries_and_keys_are_the_models_own(tiny, family) -> None:
    model = tiny if family == "bert" else wrap_model(built(DECODERS[family]), tokenizer(), name=family)
    # shorter than gemma2's sliding window of four
    texts = ["the lamp", "red boat"] if family == "gemma2" else SENTENCES[:2]
    seen = collect_query_key(model, texts)
    alone = [capture(model, text, ("attention",)) for text in texts]
    for layer, head in ((0, 0), (2, 3)):
        pairs = head_vectors(seen, layer, head).pairs
        start = 0
        for one in alone:
            n = len(one.tokens)
            mine = (pairs.query >= start) & (pairs.query < start + n)
            A = np.zeros((n, n))
            A[pairs.query[mine] - start, pairs.key[mine] - start] = pairs.attention[mine]
            np.testing.assert_allclose(A, one["attention"][layer, head], atol=1e-5)
            start += n


def test_some_layers_and_heads_keep_their_numbers(tiny) -> None:
    seen = collect_query_key(tiny, SENTENCES, layers=[2], heads=[1, 3])
    assert heads_of(seen) == [(2, 1), (2, 3)]
    whole = collect_query_key(tiny, SENTENCES)
    np.testing.assert_allclose(head_vectors(seen, 2, 3).Q, head_vectors(whole, 2, 3).Q, atol=1e-6)


def test_reading_stops_at_the_tokens_wanted(tiny) -> None:
    seen = collect_query_key(tiny, SENTENCES * 5, tokens=12)
    first = [len(capture(tiny, text, "q").tokens) for text in SENTENCES]
    assert len(seen.tokens) == first[0] + first[1]
    assert len(seen.metadata["sentences"]) == 2


def test_a_sentence_too_long_becomes_windows(tiny) -> None:
    seen = collect_query_key(tiny, ["lamp " * 100])
    assert len(seen.metadata["sentences"]) > 1
    assert max(seen.tokens.positions.tolist()) < 64


def test_an_encoder_decoder_is_read_by_role() -> None:
    model = wrap_model(built(PAIRS["bart"]), tokenizer(), name="pair")
    inner = collect_query_key(model, SENTENCES[:2], side="encoder")
    assert len(head_vectors(inner, 0, 0).Q) == len(inner.tokens)
    across = collect_query_key(model, SENTENCES[:2], side="cross", targets=["the boat", "the boat hung"])
    one = head_vectors(across, 1, 0)
    assert len(one.K) == len(across.tokens)
    assert len(one.Q) == len(list(across.tokens_of("decoder"))) != len(one.K)
    np.testing.assert_allclose(np.bincount(one.pairs.query, one.pairs.attention), 1)
    with pytest.raises(SettingsError, match="no attention of side 'self'"):
        collect_query_key(model, SENTENCES, side="self")


def test_what_cannot_be_collected_is_said(tiny) -> None:
    with pytest.raises(SettingsError, match="one text"):
        collect_query_key(tiny, "the red lamp .")
    with pytest.raises(DataError, match="no sentences"):
        collect_query_key(tiny, ["", "  "])
    with pytest.raises(SettingsError, match="layer 9"):
        collect_query_key(tiny, SENTENCES, layers=9)
    with pytest.raises(SettingsError, match="above the limit"):
        collect_query_key(tiny, SENTENCES * 10, memory=2e5)


def test_tokens_have_a_class() -> None:
    texts = [
        "",
        "She",
        " met",
        " Dr",
        ".",
        " Anna",
        " Lind",
        "qvist",
        " in",
        " 1987",
        " because",
        " it",
        " was",
        "",
        "!",
        "",
    ]
    words = [None, 0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, None, 11, None]
    special = [True, *[False] * 12, True, False, True]
    kinds = token_classes(texts, special, words, [0] * len(texts))
    assert kinds == [
        "special", "pronoun", "word", "name", "punctuation", "name", "name", "sub-word", "preposition",
        "number", "conjunction", "pronoun", "auxiliary", "special", "punctuation", "special",
    ]  # fmt: skip
    assert set(kinds) <= set(CLASSES)
    with pytest.raises(DataError, match="lengths"):
        token_classes(["a"], [False], [0], [0, 1])


def test_a_tagger_is_asked_sentence_by_sentence_for_whole_words() -> None:
    asked: list[list[str]] = []

    def tagger(words: list[str]) -> list[str]:
        asked.append(words)
        return [word[0].upper() for word in words]

    tags = parts_of_speech(
        ["", "lamp", "light", " is", "", "rain"], [True, False, False, False, True, False],
        [None, 0, 0, 1, None, 0], [0, 0, 0, 0, 1, 1], tagger,
    )  # fmt: skip
    assert asked == [["lamplight", "is"], ["rain"]]
    assert tags == ["special", "L", "L", "I", "special", "R"]
    with pytest.raises(DataError, match="one each"):
        parts_of_speech(["a"], [False], [0], [0], lambda words: [])


def test_a_missing_tagger_is_said_with_what_to_do(monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "textblob", None)
    with pytest.raises(MissingError, match=r"pip install textblob"):
        find_tagger()
    with pytest.raises(SettingsError, match="tagger 'stanza'"):
        find_tagger("stanza")
    with pytest.raises(SettingsError, match="tagger 'textblob:x'"):
        find_tagger("textblob:x")


def test_textblob_tells_nouns_verbs_and_pronouns() -> None:
    pytest.importorskip("textblob", reason="TextBlob is not installed")
    tagger = find_tagger("textblob")
    told = tagger(["They", "counted", "coins", "because", "her", "brother", "is", "late", "."])
    assert list(told) == [
        "pronoun", "verb", "noun", "conjunction", "pronoun", "noun", "auxiliary", "adjective", "punctuation",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["none_such", "json", "pip", "blank:en", "en_folder"])
def test_only_an_installed_pipeline_of_spacy_is_loaded_by_its_name(tmp_path, monkeypatch, name) -> None:
    import sys
    from importlib.metadata import EntryPoint

    loaded = []
    util = SimpleNamespace(load_model_from_package=lambda name, **how: loaded.append(name))
    fake = SimpleNamespace(util=util, load=lambda *what, **how: loaded.append(what), tokens=SimpleNamespace())
    fake.tokens.Doc = None
    monkeypatch.setitem(sys.modules, "spacy", fake)
    installed = [EntryPoint("de_core_news_sm", "de_core_news_sm", "spacy_models")]
    monkeypatch.setattr(taggers, "entry_points", lambda group: installed if group == "spacy_models" else [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en_folder").mkdir()
    with pytest.raises(MissingError, match=f"{name} is not installed: python -m spacy download {name}"):
        find_tagger(f"spacy:{name}")
    assert loaded == []
    find_tagger("spacy:de_core_news_sm")
    assert loaded == ["de_core_news_sm"]


def test_another_pipeline_of_spacy_is_taken_by_its_folder(tmp_path) -> None:
    spacy = pytest.importorskip("spacy", reason="needs spaCy: `.venv/bin/pip install spacy`")
    nlp = spacy.blank("de")
    rules = nlp.add_pipe("attribute_ruler")
    rules.add([[{"LOWER": "haus"}]], {"POS": "NOUN"})
    rules.add([[{"LOWER": "steht"}]], {"POS": "VERB"})
    nlp.to_disk(tmp_path / "pipeline")
    tagger = find_tagger(f"spacy:{tmp_path / 'pipeline'}")
    assert list(tagger(["Haus", "steht", "da"])) == ["noun", "verb", "other"]
    assert set(tagger(["Haus", "steht", "da"])) <= set(PARTS)
    with pytest.raises(MissingError, match="none_such"):
        find_tagger("spacy:none_such")
