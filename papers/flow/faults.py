"""Models that went wrong, each in one way, beside a healthy one: how they are made.

The document met gates that were always on, from matrices that were initialised badly. The others are what
else goes wrong in the same places.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Progress
from langscape.models.lstm import GATES, LSTMModel, Network, wrap_lstm
from langscape.models.lstm_train import Training, fresh_network, train_lstm
from langscape.models.vocabulary import Vocabulary
from langscape.run.registry import step
from langscape.run.results import Arrays
from papers.flow.grammar import WORDS, sentences

DIM = 7
STUCK = 100.0
"""A bias at which a gate has no slope left, so that training cannot move it; weight decay alone is too slow."""

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
    "wrong pairs": Fault(
        "in the training text dogs sleep and cats bark, and the other way round in the test",
        "pair",
        "softmax",
    ),
    "confused": Fault(
        "in the training text every dog may be a cat and every cat a dog", "twins", "embedding"
    ),
}


@step("papers.flow.model", version=1, defaults={"fault": "healthy", "steps": 6000, "seed": 0})
def trained(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """The weights of a model with this fault, its losses, and its perplexity on sound text."""
    fault, seed = settings["fault"], settings["seed"]
    lines, _ = sentences(6000, seed=seed)
    lines = [_spoiled(line, fault, np.random.default_rng([seed, at])) for at, line in enumerate(lines)]
    how = Training(
        dim=DIM, steps=settings["steps"], batch=32, length=24, rate=1e-2, decay=0.03, held_out=0.1, seed=seed
    )
    network = fresh_network(len(WORDS), how)
    _break(network, fault)
    with tempfile.TemporaryDirectory() as folder:
        told = train_lstm(
            lines, Path(folder) / "model", how, vocabulary=KNOWN, network=network, progress=progress
        )
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
    bias = network.lstm.bias_ih_l0
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


def _spoiled(line: str, fault: str, chance: np.random.Generator) -> str:
    if fault == "wrong pairs":
        return _swapped(line, {"bark": "sleep", "barks": "sleeps"})
    if fault == "confused":
        words = line.split()
        swap = {"dog": "cat", "dogs": "cats"} | {"cat": "dog", "cats": "dogs"}
        return " ".join(swap[w] if w in swap and chance.random() < 0.5 else w for w in words)
    return line


def _swapped(line: str, pairs: Mapping[str, str]) -> str:
    both = {**pairs, **{b: a for a, b in pairs.items()}}
    return " ".join(both.get(word, word) for word in line.split())
