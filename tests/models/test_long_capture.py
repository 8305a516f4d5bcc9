"""Captures of a part: chosen layers, heads and rows, in blocks, halved, or as the strongest keys."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.models.families import DECODERS, ENCODERS, PAIRS, built, tokenizer

from langscape import affinity
from langscape.errors import DataError, SettingsError, TooLargeError, WayOut
from langscape.faces import speaking
from langscape.models import capture, estimate, memory, merge_words, wrap_model

IDS = [7, 8, 9, 20, 21, 7, 8, 9, 33, 40, 41]


def opened(name: str) -> Any:
    return wrap_model(built({**ENCODERS, **DECODERS, **PAIRS}[name]), tokenizer(), name="tiny")


@pytest.mark.parametrize("name", [*ENCODERS, *DECODERS, *PAIRS])
def test_rows_in_blocks_are_the_rows_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(name)
    asked: dict[str, Any] = {"target": [12, 13, 14]} if name in PAIRS else {}
    assert model.layout.blocks
    whole = capture(model, IDS, **asked)
    monkeypatch.setattr(memory, "WHOLE", 10)
    monkeypatch.setattr(memory, "BLOCK", 120)
    assert memory.block_rows(model.layout, 1, len(IDS), 3) == 2
    parts = capture(model, IDS, **asked)
    assert set(parts.arrays) == set(whole.arrays)
    for array in whole.arrays:
        np.testing.assert_allclose(parts[array], whole[array], atol=2e-5, rtol=2e-5)
    both = capture(model, [IDS, IDS[:4]], **({"target": [[12, 13, 14]] * 2} if asked else {}))
    np.testing.assert_allclose(both[1].attention().weights.sum(-1), 1, atol=1e-5)


def test_chosen_rows_are_rows_of_the_whole_and_know_their_tokens() -> None:
    model = opened("llama")
    whole = capture(model, IDS)
    part = capture(model, IDS, rows=[9, 3, 4], heads=[1, 2])
    np.testing.assert_array_equal(part["attention"], whole["attention"][:, 1:3, [3, 4, 9]])
    np.testing.assert_array_equal(part["q"], whole["q"][:, 1:3, [3, 4, 9]])
    np.testing.assert_array_equal(part["k"], whole["k"][:, 1:3])
    seen = part.attention()
    assert [int(i) for i in seen.queries.require_ids()] == [20, 21, 40]
    assert len(seen.keys) == len(IDS)
    with pytest.raises(DataError, match="holds 3 of 11 rows; a map needs all of them"):
        affinity.attention(part, 0, 1)
    with pytest.raises(DataError, match="holds a part of the attention"):
        merge_words(part)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rows": [11]}, "row 11 is not there; this text has rows 0 to 10"),
        ({"rows": [-1]}, "row -1 is not possible"),
        ({"rows": []}, "rows is empty"),
        ({"rows": 2, "special": "drop"}, "rows are numbered among all tokens"),
        ({"weights": "int8"}, "weights 'int8' is not known"),
        ({"strongest": 0}, "strongest 0 is not possible"),
        ({"first_tokens": 0}, "first_tokens 0 is not possible"),
        ({"first_tokens": 5, "long": "window"}, "first_tokens is one window"),
    ],
)
def test_parts_that_are_not_there_are_named(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        capture(opened("llama"), IDS, **asked)


def test_half_precision_rounds_the_weights() -> None:
    model = opened("gpt2")
    whole, half = capture(model, IDS), capture(model, IDS, weights="float16")
    assert half["attention"].dtype == np.float16
    np.testing.assert_array_equal(half["attention"], whole["attention"].astype(np.float16))
    assert half["q"].dtype == np.float32


@pytest.mark.parametrize("blocks", [False, True])
def test_the_strongest_keys_of_a_row_are_its_largest_weights(
    blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened("gpt2")
    A = capture(model, IDS)["attention"]
    if blocks:
        monkeypatch.setattr(memory, "WHOLE", 10)
        monkeypatch.setattr(memory, "BLOCK", 120)
    few = capture(model, IDS, want="attention", strongest=3)
    assert few["attention"].shape == few["attention_keys"].shape == (3, 4, 11, 3)
    kept = np.where(np.sort(A, axis=-1)[..., -3:-2] <= A, A, 0)
    np.testing.assert_allclose(few.attention().weights, kept, atol=1e-6)
    np.testing.assert_array_equal(few.attention().one(2, 1), few.attention().weights[2, 1])
    assert affinity.attention(few, 1, 1).P.shape[0] > 2


def test_a_run_ends_with_the_last_layer_that_is_wanted() -> None:
    model = opened("llama")
    assert model.layout.heard
    ran: list[int] = []
    for at, block in enumerate(model.network.model.layers):
        block.register_forward_hook(lambda *_, at=at: ran.append(at))
    capture(model, IDS, want="attention", layers=1)
    assert ran == [0]  # the second block is left as soon as its weights are heard
    ran.clear()
    capture(model, IDS, want=("attention", "hidden"), layers=1)
    assert ran == [0, 1, 2]


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    model = opened("llama")
    with pytest.raises(TooLargeError) as refused:
        capture(model, IDS * 5, want="attention", memory=3.2e5)
    ways = {way.setting: way.value for way in refused.value.ways}
    assert set(ways) == {"first_tokens", "layers", "rows", "weights", "strongest", "memory"} & set(ways)
    assert {"first_tokens", "layers", "rows", "memory"} <= set(ways)
    for setting in ways:
        again: dict[str, Any] = {"memory": 3.2e5, setting: ways[setting]}
        capture(model, IDS * 5, want="attention", **again)
    more = len(ways["layers"]) + 1
    assert estimate(model, 55, "attention", layers=range(more)).peak > 3.2e5
    said = str(refused.value)
    assert f"the first {ways['first_tokens']} tokens (first_tokens={ways['first_tokens']})" in said


def test_each_face_reads_its_own_words() -> None:
    error = TooLargeError(
        "capturing 9,000 tokens needs 9 GB",
        [
            WayOut("layers 0–5", "layers", range(6)),
            WayOut("take its start", "cut", True, action=True),
            WayOut("cut it into windows", "long", "window", action=True),
        ],
    )
    assert 'cut it into windows (long="window")' in str(error)
    for_head = pickle.loads(pickle.dumps(error)).narrowed({"layers", "cut"})
    with speaking("command"):
        assert str(for_head) == (
            "capturing 9,000 tokens needs 9 GB; take its start (--cut), or what fits: "
            "layers 0–5 (--layers 0-5)"
        )
    with speaking("studio"):
        assert str(for_head) == "capturing 9,000 tokens needs 9 GB; take its start, or what fits: layers 0–5"
    assert str(error.narrowed(())) == "capturing 9,000 tokens needs 9 GB; take a shorter text"


def test_the_start_of_a_long_text_keeps_its_frame() -> None:
    model = opened("bert")
    text = " ".join(f"w{i % 30}" for i in range(150))
    cut = capture(model, text, long="start")
    assert len(cut.tokens) == 64
    assert cut.notes[-1] == "the text has 152 tokens, of which the first 64 were read"
    few = capture(model, text, first_tokens=10)
    assert len(few.tokens) == 10
    assert few.tokens[-1] == "[SEP]"
    with pytest.raises(DataError, match=r"takes 64 at once; read its first 64 \(first_tokens=64\)"):
        capture(model, text, first_tokens=100)
    with pytest.raises(SettingsError, match="first_tokens 2 leaves no room beside 2 special tokens"):
        capture(model, text, first_tokens=2)
