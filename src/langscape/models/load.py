"""A folder → what transformers makes of it: network and tokenizer; safetensors only, no code of theirs."""

from __future__ import annotations

import contextlib
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import safe_open
from transformers.utils import logging

from langscape.errors import FileError, LangscapeError, MissingError, SettingsError
from langscape.memory_limits import check_memory
from langscape.models.config import check_quantization
from langscape.models.faults import first_line, is_fault
from langscape.models.model import Kind, Model, kind_of
from langscape.models.tokenizer_files import FILES
from langscape.models.weight_files import Weights


@dataclass(frozen=True)
class Loading:
    """In which precision and where a model is loaded; the last two are those of transformers."""

    precision: str
    place: torch.device
    device_map: Any = None
    quantization_config: Any = None

    @property
    def dtype(self) -> Any:
        """What transformers calls the precision."""
        return "auto" if self.precision == "stored" else getattr(torch, self.precision)


def quantization(called: str) -> Any:
    """The configuration of bitsandbytes that "8bit" or "4bit" stands for; None for nothing."""
    if not called:
        return None
    if importlib.util.find_spec("bitsandbytes") is None:
        raise MissingError(
            f"{called} needs the package bitsandbytes, which is not installed; install it, or say @bfloat16"
        )
    asked: dict[str, Any] = {f"load_in_{called}": True}
    return transformers.BitsAndBytesConfig(**asked)


def load_transformer(
    folder: Path,
    name: str,
    parsed: Mapping[str, Any],
    weights: Weights,
    revision: str,
    loading: Loading,
) -> Model:
    """The model in a folder, in eval mode on its device; `told` is what its config.json says.

    `weights` is what its files of weights declare.
    """
    check_quantization(parsed.get("quantization_config"), name)
    config = config_from(folder, name, parsed)
    kind = kind_of(config)
    network, notes = _load(folder, name, config, kind, weights, loading)
    network.requires_grad_(False)
    _check_in_memory(network, name)
    _check_finite(weights, name)
    if parsed.get("auto_map"):
        notes = (*notes, f"{name} names code of its own, which is not run; that of transformers is")
    tokenizer = None if kind == "vision" else read_tokenizer(folder, name)
    if tokenizer is None and kind != "vision":
        notes = (*notes, f"{name} has no tokenizer; give token ids")
    if loading.device_map is None and loading.quantization_config is None:
        try:
            network.to(loading.place)  # type: ignore[arg-type]
        except RuntimeError as error:
            raise SettingsError(
                f'{name} does not fit on {loading.place}: {error}; say device="cpu"'
            ) from None
    return Model(network.eval(), tokenizer, kind, name, revision, notes)


def _check_in_memory(network: Any, name: str) -> None:
    away = [key for key, one in network.named_parameters() if one.device.type == "meta"]
    if away:
        raise SettingsError(
            f"{len(away)} weights of {name} would lie on disk, first {away[0]}, and cannot be run there; "
            "give a device_map that keeps all in memory, or a smaller precision"
        )


def _check_finite(weights: Weights, name: str) -> None:
    """Refuse NaN and infinity. The files are read beside the network, which leaves its weights on disk."""
    for path in weights.files:
        with safe_open(path, framework="pt") as file:
            for key in file.keys():  # noqa: SIM118  it is no mapping
                value = file.get_tensor(key)
                # a sum is quick, and finite only where all is; of half precision it may overflow
                if (
                    value.is_floating_point()
                    and not torch.isfinite(value.float().sum())
                    and not torch.isfinite(value.float()).all()
                ):
                    raise FileError(
                        f"the weights of {name} hold values that are not finite, in {key}; "
                        "fetch or train it anew"
                    )


def config_from(folder: Path, name: str, parsed: Mapping[str, Any]) -> Any:
    """The configuration that transformers reads from a folder whose config.json says `told`."""
    called = parsed["model_type"]
    if called not in transformers.CONFIG_MAPPING:
        own = "; it brings code of its own, which is never run here" if "auto_map" in parsed else ""
        raise FileError(
            f"{name} is of type {called!r}, which transformers {transformers.__version__} does not know{own}"
        )
    try:
        with quiet():
            return transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        raise FileError(f"{folder / 'config.json'} does not describe a model: {first_line(error)}") from None


