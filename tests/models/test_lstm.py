"""The LSTM, its capture against torch's own, its file, and models that others made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from langscape import metrics
from langscape.errors import DataError, FileError, SettingsError
from langscape.models import LSTMModel, capture, capture_each, model_revision, open_model, wrap_lstm
from langscape.models.catalog import CATALOG
from langscape.models.lstm import AXES, GATES, Network
from langscape.models.vocabulary import Vocabulary, count_words

WORDS = tuple("abcdefghij")
SHIPPED = [model.name for model in CATALOG.values() if model.kind == "lstm"]


def made(dim: int = 6, hidden: int = 5, layers: int = 2, *, spread: float = 2.0, **kept) -> LSTMModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = Network(len(WORDS), dim, hidden, layers)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(spread)
    return wrap_lstm(network, words=WORDS, level="char", **kept)


@pytest.mark.parametrize(("dim", "hidden", "layers"), [(6, 5, 2), (4, 4, 1), (3, 8, 3)])
def test_a_capture_holds_the_states_of_torch_to_a_millionth(dim: int, hidden: int, layers: int) -> None:
    model = made(dim, hidden, layers)
    seen = capture(model, "abcdefghijjihgfedcba" * 3)
    network: Network = model.network  # type: ignore[assignment]
    ids = torch.tensor([seen.tokens.ids.tolist()])
    hidden_state = None
    with torch.no_grad():
        whole, _ = network.lstm(network.embedding(ids))
        logits, _ = network(ids)
        for step in range(ids.shape[1]):
            _, hidden_state = network.lstm(network.embedding(ids[:, step : step + 1]), hidden_state)
            np.testing.assert_allclose(seen["hidden"][:, step], hidden_state[0][:, 0], atol=1e-6)
            np.testing.assert_allclose(seen["cell"][:, step], hidden_state[1][:, 0], atol=1e-6)
    np.testing.assert_allclose(seen["hidden"][-1], whole[0], atol=1e-6)
    np.testing.assert_allclose(seen["logits"], logits[0], atol=2e-6)
    np.testing.assert_allclose(seen["softmax"], torch.softmax(logits[0], -1), atol=1e-6)


def test_every_vector_follows_from_those_before_it() -> None:
    model = made()
    seen = capture(model, "abcabcfgh")
    assert set(seen.arrays) == set(AXES)
    assert all(len(seen.axes[name]) == seen[name].ndim for name in AXES)
    weights = model.weights()
    for layer in range(2):
        for step in range(9):
            for gate in GATES:
                parts = metrics.contributions(weights, seen, layer, step, gate)
                total = parts["input"].sum(1) + parts["hidden"].sum(1) + parts["bias"]
                # rounded to float32 once, in the capture
                np.testing.assert_allclose(total, seen[f"{gate}_pre"][layer, step], rtol=1.2e-7, atol=1e-12)
    sigmoid = {gate: 1 / (1 + np.exp(-seen[f"{gate}_pre"])) for gate in ("input", "forget", "output")}
    for gate, values in sigmoid.items():
        np.testing.assert_allclose(seen[gate], values, rtol=1e-6)
    np.testing.assert_allclose(seen["candidate"], np.tanh(seen["candidate_pre"]), rtol=1e-6)
    before = np.concatenate([seen["cell_before"][:, None], seen["cell"][:, :-1]], 1)
    np.testing.assert_array_equal(seen["forget_product"], seen["forget"] * before)
    np.testing.assert_array_equal(seen["remember_product"], seen["input"] * seen["candidate"])
    np.testing.assert_array_equal(seen["cell"], seen["forget_product"] + seen["remember_product"])
    np.testing.assert_array_equal(seen["hidden"], seen["output"] * seen["cell_tanh"])
    assert not seen["cell_before"].any()
    assert not seen["hidden_before"].any()
    np.testing.assert_array_equal(seen["embedding"], weights["embedding"][seen.tokens.ids.tolist()])


def test_huge_weights_saturate_without_overflow() -> None:
    with np.errstate(over="raise", invalid="raise"):
        seen = capture(made(spread=1e4), "abcdef")
    assert all(np.isfinite(seen[name]).all() for name in AXES)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_a_saved_model_opens_as_it_was(tmp_path: Path, half: bool, tied: bool) -> None:
    network = Network(10, 5, 5, 2, tied=tied)
    model = wrap_lstm(network, words=Vocabulary(WORDS, "char", False, None, "a"))
    model.save(tmp_path / "m", half=half, about={"corpus": "letters"})
    opened = open_model(tmp_path / "m", device="cpu")
    assert isinstance(opened, LSTMModel)
    assert (opened.words, opened.kind, opened.layers, opened.dim, opened.width) == (WORDS, "lstm", 2, 5, 5)
    assert opened.tokenizer == model.tokenizer
    assert opened.revision == model_revision(tmp_path / "m")
    assert opened.network.tied is tied  # type: ignore[union-attr]
    tolerance = 2e-3 if half else 0
    np.testing.assert_allclose(
        capture(opened, "bcd")["softmax"], capture(model, "bcd")["softmax"], atol=tolerance
    )
    assert json.loads((tmp_path / "m/config.json").read_text())["about"] == {"corpus": "letters"}


def test_models_without_bias_are_read_and_saved(tmp_path: Path) -> None:
    parts = {"embedding": torch.nn.Embedding(10, 4), "lstm": torch.nn.LSTM(4, 3, bias=False)}
    model = wrap_lstm(**parts, decoder=torch.nn.Linear(3, 10, bias=False), words=WORDS, level="char")
    assert not model.weights()["bias"][0].any()
    opened = open_model(model.save(tmp_path), device="cpu")
    np.testing.assert_array_equal(capture(opened, "abc")["logits"], capture(model, "abc")["logits"])


class Foreign(torch.nn.Module):
    """A language model as others write them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.Embedding(10, 4)
        self.rnn = torch.nn.LSTM(4, 6, 2, dropout=0.5)
        self.head = torch.nn.ModuleDict({"out": torch.nn.Linear(6, 10)})


