"""Weights of somebody's LSTM or GRU language model → a model: a state_dict, .pt, .safetensors, Keras HDF5.

Parts are told by their shapes: recurrent matrices by 4 (LSTM) or 3 (GRU) blocks of rows, the embedding by its
width, the decoder by both. What does not fit into embedding, recurrent layers and decoder is refused by name.
Nothing in a file is run: .pt files are read as weights only, HDF5 as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from langscape.errors import DataError, FileError, MissingError
from langscape.models.lstm import LSTMModel, Network
from langscape.models.lstm_wrap import wrap_lstm

_NESTED = ("state_dict", "model_state_dict", "model", "weights")
_HDF5 = (".h5", ".hdf5", ".keras")


def import_lstm(given: str | Path | Mapping[str, Any], words: Sequence[str], **how: Any) -> LSTMModel:
    """A model of weights and words; `how` goes to `wrap_lstm` (level, lower, unknown, start, name, baseline).

    >>> net = Network(3, 4, 5, 1)
    >>> import_lstm(net.state_dict(), ["tea", "is", "hot"])
    LSTMModel('lstm', 3 words, 4 dimensions, 1 layer of 5 units)
    """
    if isinstance(given, Mapping):
        tensors, named = given, "the state_dict"
    else:
        path = Path(given)
        named = path.name
        if not path.is_file():
            raise FileError(f"there is no file {path}; give a .pt, .safetensors or .h5 file of weights")
        tensors = read_weights(path)
    return wrap_lstm(_network(tensors, named), words=words, **how)


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file by name, in torch's layout; Keras's are turned into it."""
    kind = path.suffix.lower()
    if kind in _HDF5:
        return _keras(path)
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
        raise DataError(f"{named} holds no decoder of {words} × {units}; it has {_some(left)}")
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


def _keras(path: Path) -> dict[str, torch.Tensor]:
    """The layers of a Keras HDF5 file in torch's layout: matrices turned, a GRU's blocks in torch's order."""
    try:
        import h5py
    except ImportError:
        raise MissingError("Keras files need h5py; `pip install h5py`") from None
    groups: dict[str, list[tuple[str, np.ndarray]]] = {}
    try:
        with h5py.File(path, "r") as file:

            def visit(name: str, item: Any) -> None:
                if isinstance(item, h5py.Dataset) and "optimizer" not in name and item.dtype.kind == "f":
                    groups.setdefault(name.rpartition("/")[0], []).append((name, np.asarray(item)))

            file.visititems(visit)
    except OSError as error:
        raise FileError(f"{path.name} cannot be read as HDF5: {str(error)[:200]}") from None
    found: dict[str, torch.Tensor] = {}
    layer = 0
    for group, members in groups.items():
        arrays = [one for _, one in members]
        again = [one for one in arrays if one.ndim == 2 and one.shape[1] in (3 * len(one), 4 * len(one))]
        bias = [one for one in arrays if one.ndim == 1 or (one.ndim == 2 and len(one) == 2)]
        matrices = [one for one in arrays if one.ndim == 2 and not (len(one) == 2 and len(arrays) == 3)]
        if (
            len(arrays) in (2, 3)
            and len(matrices) == 2
            and again
            and matrices[0].shape[1] == matrices[1].shape[1]
        ):
            _layer_weights(found, layer, _by_name(members), group)
            layer += 1
        elif len(arrays) == 1 and arrays[0].ndim == 2:
            found["embedding.weight"] = torch.from_numpy(arrays[0].copy())
        elif len(matrices) == 1 and len(bias) == 1 and bias[0].shape == matrices[0].shape[1:]:
            found["decoder.weight"] = torch.from_numpy(matrices[0].T.copy())
            found["decoder.bias"] = torch.from_numpy(bias[0].copy())
        else:
            found |= {name: torch.from_numpy(one.copy()) for name, one in members}  # refused by name
    return found


def _by_name(members: Sequence[tuple[str, np.ndarray]]) -> list[np.ndarray]:
    """kernel, recurrent kernel and bias, whatever order the file has them in."""
    order = {"kernel": 0, "recurrent_kernel": 1, "bias": 2, "0": 0, "1": 1, "2": 2}
    return [
        one
        for _, one in sorted(members, key=lambda m: order.get(m[0].rpartition("/")[2].partition(":")[0], 9))
    ]


def _layer_weights(found: dict[str, torch.Tensor], layer: int, arrays: list[np.ndarray], group: str) -> None:
    """One recurrent layer of Keras in torch's layout: i, f, c, o as they are; z, r, h become r, z, n."""
    kernel, again = arrays[:2]
    units = len(again)
    bias = arrays[2] if len(arrays) > 2 else None
    if again.shape[1] == 3 * units:
        if bias is not None and bias.ndim == 1:
            raise DataError(
                f"{group} is a GRU without reset_after: torch has no such one; train it with reset_after=True"
            )
        order = np.r_[units : 2 * units, :units, 2 * units : 3 * units]
        kernel, again = kernel[:, order], again[:, order]
        bias = None if bias is None else bias[:, order]
    pairs = {"weight_ih": kernel.T, "weight_hh": again.T}
    if bias is not None:
        both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
        pairs |= {"bias_ih": both[0], "bias_hh": both[1]}
    for name, one in pairs.items():
        found[f"lstm.{name}_l{layer}"] = torch.from_numpy(np.ascontiguousarray(one, np.float32))


def _some(names: Any) -> str:
    listed = list(names)
    return ", ".join(listed[:6]) + (" …" if len(listed) > 6 else "")
