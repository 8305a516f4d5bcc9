"""The files of a tokenizer in a model's folder, checked before any library sees them. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langscape.errors import FileError
from langscape.io import strict_json
from langscape.models.weight_files import inside

FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "tokenizer.model",
)
"""A folder with none of these has no tokenizer."""

_OBJECTS = (
    "tokenizer.json", "tokenizer_config.json", "vocab.json", "special_tokens_map.json", "added_tokens.json",
    "generation_config.json", "tekken.json",
)  # fmt: skip
_OTHERS = ("*.txt", "*.model", "*.spm", "*.tiktoken", "chat_template.*", "additional_chat_templates/*.jinja")
_LARGEST = 128_000_000
_HIGHEST = 20_000_000
"""Ids above this are refused: libraries fill tables up to the highest."""


def check_tokenizer_files(folder: Path) -> None:
    """Refuse files of a tokenizer, and of how it writes, that are damaged or lead out of the folder."""
    for name in _OBJECTS:
        path = folder / name
        if path.exists() or path.is_symlink():
            parsed = strict_json.read_object(inside(folder, path), largest=_LARGEST, deepest=24)
            _CHECKS.get(name, lambda parsed, where: None)(parsed, str(path))
    for pattern in _OTHERS:
        for path in sorted(folder.glob(pattern)):
            strict_json.read_bytes(inside(folder, path), _LARGEST)


def check_changed_tokenizer_files(folder: Path) -> None:
    """The same, but not for files that were sound and have not been written since.

    For what asks again and again which model it is and loads nothing: to read a vocabulary takes as long as
    everything else that a stored result needs.
    """
    stamps = tuple(_stamps(folder))
    if _SOUND.get(folder) != stamps:
        check_tokenizer_files(folder)
        _SOUND[folder] = stamps


_SOUND: dict[Path, tuple[object, ...]] = {}


def _stamps(folder: Path) -> Iterator[tuple[object, ...]]:
    """Of every file that is checked, what changes where it is written, replaced or linked elsewhere."""
    for pattern in (*_OBJECTS, *_OTHERS):
        for path in sorted(folder.glob(pattern)):
            for follow in (False, True):
                found = path.stat(follow_symlinks=follow) if path.exists() or not follow else None
                yield str(path), found and (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _check_tokenizer(parsed: dict[str, Any], where: str) -> None:
    model = strict_json.field(parsed, "model", "object", where)
    vocab = model.get("vocab")
    if isinstance(vocab, dict):
        _check_ids(vocab.values(), '"vocab"', where)
    elif not isinstance(vocab, list):
        raise FileError(f'{where}: "vocab" is {strict_json.shown(vocab)}; expected words and their ids')
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"):
        if not isinstance(parsed.get(name), dict | None):
            raise FileError(f'{where}: "{name}" is {strict_json.shown(parsed[name])}; expected an object')
    added = parsed.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(one, dict) for one in added):
        raise FileError(f'{where}: "added_tokens" is {strict_json.shown(added)}; expected a list of objects')
    for one in added:
        strict_json.field(one, "content", "text", where)
        strict_json.field(one, "id", "whole number", where, least=0, most=_HIGHEST)


def _check_settings(parsed: dict[str, Any], where: str) -> None:
    if parsed.get("fast_tokenizer_files") is not None or parsed.get("init_inputs"):
        raise FileError(f"{where} names other files to read, which are not; save the tokenizer anew")
    for name in ("tokenizer_class", "padding_side", "truncation_side"):
        if not isinstance(parsed.get(name), str | None):
            raise FileError(f'{where}: "{name}" is {strict_json.shown(parsed[name])}; expected text')
    longest = parsed.get("model_max_length")
    if longest is not None and not (strict_json.is_kind(longest, "number") and longest > 0):
        raise FileError(f'{where}: "model_max_length" is {strict_json.shown(longest)}; expected a number')
    added = parsed.get("added_tokens_decoder") or {}
    if not isinstance(added, dict) or not all(isinstance(one, dict) for one in added.values()):
        raise FileError(f'{where}: "added_tokens_decoder" is no object of tokens by id; save it anew')
    _check_ids(_numbers(added, where), '"added_tokens_decoder"', where)


def _check_vocabulary(parsed: dict[str, Any], where: str) -> None:
    _check_ids(parsed.values(), "the vocabulary", where)


def _numbers(added: dict[str, Any], where: str) -> Iterator[int]:
    for key in added:
        if not (key.isascii() and key.isdecimal() and len(key) < 12):
            raise FileError(f'{where}: "added_tokens_decoder" holds {strict_json.shown(key)}; expected an id')
        yield int(key)


def _check_ids(ids: Any, what: str, where: str) -> None:
    for value in ids:
        if not strict_json.is_kind(value, "whole number") or not 0 <= value <= _HIGHEST:
            raise FileError(
                f"{where}: {what} holds the id {strict_json.shown(value)}; expected whole numbers from 0 to "
                f"{_HIGHEST:,}"
            )


_CHECKS = {
    "tokenizer.json": _check_tokenizer,
    "tokenizer_config.json": _check_settings,
    "vocab.json": _check_vocabulary,
    "added_tokens.json": _check_vocabulary,
}