def _check_declared(network_class: Any, name: str, config: Any, weights: Weights, precision: str) -> None:
    """Refuse a configuration that asks for far more than the files of weights hold, or than fits.

    What a file lacks is made up by transformers before it says so. On the device "meta" a network is
    built without memory, whatever its size.
    """
    try:
        with quiet(), torch.device("meta"):
            built = network_class.from_config(config, trust_remote_code=False)
    except Exception as error:
        raise FileError(f"the config.json of {name} does not describe a model: {first_line(error)}") from None
    asked = sum(value.numel() for value in built.parameters())
    # packed weights of 4 bits are eight to a number; a head or a pooler may be lacking
    if asked > 10 * weights.count + 1_000_000:
        raise FileError(
            f"the weights of {name} do not fit its config.json: it asks for {asked:,} weights, but its "
            f"files hold {weights.count:,}; fetch the model again"
        )
    width = 4 if precision == "float32" else 2
    tables = sum(value.numel() * value.element_size() for value in built.buffers())
    check_memory(
        asked * width + tables,
        f"the weights and tables that the config.json of {name} asks for",
        "take a smaller model, or free memory",
        kind=SettingsError,
    )


def _load(
    folder: Path, name: str, config: Any, kind: Kind, weights: Weights, loading: Loading
) -> tuple[Any, tuple[str, ...]]:
    """The network with the head its weights hold, and notes on what they lack."""
    heads = {"decoder": "AutoModelForCausalLM", "encoder-decoder": "AutoModelForSeq2SeqLM"}
    wanted = heads.get(kind, "AutoModel")
    saved = (getattr(config, "architectures", None) or [""])[0]
    if kind == "encoder" and saved.endswith("ForMaskedLM"):
        wanted = "AutoModelForMaskedLM"
    if kind == "encoder" and saved.endswith("ForSequenceClassification"):
        wanted = "AutoModelForSequenceClassification"
    _check_declared(getattr(transformers, wanted), name, config, weights, loading.precision)
    settings: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True, "use_safetensors": True}
    settings |= {"attn_implementation": "eager", "output_loading_info": True, "config": config}
    settings["dtype"] = loading.dtype
    if loading.device_map is not None or loading.quantization_config is not None:
        if importlib.util.find_spec("accelerate") is None:
            raise MissingError("device_map needs the package accelerate, which is not installed; install it")
        settings |= {"device_map": loading.device_map or {"": loading.place}}
        settings |= {"quantization_config": loading.quantization_config}
    try:
        with quiet():
            network, info = getattr(transformers, wanted).from_pretrained(folder, **settings)
            lacking = set(info["missing_keys"])
            if lacking and wanted != "AutoModel" and not _of_trunk(network, lacking):
                network, info = transformers.AutoModel.from_pretrained(folder, **settings)
                lacking = set(info["missing_keys"])
    except LangscapeError:
        raise
    except ImportError as error:
        raise MissingError(f"{name} needs a package to be opened so: {first_line(error)}") from None
    except Exception as error:
        if loading.device_map is not None or loading.quantization_config is not None:
            raise SettingsError(
                f"{name} cannot be opened with this device_map or quantization_config: {first_line(error)}"
            ) from None
        raise FileError(
            f"the weights of {name} cannot be read: {first_line(error)}; fetch the model again"
        ) from None
    serious = {key for key in lacking if "pooler" not in key}
    if serious or info.get("mismatched_keys"):
        bad = sorted(serious) or sorted(str(key) for key in info["mismatched_keys"])
        raise FileError(
            f"the weights of {name} do not fit its config.json: {len(bad)} are missing or of another shape, "
            f"first {bad[0]}"
        )
    return network, ("the pooler has no weights in the file and is not used",) if lacking else ()


def _of_trunk(network: Any, keys: set[str]) -> bool:
    prefix = f"{network.base_model_prefix}."
    return any(key.startswith(prefix) for key in keys)


def read_tokenizer(folder: Path, name: str) -> Any:
    """The tokenizer in a folder; None where it holds none."""
    if not any((folder / one).is_file() for one in FILES):
        return None
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
            # special tokens that are not in its vocabulary are met here, not at the first text
            _ = tokenizer.all_special_ids, tokenizer.unk_token_id, tokenizer.mask_token_id
            return tokenizer
    except ImportError as error:
        raise MissingError(
            f"the tokenizer of {name} needs a package that is not here: {first_line(error)}"
        ) from None
    except BaseException as error:
        if not is_fault(error):
            raise
        raise FileError(f"the tokenizer of {name} in {folder} cannot be read: {first_line(error)}") from None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Bars and warnings of other libraries held back; what matters is said by us."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    bars, hub_bars = logging.is_progress_bar_enabled(), not are_progress_bars_disabled()
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    disable_progress_bars()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if hub_bars:
            enable_progress_bars()
