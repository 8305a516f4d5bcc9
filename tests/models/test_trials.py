"""`check` says of a model what works, and why the rest does not."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, ODD, OUTSIDE, PAIRS, built, tokenizer, vit
from tests.models.folders import bert_folder
from typer.testing import CliRunner

import langscape
from langscape.cli.app import app
from langscape.errors import MissingError, SettingsError
from langscape.models import Check, attention_hook, capture, check, open_model, stream, wrap_model
from langscape.models.attention_hook import editing
from langscape.models.forward import forward
from langscape.models.model_name import split_name
from langscape.models.tile_instructions import announced


def works(found: Check) -> set[str]:
    return {trial.name for trial in found.trials if trial.works}


COMMON = {"weights", "q, k, v", "hidden states", "edits", "blocks of rows", "memory"}


@pytest.mark.parametrize("name", [*ENCODERS, *DECODERS])
def test_all_works_on_families_that_can_be_listened_to(name: str) -> None:
    network = built({**ENCODERS, **DECODERS}[name])
    network.train()
    found = check(network, tokenizer=tokenizer())
    assert works(found) >= COMMON | {"residual stream", "exact sums"}, found
    assert network.training
    assert ("logits" in works(found)) == (network.get_output_embeddings() is not None), found


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("gpt_oss", set()),
        ("diffllama", {"residual stream", "exact sums", "edits"}),
        ("squeezebert", {"q, k, v", "logits", "residual stream", "exact sums", "edits", "blocks of rows"}),
        ("bloom", {"q, k, v", "residual stream", "exact sums", "edits", "blocks of rows"}),
        ("t5", {"residual stream", "exact sums"}),
        ("mamba", {"weights", "q, k, v", "residual stream", "exact sums", "edits", "blocks of rows"}),
    ],
)
def test_what_does_not_work_is_said_with_its_reason(name: str, lacking: set[str]) -> None:
    found = check(built({**ODD, **OUTSIDE, **PAIRS}[name]))
    assert {trial.name for trial in found.trials if not trial.works} == lacking, found
    assert all(len(trial.found) > 10 for trial in found.trials if not trial.works)
    told = json.loads(found.to_json())
    assert {key for key, one in told["trials"].items() if not one["works"]} == lacking


def test_a_vision_model_and_an_lstm_are_tried_too() -> None:
    assert works(check(built(vit))) == COMMON
    assert works(check("lstm-tiny")) == {"gates and states"}
    assert langscape.check is check


def test_an_edit_that_has_no_effect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = wrap_model(built(DECODERS["llama"]), tokenizer())
    with torch.no_grad():
        model.network.model.layers[0].self_attn.o_proj.weight.zero_()
    found = check(model)["edits"]
    assert not found.works
    assert found.found == "head 0.0 set to zero changes nothing behind it; edits are refused"


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_an_edit_is_of_its_own_head_alone(name: str) -> None:
    model = wrap_model(built({**ENCODERS, **DECODERS}[name]))
    ids = torch.tensor([[7, 8, 9, 20, 21]])
    plain = capture(model, ids[0].numpy(), want=("hidden",))["hidden"]

    def run(editor: attention_hook.Editor) -> np.ndarray:
        with model.running(), editing(model.network, editor):
            output = forward(model.network, {"input_ids": ids}, hidden=True)
        return torch.stack(list(output.hidden_states))[:, 0].numpy()

    def second(at: int, call: Any, output: Any) -> Any:
        changed = output.clone()
        changed[:, :, 2] = 0 if at == 1 else changed[:, :, 2]
        return call.weights, changed

    np.testing.assert_array_equal(run(lambda at, call, output: (call.weights, output)), plain)
    edited = run(second)
    np.testing.assert_array_equal(edited[:2], plain[:2])
    assert np.abs(edited[2:] - plain[2:]).max() > 1e-3


def test_a_name_says_how_a_model_is_opened() -> None:
    assert split_name("decoder") == ("decoder", None, None, "")
    assert split_name("a/b@stored,auto") == ("a/b", "stored", "auto", "")
    assert split_name("a/b@4bit").quantized == "4bit"
    for name, said in (("default@half", "'half' is not known after @"), ("x@stored,float16", "exclude each")):
        with pytest.raises(SettingsError, match=said):
            split_name(name)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("default@float16", torch.float16),
        ("default@bfloat16", torch.bfloat16),
        ("default@stored,auto", torch.float32),
    ],
)
def test_precision_and_device_map_come_with_the_name(name: str, dtype: torch.dtype) -> None:
    model = open_model(name)
    assert model.network.dtype == dtype
    text = "Rain fell on the boats."
    whole, seen = capture(open_model("default"), text), capture(model, text)
    assert seen["attention"].dtype == np.float32
    np.testing.assert_allclose(seen["attention"], whole["attention"], atol=3e-2)
    same = np.array_equal(seen["attention"], whole["attention"])
    assert same == (dtype == torch.float32)


def test_settings_of_opening_are_checked() -> None:
    with pytest.raises(SettingsError, match="opened by name; load yours with them"):
        open_model(built(ENCODERS["bert"]), precision="float16")
    with pytest.raises(SettingsError, match="lstm-tiny@float16 is an LSTM"):
        open_model("lstm-tiny@float16")
    with pytest.raises(SettingsError, match="cannot be opened with this device_map"):
        open_model("default", device_map="nowhere")
    assert open_model("default", device_map={"": "cpu"}).device.type == "cpu"


def test_fewer_bits_need_the_package_that_packs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match="8bit needs the package bitsandbytes"):
        open_model("default@8bit")


@pytest.mark.parametrize(
    ("method", "named"), [("gptq", "GPTQ"), ("awq", "AWQ"), ("compressed-tensors", "compressed")]
)
def test_ways_of_packing_that_could_not_be_tried_are_refused_by_name(
    method: str, named: str, tmp_path: Path
) -> None:
    folder = bert_folder(tmp_path / "packed")
    written = json.loads((folder / "config.json").read_text())
    written["quantization_config"] = {"quant_method": method, "bits": 4, "group_size": 128}
    (folder / "config.json").write_text(json.dumps(written))
    with pytest.raises(SettingsError, match=f"quantised by {named}.*could not be tried.*@4bit"):
        open_model(str(folder))
    network = built(ENCODERS["bert"])
    network.config.quantization_config = SimpleNamespace(quant_method=method)
    with pytest.raises(SettingsError, match=f"quantised by {named}"):
        open_model(network)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "near", "sums"), [("8bit", 0.15, 0.1), ("4bit", 0.5, 1e-3)])
def test_quantised_models_are_captured_and_taken_apart(bits: str, near: float, sums: float) -> None:
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    text = "Rain fell on the boats, and the boats were full."
    model = open_model(f"default@{bits}")
    packed = sum(p.dtype in (torch.int8, torch.uint8) for p in model.network.parameters())
    assert packed >= 6 * 6  # q, k, v, output and the two of the MLP, in every layer
    whole, seen = capture(open_model("default"), text), capture(model, text)
    np.testing.assert_allclose(seen["attention"].sum(axis=-1), 1, atol=1e-5)
    assert 1e-4 < np.abs(seen["attention"] - whole["attention"]).max() < near
    # the parts of heads and MLPs are those of the matrices that the packed numbers stand for
    found = stream(model, seen.tokens.ids.tolist())
    plain = stream(open_model("default"), seen.tokens.ids.tolist())
    parts, whole_parts = (one.capture["heads"][0].ravel() for one in (found, plain))
    assert np.corrcoef(parts, whole_parts)[0, 1] > 0.97
    tried = check(model)
    assert "its weights are quantised (bitsandbytes)" in tried.model
    assert tried.model.split("; ")[1] in seen.notes
    trials = {trial.name: trial for trial in tried.trials}
    assert trials["residual stream"].works
    # in 4 bits bitsandbytes multiplies in bfloat16 where the processor can, and rounds what it is given
    sums = 0.05 if bits == "4bit" and "avx512_bf16" in announced() else sums
    assert float(trials["exact sums"].found.split(" to ")[-1].split()[0]) < sums


def test_the_command_prints_the_table_and_json() -> None:
    told = CliRunner().invoke(app, ["check", "default"])
    assert told.exit_code == 0
    assert "edits            yes  head 0.0 set to zero moves" in told.stdout
    asked = json.loads(CliRunner().invoke(app, ["check", "default", "--json"]).stdout)
    assert asked["trials"]["weights"]["works"] is True
    refused = CliRunner().invoke(app, ["check", "default@quarter"])
    assert isinstance(refused.exception, SettingsError)
