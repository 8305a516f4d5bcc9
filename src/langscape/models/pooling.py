"""One vector per text: the states of a layer, pooled as the model itself says, or as asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from langscape.errors import LangscapeError, SettingsError, not_there
from langscape.io import strict_json
from langscape.models.batch import padded
from langscape.models.forward import forward
from langscape.models.tokens import TokenizedText, split

Pool = Literal["auto", "first", "mean", "max", "last"]

_MODES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_TOKENS = 8192
"""Tokens of one run, padding included."""

_AHEAD = 512
"""Windows that are put in the order of their lengths, so that little is padded."""


@dataclass(frozen=True)
class Pooling:
    """How the states of a text become one vector.

    mode       "mean", "first", "max" or "last"
    special    whether special tokens count in a mean or maximum
    unit       whether the vector is scaled to length 1
    longest    tokens that the model was trained to read at once; None for what it can take
    said       in words, for the map
    """

    mode: str
    special: bool = False
    unit: bool = False
    longest: int | None = None
    said: str = ""


def pooling_of(model: Any, pool: Pool, *, last: bool = True) -> Pooling:
    """What was asked for; with "auto" what the model ships, as sentence-transformers has it, else the mean.

    Where the layer is not the last, the model's own scaling to length 1 is left out.
    """
    if pool not in ("auto", "first", "mean", "max", "last"):
        raise SettingsError(f'pool {pool!r} is not known; use "auto", "mean", "first", "max" or "last"')
    folder = _folder(model)
    longest = _number(folder, "sentence_bert_config.json", "max_seq_length")
    if pool != "auto":
        return Pooling(pool, longest=longest, said=pool)
    steps = _read(folder, "modules.json")
    for step in steps if isinstance(steps, list) else []:
        kind, path = str(step.get("type", "")), str(step.get("path", ""))
        if kind.endswith(".Pooling") and folder is not None and ".." not in path:
            config = _read(folder, f"{path}/config.json")
            modes = [mode for name, mode in _MODES.items() if isinstance(config, dict) and config.get(name)]
            if len(modes) == 1:
                unit = last and any(str(one.get("type", "")).endswith(".Normalize") for one in steps)
                said = f"{modes[0]}, as the model itself does" + (", scaled to length 1" if unit else "")
                return Pooling(modes[0], True, unit, longest, said)
    return Pooling("mean", longest=longest, said="mean")


def text_states(
    model: Any, texts: Sequence[str], layer: int | None, pooling: Pooling
) -> tuple[np.ndarray, np.ndarray]:
    """(texts, dim) one vector each, and (texts,) how many windows each was read in.

    A text too long for the model is read in windows, whose vectors are averaged by their numbers of tokens.
    """
    last = model.layout.hidden["self"][0] - 1
    wanted = last if layer is None else layer
    if not 0 <= wanted <= last:
        raise not_there("hidden layer", wanted, range(last + 1), model.name)
    owners: list[int] = []
    windows: list[TokenizedText] = []
    for at, text in enumerate(texts):
        for one in _windows(model, text, pooling.longest):
            owners.append(at)
            windows.append(one)
    vectors = np.zeros((len(texts), 0))
    weights = np.zeros(len(texts))
    for rows in _batches(windows):
        pooled = _run(model, [windows[row] for row in rows], wanted, pooling)
        if not vectors.size:
            vectors = np.zeros((len(texts), pooled.shape[1]))
        for row, vector in zip(rows, pooled, strict=True):
            weight = len(windows[row])
            vectors[owners[row]] += weight * vector
            weights[owners[row]] += weight
    vectors /= weights[:, None]
    if pooling.unit:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors.astype(np.float32), np.bincount(owners, minlength=len(texts))


def _windows(model: Any, text: str, longest: int | None) -> list[TokenizedText]:
    return split(model, text, long="window", room=_room(model, longest))


def _room(model: Any, longest: int | None) -> int:
    """What is kept free so that windows are no longer than the model was trained to read."""
    if model.longest is None or longest is None or not 8 <= longest < model.longest:
        return 0
    return model.longest - longest


def _batches(windows: Sequence[TokenizedText]) -> Iterator[list[int]]:
    for start in range(0, len(windows), _AHEAD):
        order = sorted(range(start, min(len(windows), start + _AHEAD)), key=lambda row: -len(windows[row]))
        while order:
            count = max(1, _TOKENS // max(len(windows[order[0]]), 1))
            yield order[:count]
            order = order[count:]


def _run(model: Any, group: list[TokenizedText], layer: int, pooling: Pooling) -> np.ndarray:
    ids, mask = padded(model, [one.ids for one in group])
    counted = mask.bool()
    if not pooling.special:
        for row, one in enumerate(group):
            plain = torch.tensor([not special for special in one.special])
            if plain.any():  # a text of special tokens alone stands at these
                counted[row, : len(one)] = plain.to(counted.device)
    with model.running():
        output = forward(model.network, {"input_ids": ids, "attention_mask": mask}, hidden=True)
    return (
        pooled(output.hidden_states[layer].float(), mask, counted, pooling).cpu().numpy().astype(np.float64)
    )


def pooled(states: torch.Tensor, mask: torch.Tensor, counted: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """States (text, token, dim) → (text, dim).

    `mask` says which tokens are no padding, `counted` which count in a mean or maximum.
    """
    weight = counted.bool().unsqueeze(-1)
    if pooling.mode == "mean":
        return (states * weight).sum(1) / weight.sum(1)
    if pooling.mode == "max":
        return states.masked_fill(~weight, float("-inf")).amax(1)
    if pooling.mode == "last":
        return states[torch.arange(len(states)), mask.sum(1) - 1]
    return states[:, 0]


def _folder(model: Any) -> Path | None:
    """Where the model's files are; None of a model that only this process holds."""
    from langscape.models.open import folder_of

    for name in (model.name, getattr(model.network.config, "_name_or_path", "")):
        if name and Path(str(name)).is_dir():
            return Path(str(name))
    try:
        return folder_of(model.name)
    except (LangscapeError, OSError):
        return None


def _read(folder: Path | None, name: str) -> Any:
    if folder is None or not (folder / name).is_file():
        return None
    return strict_json.parse((folder / name).read_bytes(), str(folder / name))


def _number(folder: Path | None, name: str, key: str) -> int | None:
    found = _read(folder, name)
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, int) and value > 0 else None
