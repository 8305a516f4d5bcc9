"""Weights of somebody's LSTM or GRU language model → a model: a state_dict, .pt, .safetensors, Keras HDF5.

Parts are told by their shapes: recurrent matrices by 4 (LSTM) or 3 (GRU) blocks of rows, the embedding by its
width, the decoder by both. What does not fit into embedding, recurrent layers and decoder is refused by name.
Nothing in a file is run: .pt files are read as weights only, those of Keras (`lstm_keras`) as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from langscape.errors import DataError, FileError
from langscape.models.lstm import LSTMModel, Network
from langscape.models.lstm_keras import KERAS, read_keras
from langscape.models.lstm_wrap import wrap_lstm

_NESTED = ("state_dict", "model_state_dict", "model", "weights")


def import_lstm(given: str | Path | Mapping[str, Any], words: Sequence[str], **how: Any) -> LSTMModel:
    """A model of weights and words; `how` goes to `wrap_lstm` (level, lower, unknown, start, name, baseline).

    >>> net = Network(3, 4, 5, 1)
    >>> import_lstm(net.state_dict(), ["tea", "is", "hot"])
    LSTMModel('lstm', 3 words, 4 dimensions, 1 layer of 5 units)
    """
    if isinstance(given, Mapping):
        tensors, named, notes = given, "the state_dict", ()
    else:
        path = Path(given)
        named = path.name
        if not path.is_file():
            raise FileError(f"there is no file {path}; give a .pt, .safetensors or .h5 file of weights")
        tensors, notes = read_keras(path) if path.suffix.lower() in KERAS else (read_weights(path), ())
    model = wrap_lstm(_network(tensors, named), words=words, **how)
    return replace(model, notes=(*model.notes, *notes))


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file of torch's by name."""
    kind = path.suffix.lower()
    try:
        if kind == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch and safetensors raise many kinds for damaged files
        if type(error).__name__ == "UnpicklingError":  # what torch refuses to run
            raise FileError(
                f"{path.name} holds more than weights, and is not opened, since that would run its code; "
                "save model.state_dict() instead"
            ) from None
        raise FileError(
            f"{path.name} cannot be read as weights: {str(error).splitlines()[0][:200]}"
        ) from None
    for name in _NESTED:
        if isinstance(loaded, Mapping) and isinstance(loaded.get(name), Mapping):
            loaded = loaded[name]
    if not isinstance(loaded, Mapping):
        raise FileError(
            f"{path.name} holds a {type(loaded).__name__}, expected tensors by name: a state_dict"
        )
    return {str(name): one for name, one in loaded.items() if isinstance(one, torch.Tensor)}


def _network(tensors: Mapping[str, Any], named: str) -> Any:
    """Embedding, recurrent layers and decoder with these tensors, as one module."""
    left = {name: torch.as_tensor(one).detach().float() for name, one in tensors.items()}
    again = sorted(name for name in left if ".weight_hh_l" in f".{name}")
    if not again:
        raise DataError(f"{named} holds no weight_hh_l0: it is no torch.nn.LSTM or GRU; it has {_some(left)}")
    prefix = again[0].rpartition("weight_hh_l")[0]
    if any(name.rpartition("weight_hh_l")[0] != prefix for name in again):
        raise DataError(f"{named} holds several recurrent networks ({_some(again)}), and one is read")
    if any("_reverse" in name for name in again):
        raise DataError(f"{named} reads in both directions, so it cannot predict the next word")
    layers, (rows, units) = len(again), left[again[0]].shape
    kinds = {4 * units: torch.nn.LSTM, 3 * units: torch.nn.GRU}
    if rows not in kinds:
        raise DataError(f"{again[0]} is {rows} × {units}: neither an LSTM’s 4 nor a GRU’s 3 blocks of rows")
    width = left[f"{prefix}weight_ih_l0"].shape[1]
    lstm = kinds[rows](width, units, layers, batch_first=True, bias=f"{prefix}bias_ih_l0" in left)
    own = {name: left.pop(f"{prefix}{name}") for name in list(lstm.state_dict()) if f"{prefix}{name}" in left}
    matrices = {name: one for name, one in left.items() if one.ndim == 2}
    embedding = next((n for n, one in matrices.items() if one.shape[1] == width), None)
    if embedding is None:
        raise DataError(f"{named} holds no embedding of width {width}; it has {_some(left)}")
    table = left.pop(embedding)
    words = len(table)
    decoder = next(
        (n for n, one in left.items() if one.ndim == 2 and tuple(one.shape) == (words, units)), None
    )
    if decoder is None and width != units:
        shapes = [f"{name} of {' × '.join(map(str, one.shape))}" for name, one in left.items()]
        raise DataError(
            f"{named} holds no decoder of {words} words × {units} units; it has {_some(shapes)}: something "
            "stands between its recurrent layers and its words, which would not be shown"
        )
    weight = table if decoder is None else left.pop(decoder)
    bias = next((n for n, one in left.items() if tuple(one.shape) == (words,)), None)
    offset = torch.zeros(words) if bias is None else left.pop(bias)
    if left:
        raise DataError(
            f"{named} has more than an embedding, a recurrent network and a decoder: {_some(left)}; what "
            "they do would not be shown, so it is not opened"
        )
    module = torch.nn.Module()
    module.embedding, module.lstm = torch.nn.Embedding(words, width), lstm
    module.decoder = torch.nn.Linear(units, words)
    lstm.load_state_dict(own)
    with torch.no_grad():
        module.embedding.weight.copy_(table)
        module.decoder.weight.copy_(weight)
        module.decoder.bias.copy_(offset)
    return _Joined(module.embedding, lstm, module.decoder).requires_grad_(False).eval()


class _Joined(Network):
    """Parts under the names that `wrap_lstm` looks for."""

    def __init__(self, embedding: Any, lstm: Any, decoder: Any) -> None:
        torch.nn.Module.__init__(self)
        self.embedding, self.lstm, self.decoder = embedding, lstm, decoder


def _some(names: Any) -> str:
    listed = list(names)
    return ", ".join(listed[:6]) + (" …" if len(listed) > 6 else "")
