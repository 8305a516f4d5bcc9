from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, PAIRS, built, tokenizer

from langscape import affinity
from langscape.data import Capture, Step
from langscape.errors import DataError, SettingsError
from langscape.models import Model, capture, capture_each, estimate, wrap_model

TEXT = "the red lamp hung over the unbelievable boats , north of the door ."


def test_tokens_are_shown_as_split_and_each_says_what_it_stands_for(tiny: Model) -> None:
    captured = capture(tiny, "The red  unbelievables , zzz.".replace("The", "the"))
    assert captured.tokens.labels == (
        "[CLS]", "the", "red", "un", "##believ", "##able", "##s", ",", "[UNK]", ".", "[SEP]"
    )  # fmt: skip
    assert list(captured.tokens.texts) == ["", "the", "red", "un", "believ", "able", "s", ",", "zzz", ".", ""]
    assert list(captured.tokens.words) == [None, 0, 1, 2, 2, 2, 2, 3, 4, 5, None]
    assert captured.tokens.special.tolist() == [True, *[False] * 9, True]
    assert captured.tokens.offsets.tolist()[3] == [9, 11]
    assert captured.axes["attention"] == ("layer", "head", "query", "key")
    assert captured.metadata["model"] == "tiny"
    assert len(captured.metadata["text_digest"]) == len(captured.metadata["revision"]) == 64


def test_a_typed_separator_is_special_and_a_mask_is_text(tiny: Model) -> None:
    captured = capture(tiny, "the [SEP] [MASK] lamp")
    assert captured.tokens.labels == ("[CLS]", "the", "[SEP]", "[MASK]", "lamp", "[SEP]")
    assert captured.tokens.special.tolist() == [True, False, True, False, False, True]


def test_arrays_are_float32_read_only_and_travel(tiny: Model) -> None:
    captured = capture(tiny, TEXT)
    for array in captured.arrays.values():
        assert array.dtype == np.float32
        assert not array.flags.writeable
    again = pickle.loads(pickle.dumps(captured))
    np.testing.assert_array_equal(again["q"], captured["q"])


def test_chosen_layers_and_heads_are_slices_of_the_whole(tiny: Model) -> None:
    whole = capture(tiny, TEXT)
    part = capture(tiny, TEXT, layers=[2, 0], heads=3)
    for name in ("attention", "q", "k", "v"):
        np.testing.assert_array_equal(part[name], whole[name][[0, 2]][:, [3]])
    np.testing.assert_array_equal(part["hidden"], whole["hidden"][[0, 2]])
    assert part.metadata["layers"]["attention"] == part.metadata["layers"]["hidden"] == [0, 2]
    assert part.metadata["heads"]["q"] == [3]
    last = capture(tiny, TEXT, want="hidden", layers=3)
    np.testing.assert_array_equal(last["hidden"], whole["hidden"][3:])
    P = affinity.attention(whole, 2, 3).P
    np.testing.assert_array_equal(affinity.attention(part, 2, 3).P, P)


