"""Faults planted in the packaged LSTMs, one at a time: is each named, in its place, and nothing else?

    python -m papers.flow.planted
    python -m papers.flow.planted lstm-tiny

Also a hundred ordinary prompts of each model, over which an alarm is a false one. About two minutes.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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


def planted_faults(model: LSTMModel) -> Iterator[Planted]:
    """Every fault that can be planted in a model."""
    for layer in range(model.layers):
        for gate in ("input", "forget", "output"):
            for value, bias in _VALUES.items():
                name = f"{gate} gate of layer {layer} stuck at {value}"
                yield Planted(name, _gate(layer, gate, bias), "stuck", gate, layer)
        yield Planted(
            f"units 0 to 2 of layer {layer} dead", _gate(layer, "output", -100.0, 3), "dead", "hidden", layer
        )
        yield Planted(
            f"W_hh of layer {layer} = 0",
            _zero(f"lstm.weight_hh_l{layer}"),
            "forgetful",
            "hidden_before",
            layer,
        )
        yield Planted(f"the cell of layer {layer} explodes", _explode(layer), "grows", "cell", layer)
    yield Planted("one dead row of the embedding", _row, "empty", "embedding")
    yield Planted("decoder zeroed", _decoder, "constant", "softmax")
    yield Planted("untrained", _untrained, "untrained", "softmax")
    yield Planted("worse than word counts", _noise, "worse than counts", "softmax")
    yield Planted("vocabulary shuffled", lambda network: None, "wrong words", "softmax")


def broken(model: LSTMModel, fault: Planted) -> LSTMModel:
    """The model with a fault in it."""
    network = copy.deepcopy(model.net)
    if network.tied and fault.plant is not _untrained:
        network.decoder.weight = torch.nn.Parameter(network.decoder.weight.clone(), requires_grad=False)
    with torch.no_grad():
        fault.plant(network)
    known: Vocabulary = model.tokenizer
    if fault.kind == "wrong words":
        order = np.random.default_rng(0).permutation(len(known))
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


def false_alarms(model: LSTMModel, count: int = PROMPTS) -> tuple[int, list[str]]:
    """Ordinary prompts that were read, and the alarms of their pages."""
    usual = baseline_of(model)
    found = [one.text for one in lstm_faults(model.weights(), usual, model.words)]
    prompts = ordinary_prompts(model, count)
    for prompt in prompts:
        alarms = prompt_alarms(capture(model, prompt), usual)
        found += [one["text"] for one in alarms if one["level"] == "alarm"]
    return len(prompts), found


def _rows(network: Network, gate: str) -> slice:
    at, units = GATES.index(gate), network.lstm.hidden_size
    return slice(at * units, (at + 1) * units)


def _gate(layer: int, gate: str, bias: float, units: int | None = None) -> Planting:
    def plant(network: Network) -> None:
        rows = _rows(network, gate)
        rows = rows if units is None else slice(rows.start, rows.start + units)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            network.lstm.get_parameter(f"{name}_l{layer}")[rows] = 0
        network.lstm.get_parameter(f"bias_ih_l{layer}")[rows] = bias

    return plant


def _zero(name: str) -> Planting:
    def plant(network: Network) -> None:
        network.get_parameter(name).zero_()

    return plant


def _explode(layer: int) -> Planting:
    def plant(network: Network) -> None:
        for gate in ("input", "forget", "candidate"):
            _gate(layer, gate, 100.0, 1)(network)

    return plant


def _row(network: Network) -> None:
    network.embedding.weight[4] = 0


def _decoder(network: Network) -> None:
    network.decoder.weight.zero_()


def _untrained(network: Network) -> None:
    lstm = network.lstm
    words, dim = network.embedding.weight.shape
    fresh = fresh_network(words, Training(dim=dim, layers=lstm.num_layers, tied=network.tied))
    network.load_state_dict(fresh.state_dict())


def _noise(network: Network) -> None:
    """A decoder that hardly reads the hidden vector, and whose bias is noise."""
    chance = torch.Generator().manual_seed(0)
    noise = torch.randn(len(network.decoder.bias), generator=chance)
    network.decoder.weight *= 0.1
    network.decoder.bias.copy_(noise)


def main() -> int:
    """Print the table; the number of faults that were not named in their place."""
    missed = 0
    for name in sys.argv[1:] or MODELS:
        model = open_model(name, device="cpu")
        if not isinstance(model, LSTMModel):
            sys.exit(f"{name} is no LSTM; choose from {', '.join(MODELS)}")
        print(f"\n{name}\n")
        for fault in planted_faults(model):
            right, found = judged(model, fault)
            missed += not right
            print(f"{'named ' if right else 'MISSED'}  {fault.name}")
            for one in found:
                print(f"          {one.text} ({one.evidence})")
        count, alarms = false_alarms(model)
        print(f"\n{len(alarms)} false alarms over {count} ordinary prompts")
        for text in alarms:
            print(f"          {text}")
    return missed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
