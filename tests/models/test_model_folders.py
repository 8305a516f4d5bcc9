"""A folder that nobody vouches for opens right or is one clear error, before any library allocates by it."""

from __future__ import annotations

import copy
import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from tests.models.families import DECODERS, ENCODERS, PAIRS, built, tokenizer
from tests.models.vast_folder import vast_folder

from langscape.errors import DataError, FileError, LangscapeError, SettingsError
from langscape.models import capture, check_model, model_revision, model_size, open_model
from langscape.models.weight_files import check_fits, read_weights


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT in one file, with a tokenizer."""
    folder = tmp_path_factory.mktemp("whole")
    built(ENCODERS["bert"]).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def in_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in several files."""
    folder = tmp_path_factory.mktemp("shards")
    built(ENCODERS["bert"]).save_pretrained(folder, max_shard_size="20KB")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "it"))


@pytest.fixture
def shards(in_shards: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(in_shards, tmp_path / "it"))


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(folder: Path, kind: type[Exception] = FileError) -> str:
    """What is said of a folder, the same by every way to it."""
    said = []
    for way in (check_model, model_revision, open_model):
        with pytest.raises(kind) as raised:
            way(folder)
        said.append(str(raised.value))
    assert len(set(said)) == 1
    assert "\n" not in said[0]
    return said[0]


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"num_labels": 10**9}, '"num_labels" is 1,000,000,000; expected a whole number of at most 100,000'),
    ({"id2label": {str(i): "x" for i in range(100_001)}}, '"id2label" holds 100,001 labels'),
    ({"id2label": [1]}, '"id2label" is a list of 1; expected an object'),
    (
        {"num_hidden_layers": 10_000},
        '"num_hidden_layers" is 10,000; expected a whole number of at most 1,000',
    ),
    ({"architectures": 3}, '"architectures" is 3; expected a list of texts'),
    ({"architectures": [3]}, '"architectures" holds 3; expected texts only'),
    ({"hidden_size": 10**9}, '"hidden_size" is 1,000,000,000; expected a whole number of at most 1,000,000'),
    ({"hidden_size": 10**4000}, '"hidden_size" is a number of 4,001 digits'),
    ({"hidden_size": "32"}, '"hidden_size" is "32"; expected a whole number'),
    ({"hidden_size": True}, '"hidden_size" is true; expected a whole number'),
    ({"vocab_size": 10**10}, '"vocab_size" is 10,000,000,000; expected'),
    ({"vocab_size": 1.5}, '"vocab_size" is 1.5; expected a whole number'),
    ({"max_position_embeddings": 10**12}, '"max_position_embeddings" is 1,000,000,000,000; expected'),
    ({"type_vocab_size": -7}, '"type_vocab_size" is -7; expected'),
    ({"num_attention_heads": 10**6}, '"num_attention_heads" is 1,000,000; expected'),
    ({"num_local_experts": 10**6}, '"num_local_experts" is 1,000,000; expected'),
    ({"num_hidden_layers": 900, "num_local_experts": 4000}, "asks for 900 layers of 4,000 experts"),
    ({"text_config": {"num_hidden_layers": 10**5}}, '"text_config.num_hidden_layers" is 100,000; expected'),
    ({"vision_config": {"deep": {"hidden_size": 10**8}}}, '"vision_config.deep.hidden_size" is 100,000,000'),
    ({"layer_norm_eps": float("nan")}, '"layer_norm_eps" is not a number (NaN)'),
    ({"layer_norm_eps": -0.5}, '"layer_norm_eps" is -0.5; expected a number from 0 to 1'),
    ({"is_decoder": "yes"}, '"is_decoder" is "yes"; expected true or false'),
    ({"dtype": "load"}, '"dtype" is "load"; expected a type such as "float32"'),
    ({"auto_map": 3}, '"auto_map" is 3; expected an object'),
    ({"model_type": ["bert"]}, '"model_type" is a list of 1; expected text'),
    ({"model_type": None}, 'no "model_type" in it'),
    ({"configuration_files": ["config.1.0.json"]}, 'names another configuration in "configuration_files"'),
    ({"transformers_weights": "a.safetensors"}, 'names another file of weights in "transformers_weights"'),
    ({"_attn_implementation": "someone/kernel"}, '"_attn_implementation" is "someone/kernel", code from'),
]


@pytest.mark.parametrize(("changes", "said"), HOSTILE)
def test_numbers_that_decide_sizes_are_checked(changes: dict[str, Any], said: str, folder: Path) -> None:
    change(folder / "config.json", **changes)
    assert said in refused(folder)


