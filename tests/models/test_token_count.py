"""Counting tokens without the model agrees with what the model reads."""

import pytest

from langscape.errors import SettingsError
from langscape.models import open_model
from langscape.models.token_count import can_count, count_tokens
from langscape.models.tokens import split

TEXT = "The lamplighter’s boat lay by the bank, antidisestablishmentarianism aside: ☃☃ and 東京 were there. "


@pytest.mark.parametrize("name", ["default", pytest.param("decoder", marks=pytest.mark.slow)])
def test_the_count_is_that_of_the_model(name):
    read = split(open_model(name), TEXT)[0]
    found = count_tokens(name, TEXT)
    assert (found.tokens, found.special) == (sum(not one for one in read.special), sum(read.special))
    assert "antidisestablishmentarianism" in found.split


def test_unknown_words_are_named():
    found = count_tokens("default", TEXT)
    assert (found.unknown, found.unknown_tokens) == (("☃☃",), 1)
    assert not count_tokens("default", "The boat lay by the bank.").unknown


def test_parts_of_a_long_text_fit_the_model_and_leave_no_word_out():
    text = TEXT * 40
    found = count_tokens("default", text)
    assert found.most == 510
    assert found.tokens > 2 * 510
    parts = [text[start:end] for start, end in found.parts]
    assert all(count_tokens("default", part).tokens <= 510 for part in parts)
    assert " ".join(" ".join(parts).split()) == " ".join(text.split())
    assert not count_tokens("default", TEXT).parts


def test_only_packaged_models_with_a_tokenizer_are_counted_for():
    assert not can_count("lstm")
    with pytest.raises(SettingsError, match="cannot be counted beforehand"):
        count_tokens("/somewhere/else", TEXT)
