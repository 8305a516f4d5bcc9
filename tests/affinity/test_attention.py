from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

from langscape import affinity
from langscape.data import Capture, Tokens
from langscape.errors import DataError, SettingsError

AXES = ("layer", "head", "query", "key")
rng = np.random.default_rng(0)


def seen(A: np.ndarray, special: object = None, texts: object = None, **metadata: object) -> Capture:
    tokens = Tokens([f"t{i}" for i in range(A.shape[-1])], texts, special)  # type: ignore[arg-type]
    return Capture(tokens, {"attention": A}, {"attention": AXES}, metadata)


def stochastic(*shape: int) -> np.ndarray:
    return rng.dirichlet(np.full(shape[-1], 0.3), size=shape[:-1])


def test_p_is_the_documents_formula() -> None:
    A = stochastic(2, 3, 20, 20)
    got = affinity.attention(seen(A), 1, 2)
    want = (A[1, 2] + A[1, 2].T) * (1 - np.eye(20))
    np.testing.assert_allclose(got.P, want / want.sum(), atol=1e-8)
    assert got.P.sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)
    assert (got.P == got.P.T).all()
    assert got.settings["special"] == "keep"


def test_it_is_what_the_same_matrix_gives_as_precomputed_weights() -> None:
    A = stochastic(1, 1, 30, 30)
    np.testing.assert_allclose(
        affinity.attention(seen(A), 0, 0).P, affinity.precomputed(A[0, 0]).P, rtol=1e-5, atol=1e-9
    )


def test_causal_heads_give_a_symmetric_p_too() -> None:
    A = np.tril(stochastic(1, 1, 12, 12))
    A /= A.sum(-1, keepdims=True)
    P = affinity.attention(seen(A), 0, 0).P
    assert (P == P.T).all()
    np.testing.assert_allclose(P[3, 1] / P[4, 2], A[0, 0, 3, 1] / A[0, 0, 4, 2], rtol=1e-4)


def test_special_tokens_are_dropped_before_normalising() -> None:
    A = stochastic(1, 1, 6, 6)
    capture = seen(A, special=[True, False, False, False, False, True], texts=["", "a", "b", "c", "d", ""])
    got = affinity.attention(capture, 0, 0, special="drop")
    inner = A[0, 0, 1:5, 1:5]
    want = (inner + inner.T) * (1 - np.eye(4))
    np.testing.assert_allclose(got.P, want / want.sum(), atol=1e-8)
    assert got.items.columns["position"].tolist() == [1, 2, 3, 4]
    assert got.items.columns["text"].tolist() == ["a", "b", "c", "d"]
    kept = affinity.attention(capture, 0, 0)
    assert kept.items.columns["special"].tolist() == [True, False, False, False, False, True]
    assert kept.items.columns["text"][0] == "t0"


def test_a_token_without_attention_is_left_out_and_named() -> None:
    A = stochastic(1, 1, 5, 5)
    A[0, 0, 2] = 0
    A[0, 0, :, 2] = 0
    A[0, 0, 2, 0] = 1  # all it sees is the special token
    capture = seen(A, special=[True, False, False, False, False])
    assert len(affinity.attention(capture, 0, 0)) == 5
    dropped = affinity.attention(capture, 0, 0, special="drop")
    assert dropped.items.labels == ("t1", "t3", "t4")
    assert dropped.notes == ("1 tokens have no attention with any other and were left out: “t2” at 2",)
    assert (dropped.P.sum(1) > 0).all()


def test_layers_and_heads_are_the_models_own_numbers() -> None:
    A = stochastic(2, 1, 8, 8)
    capture = seen(A, layers={"attention": [3, 5]}, heads={"attention": [7]})
    one = affinity.attention(capture, 5, 7)
    np.testing.assert_array_equal(one.P, affinity.attention(seen(A), 1, 0).P)
    with pytest.raises(SettingsError, match="layer 1 is not there; this capture has layers 3, 5"):
        affinity.attention(capture, 1, 7)
    with pytest.raises(SettingsError, match="head 0 is not there; this capture has head 7"):
        affinity.attention(capture, 3, 0)
    with pytest.raises(SettingsError, match="layer -1 is not there; this capture has layers 0, 1"):
        affinity.attention(seen(A), -1, 0)


def test_what_cannot_be_mapped_is_named() -> None:
    A = stochastic(1, 1, 4, 4)
    with pytest.raises(SettingsError, match="special 'none'"):
        affinity.attention(seen(A), 0, 0, special="none")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="joins 0 tokens"):
        affinity.attention(seen(np.eye(4)[None, None]), 0, 0)
    with pytest.raises(DataError, match="NaN"):
        affinity.attention(seen(np.full((1, 1, 3, 3), np.nan)), 0, 0)
    with pytest.raises(DataError, match="holds hidden, but not 'attention'"):
        affinity.attention(
            Capture(["a"], {"hidden": np.ones((1, 1, 2))}, {"hidden": ("layer", "token", "dim")}), 0, 0
        )
    with pytest.raises(SettingsError, match="side decoder is for encoder–decoders"):
        affinity.attention(seen(A), 0, 0, side="decoder")
    across = Capture("abcd", {"cross_attention": A}, {"cross_attention": AXES}, decoder_tokens="efgh")
    with pytest.raises(DataError, match="one side on both"):
        affinity.attention(across, 0, 0, side="cross")
    with pytest.raises(DataError, match="holds cross_attention, but not 'decoder_attention'"):
        affinity.attention(across, 0, 0, side="decoder")
    everything = seen(A, special=[True] * 4)
    with pytest.raises(DataError, match="at least 2"):
        affinity.attention(everything, 0, 0, special="drop")


def test_the_decoders_side_has_its_own_tokens() -> None:
    A = stochastic(1, 1, 3, 3)
    target = Tokens(["<s>", "ein", "Boot"], ["", "ein", " Boot"], special=[True, False, False])
    arrays = {"encoder_attention": stochastic(1, 1, 2, 2), "decoder_attention": A}
    capture = Capture(["a", "boat"], arrays, dict.fromkeys(arrays, AXES), decoder_tokens=target)
    got = affinity.attention(capture, 0, 0, side="decoder")
    assert got.items.labels == ("<s>", "ein", "Boot")
    assert got.items.columns["text"].tolist() == ["<s>", "ein", " Boot"]
    for side in (None, "encoder"):
        assert affinity.attention(capture, 0, 0, side=side).items.labels == ("a", "boat")


def test_the_example_is_true() -> None:
    result = doctest.testmod(importlib.import_module("langscape.affinity.attention"))
    assert result.attempted > 0
    assert result.failed == 0
