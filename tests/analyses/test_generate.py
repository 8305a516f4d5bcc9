"""What comes next: chances are the model's own, and drawing follows the settings and the seed."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

from langscape.analyses.generate import _title, generate, what_changed
from langscape.errors import LangscapeError, SettingsError
from langscape.models import capture, wrap_model
from langscape.models.generate import Sampling

PROMPT = "the red lamp hung over the"


@pytest.fixture(scope="module")
def llama():
    return wrap_model(built(DECODERS["llama"]), tokenizer(), name="llama")


def test_next_words_have_the_models_own_chances(llama):
    found = generate(llama, PROMPT, count=0, top=5)
    ids = torch.tensor([llama.tokenizer(PROMPT)["input_ids"]])
    with torch.no_grad():
        own = llama.network(ids).logits[0, -1].softmax(-1)
    best = own.topk(5)
    np.testing.assert_allclose(found.chances[0], best.values, atol=1e-5)
    assert list(found.words) == [llama.tokenizer.decode([one]) for one in best.indices]
    assert found.continuations == ((),)


def test_the_likeliest_is_taken_at_temperature_nought_as_transformers_does(llama):
    ids = torch.tensor([llama.tokenizer(PROMPT)["input_ids"]])
    own = llama.network.generate(ids, max_new_tokens=6, do_sample=False)[0, ids.shape[1] :]
    found = generate(llama, PROMPT, count=6)
    assert list(found.continuations[0]) == [llama.tokenizer.decode([one]) for one in own]
    again = generate(llama, PROMPT, count=6, temperature=1.0, top_k=1, seed=5)
    assert again.continuations == found.continuations


def test_a_seed_gives_the_same_text_and_another_another(llama):
    texts = [generate(llama, PROMPT, count=8, temperature=1.5, seed=seed).texts for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_words_are_drawn_as_often_as_their_chances_say():
    logits = np.log([0.4, 0.3, 0.2, 0.1])
    sampling = Sampling(0.7, top_k=3, top_p=0.9, seed=3)
    wanted = sampling.chances(logits)
    choose = sampling.chooser()
    counts = np.bincount([choose(logits) for _ in range(4000)], minlength=4)
    np.testing.assert_allclose(counts / 4000, wanted, atol=0.03)
    assert wanted[3] == 0


def test_a_changed_prompt_stands_beside_the_first_with_what_changed(llama):
    found = generate(llama, PROMPT, other="the red boat hung over the", count=2, top=6)
    assert found.chances.shape[0] == 2
    assert found.kl > 0
    assert found.view().properties["tables"][0]["title"] == "Next word, chance in %"
    same = generate(llama, PROMPT, other=PROMPT, count=2)
    assert same.kl == pytest.approx(0, abs=1e-9)
    assert same.continuations[0] == same.continuations[1]


def test_what_is_impossible_is_said(llama):
    for wrong, said in (
        ({"top_p": 0.0}, "no word"),
        ({"temperature": -1.0}, "temperature"),
        ({"seed": -1}, "seed"),
    ):
        with pytest.raises(SettingsError, match=said):
            generate(llama, PROMPT, **wrong)
    with pytest.raises(SettingsError, match="empty"):
        generate(llama, "  ")
    with pytest.raises(SettingsError, match="cannot continue"):
        generate(wrap_model(built(ENCODERS["bert"]), tokenizer(), name="bert"), PROMPT)


def test_a_part_that_is_taken_away_gives_the_chances_of_the_edited_run(llama):
    found = generate(llama, PROMPT, edits=["head 1.2 zero"], count=3, top=6)
    own = [capture(llama, PROMPT, "logits", edits=edits)["logits"][-1] for edits in ((), ["head 1.2 zero"])]
    ids = [llama.tokenizer.convert_tokens_to_ids(llama.tokenizer.tokenize(word)) for word in found.words]
    assert all(len(one) == 1 for one in ids)
    for row, logits in zip(found.chances, own, strict=True):
        np.testing.assert_allclose(row, softmax(logits)[[one[0] for one in ids]], atol=1e-5)
    assert found.edits == ("head 1.2 replaced by zero at every token but the first",)
    assert len(found.continuations[1]) == 3
    assert found.view().properties["tables"][0]["columns"] == ["as it is", "edited"]


def test_the_title_begins_with_what_is_taken_away_and_only_the_end_of_a_long_prompt_is_repeated(llama):
    long = " ".join(["the red boat lay by the old stone bridge"] * 5)
    settings = {"model": "decoder", "prompt": long, "other": None, "edits": ["head 1.2 zero"]}
    title = _title(settings, {})
    assert title.startswith("With head 1.2 set to zero: what SmolLM2-135M writes after “… ")
    assert len(title) < 120
    found = generate(llama, long, edits=["head 1.2 zero"], count=3)
    for one, tokens in zip(found.view().properties["written"], found.continuations, strict=True):
        assert one["prompt"] == long
        assert one["new"] == "".join(tokens)
        assert one["ending"].startswith("… ")
        assert long.endswith(one["ending"].removeprefix("… "))
    assert long not in found.view().properties["subtitle"]


def test_what_changed_is_said_of_the_word_that_came_first(llama):
    found = generate(llama, PROMPT, edits=["mlp 0 zero"], count=0)
    first = found.words[int(found.chances[0].argmax())].strip()
    assert what_changed(found).startswith(f"“{first}” had ")
    assert "nats" not in found.view().properties["subtitle"]


def test_edits_and_a_changed_prompt_are_not_shown_at_once(llama):
    with pytest.raises(SettingsError, match="not both"):
        generate("lstm-tiny", "the small dog", other="the dog", edits=["mlp 0 zero"])
    with pytest.raises(SettingsError, match="LSTM"):
        generate("lstm-tiny", "the small dog", edits=["mlp 0 zero"])


@pytest.mark.parametrize("name", ["lstm-tiny", "lstm"])
def test_without_a_prompt_a_model_writes_behind_what_its_flow_reads_and_the_title_says_so(name):
    from langscape.analyses.flow import flow_reading

    found = generate(name, count=1)
    assert found.prompts == (flow_reading(name).prompt,)
    settings = {"model": name, "prompt": None, "other": None, "edits": None}
    assert f"“{found.prompts[0]}”" in _title(settings, {})
    assert _title({**settings, "model": "some/folder"}, {}).endswith("writes after a text of its own")


def test_words_that_an_lstm_does_not_know_are_refused_as_its_flow_refuses_them():
    from langscape.analyses.flow import flow

    said = []
    for asked in (generate, flow):
        with pytest.raises(LangscapeError, match="does not know 'capital', 'of', 'Italy', 'is'") as told:
            asked("lstm-tiny", "The capital of Italy is")
        said.append(str(told.value))
    assert said[0] == said[1]