def test_no_hostile_configuration_takes_memory_or_loads_torch(folder: Path) -> None:
    """In a process of its own, since its highest use of memory is what is measured."""
    told = json.loads((folder / "config.json").read_text())
    for i, (changes, _) in enumerate(HOSTILE):
        other = folder.parent / f"hostile-{i}"
        shutil.copytree(folder, other)
        (other / "config.json").write_text(json.dumps(told | changes))
    code = "import sys\nfrom pathlib import Path\nfrom langscape.errors import FileError\n"
    code += "from langscape.models import open_model\ncount = 0\n"
    code += f"for folder in Path({str(folder.parent)!r}).glob('hostile-*'):\n"
    code += "  try: open_model(folder)\n  except FileError: count += 1\n"
    code += "assert 'torch' not in sys.modules\n"
    # ru_maxrss would count what the parent held before the child became a program of its own
    code += "held = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
    code += "print(count, int(held) // 1024)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    count, megabytes = map(int, done.stdout.split())
    assert count == len(HOSTILE)
    assert megabytes < 150  # 60 are Python and NumPy


def test_a_configuration_that_asks_for_more_than_its_weights_is_refused_before_they_are_made(
    folder: Path,
) -> None:
    change(folder / "config.json", vocab_size=19_000_000, hidden_size=4096, intermediate_size=900_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileError, match=r"it asks for 10\d,\d{3},\d{3},\d{3} weights, but its files hold"):
        open_model(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 200_000


@pytest.mark.parametrize("deep", [13, 900, 100_000])
def test_nested_configurations_are_refused_at_any_depth(deep: int, folder: Path) -> None:
    text = (folder / "config.json").read_text().rstrip().removesuffix("}")
    (folder / "config.json").write_text(f'{text}, "a": {"[" * deep}{"]" * deep}}}')
    assert "nests lists and objects deeper than 12 levels" in refused(folder)
    with pytest.raises(FileError, match="deeper than 12 levels"):
        model_size(folder)


def test_code_that_a_known_model_brings_is_not_run(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('run')")
    change(folder / "config.json", auto_map={"AutoConfig": "evil.Config", "AutoModel": "evil.Model"})
    model = open_model(folder, device="cpu")
    assert any("names code of its own, which is not run" in note for note in model.notes)
    assert type(model.network).__module__.startswith("transformers.")


@pytest.mark.parametrize(
    ("shard", "said"),
    [
        ("pytorch_model.bin", "a pickle of torch, which can run code and is never read; convert it"),
        ("model.pt", "a pickle of torch"),
        ("../it/model-1.safetensors", "expected .safetensors files inside its folder"),
        ("/etc/model.safetensors", "expected .safetensors files inside its folder"),
        ("a\\..\\b.safetensors", "expected .safetensors files inside its folder"),
        ("a\0.safetensors", "expected .safetensors files inside its folder"),
        ("config.json", "expected .safetensors files inside its folder"),
        ("x" * 300 + ".safetensors", "expected .safetensors files inside its folder"),
        ("", "expected .safetensors files inside its folder"),
        (3, "into 3; expected the name of a .safetensors file"),
        (["a"], "into a list of 1; expected the name of a .safetensors file"),
    ],
)
def test_shards_are_safetensors_inside_the_folder(shard: Any, said: str, shards: Path) -> None:
    index = shards / "model.safetensors.index.json"
    told = json.loads(index.read_text())
    told["weight_map"][next(iter(told["weight_map"]))] = shard
    (shards / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    index.write_text(json.dumps(told))
    assert said in refused(shards)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "holds a JSON list; expected an object"),
        ("{", "is not JSON"),
        ('{"metadata": {}}', 'lacks "weight_map"; expected an object'),
        ('{"metadata": {}, "weight_map": 3}', '"weight_map" is 3; expected an object'),
        ('{"metadata": {}, "weight_map": {}}', "it names no shards"),
        ('{"metadata": 3, "weight_map": {"a": "b.safetensors"}}', '"metadata" is 3; expected an object'),
        ('{"metadata": {}, "weight_map": ' + "[" * 50_000, "nests lists and objects deeper"),
    ],
)
def test_an_index_is_an_object_of_shards(text: str, said: str, shards: Path) -> None:
    (shards / "model.safetensors.index.json").write_text(text)
    assert said in refused(shards)


