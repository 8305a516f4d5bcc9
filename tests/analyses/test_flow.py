"""A flow reads its prompt once: more words or other colours start from what was stored."""

import numpy as np
import pytest
from tests.models.families import DECODERS, built, tokenizer

from langscape.analyses import flow as module
from langscape.analyses.flow import flow
from langscape.declarations.running import using
from langscape.errors import SettingsError
from langscape.models import get_model, wrap_model
from langscape.store import Store

PROMPTS = {"lstm-tiny": "the small dog barks .", "default": "Rain fell."}


def steps(store):
    return sorted(entry.recipe["step"] for entry in store.entries())


def forbid_models(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the model was asked again")

    for name in ("read_lstm", "read_stream", "opened"):
        monkeypatch.setattr(module, name, refuse)


@pytest.mark.parametrize("name", PROMPTS)
def test_another_number_of_words_asks_the_model_nothing(name, tmp_path, monkeypatch):
    store = Store(tmp_path)
    if name == "default":
        get_model(name)
    with using(store):
        first = flow(name, PROMPTS[name])
        before = steps(store)
        forbid_models(monkeypatch)
        more = flow(name, PROMPTS[name], top=15)
    assert steps(store) == sorted([*before, "flow"])
    place = "top" if name == "lstm-tiny" else "lens"
    assert first.arrays[place].shape[-1] == 8
    assert more.arrays[place].shape[-1] == 15
    assert [more.words[i] for i in more.arrays[place].reshape(-1, 15)[0][:8]] == [
        first.words[i] for i in first.arrays[place].reshape(-1, 8)[0]
    ]


def test_other_colours_of_a_large_vocabulary_ask_the_model_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path)
    get_model("default")
    with using(store):
        first = flow("default", PROMPTS["default"])
        forbid_models(monkeypatch)
        other = flow("default", PROMPTS["default"], space="rgb")
    assert steps(store) == ["flow", "flow", "flow.reading"]
    assert (first.arrays["word_colours"] != other.arrays["word_colours"]).any()
    assert (first.arrays["lens"] == other.arrays["lens"]).all()


def test_other_colours_of_an_lstm_map_its_words_again_but_do_not_run_it(tmp_path, monkeypatch):
    store = Store(tmp_path)
    with using(store):
        first = flow("lstm-tiny", PROMPTS["lstm-tiny"])
        monkeypatch.setattr(module, "read_lstm", None)
        flow("lstm-tiny", PROMPTS["lstm-tiny"], fit="force")
        assert steps(store).count("flow.word_colours") == 1
        other = flow("lstm-tiny", PROMPTS["lstm-tiny"], space="rgb")
    assert steps(store).count("flow.reading") == 1
    assert (first.arrays["colour_cell"] != other.arrays["colour_cell"]).any()


def test_another_prompt_finds_the_colours_of_the_words(tmp_path):
    store = Store(tmp_path)
    with using(store):
        flow("lstm-tiny", "the dog barks .")
        flow("lstm-tiny", "the bird sings .")
    assert steps(store).count("flow.word_colours") == 1
    assert steps(store).count("flow.reading") == 2


def test_a_tuned_lens_is_fitted_once_for_all_prompts_and_read_beside_the_logit_lens(tmp_path, monkeypatch):
    monkeypatch.setattr("langscape.models.tuned_lens.PIECES", 10)
    network = built(DECODERS["llama"])
    network.save_pretrained(tmp_path / "model")
    tokenizer().save_pretrained(tmp_path / "model")
    words = [word for word in tokenizer().get_vocab() if word.isalpha()]
    text = tmp_path / "words.txt"
    text.write_text(" ".join(np.random.default_rng(0).choice(words, 900)))
    store = Store(tmp_path / "store")
    with using(store):
        for prompt in (words[0], " ".join(words[:4])):
            found = flow(str(tmp_path / "model"), prompt, lens="tuned", lens_text=text)
        plain = flow(str(tmp_path / "model"), prompt)
    assert steps(store).count("flow.lens") == 1
    assert found.arrays["tuned"].shape == found.arrays["lens"].shape
    assert found.arrays["colour_tuned"].shape == found.arrays["colour_stream"].shape
    assert found.arrays["lens_kl"].shape == (2, 4)
    assert any("the tuned lens was fitted to" in note for note in found.notes)
    assert "tuned" not in plain.arrays
    with pytest.raises(SettingsError, match="has no lens"):
        flow("lstm-tiny", PROMPTS["lstm-tiny"], lens="tuned")


def test_the_surprise_of_a_long_text_is_that_of_all_its_logits_at_once() -> None:
    from langscape.analyses._flow_stream import AT_ONCE, _surprise
    from langscape.models.bend import Bend

    rng = np.random.default_rng(0)
    count = 2 * AT_ONCE + 5
    logits, ids = rng.normal(size=(count, 40)).astype(np.float32), rng.integers(0, 40, count)
    high = logits.max(-1).astype(np.float64)
    total = high + np.log(np.exp(logits - high[:, None], dtype=np.float64).sum(-1))
    expected = np.append(total[:-1] - logits[np.arange(count - 1), ids[1:]], np.nan).astype(np.float32)
    np.testing.assert_array_equal(_surprise(logits, Bend(), ids), expected)


def test_what_an_lstm_owes_to_a_word_is_as_documented():
    found = flow("lstm", "the people of the united")
    at = found.arrays
    assert found.words[at["top"][-1, 0]] == "states"
    chances = (at["top_chances"][-1, 0], at["skipped"][-1, 0, 0], at["written"][-1, 0, 0])
    np.testing.assert_allclose(chances, (0.968, 0.012, 0.928), atol=5e-4)
    assert found.words[at["skipped_first"][-1, 0]] == "united"
    assert at["alone"][-1, 0] == pytest.approx(0.536, abs=5e-4)
    assert at["held"][-1, 2, 0] == pytest.approx(0.0006, abs=5e-5)
    assert at["held_strays"][-1, 2] <= found.usual["strays"] == 48


def test_a_word_that_an_lstm_does_not_know_is_named_with_the_reason():
    found = flow("lstm", "the zzunited states of zzunited")
    assert found.unknown == ("", "", "zzunited", "", "", "zzunited")
    [said] = [one for one in found.notes if "zzunited" in one]
    assert said.startswith(
        "“zzunited” is not among the 4,000 words that the model knows: it reads <unk> instead"
    )
    assert flow("lstm-tiny", PROMPTS["lstm-tiny"]).view().properties["unread"] == ""


def test_a_flow_reports_how_far_it_has_come_while_parts_are_taken_away(tmp_path):
    told = []
    with using(Store(tmp_path)):
        flow(
            wrap_model(built(DECODERS["gpt2"]), tokenizer(), name="gpt2"),
            "the red boat",
            progress=told.append,
        )
    shares = [step.done / step.total for step in told]
    assert shares == sorted(shares)
    assert len({step.done for step in told if step.doing == "taking heads and MLPs away"}) > 2
    assert {"reading the prompt", "words at every layer"} < {step.doing for step in told}
