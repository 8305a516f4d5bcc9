"""Faults planted in the packaged LSTMs, one at a time: is each named, in its place, and nothing else?

    python -m papers.flow.planted
    python -m papers.flow.planted lstm-tiny
    python -m papers.flow.planted --fresh 3

Also a hundred ordinary prompts of each model, over which an alarm is a false one. About two minutes.

The thresholds were set with these faults and prompts in view. `--fresh SEED` judges them by others: units,
rows, values and strengths drawn by that seed, gates of which only some units are stuck, and a hundred prompts
that nobody looked at: sentences of the grammar for `lstm-tiny`, of `austen` for `lstm`, which read speeches.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.analyses._flow_baseline import baseline_of
from langscape.analyses._flow_lstm import prompt_alarms
from langscape.metrics.lstm_baseline import STEPS
from langscape.metrics.lstm_faults import Fault, lstm_faults
from langscape.models import LSTMModel, capture, open_model
from langscape.models.lstm import GATES, Network
from langscape.models.lstm_train import Training, fresh_network
from langscape.models.lstm_wrap import wrap_lstm
from langscape.models.vocabulary import Vocabulary
from papers.flow.grammar import sentences

MODELS = ("lstm-tiny", "lstm")
PROMPTS = 100
_VALUES = {"0": -100.0, "0.5": 0.0, "1": 100.0}

Planting = Callable[[Network], None]


@dataclass(frozen=True)
class Planted:
    """A fault: what is done, and the kind, vector and layer that should be named."""

    name: str
    plant: Planting
    kind: str
    where: str
    layer: int = -1
    seed: int = 0


def planted_faults(model: LSTMModel) -> Iterator[Planted]:
    """Every fault that can be planted in a model."""
    for layer in range(model.layers):
        for gate in ("input", "forget", "output"):
            for value, bias in _VALUES.items():
                name = f"{gate} gate of layer {layer} stuck at {value}"
                yield Planted(name, _gate(layer, gate, bias), "stuck", gate, layer)
        yield Planted(
            f"units 0 to 2 of layer {layer} dead",
            _gate(layer, "output", -100.0, np.arange(3)),
            "dead",
            "hidden",
            layer,
        )
        yield Planted(
            f"W_hh of layer {layer} = 0",
            _zero(f"lstm.weight_hh_l{layer}"),
            "forgetful",
            "hidden_before",
            layer,
        )
        yield Planted(
            f"the cell of layer {layer} explodes", _explode(layer, np.arange(1)), "grows", "cell", layer
        )
    yield Planted("one dead row of the embedding", _row(4), "empty", "embedding")
    yield Planted("decoder zeroed", _decoder, "constant", "softmax")
    yield Planted("untrained", _untrained(0), "untrained", "softmax")
    yield Planted("worse than word counts", _noise(0, 0.1), "worse than counts", "softmax")
    yield Planted("vocabulary shuffled", _nothing, "wrong words", "softmax")


def fresh_faults(model: LSTMModel, seed: int) -> Iterator[Planted]:
    """Faults of the same kinds at other places and of other sizes, drawn by a seed."""
    chance = np.random.default_rng(seed)
    width = model.width
    for layer in range(model.layers):
        for gate in ("input", "forget", "output"):
            value = float(chance.uniform(0.02, 0.98))
            share = float(chance.uniform(0.6, 1.0))
            units = chance.permutation(width)[: math.ceil(share * width)]
            bias = math.log(value / (1 - value))
            name = f"{len(units)} of {width} units of the {gate} gate of layer {layer} stuck at {value:.2f}"
            yield Planted(name, _gate(layer, gate, bias, units), "stuck", gate, layer)
        dead = chance.permutation(width)[: int(chance.integers(1, 4))]
        yield Planted(
            f"units {', '.join(map(str, dead))} of layer {layer} dead", _gate(layer, "output", -100.0, dead),
            "dead", "hidden", layer,
        )  # fmt: skip
        unit = chance.integers(width, size=1)
        yield Planted(
            f"the cell of unit {unit[0]} of layer {layer} explodes",
            _explode(layer, unit),
            "grows",
            "cell",
            layer,
        )
    row = int(chance.integers(1, len(model.words)))
    yield Planted(f"no vector for “{model.words[row]}”", _row(row), "empty", "embedding")
    yield Planted("untrained", _untrained(seed), "untrained", "softmax")
    strength = float(chance.uniform(0.02, 0.2))
    yield Planted(
        f"decoder × {strength:.2f}, bias noise", _noise(seed, strength, 3.0), "worse than counts", "softmax"
    )
    yield Planted("vocabulary shuffled", _nothing, "wrong words", "softmax", seed=seed)


def fresh_prompts(model: LSTMModel, seed: int, count: int = PROMPTS) -> list[str]:
    """Prompts that the thresholds have not seen: the grammar's of another seed, or sentences of novels."""
    if model.name == "lstm-tiny":
        return sentences(count, seed=10_000 + seed)[0]
    from langscape.sources.texts import sample_texts, stream_texts

    long = (one for one in sample_texts(lambda: stream_texts("austen", "sentence"), 4 * count, seed))
    return [one for one in long if 4 <= len(one.split()) <= 40][:count]


