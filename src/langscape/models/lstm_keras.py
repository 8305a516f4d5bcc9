"""Weights that Keras wrote → tensors in torch's layout: HDF5 files (.h5, .weights.h5) and archives (.keras).

Keras itself is not needed, and nothing in a file is run. A whole model says what its layers are: what an LSTM
of torch does not do (another activation, two directions, attention) is refused by name. Weights alone do not
say it, so their layers are told by shape, and a note says what was taken for granted.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from langscape.errors import DataError, FileError, MissingError
from langscape.io.strict_json import parse_object

KERAS = (".h5", ".hdf5", ".keras")

LARGEST = 4_000_000_000
"""Bytes of the weights inside an archive, which are unpacked in memory."""

_HARMLESS = ("InputLayer", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise")
_WANTED: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "LSTM": {"activation": ("tanh",), "recurrent_activation": ("sigmoid",), "go_backwards": (False,)},
    "GRU": {
        "activation": ("tanh",), "recurrent_activation": ("sigmoid",), "go_backwards": (False,),
        "reset_after": (True,),
    },
    "Dense": {"activation": ("softmax", "linear")},
    "Embedding": {},
    "Activation": {"activation": ("softmax", "linear")},
}  # fmt: skip
"""The layers that are read, and what each setting of theirs must be."""

_KINDS = {"embedding": "layer of one matrix", "decoder": "dense layer"}

UNCHECKED = (
    "the file holds weights alone: that its layers use tanh and sigmoid, as Keras does unless told "
    "otherwise, was taken for granted"
)


def read_keras(path: Path) -> tuple[dict[str, torch.Tensor], tuple[str, ...]]:
    """The tensors of a Keras file by torch's names, and what could not be checked."""
    try:
        import h5py
    except ImportError:
        raise MissingError("Keras files need h5py; `pip install h5py`") from None
    try:
        with h5py.File(_opened(path), "r") as file:
            config = _config(path, file)
            order = _checked_layers(config, path.name) if config else []
            groups = _groups(file, order, h5py.Dataset)
    except OSError as error:
        raise FileError(f"{path.name} cannot be read as HDF5: {str(error)[:200]}") from None
    return _tensors(groups, path.name), () if config else (UNCHECKED,)


def _opened(path: Path) -> Any:
    """The HDF5 file itself, or what lies in the archive."""
    if not zipfile.is_zipfile(path):
        return path
    return io.BytesIO(_member(path, "model.weights.h5"))


def _member(path: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).file_size > LARGEST:
                raise FileError(f"{path.name}: {name} is larger than {LARGEST:,} bytes")
            return archive.read(name)
    except KeyError:
        raise FileError(f"{path.name} holds no {name}; save it by Keras’s model.save") from None
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise FileError(f"{path.name} cannot be unpacked: {str(error)[:120]}") from None


def _config(path: Path, file: Any) -> dict[str, Any] | None:
    """What the file says of its model; None where it holds weights alone."""
    if zipfile.is_zipfile(path):
        return parse_object(_member(path, "config.json"), f"config.json of {path.name}")
    given = file.attrs.get("model_config")
    if given is None:
        return None
    return parse_object(
        given if isinstance(given, bytes) else str(given).encode(), f"model_config of {path.name}"
    )


def _checked_layers(config: Mapping[str, Any], named: str) -> list[tuple[str, str]]:
    """Name and class of the layers with weights, in their order; what is not read is refused."""
    layers = config.get("config", {})
    layers = layers.get("layers") if isinstance(layers, dict) else layers
    if not isinstance(layers, list):
        raise DataError(f"{named} does not list its layers; save the model by Keras’s model.save")
    found = []
    for layer in layers:
        kind, settings = _layer(layer, named)
        if kind in _HARMLESS:
            continue
        name = str(settings.get("name", kind))
        if kind not in _WANTED:
            raise DataError(
                f"{named} has a layer {name} of class {kind}; read are Embedding, LSTM or GRU, and one "
                "Dense: what it does would not be shown, so the model is not opened"
            )
        for key, allowed in _WANTED[kind].items():
            if key in settings and settings[key] not in allowed:
                raise DataError(
                    f"{named}: layer {name} has {key}={settings[key]!r}, and {kind} is read with "
                    f"{allowed[0]!r} alone; what was drawn would be wrong, so the model is not opened"
                )
        if kind != "Activation":
            found.append((name, kind))
    return found


def _layer(given: Any, named: str) -> tuple[str, Mapping[str, Any]]:
    """Class and settings of a layer; a Dense at every step is a Dense."""
    if not isinstance(given, dict) or not isinstance(given.get("config"), dict):
        raise DataError(f"{named} has a layer without settings; save the model by Keras’s model.save")
    kind, settings = str(given.get("class_name")), given["config"]
    if kind == "TimeDistributed":
        inner, own = _layer(settings.get("layer"), named)
        return inner, {**own, "name": settings.get("name", inner)}
    return kind, settings


