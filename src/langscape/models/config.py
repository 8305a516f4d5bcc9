"""config.json of a model's folder, checked before any library sees it. No torch.

transformers allocates by what it reads there: a billion labels take 10 GB before any weight is looked at.
Limits are far above every published model, and hold in nested configurations too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langscape.errors import FileError, SettingsError
from langscape.io import strict_json
from langscape.io.strict_json import shown

LSTM = "langscape-lstm"
"""The type of the models that `LSTMModel.save` writes."""

_LARGEST = 64_000_000  # an LSTM's words stand in it

_MOST: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), most)
    for pattern, most in (
        (r"(^|_)vocab", 20_000_000),
        (r"labels$", 100_000),
        (r"(^|_)(layers?|blocks|depth|depths|groups?|group_num)$", 1_000),
        (r"(^|_)(heads?|experts|codebooks)$|experts_per|num_experts", 4_096),
        (r"position|(^|_)(n_ctx|seq_length|seq_len|context_length)$", 200_000_000),
        (
            r"(^|_)(size|sizes|dim|dims|width|rank|channels|features|inner|embd|model|ff|kv|buckets|stride)$",
            1_000_000,
        ),
    )
)
_ANY_NUMBER = 10**15

_COUNTS = frozenset((
    "d_ff", "d_kv", "d_model", "decoder_attention_heads", "decoder_ffn_dim", "decoder_layers", "dim",
    "embedding_size", "encoder_attention_heads", "encoder_ffn_dim", "encoder_layers", "ffn_dim", "head_dim",
    "hidden_dim", "hidden_size", "inner_group_num", "intermediate_size", "max_position_embeddings",
    "moe_intermediate_size", "n_embd", "n_head", "n_heads", "n_inner", "n_layer", "n_layers", "n_positions",
    "n_routed_experts", "num_attention_heads", "num_channels", "num_decoder_layers", "num_experts",
    "num_experts_per_tok", "num_heads", "num_hidden_groups", "num_hidden_layers", "num_key_value_heads",
    "num_labels", "num_layers", "num_local_experts", "type_vocab_size", "vocab_size", "word_embed_proj_dim",
))  # fmt: skip
_TRUTHS = (
    "is_decoder",
    "is_encoder_decoder",
    "add_cross_attention",
    "tie_word_embeddings",
    "output_attentions",
)
_ELSEWHERE = {
    "configuration_files": "another configuration",
    "transformers_weights": "another file of weights",
}
_FLOATS = re.compile(r"(torch\.)?(float(16|32|64)|bfloat16|half|float|double|float8_\w{1,20}|auto)")


def model_type(folder: Path) -> str:
    """The type of the model in a folder, whose config.json must be a JSON object that says it."""
    return strict_json.field(_read(folder), "model_type", "text", str(folder / "config.json"))


def is_lstm(folder: Path) -> bool:
    """Whether a folder holds a model that `LSTMModel.save` wrote."""
    try:
        return model_type(folder) == LSTM
    except FileError:
        return False


def read_config(folder: Path) -> dict[str, Any]:
    """What the config.json of a transformers model says, every number that decides a size in its range."""
    parsed = _read(folder)
    where = str(folder / "config.json")
    if not parsed.get("model_type"):
        raise FileError(f'{where} is not the configuration of a transformers model (no "model_type" in it)')
    strict_json.field(parsed, "model_type", "text", where)
    if parsed.get("architectures") is not None:
        strict_json.texts(parsed["architectures"], '"architectures"', where)
    for name, what in _ELSEWHERE.items():
        if parsed.get(name) is not None:
            raise FileError(f"{where} names {what} in {shown(name)}, which is not read; save the model anew")
    for part, values in _parts(parsed, ""):
        _check_part(part, values, where)
    return parsed


def _read(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        raise FileError(f"{path} cannot be read: No such file or directory; a model folder holds config.json")
    return strict_json.read_object(path, largest=_LARGEST, deepest=12)


def _parts(parsed: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in a configuration with the dotted name it goes by; names that are data are left out."""
    yield name, parsed
    for key, value in parsed.items():
        if isinstance(value, dict) and key not in ("id2label", "label2id", "auto_map"):
            yield from _parts(value, f"{name}{key}.")


