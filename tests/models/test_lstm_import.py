"""LSTMs and GRUs trained elsewhere: files of torch and Keras become the same model, and nothing is run."""

from __future__ import annotations

import json
import pickle
import zipfile

import h5py
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from langscape.cli.import_lstm import import_lstm as command
from langscape.errors import DataError, FileError, LangscapeError
from langscape.models import capture, open_model
from langscape.models.lstm import Network
from langscape.models.lstm_import import import_lstm

WORDS = ["tea", "is", "hot", "ice", "cold", "."]


@pytest.fixture(scope="module", params=["lstm", "gru"])
def network(request):
    torch.manual_seed(1)
    net = Network(6, 5, 7, 2)
    if request.param == "gru":
        net.lstm = torch.nn.GRU(5, 7, 2, batch_first=True)  # type: ignore[assignment]
    return net.eval()


def logits_of(network):
    with torch.no_grad():
        return network(torch.arange(6)[None])[0][0].numpy()


def keras_file(path, network, layout="model_weights", extra=()):
    """The network's weights as Keras 2 or 3 lays them out; extra are further layers with their arrays."""
    layers = network.lstm.num_layers
    state = {name: one.numpy() for name, one in network.state_dict().items()}
    gru = isinstance(network.lstm, torch.nn.GRU)
    with h5py.File(path, "w") as file:

        def put(layer, arrays):
            group = f"model_weights/{layer}/{layer}" if layout == "model_weights" else f"layers/{layer}/vars"
            for at, (name, one) in enumerate(arrays):
                file[f"{group}/{f'{name}:0' if layout == 'model_weights' else at}"] = one

        put("embedding", [("embeddings", state["embedding.weight"])])
        order = np.r_[7:14, 0:7, 14:21] if gru else np.arange(28)
        for layer in range(layers):
            bias = np.stack([state[f"lstm.bias_{one}_l{layer}"][order] for one in ("ih", "hh")])
            put(
                f"rnn_{layer}" if layer else "rnn",
                [
                    ("kernel", state[f"lstm.weight_ih_l{layer}"].T[:, order]),
                    ("recurrent_kernel", state[f"lstm.weight_hh_l{layer}"].T[:, order]),
                    ("bias", bias if gru else bias.sum(0)),
                ],
            )
        for name, arrays in extra:
            put(name, arrays)
        put("dense", [("kernel", state["decoder.weight"].T), ("bias", state["decoder.bias"])])


def keras_archive(path, network, layers):
    """A .keras archive: the configuration of its layers, and the weights beside it."""
    keras_file(path.with_suffix(".h5"), network, "layers")
    listed = [{"class_name": kind, "config": config} for kind, config in layers]
    with zipfile.ZipFile(path, "w") as archive:
        config = {"class_name": "Sequential", "config": {"name": "mine", "layers": listed}}
        archive.writestr("config.json", json.dumps(config))
        archive.write(path.with_suffix(".h5"), "model.weights.h5")
    return path


def layers_of(network, **settings):
    kind = type(network.lstm).__name__
    return [
        ("InputLayer", {"name": "input"}),
        ("Embedding", {"name": "embedding"}),
        (kind, {"name": "rnn", "activation": "tanh", "recurrent_activation": "sigmoid", **settings}),
        (kind, {"name": "rnn_1", "activation": "tanh", "recurrent_activation": "sigmoid"}),
        ("Dropout", {"name": "dropout"}),
        ("Dense", {"name": "dense", "activation": "softmax"}),
    ]


@pytest.mark.parametrize("how", ["state_dict", "pt", "checkpoint", "safetensors", "keras", "keras 3"])
def test_weights_of_every_kind_of_file_predict_what_the_network_does(network, how, tmp_path):
    given = network.state_dict()
    if how == "pt":
        torch.save(given, tmp_path / "model.pt")
    elif how == "checkpoint":
        torch.save({"epoch": 3, "model_state_dict": given}, tmp_path / "model.pt")
    elif how == "safetensors":
        save_file(
            {f"net.{name}": one.contiguous() for name, one in given.items()}, tmp_path / "model.safetensors"
        )
    elif how.startswith("keras"):
        keras_file(tmp_path / "model.h5", network, "layers" if how == "keras 3" else "model_weights")
    file = next(tmp_path.iterdir(), given)
    model = import_lstm(file, WORDS)
    seen = capture(model, "tea is hot ice cold .")
    np.testing.assert_allclose(seen["logits"], logits_of(network), atol=1e-5)