def test_only_what_is_wanted_is_there(tiny: Model) -> None:
    assert set(capture(tiny, TEXT, want=("k",)).arrays) == {"k"}
    assert set(capture(tiny, TEXT, want=("hidden", "logits")).arrays) == {"hidden", "logits"}
    assert capture(tiny, TEXT, want="logits")["logits"].shape == (19, 60)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"want": "keys"}, "want 'keys' is not known"),
        ({"want": ()}, "want is empty"),
        (
            {"layers": 3},
            "layer 3 is not there; this model has layers 0 to 2",
        ),
        ({"layers": [-1]}, "layer -1 is not there"),
        ({"layers": [0.5]}, "layer 0.5 is not there"),
        ({"layers": ["a"]}, "layer a is not there"),
        ({"layers": []}, "layers is empty"),
        ({"heads": [4]}, "head 4 is not there; this model has heads 0 to 3"),
        ({"special": "none"}, "special 'none' is not known"),
        ({"long": "cut"}, "long 'cut' is not known"),
        ({"batch": 0}, "batch 0"),
        ({"generate": 3}, "tiny cannot continue a text"),
        ({"generate": -1}, "generate -1"),
        ({"target": "the lamp"}, "target is for encoder–decoders, but tiny is of kind encoder"),
        ({"memory": 1e3}, "capturing 19 tokens needs about .* kB, above the limit of 1.0 kB"),
    ],
)
def test_settings_that_do_not_fit_are_named(tiny: Model, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        capture(tiny, TEXT, **asked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the text is empty"),
        (" \n\t", "the text is empty"),
        ("a\ud800b", "half a character"),
        ([5, 60], "token id 60 is outside the vocabulary of tiny, 0 to 59"),
        ([-1], "token id -1"),
        (np.array([0.5]), "neither a text nor a row of token ids"),
        (None, "is not a list of texts"),
        ([None], "NoneType is neither a text nor"),
        (b"bytes", "bytes is neither a text nor"),
        ([[]], "neither a text nor"),
    ],
)
def test_what_is_no_text_is_named(tiny: Model, text: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        capture(tiny, text)


def test_no_texts_give_no_captures(tiny: Model) -> None:
    assert capture(tiny, []) == []


def test_texts_come_back_in_their_own_order(tiny: Model) -> None:
    texts = [" ".join(["lamp"] * (1 + (7 * i) % 13)) for i in range(40)]
    together = capture(tiny, texts, batch=4)
    assert [len(one.tokens) - 2 for one in together] == [1 + (7 * i) % 13 for i in range(40)]
    for one, each in zip(together, capture_each(tiny, iter(texts), batch=3), strict=True):
        np.testing.assert_allclose(one["attention"], each["attention"], atol=1e-5)
    np.testing.assert_allclose(together[5]["q"], capture(tiny, texts[5])["q"], atol=1e-5)


def test_long_texts_are_refused_or_cut_by_choice(tiny: Model) -> None:
    text = " ".join(f"w{i % 30}" for i in range(150))
    with pytest.raises(
        DataError, match=r'the text has 152 tokens, but tiny takes 64 at once; .*long="window"'
    ):
        capture(tiny, text)
    windows = capture(tiny, text, long="window")
    assert [len(one.tokens) for one in windows] == [64, 64, 28]
    assert [one.metadata["window"] for one in windows] == [[0, 3], [1, 3], [2, 3]]
    inner = [token for one in windows for token in one.tokens[1:-1]]
    assert inner == [f"w{i % 30}" for i in range(150)]
    assert windows[0].notes == ("the text has 152 tokens and was cut into 3 windows of at most 64",)
    start, end = windows[1].tokens.offsets.tolist()[1]
    assert text[start:end] == "w2"
    alone = capture(tiny, text[start : windows[1].tokens.offsets.tolist()[-2][1]])
    np.testing.assert_allclose(alone["attention"], windows[1]["attention"], atol=1e-5)
    overlapping = capture(tiny, text, long="window", overlap=10)
    assert overlapping[0].tokens.labels[-11:-1] == overlapping[1].tokens.labels[1:11]
    with pytest.raises(SettingsError, match="overlap 62 does not fit windows of 62 tokens"):
        capture(tiny, text, long="window", overlap=62)
    assert [len(one.tokens) for one in capture(tiny, TEXT, long="window")] == [19]


def test_ids_are_cut_into_windows_too(tiny: Model) -> None:
    ids = [5 + i % 40 for i in range(100)]
    windows = capture(tiny, ids, long="window", overlap=4)
    assert [len(one.tokens) for one in windows] == [64, 40]
    assert windows[1].tokens.ids.tolist() == ids[60:]


def test_roberta_takes_fewer_tokens_than_its_table_has_rows() -> None:
    from tests.models.families import ENCODERS

    model = wrap_model(built(ENCODERS["roberta"]))
    assert model.longest == 62
    assert capture(model, [5] * 62)["hidden"].shape[1] == 62
    with pytest.raises(DataError, match="takes 62 at once"):
        capture(model, [5] * 63)


@pytest.mark.slow
def test_a_million_characters_do_not_exhaust_memory(tiny: Model) -> None:
    text = "the unbelievable boats , north of the red door . " * 20_500
    assert len(text) > 1_000_000
    with pytest.raises(DataError, match="tokens, but tiny takes 64"):
        capture(tiny, text)
    with pytest.raises(SettingsError, match=r"above the limit of 100 MB; go through capture_each"):
        capture(tiny, text, long="window", memory=1e8)
    code = "import resource, torch\ntorch.set_num_threads(1)\n"
    code += "from tests.models.families import *\nfrom langscape.models import *\n"
    code += "model = wrap_model(built(ENCODERS['bert']), tokenizer())\ncapture(model, 'the red lamp')\n"
    code += "used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nbefore = used()\n"
    code += f"text = {text[:49]!r} * 20_500\nmade = capture_each(model, [text], long='window')\n"
    code += "print(sum(len(one.tokens) - 2 for one in made), used() - before)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    count, grown = (int(part) for part in done.stdout.split())
    assert count == 13 * 20_500
    assert grown < 500_000  # kB; all windows together would be 1.4 GB


def test_the_estimate_is_what_the_capture_takes(tiny: Model) -> None:
    captured = capture(tiny, TEXT, layers=[1], heads=[0, 2])
    told = estimate(tiny, len(captured.tokens), layers=[1], heads=[0, 2])
    assert told.arrays == {name: array.nbytes for name, array in captured.arrays.items()}
    assert told.held == sum(array.nbytes for array in captured.arrays.values())
    assert told.peak > told.held
    assert estimate(tiny, 100_000).held > 3 * 4 * 1e10 * 4
    assert "GB at the peak" in str(estimate(tiny, 100_000)).replace("TB", "GB")
    with pytest.raises(SettingsError, match="tokens 0"):
        estimate(tiny, 0)
    steps: list[Step] = []
    capture(tiny, [TEXT, TEXT], progress=steps.append)
    assert (steps[0].done, steps[-1].done, steps[-1].total) == (0, 2, 2)
    assert steps[0].doing.startswith("capturing 38 tokens, ")


def test_memory_limits_the_stream_without_changing_it(tiny: Model) -> None:
    texts = [TEXT] * 9
    one = estimate(tiny, 19)
    limited = list(capture_each(tiny, texts, memory=2 * one.held + one.working))
    assert len(limited) == 9
    np.testing.assert_allclose(limited[8]["attention"], capture(tiny, TEXT)["attention"], atol=1e-5)
    with pytest.raises(SettingsError, match="above the limit"):
        next(capture_each(tiny, texts, memory=one.held / 2))


def test_a_relative_model_has_no_longest_text_but_memory_has_a_say() -> None:
    model = wrap_model(built(PAIRS["t5"]), tokenizer(), name="t5")
    assert model.longest is None
    with pytest.raises(SettingsError, match="capturing 30,002 tokens needs about"):
        capture(model, "lamp " * 30_000)


def test_generated_tokens_are_captured_with_the_prompt(tiny_decoder: Model) -> None:
    prompt = "the red lamp"
    captured = capture(tiny_decoder, prompt, generate=6)
    new = captured.metadata["generated"]
    assert 1 <= new <= 6
    assert len(captured.tokens) == 5 + new
    assert captured["attention"].shape[-2:] == (5 + new, 5 + new)
    ids = list(captured.tokens.ids.tolist())
    whole = capture(tiny_decoder, ids, want=("logits", "attention"))
    np.testing.assert_array_equal(whole["attention"], captured["attention"])
    assert whole["logits"][4 : 4 + new].argmax(-1).tolist() == ids[5:]  # greedy: the likeliest each time
    assert captured.tokens.ids.tolist() == capture(tiny_decoder, prompt, generate=6).tokens.ids.tolist()


def test_sampling_follows_its_seed_and_touches_no_other() -> None:
    network = built(DECODERS["gpt2"])
    network.config.eos_token_id = network.generation_config.eos_token_id = None
    with torch.no_grad():
        network.transformer.wte.weight.mul_(0.05)  # near-even chances, so that draws differ
    model = wrap_model(network)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = capture(model, [7, 8, 9], want="hidden", generate=12, sample_seed=1)
    again = capture(model, [7, 8, 9], want="hidden", generate=12, sample_seed=1)
    other = capture(model, [7, 8, 9], want="hidden", generate=12, sample_seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert first.tokens.ids.tolist() == again.tokens.ids.tolist() != other.tokens.ids.tolist()
    assert len(set(first.tokens.ids.tolist()[3:])) > 4
    with pytest.raises(DataError, match="takes 60 at once with 4 to generate"):
        capture(model, [7] * 61, generate=4)


@pytest.mark.parametrize("name", ["gptj", "bloom", "opt", "gpt_neox", "gemma2", "bart", "t5"])
def test_every_family_can_continue(name: str) -> None:
    from tests.models.families import OUTSIDE

    network = built({**DECODERS, **OUTSIDE, **PAIRS}[name])
    network.config.eos_token_id = network.generation_config.eos_token_id = None
    captured = capture(wrap_model(network), [7, 8, 9], want=("attention", "logits"), generate=5)
    logits = captured.arrays.get("logits", captured.arrays.get("decoder_logits"))
    read = captured.tokens if captured.decoder_tokens is None else captured.decoder_tokens
    ids = read.ids.tolist()
    assert logits is not None
    assert logits[-6:-1].argmax(-1).tolist() == ids[-5:]


def test_pairs_of_texts_have_both_sides(tiny: Model) -> None:
    model = wrap_model(built(PAIRS["bart"]), tokenizer(), name="pair")
    captured = capture(model, "the red lamp", target="the unbelievable boat")
    assert captured.tokens.labels == ("[CLS]", "the", "red", "lamp", "[SEP]")
    assert list(captured.tokens_of("decoder"))[:3] == ["[SEP]", "[CLS]", "the"]
    assert list(captured.tokens_of("decoder"))[-1] == "boat"
    alone = capture(model, "the red lamp")
    assert alone["cross_attention"].shape[-2:] == (1, 5)
    assert "the decoder saw its start token alone" in alone.notes[0]
    with pytest.raises(DataError, match="fewer targets than texts"):
        capture(model, ["the lamp", "the boat"], target=["the boat"])


def test_threads_may_share_a_model(tiny: Model) -> None:
    texts = [TEXT, "the green boat", "north of the door", "stone over water"]
    alone = [capture(tiny, text) for text in texts]
    found: dict[int, Capture] = {}

    def work(i: int) -> None:
        found[i] = capture(tiny, texts[i % 4])
        capture(tiny, "lamp " * 100, want="hidden", long="window")

    workers = [threading.Thread(target=work, args=(i,)) for i in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for i in range(12):
        for name in ("attention", "q", "hidden"):
            np.testing.assert_array_equal(found[i][name], alone[i % 4][name])


def test_weights_so_large_that_states_overflow_are_said() -> None:
    model = wrap_model(built(ENCODERS["bert with a head"]), tokenizer(), name="loud")
    assert not any("not finite" in note for note in capture(model, "the cat", want=("hidden",)).notes)
    with torch.no_grad():
        for name, weights in model.network.named_parameters():
            if "word_embeddings" in name:
                weights.fill_(3e38)
    loud = capture(model, "the cat", want=("hidden",))
    assert any("not finite: the weights of loud overflow" in note for note in loud.notes)
