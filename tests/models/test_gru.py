"""GRUs: captured, taken apart and drawn as what they are, and compared with their own forward."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import langscape
from langscape.errors import DataError
from langscape.models import capture, open_model, wrap_lstm
from langscape.views.flow_lstm import VECTORS, graph

WORDS = ["tea", "is", "hot", "ice", "cold", "."]


class Theirs(torch.nn.Module):
    def __init__(self, kind=torch.nn.GRU, bend=None, **more):
        super().__init__()
        torch.manual_seed(4)
        self.encoder = torch.nn.Embedding(6, 5)
        self.rnn = kind(5, 7, num_layers=2, **more)
        self.decoder = torch.nn.Linear(7, 6)
        self.bend = bend or (lambda values: values)

    def forward(self, ids):
        seen, state = self.rnn(self.encoder(ids))
        return self.decoder(self.bend(seen)), state


def wrapped(network):
    return wrap_lstm(network, embedding="encoder", lstm="rnn", words=WORDS, name="theirs")


@pytest.mark.parametrize("more", [{}, {"batch_first": True}, {"bias": False}])
def test_the_states_of_a_gru_are_torchs_own(more):
    network = Theirs(**more)
    model = wrapped(network)
    seen = capture(model, "tea is hot . ice is cold")
    ids = torch.tensor(seen.tokens.ids)
    given = network.encoder(ids[None] if more.get("batch_first") else ids[:, None])
    theirs = network.rnn(given)[0].detach().numpy().reshape(len(ids), 7)
    np.testing.assert_allclose(seen["hidden"][1], theirs, atol=2e-6)
    np.testing.assert_allclose(model.states(ids.numpy())["hidden"][1], theirs, atol=2e-6)
    assert "cell" not in seen.arrays


def test_every_vector_of_the_graph_is_what_its_operation_makes_of_those_before():
    seen = capture(wrapped(Theirs()), "tea is hot")
    before = np.concatenate([seen["hidden_before"][:, None], seen["hidden"][:, :-1]], axis=1)
    np.testing.assert_allclose(seen["keep_product"], seen["update"] * before, atol=1e-7)
    np.testing.assert_allclose(seen["write"], 1 - seen["update"], atol=1e-7)
    np.testing.assert_allclose(seen["reset_product"], seen["reset"] * seen["recalled"], atol=1e-7)
    np.testing.assert_allclose(seen["hidden"], seen["keep_product"] + seen["write_product"], atol=1e-7)
    nodes, operations = graph(2, kind="gru")
    drawn = {node["array"] for node in nodes if "column" in node and "array" in node}
    assert drawn <= set(VECTORS["gru"])
    assert {one["to"] for one in operations} >= {node["id"] for node in nodes if node["kind"] == "gate"}


@pytest.mark.slow
def test_the_flow_of_a_gru_adds_up_and_is_drawn(tmp_path):
    found = langscape.flow(wrapped(Theirs()), "tea is hot .")
    assert found.kind == "gru"
    assert found.scores["sums"] < 1e-5
    assert "GRU of 2 layers" in found.view().properties["subtitle"]
    for name in ("flow.html", "flow.svg"):
        assert found.save(tmp_path / name).stat().st_size > 5000


def test_a_gru_is_saved_and_opened_as_one(tmp_path):
    model = wrapped(Theirs())
    model.save(tmp_path / "gru")
    again = open_model(tmp_path / "gru")
    assert again.kind == "gru"
    assert np.array_equal(capture(again, "tea is")["hidden"], capture(model, "tea is")["hidden"])


@pytest.mark.parametrize("kind", [torch.nn.GRU, torch.nn.LSTM])
def test_a_network_whose_forward_does_more_is_refused(kind):
    assert wrapped(Theirs(kind)).notes == ()
    with pytest.raises(DataError, match="something else than its embedding"):
        wrapped(Theirs(kind, torch.relu))


def test_a_network_that_cannot_be_called_says_that_nothing_was_compared():
    class Odd(Theirs):
        def forward(self, ids, lengths, mask):
            raise AssertionError

    network = Odd().train()
    assert "nothing was compared" in wrapped(network).notes[0]
    assert network.training


def test_a_gru_without_a_name_is_not_called_an_lstm():
    parts = {"embedding": torch.nn.Embedding(3, 4), "decoder": torch.nn.Linear(5, 3)}
    assert wrap_lstm(**parts, lstm=torch.nn.GRU(4, 5), words=["tea", "is", "hot"]).name == "gru"
    assert wrap_lstm(**parts, lstm=torch.nn.LSTM(4, 5), words=["tea", "is", "hot"]).name == "lstm"
