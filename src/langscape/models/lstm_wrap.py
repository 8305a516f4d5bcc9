"""A torch.nn.LSTM language model that somebody made → LSTMModel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import torch

from langscape.errors import DataError, SettingsError
from langscape.models.lstm import LSTMModel, Network, numpy_of
from langscape.models.vocabulary import Level, Vocabulary


def wrap_lstm(
    network: torch.nn.Module | None = None,
    *,
    embedding: torch.nn.Embedding | str = "embedding",
    lstm: torch.nn.LSTM | str = "lstm",
    decoder: torch.nn.Linear | str = "decoder",
    words: Sequence[str] | Vocabulary,
    level: Level = "word",
    lower: bool = False,
    unknown: str | None = None,
    start: str | None = None,
    name: str = "lstm",
    baseline: str = "",
) -> LSTMModel:
    """A torch.nn.LSTM language model you already hold, ready for `capture`.

    Give its three parts, or the network and what they are called in it ("encoder", "rnn", …). `words`
    are the vocabulary in the order of the embedding's rows. Nothing is copied or changed, but the
    revision is a digest of the weights as they are now. `baseline` is a text of the kind that it was
    trained on, a sentence a line, with which alarms compare.

    >>> parts = {"embedding": torch.nn.Embedding(3, 4), "lstm": torch.nn.LSTM(4, 5)}
    >>> wrap_lstm(**parts, decoder=torch.nn.Linear(5, 3), words=["tea", "is", "hot"])
    LSTMModel('lstm', 3 words, 4 dimensions, 1 layer of 5 units)
    """
    kinds = {"embedding": torch.nn.Embedding, "lstm": torch.nn.LSTM, "decoder": torch.nn.Linear}
    parts: dict[str, Any] = {}
    for what, given in (("embedding", embedding), ("lstm", lstm), ("decoder", decoder)):
        parts[what] = _part(network, given, what) if isinstance(given, str) else given
        if not isinstance(parts[what], kinds[what]):
            raise SettingsError(
                f"{what} is {type(parts[what]).__name__}, expected torch.nn.{kinds[what].__name__}; "
                f"name it with {what}="
            )
    known = words if isinstance(words, Vocabulary) else Vocabulary(tuple(words), level, lower, unknown, start)
    net = Network.of(**parts)
    _check_widths(net, len(known))
    digest = hashlib.sha256(json.dumps(known.settings()).encode())
    for key, tensor in sorted(net.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)}".encode())
        digest.update(numpy_of(tensor).tobytes())
    digest.update(baseline.encode())
    return LSTMModel(net, known, "lstm", name, digest.hexdigest(), baseline=baseline)  # type: ignore[arg-type]


def _part(network: torch.nn.Module | None, path: str, what: str) -> torch.nn.Module:
    if network is None:
        raise SettingsError(f"{what} is missing; give the part itself, or the network that holds {path!r}")
    try:
        return network.get_submodule(path)
    except AttributeError:
        known = ", ".join(name for name, _ in network.named_children()) or "no parts"
        raise SettingsError(
            f"the network has no part {path!r}; it holds {known}: name the right one with {what}="
        ) from None


def _check_widths(net: Network, words: int) -> None:
    lstm = net.lstm
    if lstm.bidirectional:
        raise SettingsError("this LSTM reads in both directions, so it cannot predict the next word")
    if lstm.proj_size:
        raise SettingsError(
            f"this LSTM projects its hidden state (proj_size {lstm.proj_size}), which is not read"
        )
    rows = {"words": words, "embedding": net.embedding.num_embeddings, "decoder": net.decoder.out_features}
    if len(set(rows.values())) > 1:
        raise DataError(
            f"there are {rows['words']} words, but the embedding has {rows['embedding']} rows and the "
            f"decoder gives {rows['decoder']} logits; all three must be equal"
        )
    widths = [
        ("embedding", net.embedding.embedding_dim, "LSTM takes", lstm.input_size),
        ("LSTM", lstm.hidden_size, "decoder takes", net.decoder.in_features),
    ]
    for what, gives, other, takes in widths:
        if gives != takes:
            raise DataError(f"the {what} is {gives} wide, but the {other} {takes}")
