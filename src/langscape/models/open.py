"""A name → an opened Model: packaged, in a folder, or on the Hub; safetensors only, and no code of theirs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from transformers.utils import logging

from langscape.errors import FileError, LangscapeError, MissingError, SettingsError
from langscape.models.lstm_file import is_lstm, load_lstm
from langscape.models.model import Kind, Model, chosen_device, kind_of
from langscape.models.packaged import PACKAGED, SHIPPED, model_path, shipped_path

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
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
    config = config_of(folder, called)
    kind = kind_of(config)
    files = _weights(folder, called)
    network, notes = _load(folder, called, config, kind, precision)
    network.requires_grad_(False)
    tokenizer = None if kind == "vision" else _tokenizer(folder, called)
    if tokenizer is None and kind != "vision":
        notes = (*notes, f"{called} has no tokenizer; give token ids")
    revision = revision or _digest([folder / "config.json", *files])
    try:
        network.to(place)  # type: ignore[arg-type]
    except RuntimeError as error:
        raise SettingsError(f'{called} does not fit on {place}: {error}; say device="cpu"') from None
    return Model(network.eval(), tokenizer, kind, called, revision, notes)


def model_revision(name: str | os.PathLike[str]) -> str:
    """What `open_model(name).revision` will say, without loading the weights into memory."""
    called = os.fspath(name)
    folder, revision = _found(called)
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
            f"or one of {', '.join((*PACKAGED, *SHIPPED))}"
        )
    return _fetched(name)


def _fetched(name: str) -> tuple[Path, str]:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

    def snapshot(local: bool) -> Path:
        with _quiet():
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
        raise MissingError(f"there is no model {name} on the Hub, nor a folder of that name here") from None
    except Exception as error:
        raise MissingError(
            f"{name} is not a folder here, not in the Hub's cache, and could not be fetched "
            f"({type(error).__name__}). Fetch it where there is a network with "
            f"`hf download {name}`, bring the folder here and open it by its path; or open "
            f"{' or '.join(repr(one) for one in PACKAGED)}"
        ) from None
    return folder, folder.name


def config_of(folder: Path, name: str) -> Any:
    """The configuration in a model's folder; name is what the user called it."""
    path = folder / "config.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        called = told["model_type"]
    except OSError as error:
        raise FileError(
            f"{path} cannot be read: {error.strerror}; a model folder holds config.json"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise FileError(
            f'{path} is not the configuration of a transformers model (no "model_type" in it)'
        ) from None
    if called not in transformers.CONFIG_MAPPING:
        own = "; it brings code of its own, which is never run here" if "auto_map" in told else ""
        raise FileError(
            f"{name} is of type {called!r}, which transformers {transformers.__version__} does not know{own}"
        )
    try:
        with _quiet():
            return transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        raise FileError(f"{path} does not describe a model: {_first_line(error)}") from None


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


def _load(folder: Path, name: str, config: Any, kind: Kind, precision: str) -> tuple[Any, tuple[str, ...]]:
    """The network with the head its weights hold, and notes on what they lack."""
    heads = {"decoder": "AutoModelForCausalLM", "encoder-decoder": "AutoModelForSeq2SeqLM"}
    wanted = heads.get(kind, "AutoModel")
    saved = (getattr(config, "architectures", None) or [""])[0]
    if kind == "encoder" and saved.endswith("ForMaskedLM"):
        wanted = "AutoModelForMaskedLM"
    settings: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True, "use_safetensors": True}
    settings |= {"attn_implementation": "eager", "output_loading_info": True, "config": config}
    settings["dtype"] = torch.float32 if precision == "float32" else "auto"
    try:
        with _quiet():
            network, told = getattr(transformers, wanted).from_pretrained(folder, **settings)
            lacking = set(told["missing_keys"])
            if lacking and wanted != "AutoModel" and not _of_trunk(network, lacking):
                network, told = transformers.AutoModel.from_pretrained(folder, **settings)
                lacking = set(told["missing_keys"])
    except LangscapeError:
        raise
    except Exception as error:
        raise FileError(
            f"the weights of {name} cannot be read: {_first_line(error)}; fetch the model again"
        ) from None
    serious = {key for key in lacking if "pooler" not in key}
    if serious or told.get("mismatched_keys"):
        bad = sorted(serious) or sorted(str(key) for key in told["mismatched_keys"])
        raise FileError(
            f"the weights of {name} do not fit its config.json: {len(bad)} are missing or of another shape, "
            f"first {bad[0]}"
        )
    return network, ("the pooler has no weights in the file and is not used",) if lacking else ()


def _of_trunk(network: Any, keys: set[str]) -> bool:
    prefix = f"{network.base_model_prefix}."
    return any(key.startswith(prefix) for key in keys)


def _tokenizer(folder: Path, name: str) -> Any:
    names = (
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
        "vocab.json",
        "spiece.model",
        "tokenizer.model",
    )
    if not any((folder / one).is_file() for one in names):
        return None
    try:
        with _quiet():
            return transformers.AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except ImportError as error:
        raise MissingError(
            f"the tokenizer of {name} needs a package that is not here: {_first_line(error)}"
        ) from None
    except Exception as error:
        raise FileError(f"the tokenizer of {name} in {folder} cannot be read: {_first_line(error)}") from None


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Bars and warnings of other libraries held back; what matters is said by us."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    bars, hub_bars = logging.is_progress_bar_enabled(), not are_progress_bars_disabled()
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    disable_progress_bars()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if hub_bars:
            enable_progress_bars()
