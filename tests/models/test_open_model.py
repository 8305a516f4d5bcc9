from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tests.models.families import DECODERS, ENCODERS, PAIRS, built, tokenizer, vit

from langscape.errors import FileError, MissingError, SettingsError
from langscape.models import Model, capture, open_model, wrap_model
from langscape.models.model import chosen_device


def saved(folder: Path, network: Any, with_tokenizer: bool = True) -> Path:
    network.save_pretrained(folder)
    if with_tokenizer:
        tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("make", "kind", "layers", "headed"),
    [
        (ENCODERS["bert"], "encoder", 3, False),
        (ENCODERS["bert with a head"], "encoder", 3, True),
        (DECODERS["llama"], "decoder", 3, True),
        (DECODERS["gpt2"], "decoder", 3, True),
        (PAIRS["bart"], "encoder-decoder", 3, True),
        (vit, "vision", 3, False),
    ],
)
def test_a_folder_opens_as_what_it_is(
    make: Any, kind: str, layers: int, headed: bool, tmp_path: Path
) -> None:
    network = built(make)
    model = open_model(saved(tmp_path, network, kind != "vision"), device="cpu")
    assert (model.kind, model.layers, model.heads) == (kind, layers, 4)
    assert (model.layout.vocabulary > 0) == headed
    assert not model.network.training
    assert model.network.config._attn_implementation == "eager"
    for name, value in network.state_dict().items():
        assert torch.equal(model.network.state_dict()[name], value), name


def test_the_revision_changes_with_the_weights_alone(tmp_path: Path) -> None:
    first = open_model(saved(tmp_path / "a", built(ENCODERS["bert"])))
    again = open_model(saved(tmp_path / "b", built(ENCODERS["bert"])))
    other = open_model(saved(tmp_path / "c", built(ENCODERS["bert"], seed=1)))
    assert first.revision == again.revision != other.revision
    assert wrap_model(built(ENCODERS["bert"])).revision == wrap_model(built(ENCODERS["bert"])).revision
    assert wrap_model(built(ENCODERS["bert"], 1)).revision != wrap_model(built(ENCODERS["bert"])).revision


def test_a_trunk_saved_without_its_head_opens_without_one(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(**DECODERS["llama"]().config.to_diff_dict())
    model = open_model(saved(tmp_path, transformers.LlamaModel(config)))
    assert model.kind == "decoder"
    assert model.layout.vocabulary == 0
    with pytest.raises(SettingsError, match="cannot continue a text"):
        capture(model, "the red lamp", generate=2)


def test_a_folder_without_a_tokenizer_takes_ids(tmp_path: Path) -> None:
    model = open_model(saved(tmp_path, built(ENCODERS["bert"]), with_tokenizer=False))
    captured = capture(model, [5, 6, 7])
    assert captured.tokens.labels == ("5", "6", "7")
    assert "no tokenizer" in captured.notes[0]


def test_half_precision_is_read_as_float32_unless_asked_otherwise(tmp_path: Path) -> None:
    folder = saved(tmp_path, built(DECODERS["llama"]).to(torch.bfloat16))
    assert open_model(folder).network.dtype == torch.float32
    model = open_model(folder, precision="stored")
    assert model.network.dtype == torch.bfloat16
    captured = capture(model, "the red lamp")
    assert {array.dtype for array in captured.arrays.values()} == {np.dtype(np.float32)}
    assert set(captured.arrays) >= {"q", "k"}


def test_names_that_lead_nowhere_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "home"))
    with pytest.raises(MissingError, match="langscape models get default"):
        open_model("default")
    with pytest.raises(FileError, match="there is no folder"):
        open_model(tmp_path / "nothing")
    with pytest.raises(FileError, match="there is no folder"):
        open_model("a/b/c")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="give the folder that holds it"):
        open_model(tmp_path / "file")
    with pytest.raises(SettingsError, match="precision 'half'"):
        open_model("default", precision="half")  # type: ignore[arg-type]