def _check_part(part: str, values: dict[str, Any], where: str) -> None:
    for key, value in values.items():
        name = f"{part}{key}"
        _check_number(name, key, value, where)
        marks = key.endswith(("_token_id", "_token_ids", "_token_index"))
        if (marks or key in _COUNTS) and not (value is None or _is_counts(value)):
            raise FileError(f"{where}: {shown(name)} is {shown(value)}; expected a whole number")
        if key in _TRUTHS and not (value is None or isinstance(value, bool)):
            raise FileError(f"{where}: {shown(name)} is {shown(value)}; expected true or false")
        if key in ("dtype", "torch_dtype") and not _is_float(value):
            raise FileError(f'{where}: {shown(name)} is {shown(value)}; expected a type such as "float32"')
        if key.endswith("_implementation") and isinstance(value, str) and re.search(r"[^\w]", value):
            raise FileError(f"{where}: {shown(name)} is {shown(value)}, code from elsewhere, never run here")
        if key in ("id2label", "label2id", "auto_map", "quantization_config") and value is not None:
            _check_object(name, value, where)
    layers = max((v for k, v in values.items() if k.endswith("layers") and _is_count(v)), default=1)
    experts = max((v for k, v in values.items() if k.endswith("experts") and _is_count(v)), default=1)
    if layers * experts > 200_000:
        raise FileError(
            f"{where} asks for {layers:,} layers of {experts:,} experts; at most 200,000 experts are taken"
        )


UNTRIED = frozenset(
    (
        "gptq", "awq", "aqlm", "quanto", "eetq", "hqq", "vptq", "spqr", "higgs", "bitnet", "auto-round",
        "compressed-tensors", "quark", "fp_quant", "sinq",
    )
)  # fmt: skip
"""Ways of packing weights that need a library or a processor with which langscape was never run."""


def check_quantization(declared: Any, name: str) -> None:
    """Refuse weights that were packed in a way nobody could try here, by its name."""
    known = (
        declared if isinstance(declared, dict) else vars(declared) if hasattr(declared, "__dict__") else {}
    )
    method = known.get("quant_method")
    method = str(getattr(method, "value", method)).lower()
    if method in UNTRIED:
        raise SettingsError(
            f"{name} is quantised by {method.upper() if len(method) < 5 else method}, with which langscape "
            "could not be tried; open the model that it was made from, as NAME@8bit or NAME@4bit "
            "(bitsandbytes) where memory is short, or one that torchao quantised"
        )


def _check_object(name: str, value: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise FileError(f"{where}: {shown(name)} is {shown(value)}; expected an object")
    if len(value) > 100_000:
        raise FileError(f"{where}: {shown(name)} holds {len(value):,} labels; at most 100,000 are taken")


def _check_number(name: str, key: str, value: Any, where: str) -> None:
    if isinstance(value, list):
        for one in value:
            _check_number(name, key, one, where)
        return
    if isinstance(value, float) and value != value:
        raise FileError(f"{where}: {shown(name)} is not a number (NaN); write a number or null")
    if isinstance(value, bool) or not isinstance(value, int):
        if key.endswith(("_eps", "_epsilon")) and isinstance(value, float) and not 0 <= value < 1:
            raise FileError(f"{where}: {shown(name)} is {shown(value)}; expected a number from 0 to 1")
        return
    most = next((most for pattern, most in _MOST if pattern.search(key)), None)
    if key.endswith(("token_id", "token_ids", "token_index")) or most is None:
        least, most = -_ANY_NUMBER, _ANY_NUMBER
    else:
        least = -1
    if not least <= value <= most:
        raise FileError(
            f"{where}: {shown(name)} is {value:,}; expected a whole number of at most {most:,}"
            if value.bit_length() < 200
            else f"{where}: {shown(name)} is {shown(value)}; expected at most {most:,}"
        )


def _is_count(value: Any) -> bool:
    return strict_json.is_kind(value, "whole number")


def _is_counts(value: Any) -> bool:
    """A whole number, or one for each layer."""
    return _is_count(value) or (isinstance(value, list) and all(_is_count(one) for one in value))


def _is_float(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_float(one) for one in value.values())
    return value is None or (isinstance(value, str) and _FLOATS.fullmatch(value) is not None)
