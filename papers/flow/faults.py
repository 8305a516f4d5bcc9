"""Models that went wrong, each in one way, beside a healthy one: how they are made.

The document met gates that were always on, from matrices that were initialised badly. The others are what
else goes wrong in the same places.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langscape.data import Progress
from langscape.models.lstm import GATES, LSTMModel, Network
from langscape.models.lstm_train import Training, fresh_network, train_lstm
from langscape.models.lstm_wrap import wrap_lstm
from langscape.models.vocabulary import Vocabulary
from langscape.store.registry import step
from langscape.store.results import Arrays
from papers.flow.grammar import WORDS, sentences

DIM = 7
STUCK = 100.0
"""A bias at which a gate has no slope left, so that training cannot move it."""

KNOWN = Vocabulary(WORDS, start=".")


@dataclass(frozen=True)
class Fault:
    """What was done to a model, and the kind and place of the alarm that should tell."""

    said: str
    kind: str
    where: str


FAULTS: dict[str, Fault] = {
    "healthy": Fault("nothing", "", ""),
    "gates on": Fault("input, forget and output gates start with a bias of +100", "open", "input"),
    "forgetful": Fault("forget gates start with a bias of −100", "closed", "forget"),
    "deaf": Fault("input gates start with a bias of −100", "closed", "input"),
    "dead units": Fault("output gates of units 0, 1 and 2 start with a bias of −100", "dead", "hidden"),
    "wrong pairs": Fault("in the training text “bark” and “barks” are exchanged", "pair", "softmax"),
    "collided": Fault(
        "“dog” and “cat” share one row, as words of a hashed vocabulary may", "twins", "embedding"
    ),
}


@step("papers.flow.model", version=2, defaults={"fault": "healthy", "steps": 8000, "seed": 0})
def trained(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """The weights of a model with this fault, its losses, and its perplexity on sound text."""
    fault, seed = settings["fault"], settings["seed"]
    lines, _ = sentences(6000, seed=seed)
    lines = [_spoiled(line, fault) for line in lines]
    how = Training(
        dim=DIM, steps=settings["steps"], batch=32, length=24, rate=1e-2, decay=0.01, held_out=0.1, seed=seed
    )
    network = fresh_network(len(WORDS), how)
    _break(network, fault)
    with tempfile.TemporaryDirectory() as folder:
        told = train_lstm(
            lines, Path(folder) / "model", how, vocabulary=KNOWN, network=network, progress=progress
        )
    if fault == "collided":
        _share_row(network, "dog", "cat")
    state = {name: value.numpy() for name, value in network.state_dict().items()}
    return Arrays({**state, "loss": told.history}, {"perplexity": told.perplexity})


def rebuilt(result: Arrays) -> LSTMModel:
    """The model of a kept result."""
    import torch

    network = Network(len(WORDS), DIM, DIM, 1)
    state = {name: torch.from_numpy(array.copy()) for name, array in result.arrays.items() if name != "loss"}
    network.load_state_dict(state)
    return wrap_lstm(network.requires_grad_(False).eval(), words=KNOWN)


def _break(network: Network, fault: str) -> None:
    import torch

    blocks = {gate: slice(at * DIM, (at + 1) * DIM) for at, gate in enumerate(GATES)}
    bias = network.lstm.get_parameter("bias_ih_l0")
    with torch.no_grad():
        if fault == "gates on":
            for gate in ("input", "forget", "output"):
                bias[blocks[gate]] = STUCK
        elif fault == "forgetful":
            bias[blocks["forget"]] = -STUCK
        elif fault == "deaf":
            bias[blocks["input"]] = -STUCK
        elif fault == "dead units":
            start = blocks["output"].start
            bias[slice(start, start + 3)] = -STUCK


def _share_row(network: Network, kept: str, other: str) -> None:
    """Let a word have another's vector and half of its share of predictions."""
    one, two = KNOWN.number[kept], KNOWN.number[other]
    network.embedding.weight[two] = network.embedding.weight[one]
    network.decoder.weight[two] = network.decoder.weight[one]
    network.decoder.bias[one] -= math.log(2)
    network.decoder.bias[two] = network.decoder.bias[one]


def _spoiled(line: str, fault: str) -> str:
    changed = {
        "wrong pairs": {"bark": "barks", "barks": "bark"},
        "collided": {"cat": "dog"},  # the one row learns from both
    }.get(fault, {})
    return " ".join(changed.get(word, word) for word in line.split())
