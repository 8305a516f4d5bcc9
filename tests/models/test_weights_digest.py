from __future__ import annotations

import hashlib
from typing import Any

import pytest
import torch
from tests.models.families import ENCODERS, built

from langscape.models import weights_digest as module
from langscape.models.weights_digest import weights_digest


def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    class Counting:
        @staticmethod
        def sha256(*args: Any) -> Any:
            calls.append(args)
            return hashlib.sha256(*args)

    monkeypatch.setattr(module, "hashlib", Counting)
    return calls


def test_weights_that_stay_are_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, calls = built(ENCODERS["bert"]), hashed(monkeypatch)
    assert weights_digest(network) == weights_digest(network)
    assert len(calls) == 1
    assert weights_digest(built(ENCODERS["bert"])) == weights_digest(network)


@pytest.mark.parametrize("how", ["in place", "through data", "another tensor", "the last byte of a half"])
def test_weights_that_change_have_another_digest(how: str) -> None:
    network = built(ENCODERS["bert"])
    if how == "the last byte of a half":
        network = network.half()
    before = weights_digest(network)
    weight = network.encoder.layer[1].attention.self.query.weight
    with torch.no_grad():
        if how == "in place":
            weight[0, 0] += 1
        elif how == "another tensor":
            network.encoder.layer[1].attention.self.query.weight = torch.nn.Parameter(weight + 1e-3)
        else:
            weight.data[-1, -1] += 1e-2
    assert weights_digest(network) != before
