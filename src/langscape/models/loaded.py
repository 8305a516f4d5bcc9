"""A model that somebody already holds → Model. Nothing about it is changed, now or by what is run later.

What may hold the network (a compiled module, a pipeline, a PEFT model, a sentence encoder) is told by the
names of its classes, so that none of these packages is imported here.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from langscape.errors import SettingsError
from langscape.models.config import check_quantization
from langscape.models.lstm import LSTMModel
from langscape.models.model import Model, wrap_model
from langscape.models.tokenizer_files import check_tokenizer_files

_LOCKS: weakref.WeakKeyDictionary[torch.nn.Module, Any] = weakref.WeakKeyDictionary()
"""One lock for each network, however often it is opened: a run sets and puts back its mode."""

Inner = tuple[Any, Any, str]
"""What a wrapper holds: the model, its tokenizer where it has one, and a note."""


def loaded_model(x: Any, tokenizer: Any = None) -> Model:
    """The Model of an object: a transformers model, or what holds one; its tokenizer is looked for by name.

    `tokenizer` may be a tokenizer, or the name of one in a folder or in the Hub's cache.
    """
    if isinstance(x, Model):
        if tokenizer is not None and isinstance(x, LSTMModel):
            raise SettingsError(f"{x.name} is an LSTM and reads by its own words; leave tokenizer out")
        return x if tokenizer is None else replace(x, tokenizer=_checked(tokenizer))
    network, found, notes = x, None, []
    while (inner := _inner(network)) is not None:
        network, own, note = inner
        found = found if own is None else own
        notes += [note] if note else []
    _check(network)
    called = str(getattr(network, "name_or_path", "") or "")
    if tokenizer is None and found is None:
        found = _tokenizer_of(called)
    given = found if tokenizer is None else _checked(tokenizer)
    model = wrap_model(network, given, name=Path(called).name or type(network).__name__)
    if given is None and model.kind != "vision":
        notes.append(f"{model.name} came without a tokenizer; give tokenizer=, or token ids")
    lock = _LOCKS.setdefault(network, threading.RLock())
    return replace(model, notes=tuple(notes), lock=lock)


def is_model(x: Any) -> bool:
    """Whether `loaded_model` would take it; nothing is loaded for it."""
    if isinstance(x, Model):
        return True
    while (inner := _inner(x, notes=False)) is not None:
        x = inner[0]
    return _named(x, "PreTrainedModel", "transformers")


def _check(network: Any) -> None:
    called = type(network).__name__
    if isinstance(network, torch.nn.Module) and not _named(network, "PreTrainedModel", "transformers"):
        raise SettingsError(
            f"{called} is a torch module, but no transformers model; of an LSTM language model make one with "
            "langscape.models.wrap_lstm(network, words=…)"
        )
    if not isinstance(network, torch.nn.Module):
        raise SettingsError(
            f"a {called} is no model; give a name, a folder, a transformers model or pipeline, a PEFT model "
            "or a SentenceTransformer"
        )
    check_quantization(getattr(getattr(network, "config", None), "quantization_config", None), called)
    away = [name for name, one in network.named_parameters() if one.device.type == "meta"]
    if away:
        raise SettingsError(
            f"{len(away)} weights of {called} are not in memory, first {away[0]}; load it without offload, "
            'for example with device_map={"": "cpu"}'
        )


def _inner(x: Any, *, notes: bool = True) -> Inner | None:
    """What a wrapper holds; None where it is no wrapper that is known."""
    for name, package, opened in _WRAPPERS:
        if _named(x, name, package):
            return opened(x, notes)
    return None


def _named(x: Any, name: str, package: str) -> bool:
    """Whether it is of a class of that name, or of one made from it."""
    return any(one.__name__ == name and one.__module__.split(".")[0] == package for one in type(x).__mro__)


def _compiled(x: Any, notes: bool) -> Inner:
    return x._orig_mod, None, "the model is compiled; its own modules were run, as they were before"


def _parallel(x: Any, notes: bool) -> Inner:
    return x.module, None, ""


def _pipeline(x: Any, notes: bool) -> Inner:
    return x.model, x.tokenizer, ""


def _sentence_encoder(x: Any, notes: bool) -> Inner:
    first = x[0]
    network = getattr(first, "auto_model", None)
    if network is None:
        raise SettingsError(
            f"the first module of this SentenceTransformer is a {type(first).__name__}, which has no "
            "transformer; give its vectors instead: langscape.look(encoder.encode(texts), labels=texts)"
        )
    return network, getattr(x, "tokenizer", None), ""


def _adapted(x: Any, notes: bool) -> Inner:
    """The model below an adapter, whose layers are in its place; a learnt prompt is no layer."""
    if getattr(getattr(x, "active_peft_config", None), "is_prompt_learning", False):
        raise SettingsError(
            "this PEFT model learnt a prompt, which is put before every text and is not run here; give the "
            "model itself: held.get_base_model()"
        )
    network = x.get_base_model()
    return network, None, _adapter_note(x, network) if notes else ""


def _adapter_note(x: Any, network: Any) -> str:
    names = getattr(x, "active_adapters", None) or getattr(x, "active_adapter", "")
    called = names if isinstance(names, str) else ", ".join(names)
    layers = [one for one in network.modules() if _named(one, "BaseTunerLayer", "peft")]
    if layers and all(one.disable_adapters for one in layers):
        return f"the adapter {called} is switched off: the model was run without it"
    if any(one.merged for one in layers):
        return f"the adapter {called} is merged into the weights"
    return f"the adapter {called} is applied beside the weights, not merged"


_WRAPPERS: tuple[tuple[str, str, Callable[[Any, bool], Inner]], ...] = (
    ("OptimizedModule", "torch", _compiled),
    ("DataParallel", "torch", _parallel),
    ("DistributedDataParallel", "torch", _parallel),
    ("Pipeline", "transformers", _pipeline),
    ("PeftModel", "peft", _adapted),
    ("SentenceTransformer", "sentence_transformers", _sentence_encoder),
)
"""Class, package and what it holds."""


def _checked(tokenizer: Any) -> Any:
    if isinstance(tokenizer, str | Path):
        found = _tokenizer_of(str(tokenizer))
        if found is None:
            raise SettingsError(
                f"there is no tokenizer {tokenizer} in a folder or in the Hub's cache; give one that is "
                "loaded, or fetch it first with `hf download`"
            )
        return found
    if not callable(tokenizer) or not hasattr(tokenizer, "is_fast"):
        raise SettingsError(
            f"tokenizer is a {type(tokenizer).__name__}; give one of transformers, such as "
            "AutoTokenizer.from_pretrained(name)"
        )
    return tokenizer


def _tokenizer_of(called: str) -> Any:
    """The tokenizer in a folder, or of a Hub id that was fetched before; None where there is none."""
    from langscape.models.load import read_tokenizer

    folder = Path(called).expanduser() if called else None
    if folder is not None and not folder.is_dir():
        folder = _cached(called)
    if folder is None:
        return None
    check_tokenizer_files(folder)
    return read_tokenizer(folder, called)


def _cached(called: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(called, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        return None