def test_any_lstm_language_model_is_wrapped_by_the_names_of_its_parts() -> None:
    theirs = Foreign().eval()
    names = {"embedding": "encoder", "lstm": "rnn", "decoder": "head.out"}
    model = wrap_lstm(theirs, **names, words=WORDS, level="char", name="theirs")  # type: ignore[arg-type]
    seen = capture(model, "hello"[1:3].replace("l", "i"))
    with torch.no_grad():
        out, _ = theirs.rnn(theirs.encoder(torch.tensor(seen.tokens.ids.tolist())))
        logits = theirs.head["out"](out)
    np.testing.assert_allclose(seen["logits"], logits, atol=1e-6)
    assert repr(model) == "LSTMModel('theirs', 10 characters, 4 dimensions, 2 layers of 6 units)"
    with pytest.raises(SettingsError, match="no part 'encodr'; it holds encoder, rnn, head"):
        wrap_lstm(theirs, embedding="encodr", words=WORDS)
    with pytest.raises(SettingsError, match=r"embedding is LSTM, expected torch\.nn\.Embedding"):
        wrap_lstm(theirs, embedding="rnn", lstm="rnn", decoder="head.out", words=WORDS)
    with pytest.raises(DataError, match="there are 9 words, but the embedding has 10 rows"):
        wrap_lstm(theirs, **names, words=WORDS[:9])  # type: ignore[arg-type]
    both = torch.nn.LSTM(4, 5, bidirectional=True)
    with pytest.raises(SettingsError, match="both directions"):
        wrap_lstm(theirs, **{**names, "lstm": both}, words=WORDS)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the LSTM is 5 wide, but the decoder takes 6"):
        wrap_lstm(theirs, **{**names, "lstm": torch.nn.LSTM(4, 5)}, words=WORDS)  # type: ignore[arg-type]


def test_texts_are_split_lowered_and_unknown_words_named() -> None:
    known = Vocabulary(("<s>", "<unk>", "it's", "well-known", ".", "tea"), unknown="<unk>", start="<s>")
    network = Network(6, 3, 3, 1)
    model = wrap_lstm(network, words=known)
    seen = capture(model, "It's well-known  oolong TEA.")
    assert seen.tokens.labels == ("<s>", "it's", "well-known", "<unk>", "tea", ".")
    assert list(seen.tokens.texts) == ["<s>", "It's", "well-known", "oolong", "TEA", "."]
    assert seen.tokens.special.tolist() == [True, False, False, False, False, False]
    text = "It's well-known  oolong TEA."
    assert [text[a:b] for a, b in seen.tokens.offsets.tolist()[1:]] == list(seen.tokens.texts)[1:]
    assert any("oolong" in note for note in seen.notes)
    without = capture(model, "tea tea", special="drop")
    np.testing.assert_array_equal(without["hidden"], capture(model, "tea tea")["hidden"][:, 1:])
    np.testing.assert_array_equal(without["cell_before"], capture(model, "tea")["cell"][:, 0])
    assert capture(model, "").tokens.labels == ("<s>",)


def test_lists_ids_and_continuations() -> None:
    model = made()
    one, two = capture(model, ["abc", "fg"])
    np.testing.assert_array_equal(one["hidden"], capture(model, [0, 1, 2])["hidden"])
    assert two.tokens.labels == ("f", "g")
    assert [seen.tokens.labels for seen in capture_each(model, iter(["ab", "c"]))] == [("a", "b"), ("c",)]
    longer = capture(model, "abc", generate=4)
    assert longer.metadata["generated"] == 4
    for step in range(2, 6):  # each chosen word is the likeliest after those before
        assert longer.tokens.ids.tolist()[step + 1] == longer["logits"][step].argmax()
    drawn = capture(model, "abc", generate=6, sample_seed=1)
    assert drawn.tokens.labels == capture(model, "abc", generate=6, sample_seed=1).tokens.labels
    some = capture(model, "abc", want=("cell",))
    assert list(some.arrays) == ["cell"]


