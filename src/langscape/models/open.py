"""A name → an opened Model: packaged, in a folder, or on the Hub.

transformers, which takes seconds to load, is loaded where the model is one of its own.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, Literal

from langscape.errors import FileError, MissingError, SettingsError
from langscape.models.extra import extra
from langscape.models.lstm_file import is_lstm, load_lstm
from langscape.models.model import Model, chosen_device
from langscape.models.packaged import PACKAGED, SHIPPED, model_path, shipped_path

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_OURS = (*PACKAGED, *SHIPPED)
_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "model*.safetensors"]


def open_model(
    name: str | os.PathLike[str], device: str = "auto", *, precision: Literal["float32", "stored"] = "float32"
) -> Model:
    """The model of that name, in eval mode: "default", "decoder", "lstm", "lstm-tiny", a folder, or a Hub id.

    A Hub id is looked for in the local cache first, so that a model once fetched opens offline.
    precision="stored" keeps half-precision weights as they are, for models that would not fit;
    what is captured is float32 either way.

    >>> from langscape.models import get_model
    >>> _ = get_model("default")
    >>> open_model("default", device="cpu")
    Model('default', encoder, 6 layers × 12 heads, cpu)
    """
    if precision not in ("float32", "stored"):
        raise SettingsError(f'precision {precision!r} is not known; use "float32" or "stored"')
    place = chosen_device(device)
    called = os.fspath(name)
    folder, revision = _found(called)
    if is_lstm(folder):
        return load_lstm(folder, called, model_revision(folder), place)
    told = _told(folder)
    revision = revision or _digest([folder / "config.json", *_weights(folder, called)])
    with extra():
        from langscape.models.load import load_transformer
    return load_transformer(folder, called, told, revision, place, precision)


def model_revision(name: str | os.PathLike[str]) -> str:
    """What `open_model(name).revision` will say, without loading the weights into memory."""
    called = os.fspath(name)
    folder, revision = _found(called)
    _told(folder)
    return revision or _digest([folder / "config.json", *_weights(folder, called)])


def folder_of(name: str) -> Path:
    """The folder of a model, fetched where it must be."""
    return _found(name)[0]


def _found(name: str) -> tuple[Path, str]:
    """The folder of a model and, where it is known without reading the weights, its revision."""
    if name in SHIPPED:
        return shipped_path(name), ""
    if name in PACKAGED:
        folder = model_path(name)
        return folder, PACKAGED[name].sha256
    path = Path(name).expanduser()
    if path.is_dir():
        return path, ""
    if path.is_file():
        raise FileError(
            f"{name} is a file; give the folder that holds it, with config.json and model.safetensors"
        )
    if path.is_absolute() or name.startswith((".", "~")) or not _HUB_ID.fullmatch(name):
        raise FileError(
            f"there is no folder {name}; give a folder, a Hub id such as google/flan-t5-small, "
            f"or one of {', '.join(_OURS)}"
        )
    if near := difflib.get_close_matches(name, _OURS, n=1, cutoff=0.75):
        # no model of the Hub is called so; asking there would take a network, and say less
        raise MissingError(
            f"there is no model {name}; did you mean {near[0]}? {', '.join(_OURS)} come with langscape, "
            f"others are folders or Hub ids such as google/flan-t5-small"
        )
    return _fetched(name)


def _fetched(name: str) -> tuple[Path, str]:
    with extra():
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

        from langscape.models.load import quiet

    def snapshot(local: bool) -> Path:
        with quiet():
            got = snapshot_download(
                name, allow_patterns=_FILES, ignore_patterns=["*/*"], local_files_only=local, etag_timeout=10
            )
        return Path(got)

    try:
        folder = snapshot(local=True)
        if (folder / "config.json").is_file() and list(folder.glob("*.safetensors")):
            return folder, folder.name
    except LocalEntryNotFoundError:
        pass
    try:
        folder = snapshot(local=False)
    except GatedRepoError:
        raise MissingError(
            f"{name} asks for an agreement on its Hub page; log in with `hf auth login`"
        ) from None
    except RepositoryNotFoundError:
        raise MissingError(
            f"there is no model {name} on the Hub, nor a folder of that name here; "
            f"{', '.join(_OURS)} come with langscape"
        ) from None
    except Exception as error:
        # what is raised without a network says only that the cache lacks the model, which is said here
        why = "" if isinstance(error, LocalEntryNotFoundError) else f" ({type(error).__name__})"
        raise MissingError(
            f"{name} is not a folder here, not in the Hub's cache, and could not be fetched{why}. "
            f"Fetch it where there is a network with `hf download {name}`, bring the folder here and open it "
            f"by its path; or open one of {', '.join(_OURS)}, which come with langscape"
        ) from None
    return folder, folder.name


def config_of(folder: Path, name: str) -> Any:
    """The configuration in a model's folder; name is what the user called it."""
    told = _told(folder)
    with extra():
        from langscape.models.load import config_from
    return config_from(folder, name, told)


def _told(folder: Path) -> dict[str, Any]:
    """What config.json says, with the type of the model in it."""
    path = folder / "config.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        told["model_type"]
    except OSError as error:
        raise FileError(
            f"{path} cannot be read: {error.strerror}; a model folder holds config.json"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise FileError(
            f'{path} is not the configuration of a transformers model (no "model_type" in it)'
        ) from None
    return told


def _weights(folder: Path, name: str) -> list[Path]:
    """The files of weights, all there."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(f"{index} is damaged: it names no shards; fetch the model again") from None
        missing = [shard for shard in shards if not (folder / shard).is_file()]
        if missing:
            raise FileError(
                f"{folder} lacks {len(missing)} of {len(shards)} files of weights, first {missing[0]}"
            )
        return [folder / shard for shard in shards]
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    others = sorted(
        p.name for suffix in ("bin", "pt", "h5", "msgpack", "gguf") for p in folder.glob(f"*.{suffix}")
    )
    told = f"; {others[0]} is not read: a pickle can run code, other formats are not ours" if others else ""
    raise FileError(
        f"{name} holds no model.safetensors{told}. Save it anew with `model.save_pretrained(folder)`"
    )


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