def _groups(
    file: Any, order: Sequence[tuple[str, str]], dataset: type
) -> list[tuple[str, list[tuple[str, np.ndarray]]]]:
    """The arrays of every layer, layers in the order in which they read.

    A whole .h5 names its groups as its layers; elsewhere Keras counts them by class (lstm, lstm_1, …
    lstm_10), so that the number, not the spelling, is their order.
    """
    found: dict[str, list[tuple[str, np.ndarray]]] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, dataset) and "optimizer" not in name and item.dtype.kind == "f":
            found.setdefault(name.rpartition("/")[0], []).append((name, np.asarray(item)))

    file.visititems(visit)
    listed = [name for name, _ in order] or _layer_names(file)
    place = {name: at for at, name in enumerate(listed)}

    def rank(group: str) -> tuple[Any, ...]:
        parts = [
            part
            for part in group.split("/")
            if part not in ("model_weights", "layers", "_layer_checkpoint_dependencies")
        ]
        known = next((place[part] for part in parts if part in place), len(place))
        return known, *(_natural(part) for part in parts)

    return [(group, found[group]) for group in sorted(found, key=rank)]


def _layer_names(file: Any) -> list[str]:
    holder = file.get("model_weights", file)
    names = holder.attrs.get("layer_names", ())
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in names]


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which lstm_2 stands before lstm_10."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part
    )


def _tensors(
    groups: Sequence[tuple[str, list[tuple[str, np.ndarray]]]], named: str
) -> dict[str, torch.Tensor]:
    """Layers by their shapes: matrices turned, a GRU's blocks in torch's order."""
    found: dict[str, torch.Tensor] = {}
    layer = 0
    for group, _ in groups:
        if "attention" in group.lower():
            raise DataError(
                f"{named} has attention over its steps ({group}), as textgenrnn’s models have: the next word "
                "is read off an average of all steps, not off the last hidden vector, so that the graph of "
                "an LSTM would not show what it does; it is not opened"
            )
    for group, members in groups:
        if re.search(r"(^|/|_)(bidirectional|backward)", group):
            raise DataError(f"{named} reads in both directions ({group}), so it cannot predict the next word")
        arrays = [one for _, one in members]
        again = [one for one in arrays if one.ndim == 2 and one.shape[1] in (3 * len(one), 4 * len(one))]
        bias = [one for one in arrays if one.ndim == 1 or (one.ndim == 2 and len(one) == 2)]
        matrices = [one for one in arrays if one.ndim == 2 and not (len(one) == 2 and len(arrays) == 3)]
        tensors: dict[str, np.ndarray]
        if (
            len(arrays) in (2, 3)
            and len(matrices) == 2
            and again
            and matrices[0].shape[1] == matrices[1].shape[1]
        ):
            tensors = dict(_layer_weights(layer, _by_name(members), group))
            layer += 1
        elif len(arrays) == 1 and arrays[0].ndim == 2:
            tensors = {"embedding.weight": arrays[0]}
        elif len(matrices) == 1 and len(bias) == 1 and bias[0].shape == matrices[0].shape[1:]:
            tensors = {"decoder.weight": matrices[0].T, "decoder.bias": bias[0]}
        else:
            tensors = dict(members)  # refused by name
        for name, one in tensors.items():
            if name in found and name.partition(".")[0] in _KINDS:
                raise DataError(
                    f"{named} has a second {_KINDS[name.partition('.')[0]]}, {group}; read are one "
                    "embedding, LSTM or GRU layers, and one dense layer: what it does would not be shown"
                )
            found[name] = torch.from_numpy(np.ascontiguousarray(one, np.float32))
    return found


def _by_name(members: Sequence[tuple[str, np.ndarray]]) -> list[np.ndarray]:
    """kernel, recurrent kernel and bias, whatever order the file has them in."""
    order = {"kernel": 0, "recurrent_kernel": 1, "bias": 2, "0": 0, "1": 1, "2": 2}
    return [
        one
        for _, one in sorted(members, key=lambda m: order.get(m[0].rpartition("/")[2].partition(":")[0], 9))
    ]


def _layer_weights(layer: int, arrays: list[np.ndarray], group: str) -> Iterator[tuple[str, np.ndarray]]:
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
    elif bias is not None and bias.shape == (8 * units,):
        raise DataError(
            f"{group} is a CuDNNLSTM of Keras 2, whose matrices stand in another order: load it in Keras "
            "into an LSTM layer and save that"
        )
    yield f"lstm.weight_ih_l{layer}", kernel.T
    yield f"lstm.weight_hh_l{layer}", again.T
    if bias is not None:
        both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
        yield f"lstm.bias_ih_l{layer}", both[0]
        yield f"lstm.bias_hh_l{layer}", both[1]