def test_an_archive_of_keras_is_read_and_what_torch_does_not_do_is_refused_by_name(network, tmp_path):
    model = import_lstm(keras_archive(tmp_path / "model.keras", network, layers_of(network)), WORDS)
    np.testing.assert_allclose(capture(model, " ".join(WORDS))["logits"], logits_of(network), atol=1e-5)
    assert not model.notes
    wrong = keras_archive(tmp_path / "wrong.keras", network, layers_of(network, activation="relu"))
    with pytest.raises(DataError, match="layer rnn has activation='relu'"):
        import_lstm(wrong, WORDS)
    more = [*layers_of(network), ("AttentionWeightedAverage", {"name": "attention"})]
    with pytest.raises(DataError, match="layer attention of class AttentionWeightedAverage"):
        import_lstm(keras_archive(tmp_path / "more.keras", network, more), WORDS)
    (tmp_path / "torn.keras").write_bytes((tmp_path / "model.keras").read_bytes()[:-200])
    with pytest.raises(FileError, match=r"torn\.keras"):
        import_lstm(tmp_path / "torn.keras", WORDS)


def test_eleven_layers_of_keras_are_read_in_their_order_and_no_layer_is_dropped(tmp_path):
    torch.manual_seed(2)
    deep = Network(6, 5, 7, 11).eval()
    for one in deep.parameters():
        one.data *= 3  # else eleven layers leave nothing that an exchange could change
    keras_file(tmp_path / "deep.h5", deep, "layers")
    model = import_lstm(tmp_path / "deep.h5", WORDS)
    np.testing.assert_allclose(capture(model, " ".join(WORDS))["logits"], logits_of(deep), atol=1e-4)
    assert "taken for granted" in model.notes[-1]
    more = [("dense_1", [("kernel", np.eye(7)), ("bias", np.ones(7))])]
    keras_file(tmp_path / "two.h5", deep, "layers", more)
    with pytest.raises(DataError, match="second dense layer"):
        import_lstm(tmp_path / "two.h5", WORDS)
    both = [("bidirectional/backward_layer", [("kernel", np.ones((5, 28))), ("recurrent", np.ones((7, 28)))])]
    keras_file(tmp_path / "both.h5", deep, "layers", both)
    with pytest.raises(DataError, match="both directions"):
        import_lstm(tmp_path / "both.h5", WORDS)


def test_the_command_writes_a_folder_that_opens(network, tmp_path):
    torch.save(network.state_dict(), tmp_path / "model.pt")
    (tmp_path / "words.json").write_text(json.dumps({word: at for at, word in enumerate(WORDS)}))
    command(tmp_path / "model.pt", tmp_path / "words.json", tmp_path / "mine", "word", False, None, None)
    model = open_model(tmp_path / "mine")
    np.testing.assert_allclose(capture(model, "tea is hot")["logits"], logits_of(network)[:3], atol=1e-5)


class Payload:
    def __reduce__(self):
        return (exec, ("raise SystemExit('run')",))


def test_a_file_that_would_run_code_is_refused_and_not_run(tmp_path):
    torch.save({"lstm.weight_hh_l0": Payload()}, tmp_path / "evil.pt")
    (tmp_path / "evil.bin").write_bytes(pickle.dumps(Payload()))
    for name in ("evil.pt", "evil.bin"):
        with pytest.raises(FileError):
            import_lstm(tmp_path / name, WORDS)


def test_what_would_not_be_shown_is_refused_by_name(network, tmp_path):
    extra = {**network.state_dict(), "attention.weight": torch.ones(3, 9)}
    with pytest.raises(DataError, match=r"attention\.weight"):
        import_lstm(extra, WORDS)
    with pytest.raises(DataError, match="no weight_hh_l0"):
        import_lstm({"fc.weight": torch.ones(2, 2)}, WORDS)
    (tmp_path / "bad.h5").write_bytes(b"no hdf5")
    for bad in ("bad.h5", "none.pt"):
        with pytest.raises(LangscapeError):
            import_lstm(tmp_path / bad, WORDS)
    with pytest.raises(DataError, match="all three must be equal"):
        import_lstm(network.state_dict(), WORDS[:4])


def test_files_laid_out_as_those_of_textgenrnn_are_refused_with_the_reason(network, tmp_path):
    words = [f"w{row}" for row in range(len(network.embedding.weight))]
    path = tmp_path / "weights.h5"
    keras_file(path, network, extra=[("attention", [("attention_W", np.ones((9, 1), np.float32))])])
    with pytest.raises(DataError, match=r"attention over its steps .*textgenrnn"):
        import_lstm(path, words)
    if isinstance(network.lstm, torch.nn.GRU):
        return
    keras_file(path, network)
    with h5py.File(path, "a") as file:
        name = next(one for one in _datasets(file) if "bias" in one and len(file[one]) == 28)
        bias = file[name][:]
        del file[name]
        file[name] = np.concatenate([bias, bias])
    with pytest.raises(DataError, match="CuDNNLSTM of Keras 2"):
        import_lstm(path, words)


def _datasets(file):
    found = []
    file.visititems(lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) else None)
    return found