def broken(model: LSTMModel, fault: Planted) -> LSTMModel:
    """The model with a fault in it."""
    network = copy.deepcopy(model.net)
    if network.tied and fault.kind != "untrained":
        network.decoder.weight = torch.nn.Parameter(network.decoder.weight.clone(), requires_grad=False)
    with torch.no_grad():
        fault.plant(network)
    known: Vocabulary = model.tokenizer
    if fault.kind == "wrong words":
        order = np.random.default_rng(fault.seed).permutation(len(known))
        words = tuple(known.words[row] for row in order)
        known = Vocabulary(words, known.level, known.lower, known.unknown, known.start)
    return wrap_lstm(network, words=known, name=model.name, baseline=model.baseline)


def named(model: LSTMModel) -> list[Fault]:
    """The faults that are found in a model."""
    return lstm_faults(model.weights(), baseline_of(model), model.words)


def judged(model: LSTMModel, fault: Planted) -> tuple[bool, list[Fault]]:
    """Whether the fault is named in its place and nothing else is blamed; and all that is named."""
    found = named(broken(model, fault))
    places = {(one.kind, one.where, one.layer) for one in found}
    return places == {(fault.kind, fault.where, fault.layer)}, found


def ordinary_prompts(model: LSTMModel, count: int = PROMPTS) -> list[str]:
    """Sentences that the model was not trained on, and that its baseline did not read."""
    read, prompts = 0, []
    for line in model.baseline.splitlines():
        if read > STEPS + 1:
            prompts.append(line)
        read += len(model.tokenizer.encode(line)) + 1
    return prompts[:count]


def stand_out(model: LSTMModel, prompts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The alarms of a model's pages over ordinary prompts, all false; and the next words noticed."""
    usual = baseline_of(model)
    alarms = [one.text for one in lstm_faults(model.weights(), usual, model.words)]
    noticed: list[str] = []
    for prompt in prompts:
        for one in prompt_alarms(capture(model, prompt), usual):
            (alarms if one["level"] == "alarm" else noticed).append(one["text"])
    return alarms, noticed


def _rows(network: Network, gate: str) -> slice:
    at, units = GATES.index(gate), network.lstm.hidden_size
    return slice(at * units, (at + 1) * units)


def _gate(layer: int, gate: str, bias: float, units: np.ndarray | None = None) -> Planting:
    def plant(network: Network) -> None:
        rows: Any = _rows(network, gate)
        rows = rows if units is None else torch.from_numpy(rows.start + units)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            network.lstm.get_parameter(f"{name}_l{layer}")[rows] = 0
        network.lstm.get_parameter(f"bias_ih_l{layer}")[rows] = bias

    return plant


def _zero(name: str) -> Planting:
    def plant(network: Network) -> None:
        network.get_parameter(name).zero_()

    return plant


def _explode(layer: int, units: np.ndarray) -> Planting:
    def plant(network: Network) -> None:
        for gate in ("input", "forget", "candidate"):
            _gate(layer, gate, 100.0, units)(network)

    return plant


def _row(row: int) -> Planting:
    def plant(network: Network) -> None:
        network.embedding.weight[row] = 0

    return plant


def _decoder(network: Network) -> None:
    network.decoder.weight.zero_()


def _untrained(seed: int) -> Planting:
    def plant(network: Network) -> None:
        words, dim = network.embedding.weight.shape
        how = Training(dim=dim, layers=network.lstm.num_layers, tied=network.tied, seed=seed)
        network.load_state_dict(fresh_network(words, how).state_dict())

    return plant


def _noise(seed: int, strength: float, noise: float = 1.0) -> Planting:
    """A decoder that hardly reads the hidden vector, and whose bias is noise."""

    def plant(network: Network) -> None:
        chance = torch.Generator().manual_seed(seed)
        network.decoder.weight *= strength
        network.decoder.bias.copy_(noise * torch.randn(len(network.decoder.bias), generator=chance))

    return plant


def _nothing(network: Network) -> None:
    """The words are dealt anew, not the weights."""


def main() -> int:
    """Print the table; the number of faults that were not named in their place."""
    missed, given = 0, sys.argv[1:]
    fresh = int(given.pop(given.index("--fresh") + 1)) if "--fresh" in given else None
    names = [name for name in given if name != "--fresh"] or MODELS
    for name in names:
        model = open_model(name, device="cpu")
        if not isinstance(model, LSTMModel):
            sys.exit(f"{name} is no LSTM; choose from {', '.join(MODELS)}")
        print(f"\n{name}\n")
        for fault in planted_faults(model) if fresh is None else fresh_faults(model, fresh):
            right, found = judged(model, fault)
            missed += not right
            print(f"{'named ' if right else 'MISSED'}  {fault.name}")
            for one in found:
                print(f"          {one.text} ({one.evidence})")
        prompts = ordinary_prompts(model) if fresh is None else fresh_prompts(model, fresh)
        alarms, noticed = stand_out(model, prompts)
        said = f"{len(alarms)} false alarms over {len(prompts)} ordinary prompts"
        print(f"\n{said}, and next words of them noticed: {len(noticed)}")
        for text in alarms + noticed:
            print(f"          {text}")
    return missed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