def test_what_an_index_says_of_its_shards_is_true(shards: Path) -> None:
    index = shards / "model.safetensors.index.json"
    told = json.loads(index.read_text())
    first, second = sorted(set(told["weight_map"].values()))[:2]
    name = next(name for name, place in told["weight_map"].items() if place == first)
    change(index, weight_map=told["weight_map"] | {name: second})
    assert f'puts "{name}" into {second}, which does not hold it' in refused(shards)
    index.write_text(json.dumps(told))
    data = (shards / second).read_bytes()
    (shards / second).write_bytes(data[:-4])
    assert f"{second} is cut short" in refused(shards)
    (shards / second).unlink()
    os.mkfifo(shards / second)
    assert f"{second} is a named pipe" in refused(shards)


def test_the_one_file_is_taken_where_there_is_an_index_too(folder: Path) -> None:
    """As transformers takes it: the revision is that of the weights that are loaded."""
    before = model_revision(folder)
    told = {"metadata": {}, "weight_map": {"a": "pytorch_model.bin"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(told))
    assert open_model(folder, device="cpu").revision == before


def test_links_lead_into_the_folder_or_into_the_hubs_cache(folder: Path, tmp_path: Path) -> None:
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        shutil.copy(folder / name, tmp_path / name)
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / name)
        assert f"{name} is a link that leads out of the model's folder" in refused(folder)
        (folder / name).unlink()
        shutil.copy(tmp_path / name, folder / name)
    place = tmp_path / "hub" / "models--someone--tiny"
    snapshot = place / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (place / "blobs").mkdir()
    for path in folder.iterdir():
        shutil.copy(path, place / "blobs" / f"of-{path.name}")
        (snapshot / path.name).symlink_to(f"../../blobs/of-{path.name}")
    (tmp_path / "named").symlink_to(snapshot)
    ids = [5, 6, 7]
    for way in (snapshot, tmp_path / "named"):
        seen = capture(open_model(way, device="cpu"), ids)
        np.testing.assert_array_equal(
            seen["hidden"], capture(open_model(folder, device="cpu"), ids)["hidden"]
        )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tokenizer.json", "[" * 100_000, "tokenizer.json nests lists and objects deeper"),
        ("tokenizer.json", "{}", 'lacks "model"; expected an object'),
        ("tokenizer.json", '{"model": {"vocab": 3}}', '"vocab" is 3; expected words and their ids'),
        ("tokenizer.json", '{"model": {"vocab": {"a": -1}}}', "holds the id -1; expected whole numbers"),
        ("tokenizer.json", '{"model": {"vocab": {"a": 9e9}}}', "holds the id 9000000000.0; expected whole"),
        ("tokenizer.json", '{"model": {"vocab": {}}, "added_tokens": [3]}', '"added_tokens" is a list of 1'),
        (
            "tokenizer.json",
            '{"model": {"vocab": {}}, "added_tokens": [{"content": "a", "id": 4000000000}]}',
            '"id" is 4000000000; expected a whole number from 0 to 20,000,000',
        ),
        ("tokenizer.json", '{"model": {"vocab": {}}, "decoder": 3}', '"decoder" is 3; expected an object'),
        ("tokenizer_config.json", "3", "tokenizer_config.json holds a JSON whole number"),
        ("tokenizer_config.json", '{"tokenizer_class": 3}', '"tokenizer_class" is 3; expected text'),
        (
            "tokenizer_config.json",
            '{"model_max_length": "x"}',
            '"model_max_length" is "x"; expected a number',
        ),
        ("tokenizer_config.json", '{"init_inputs": ["/etc/passwd"]}', "names other files to read"),
        ("tokenizer_config.json", '{"fast_tokenizer_files": ["x"]}', "names other files to read"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"x": {}}}', 'holds "x"; expected an id'),
        ("special_tokens_map.json", "[]", "special_tokens_map.json holds a JSON list"),
        ("generation_config.json", "{", "generation_config.json is not JSON"),
        ("vocab.json", '{"a": "b"}', 'holds the id "b"; expected whole numbers'),
    ],
)
def test_files_of_a_tokenizer_are_checked(name: str, text: str, said: str, folder: Path) -> None:
    (folder / name).write_text(text)
    assert said in refused(folder)