@pytest.mark.slow
def test_without_a_network_the_hubs_cache_serves_and_what_is_not_in_it_is_said(tmp_path: Path) -> None:
    """In a process of its own, since the Hub's client reads its settings once."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    place = tmp_path / "hub" / "models--someone--tiny"
    saved(place / "snapshots" / commit, built(ENCODERS["bert"]))
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    code = "from langscape.models import open_model\nfrom langscape.errors import MissingError\n"
    code += "model = open_model('someone/tiny')\nprint(model.name, model.revision, model.layers)\n"
    code += "try: open_model('someone/some-model')\nexcept MissingError as error: print(error)\n"
    settings = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=settings, check=False
    )
    here, absent = done.stdout.splitlines()
    assert here.split() == ["someone/tiny", commit, "3"], done.stderr
    assert "hf download someone/some-model" in absent
    assert "one of default, decoder, lstm-tiny, lstm, which come" in absent
    assert done.stderr == ""


def test_broken_folders_name_the_file(tmp_path: Path) -> None:
    whole = saved(tmp_path / "whole", built(ENCODERS["bert"]))

    def broken(name: str) -> Path:
        shutil.copytree(whole, tmp_path / name)
        return tmp_path / name

    def config(folder: Path, **changes: Any) -> None:
        told = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(told))

    folder = broken("no config")
    (folder / "config.json").unlink()
    with pytest.raises(FileError, match=r"config\.json cannot be read: No such file"):
        open_model(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(FileError, match=r"config\.json is not JSON: expecting property name"):
        open_model(folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(FileError, match="is not the configuration of a transformers model"):
        open_model(folder)

    folder = broken("own code")
    config(folder, model_type="mystery", auto_map={"AutoModel": "evil.Model"})
    with pytest.raises(FileError, match=r"type 'mystery', .* code of its own, which is never run here"):
        open_model(folder)

    folder = broken("pickle")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileError, match=r"holds no model\.safetensors; pytorch_model\.bin is not read"):
        open_model(folder)

    folder = broken("cut short")
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(FileError, match=r"model\.safetensors is cut short or damaged: .* bytes, expected"):
        open_model(folder)

    folder = broken("not a number")
    weights = {key: value.clone() for key, value in load_file(folder / "model.safetensors").items()}
    first = next(key for key in weights if "query.weight" in key)
    weights[first][0, 0] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(FileError, match="values that are not finite, in encoder"):
        open_model(folder)

    folder = broken("another shape")
    config(folder, num_hidden_layers=4)
    with pytest.raises(FileError, match=r"do not fit its config\.json"):
        open_model(folder)

    folder = broken("another width")
    config(folder, hidden_size=64)
    with pytest.raises(FileError, match=r"do not fit its config\.json|cannot be read"):
        open_model(folder)

    folder = broken("shards")
    (folder / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(FileError, match=r"lacks 2 of 2 files of weights, first model-1\.safetensors"):
        open_model(folder)

    folder = broken("tokenizer")
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(FileError, match=r"tokenizer\.json is not JSON"):
        open_model(folder)
    (folder / "tokenizer.json").write_text('{"model": {"type": "none", "vocab": {}}}')
    with pytest.raises(FileError, match="the tokenizer of"):
        open_model(folder)


def test_a_model_in_shards_opens(tmp_path: Path) -> None:
    network = built(ENCODERS["bert"])
    network.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    np.testing.assert_array_equal(
        capture(open_model(tmp_path), [5, 6, 7])["hidden"], capture(wrap_model(network), [5, 6, 7])["hidden"]
    )


def test_devices_are_checked() -> None:
    assert chosen_device("cpu") == torch.device("cpu")
    assert chosen_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(SettingsError, match="device 'tpu9'"):
        chosen_device("tpu9")
    with pytest.raises(MissingError, match="is not there"):
        chosen_device("cuda:99")


def test_wrap_model_takes_networks_only() -> None:
    with pytest.raises(SettingsError, match="not str; open_model takes names"):
        wrap_model("bert")  # type: ignore[arg-type]


def test_importing_models_loads_no_torch_and_its_absence_is_named(tmp_path: Path) -> None:
    code = "import sys, langscape.models\nassert not {'torch', 'transformers'} & set(sys.modules)\n"
    code += "sys.modules['torch'] = None\ntry: langscape.models.open_model('lstm-tiny')\n"
    code += "except ImportError as error: print(type(error).__name__, error)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingError models need torch; run `pip install 'langscape[models]'`" in done.stdout, done.stderr


@pytest.mark.slow
def test_an_lstm_is_read_without_transformers_and_its_absence_is_named_elsewhere(tmp_path: Path) -> None:
    """Loading it takes longer than all the rest of a small LSTM's flow."""
    code = "import sys\nsys.modules['transformers'] = None\n"
    code += "from langscape.models import capture, open_model, wrap_model\n"
    code += "print(len(capture(open_model('lstm-tiny'), 'the dog barks').tokens))\n"
    code += f"for ask in (lambda: open_model({str(tmp_path)!r}), lambda: wrap_model(1)):\n"
    code += "  try: ask()\n  except ImportError as error: print(type(error).__name__, error)\n"
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "MissingError models need transformers; run `pip install 'langscape[models]'`"
    assert done.stdout.splitlines() == ["4", said, said], done.stderr


@pytest.mark.parametrize(
    ("typed", "meant"), [("lstm-tinny", "lstm-tiny"), ("lstms", "lstm"), ("defualt", "default")]
)
def test_a_name_that_is_nearly_ours_is_answered_without_a_network(typed, meant, monkeypatch) -> None:
    monkeypatch.setattr("langscape.models.open._fetched", lambda name: pytest.fail("the Hub was asked"))
    with pytest.raises(MissingError, match=f"did you mean {meant}\\? default, decoder, lstm-tiny, lstm come"):
        open_model(typed)


def test_opening_says_nothing_on_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, built(ENCODERS["bert with a head"]))
    capfd.readouterr()
    open_model(tmp_path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_the_packaged_models_open_by_name(minilm: Model, smollm: Model) -> None:
    assert repr(minilm) == "Model('default', encoder, 6 layers × 12 heads, cpu)"
    assert repr(smollm) == "Model('decoder', decoder, 30 layers × 9 heads, cpu)"
    assert (minilm.longest, smollm.longest) == (512, 8192)
    assert minilm.revision.startswith("53aa5117")
    assert not minilm.notes
    assert not smollm.notes
