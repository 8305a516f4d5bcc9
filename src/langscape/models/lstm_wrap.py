"""A torch.nn.LSTM or torch.nn.GRU language model that somebody made → LSTMModel or GRUModel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import torch

from langscape.errors import DataError, SettingsError
from langscape.models.gru import GRUModel
from langscape.models.lstm import LSTMModel, Network, numpy_of
from langscape.models.vocabulary import Level, Vocabulary


def wrap_lstm(
    network: torch.nn.Module | None = None,
    *,
    embedding: torch.nn.Embedding | str = "embedding",
    lstm: torch.nn.LSTM | torch.nn.GRU | str = "lstm",
    decoder: torch.nn.Linear | str = "decoder",
    words: Sequence[str] | Vocabulary,
    level: Level = "word",
    lower: bool = False,
    unknown: str | None = None,
    start: str | None = None,
    name: str = "",
    baseline: str = "",
) -> LSTMModel:
    """A torch.nn.LSTM or torch.nn.GRU language model you already hold, ready for `capture`.

    Give its three parts, or the network and what they are called in it ("encoder", "rnn", …). `words`
    are the vocabulary in the order of the embedding's rows. Nothing is copied or changed, but the
    revision is a digest of the weights as they are now. A network is run once beside its parts, and refused
    where its own `forward` predicts something else. `baseline` is a text of the kind that it was
    trained on, a sentence a line, with which alarms compare. Without a name it is called by its kind.

    >>> parts = {"embedding": torch.nn.Embedding(3, 4), "lstm": torch.nn.LSTM(4, 5)}
    >>> wrap_lstm(**parts, decoder=torch.nn.Linear(5, 3), words=["tea", "is", "hot"])
    LSTMModel('lstm', 3 words, 4 dimensions, 1 layer of 5 units)
    """
    kinds = {
        "embedding": torch.nn.Embedding,
        "lstm": (torch.nn.LSTM, torch.nn.GRU),
        "decoder": torch.nn.Linear,
    }
    parts: dict[str, Any] = {}
    for what, given in (("embedding", embedding), ("lstm", lstm), ("decoder", decoder)):
        parts[what] = _part(network, given, what) if isinstance(given, str) else given
        if not isinstance(parts[what], kinds[what]):
            raise SettingsError(
                f"{what} is {type(parts[what]).__name__}, expected torch.nn.{_EXPECTED[what]}; name it with "
                f"{what}="
            )
    known = words if isinstance(words, Vocabulary) else Vocabulary(tuple(words), level, lower, unknown, start)
    net = Network.of(**parts)
    _check_widths(net, len(known))
    notes = () if network is None else _compared(network, net)
    digest = hashlib.sha256(json.dumps(known.settings()).encode())
    for key, tensor in sorted(net.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)}".encode())
        digest.update(numpy_of(tensor).tobytes())
    digest.update(baseline.encode())
    name = name or ("gru" if isinstance(net.lstm, torch.nn.GRU) else "lstm")
    return joined(net, known, name, digest.hexdigest(), baseline, notes)


def joined(
    net: Network, known: Vocabulary, name: str, revision: str, baseline: str = "", notes: tuple[str, ...] = ()
) -> LSTMModel:
    """A network and its words as a model: an LSTM's, or a GRU's."""
    if isinstance(net.lstm, torch.nn.GRU):
        return GRUModel(net, known, "gru", name, revision, notes, baseline=baseline)  # type: ignore[arg-type]
    return LSTMModel(net, known, "lstm", name, revision, notes, baseline=baseline)  # type: ignore[arg-type]


_EXPECTED = {"embedding": "Embedding", "lstm": "LSTM or torch.nn.GRU", "decoder": "Linear"}
_WORDS, _APART = 12, 1e-3
"""Words on which a network's own `forward` is compared, and how far its log chances may be apart."""


def _compared(network: torch.nn.Module, net: Network) -> tuple[str, ...]:
    """Run the network's own `forward` beside its three parts; a note where it cannot be run.

    An error where it predicts something else: there is more in it than the three parts.
    """
    ids = torch.arange(_WORDS, device=net.embedding.weight.device) * 7 % net.embedding.num_embeddings
    first = net.lstm.batch_first
    was = network.training
    network.eval()
    try:
        with torch.no_grad():
            given = net.embedding(ids[None] if first else ids[:, None])
            ours = net.decoder(net.lstm(given)[0]).reshape(_WORDS, -1).float().log_softmax(-1)
            apart = []
            for shaped in (ids[None], ids[:, None]) if first else (ids[:, None], ids[None]):
                theirs = _logits(network, shaped, ours.shape)
                if theirs is not None:
                    apart.append(float((theirs.log_softmax(-1) - ours).abs().max()))
    finally:
        network.train(was)
    if not apart:
        return ("its own forward could not be run on word numbers, so nothing was compared with it",)
    if min(apart) > _APART:
        raise DataError(
            f"{type(network).__name__}'s own forward predicts something else than its embedding, "
            f"{type(net.lstm).__name__} and decoder one after another: log chances are {min(apart):.2g} "
            "apart. There is more in it, which the picture would not show; give the three parts without the "
            "network to see them nonetheless"
        )
    return ()


def _logits(network: torch.nn.Module, ids: torch.Tensor, shape: torch.Size) -> torch.Tensor | None:
    """What a network predicts for every word, or None where it cannot be called so."""
    try:
        given = network(ids)
    except Exception:  # somebody's code: it may want anything
        return None
    given = given[0] if isinstance(given, tuple | list) and given else getattr(given, "logits", given)
    if not isinstance(given, torch.Tensor) or given.numel() != shape.numel() or given.shape[-1] != shape[-1]:
        return None
    return given.reshape(shape).float()


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
    kind = type(lstm).__name__
    if lstm.bidirectional:
        raise SettingsError(f"this {kind} reads in both directions, so it cannot predict the next word")
    if getattr(lstm, "proj_size", 0):
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
        ("embedding", net.embedding.embedding_dim, f"{kind} takes", lstm.input_size),
        (kind, lstm.hidden_size, "decoder takes", net.decoder.in_features),
    ]
    for what, gives, other, takes in widths:
        if gives != takes:
            raise DataError(f"the {what} is {gives} wide, but the {other} {takes}")