def test_a_revision_reads_the_tokenizer_again_only_where_its_files_were_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langscape.models import model_revision, tokenizer_files

    read: list[Path] = []
    check = tokenizer_files.check_tokenizer_files
    monkeypatch.setattr(
        tokenizer_files, "check_tokenizer_files", lambda folder: (read.append(folder), check(folder))
    )
    before = model_revision(folder)
    assert model_revision(folder) == before
    assert read == [folder]
    (folder / "added_tokens.json").write_text('{"new": 3}')
    assert model_revision(folder) == before
    assert read == [folder, folder]
    (folder / "tokenizer.json").write_text("{}")
    for _ in range(2):
        with pytest.raises(FileError, match='lacks "model"'):
            model_revision(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "merges.txt", "model.safetensors"])
def test_a_pipe_in_a_files_place_is_not_waited_for(name: str, folder: Path) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    said = refused(folder)
    assert f"{name} is not a regular file" in said or f"{name} is a named pipe" in said


def test_an_adapter_is_not_a_model(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}')
    assert "holds an adapter (adapter_config.json)" in refused(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named(value: float, folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    name = sorted(weights)[3]
    weights[name].view(-1)[0] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(FileError, match=f"hold values that are not finite, in {name}"):
        open_model(folder)


def test_seventy_billion_weights_are_refused_before_anything_is_hashed_or_loaded(tmp_path: Path) -> None:
    """With 8 GB of memory, in each of two ways; torch is not even imported, and no weight is read."""
    folder = vast_folder(tmp_path / "vast")
    assert sum(path.stat().st_blocks for path in folder.iterdir()) * 512 < 2e6
    code = "import resource, sys\nresource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
    code += "from langscape.errors import SettingsError\n"
    code += "from langscape.models import model_revision, open_model\n"
    code += f"for way in (model_revision, open_model):\n  try: way({str(folder)!r})\n"
    code += "  except SettingsError as error: print(error)\n"
    code += "assert 'torch' not in sys.modules\n"
    code += "used = resource.getrusage(resource.RUSAGE_SELF)\nprint(used.ru_utime + used.ru_stime)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    first, again, seconds = done.stdout.splitlines()
    assert first.startswith(f"{folder} holds 70.6 billion weights, which need 282 GB as float32, but ")
    assert "even 141 GB as they are stored do not fit. Take a model of at most " in first
    assert again.startswith(f"{folder} holds 70.6 billion weights")
    assert float(seconds) < 2
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["atlas", "texts", "flow", "max-attention"])
def test_the_command_refuses_seventy_billion_weights_before_reading_them(
    tmp_path: Path, command: str
) -> None:
    """Neither torch nor transformers is imported, and of the 141 GB next to nothing is read."""
    folder = vast_folder(tmp_path / "vast")
    code = "import resource, sys\nresource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
    listed = tmp_path / "listed.txt"
    listed.write_text("tea\ncoffee\noslo\nparis\n")
    given = [str(listed), "--model", str(folder)] if command == "texts" else [str(folder)]
    code += f"from langscape.cli import main\nsys.argv = {['langscape', command, *given]!r}\n"
    code += "try: main()\nfinally:\n  print(*sorted({'torch', 'transformers'} & set(sys.modules)))\n"
    code += "  print(next(line for line in open('/proc/self/io') if line.startswith('rchar')).split()[1])\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LANGSCAPE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.startswith(f"error: {folder} holds 70.6 billion weights, which need 282 GB as float32")
    assert "Take a model of at most " in done.stderr
    assert "Traceback" not in done.stderr
    imported, read = done.stdout.splitlines()[-2:]
    assert imported == ""
    assert int(read) < 100e6


def test_what_would_fit_is_said(tmp_path: Path) -> None:
    weights = read_weights(vast_folder(tmp_path / "vast", layers=1), "it")
    assert (weights.bytes("float32"), weights.bytes("stored")) == (4 * weights.count, 2 * weights.count)
    check_fits(weights, "it", "float32", available=20_000_000_000)
    check_fits(weights, "it", "stored", available=10_000_000_000)
    check_fits(weights, "it", "float32", available=None)
    with pytest.raises(SettingsError) as raised:
        check_fits(weights, "it", "float32", available=10_000_000_000)
    assert str(raised.value) == (
        "it holds 3.0 billion weights, which need 12 GB as float32, but 10 GB are available; "
        'open_model(…, precision="stored") needs 5.9 GB, or take a model of at most 2.2 billion weights'
    )
    with pytest.raises(SettingsError, match=r"as they are stored, but 2\.0 GB are available; take a model"):
        check_fits(weights, "it", "stored", available=2_000_000_000)


def test_a_model_that_cannot_run_as_configured_is_said(folder: Path) -> None:
    change(folder / "config.json", chunk_size_feed_forward=7)
    with pytest.raises(DataError, match="BertModel cannot be run as its configuration has it: "):
        capture(open_model(folder, device="cpu"), [5, 6, 7])


def test_a_tokenizer_of_another_model_is_said(folder: Path) -> None:
    told = json.loads((folder / "tokenizer.json").read_text())
    told["model"]["vocab"]["red"] = 10_000
    (folder / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(DataError, match="gives token id 10000, outside its vocabulary of 0 to 59"):
        capture(open_model(folder, device="cpu"), "the red lamp")


def test_a_panic_in_a_tokenizer_is_one_error(folder: Path) -> None:
    """A panic of Rust is no Exception: it went through every handler."""
    told = json.loads((folder / "tokenizer.json").read_text())
    del told["post_processor"]["special_tokens"]["[SEP]"]
    (folder / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(LangscapeError, match=r"the tokenizer of .* cannot"):
        capture(open_model(folder, device="cpu"), "the red lamp")


def test_an_unknown_token_that_is_not_in_the_vocabulary_is_said_on_opening(folder: Path) -> None:
    change(folder / "tokenizer_config.json", unk_token="")
    with pytest.raises(FileError, match=r"the tokenizer of .* cannot be read: maximum recursion"):
        open_model(folder)


def test_a_model_may_have_several_ends(folder: Path) -> None:
    """As Llama 3 has; a list of them was a crash."""
    change(folder / "config.json", eos_token_id=[2, 3])
    assert open_model(folder, device="cpu").layers == 3
    change(folder / "config.json", eos_token_id=["a"])
    assert '"eos_token_id" is a list of 1; expected a whole number' in refused(folder)


def test_a_decoder_without_a_start_is_said(tmp_path: Path) -> None:
    built(PAIRS["t5"]).save_pretrained(tmp_path)
    change(tmp_path / "config.json", decoder_start_token_id=None)
    with pytest.raises(DataError, match="names no decoder_start_token_id"):
        capture(open_model(tmp_path, device="cpu"), [5, 6, 7], target=[5, 6])


VALUES = [
    3, -1, 0, 1e9, 10**9, 10**4, 10**30, 1e400, float("nan"), -2.5, "", "x", "../x", None, True, [], [1, "a"],
    {}, {"a": {"b": 1}}, [[[[]]]], "\ud800",
]  # fmt: skip
MORE = ("num_labels", "id2label", "auto_map", "text_config", "quantization_config", "dtype", "rope_scaling")


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    keys = value if isinstance(value, dict) else range(min(len(value), 3)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*at, key))


def mutants(told: Any, count: int, more: tuple[str, ...] = ()) -> Iterator[Any]:
    """The value with another one in one place, or with that place gone."""
    pick = random.Random(0)
    every = [*places(told), *((name,) for name in more)]
    for _ in range(count):
        at, other = pick.choice(every), pick.choice([*VALUES, "gone"])
        if not at:
            yield other
            continue
        made = inner = copy.deepcopy(told)
        for key in at[:-1]:
            inner = inner[key]
        if other == "gone" and (isinstance(inner, list) or at[-1] in inner):
            del inner[at[-1]]
        else:
            inner[at[-1]] = other
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name", "count"),
    [
        (ENCODERS["bert with a head"], "config.json", 60),
        (DECODERS["llama"], "config.json", 60),
        (ENCODERS["bert"], "model.safetensors.index.json", 80),
        (ENCODERS["bert"], "tokenizer.json", 40),
        (ENCODERS["bert"], "tokenizer_config.json", 40),
    ],
)
def test_every_mutant_is_one_error_or_opens(make: Any, name: str, count: int, tmp_path: Path) -> None:
    built(make).save_pretrained(tmp_path, max_shard_size="20KB" if "index" in name else "1GB")
    tokenizer().save_pretrained(tmp_path)
    file = tmp_path / name
    opened = 0
    for mutant in mutants(json.loads(file.read_text()), count, MORE if name == "config.json" else ()):
        file.write_text(json.dumps(mutant))
        said, seen = "", None
        try:
            seen = capture(open_model(tmp_path, device="cpu"), "the red lamp hung over")
        except LangscapeError as error:
            said = str(error)
        assert "\n" not in said, mutant
        assert len(said) < 500, mutant
        if seen is not None:
            opened += 1
            assert all(np.isfinite(array).all() for array in seen.arrays.values()), mutant
    assert 0 < opened < count
