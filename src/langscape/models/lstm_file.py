"""The folder of an LSTM: config.json with its words and shape, model.safetensors with its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from langscape.errors import FileError, LangscapeError
from langscape.io.atomic_write import atomic_write
from langscape.io.strict_json import field, read_object, texts
from langscape.io.tensor_file import read_header
from langscape.memory_limits import check_memory
from langscape.models.config import LSTM
from langscape.models.lstm import LSTMModel, Network
from langscape.models.lstm_wrap import joined
from langscape.models.vocabulary import Vocabulary

LARGEST_CONFIG = 200_000_000
"""Bytes of config.json, which holds every word."""
BASELINE, LARGEST_BASELINE = "baseline.txt", 1_000_000
"""The text beside the weights that alarms compare with, and its bytes."""
MOST_WIDTH, MOST_LAYERS = 1_000_000, 1_000


def save_lstm(model: LSTMModel, folder: Path, half: bool, about: Mapping[str, Any]) -> Path:
    """Write config.json and model.safetensors; see `LSTMModel.save`."""
    net = model.net
    tensors = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    if net.tied:
        del tensors["decoder.weight"]
    if half:
        tensors = {name: value.half() for name, value in tensors.items()}
    shape = {"dim": model.dim, "hidden": model.width, "layers": model.layers, "tied": net.tied}
    bias = {"lstm_bias": bool(net.lstm.bias), "decoder_bias": net.decoder.bias is not None}
    config = {"model_type": LSTM, "cell": model.cell.lower(), **shape, **bias, "about": dict(about)}
    # weights first: a folder with a config.json is a whole model
    with atomic_write(folder / "model.safetensors") as aside:
        save_file(tensors, aside)
        aside.chmod(0o644)  # safetensors writes for its owner alone
    if model.baseline:
        with atomic_write(folder / BASELINE) as aside:
            aside.write_text(model.baseline, encoding="utf-8")
    with atomic_write(folder / "config.json") as aside:
        text = json.dumps({**config, **model.tokenizer.settings()}, ensure_ascii=False, indent=1)
        aside.write_text(text, encoding="utf-8")
    return folder


def load_lstm(folder: Path, name: str, revision: str, device: torch.device) -> LSTMModel:
    """The model that `LSTMModel.save` wrote, as float32."""
    config, weights = folder / "config.json", folder / "model.safetensors"
    parsed = read_object(config, largest=LARGEST_CONFIG)
    where = str(config)
    shape = [
        field(parsed, "dim", "whole number", where, least=1, most=MOST_WIDTH),
        field(parsed, "hidden", "whole number", where, least=1, most=MOST_WIDTH),
        field(parsed, "layers", "whole number", where, least=1, most=MOST_LAYERS),
    ]
    tied, lstm_bias, decoder_bias, lower = (
        field(parsed, name, "true or false", where) for name in ("tied", "lstm_bias", "decoder_bias", "lower")
    )
    cell = parsed.get("cell", "lstm")
    if cell not in ("lstm", "gru"):
        raise FileError(f'{where}: "cell" is {str(cell)[:40]!r}, expected "lstm" or "gru"; save it anew')
    words = texts(field(parsed, "words", "list", where), '"words"', where)
    level = field(parsed, "level", "text", where)
    unknown, start = (
        None if parsed.get(name) is None else field(parsed, name, "text", where)
        for name in ("unknown", "start")
    )
    try:
        known = Vocabulary(tuple(words), level, lower, unknown, start)  # type: ignore[arg-type]
    except LangscapeError as error:
        raise FileError(f"{config} is damaged: {error}; train or save the model anew") from None
    header = read_header(weights)
    strange = next(
        (name for name, one in header.tensors.items() if not one.dtype.startswith(("F", "BF"))), None
    )
    if strange is not None:
        raise FileError(f"{weights}: {strange} holds {header.tensors[strange].dtype}, expected real numbers")
    numbers = sum(one.count for one in header.tensors.values())
    # as they are in the file, and as float32
    check_memory(weights.stat().st_size + 4 * numbers, f"the weights of {name}", "close other programs")
    try:
        tensors = {key: value.float() for key, value in load_file(weights).items()}
    except (OSError, SafetensorError) as error:
        raise FileError(f"{weights} cannot be read: {error}; save it anew") from None
    with torch.device("meta"):
        net = Network(len(known), *shape, tied=tied)
        if cell == "gru" or not lstm_bias:
            kind: Any = torch.nn.GRU if cell == "gru" else torch.nn.LSTM
            net.lstm = kind(shape[0], shape[1], shape[2], batch_first=True, bias=lstm_bias)
        if not decoder_bias:
            net.decoder.register_parameter("bias", None)
    wanted = {key: tuple(value.shape) for key, value in net.state_dict().items()}
    if tied and "embedding.weight" in tensors:
        tensors["decoder.weight"] = tensors["embedding.weight"]
    for key in sorted(wanted.keys() | tensors.keys()):
        found = tuple(tensors[key].shape) if key in tensors else "missing"
        if wanted.get(key, "not known") != found:
            raise FileError(
                f"the weights of {name} do not fit its config.json: {key} is {found}, "
                f"expected {wanted.get(key, 'no such tensor')}"
            )
        if not torch.isfinite(tensors[key]).all():
            raise FileError(f"the weights of {name} hold values that are not finite, in {key}; train it anew")
    net.load_state_dict(tensors, assign=True)
    if tied:
        net.decoder.weight = net.embedding.weight
    net.lstm.flatten_parameters()
    net.requires_grad_(False).eval().to(device)
    return joined(net, known, name, revision, _baseline(folder))


def _baseline(folder: Path) -> str:
    """The text that the model's alarms compare with, where the folder holds one."""
    path = folder / BASELINE
    if not path.is_file():
        return ""
    if path.stat().st_size > LARGEST_BASELINE:
        raise FileError(f"{path} is larger than {LARGEST_BASELINE:,} bytes; a few hundred sentences suffice")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read as a text: {error}; write it as UTF-8") from None