def test_what_an_lstm_cannot_do_is_said() -> None:
    model = made()
    with pytest.raises(DataError, match=r"does not know 'x', '!'; its 10 words are: a b c"):
        capture(model, "abx!")
    with pytest.raises(DataError, match="holds no words"):
        capture(model, "")
    with pytest.raises(DataError, match="no word number 11"):
        capture(model, [0, 11])
    with pytest.raises(SettingsError, match="is an LSTM and takes no heads"):
        capture(model, "abc", heads=0)
    with pytest.raises(SettingsError, match="has no 'attention'; choose from embedding"):
        capture(model, "abc", want=("attention",))
    with pytest.raises(SettingsError, match="no attention heads"):
        model.heads  # noqa: B018
    with pytest.raises(SettingsError, match="above the limit"):
        capture(model, "abc", memory=10)


def test_broken_folders_are_named(tmp_path: Path) -> None:
    folder = made().save(tmp_path / "m")
    told = json.loads((folder / "config.json").read_text())

    def config(**changes) -> None:
        (folder / "config.json").write_text(json.dumps({**told, **changes}))

    config(hidden=9)
    with pytest.raises(FileError, match=r"do not fit its config\.json: decoder\.weight is \(10, 5\)"):
        open_model(folder)
    config(words=["a", "a"])
    with pytest.raises(FileError, match="is damaged: the vocabulary holds 'a' 2 times"):
        open_model(folder)
    config(layers="many")
    with pytest.raises(FileError, match=r'"layers" is "many"; expected a whole number from 1'):
        open_model(folder)
    config()
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:300])
    with pytest.raises(FileError, match=r"model\.safetensors is cut short or damaged"):
        open_model(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileError, match=r"holds no model\.safetensors"):
        open_model(folder)


def test_a_vocabulary_is_counted_by_frequency_then_alphabet() -> None:
    assert count_words(["b b a", "c a d"], most=5).words == ("<s>", "<unk>", "a", "b", "c")
    assert count_words(["Ab"], level="char", lower=False).words == ("<s>", "<unk>", "A", "b")
    with pytest.raises(DataError, match="holds no words"):
        count_words(["   "])
    with pytest.raises(SettingsError, match="start is '<s>', which is not in the vocabulary"):
        Vocabulary(WORDS, start="<s>")


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_models_open_and_beat_counts_of_pairs(name: str) -> None:
    model = open_model(name)
    assert isinstance(model, LSTMModel)
    about = json.loads((CATALOG[name].path / "config.json").read_text())["about"]
    assert about["perplexity"] < about["baselines"]["bigram"] < about["baselines"]["unigram"]
    sizes = {"lstm-tiny": (20, 7, 1), "lstm": (4000, 128, 2)}
    assert (len(model.words), model.dim, model.layers) == sizes[name]
    assert sum(f.stat().st_size for one in SHIPPED for f in CATALOG[one].path.iterdir()) < 3e6


@pytest.mark.parametrize(
    "changes",
    [{"dim": "8"}, {"dim": 10**9}, {"hidden": 0}, {"layers": 10**6}, {"layers": True}, {"words": 3},
     {"words": [1, 2]}, {"level": 3}, {"level": "page"}, {"tied": 1}, {"lower": None}, {"unknown": 5},
     {"start": ["a"]}, {"about": json.loads("[" * 60 + "]" * 60)}],
    ids=str,
)  # fmt: skip
def test_a_config_of_wrong_types_is_one_error(tmp_path: Path, changes: dict) -> None:
    from langscape.models.lstm_file import load_lstm

    folder = made().save(tmp_path / "m")
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**told, **changes}))
    with pytest.raises(FileError, match=r"config\.json"):
        load_lstm(folder, "m", "", torch.device("cpu"))


def test_a_config_nested_without_end_is_one_error(tmp_path: Path) -> None:
    from langscape.models.config import is_lstm
    from langscape.models.lstm_file import load_lstm

    folder = made().save(tmp_path / "m")
    (folder / "config.json").write_text('{"model_type": "langscape-lstm", "a": ' + "[" * 100_000)
    assert not is_lstm(folder)
    with pytest.raises(FileError, match="nests lists and objects deeper"):
        load_lstm(folder, "m", "", torch.device("cpu"))


def test_words_of_any_length_are_told_shortly() -> None:
    from langscape.models.vocabulary import Vocabulary

    known = Vocabulary(words=["a" * 10_000, "b\nc"], level="word", lower=False, unknown=None, start=None)
    with pytest.raises(DataError, match="does not know") as caught:
        known.places("x" * 10_000)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
