"""The files of weights in a model's folder: which they are, what they declare, whether they fit. No torch.

All of it is known from a few kilobytes at the head of each file, before anything is hashed or loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from langscape.errors import FileError, SettingsError
from langscape.io import strict_json
from langscape.io.tensor_file import BITS, Header, read_header
from langscape.memory_limits import SHARE, available_memory, size

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_OTHERS = ("bin", "pt", "pth", "ckpt", "h5", "msgpack", "gguf")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True)
class Weights:
    """Files of weights and what each declares."""

    headers: Mapping[Path, Header]

    @property
    def files(self) -> list[Path]:
        """The files, in the order of their names."""
        return sorted(self.headers)

    @property
    def count(self) -> int:
        """How many numbers they hold."""
        return sum(tensor.count for header in self.headers.values() for tensor in header.tensors.values())

    def bytes(self, precision: str) -> int:
        """Bytes they take in memory: floating-point numbers in a precision, or all as they are stored."""
        total = 0
        for header in self.headers.values():
            for tensor in header.tensors.values():
                floats = tensor.dtype[0] in "FB" and tensor.dtype != "BOOL"
                widths = {"float32": 32, "float16": 16, "bfloat16": 16}
                bits = widths.get(precision, 0) if floats else 0
                bits = bits or BITS[tensor.dtype]
                total += tensor.count * bits // 8
        return total


def read_weights(folder: Path, name: str) -> Weights:
    """The files of weights that transformers will read, all there and all sound in what they declare."""
    # transformers takes the one file first where both are there
    whole, index = folder / WHOLE, folder / INDEX
    if whole.exists() or (whole.is_symlink() and not index.exists()):
        return Weights({whole: _header(inside(folder, whole))})
    if index.exists():
        return _shards(folder, index)
    others = sorted(path.name for suffix in _OTHERS for path in folder.glob(f"*.{suffix}"))
    also = f"; {others[0]} is not read: a pickle can run code, other formats are not ours" if others else ""
    raise FileError(
        f"{name} holds no model.safetensors{also}. Save it anew with `model.save_pretrained(folder)`"
    )


def _header(path: Path) -> Header:
    """What a file declares; one that has not changed is not parsed again for every question about it."""
    known = path.stat()
    return _parsed_header(path, known.st_size, known.st_mtime_ns, known.st_ino)


@lru_cache(maxsize=64)
def _parsed_header(path: Path, size: int, changed: int, inode: int) -> Header:
    return read_header(path)


def check_fits(weights: Weights, name: str, precision: str, available: int | None = None) -> None:
    """Refuse weights that do not fit into the memory that is available, and say what would fit."""
    free = available_memory() if available is None else available
    needed = weights.bytes(precision)
    if free is None or needed <= SHARE * free:
        return
    message = f"{name} holds {_many(weights.count)} weights, which need {size(needed)}"
    message += " as float32" if precision == "float32" else " as they are stored"
    stored = weights.bytes("stored")
    largest = f"a model of at most {_many(SHARE * free / 4)} weights"
    if precision == "float32" and stored <= SHARE * free:
        step = f'open_model(…, precision="stored") needs {size(stored)}, or take {largest}'
    else:
        half = f"{_many(SHARE * free / 2)} in half precision"
        kept = f"{size(stored)} as they are stored" if precision == "float32" else ""
        step = f"{f'even {kept} do not fit. Take' if kept else 'take'} {largest}, or {half}, or free memory"
    raise SettingsError(f"{message}, but {size(free)} are available; {step}")


def inside(folder: Path, path: Path) -> Path:
    """The path, which must lead to a file inside the folder, or to one that the Hub's cache keeps for it.

    In the cache, files of `models--…/snapshots/…` are links to `models--…/blobs/…`.
    """
    try:
        real, home = path.resolve(), folder.resolve()
    except (OSError, RuntimeError):  # links that lead in a circle
        raise FileError(f"{path} is a link that leads nowhere; put the file itself there") from None
    if real.is_relative_to(home):
        return path
    kept = real.parent
    if kept.name == "blobs" and kept.parent.name.startswith("models--"):
        return path
    raise FileError(
        f"{path} is a link that leads out of the model's folder; put the file itself there, or open the "
        "folder that holds it"
    )


def _shards(folder: Path, index: Path) -> Weights:
    parsed = strict_json.read_object(inside(folder, index), largest=64_000_000, deepest=8)
    places = strict_json.field(parsed, "weight_map", "object", str(index))
    if not places:
        raise FileError(f"{index} is damaged: it names no shards; fetch the model again")
    metadata = strict_json.field(parsed, "metadata", "object", str(index))
    if not isinstance(metadata.get("dtype", ""), str):
        raise FileError(f'{index}: "dtype" is {strict_json.shown(metadata["dtype"])}; expected text')
    shards: dict[str, list[str]] = {}
    for tensor, shard in places.items():
        if not isinstance(shard, str):
            raise FileError(
                f"{index} puts {strict_json.shown(tensor)} into {strict_json.shown(shard)}; expected the "
                "name of a .safetensors file"
            )
        shards.setdefault(shard, []).append(tensor)
    for shard in shards:
        _check_name(shard, index)
    missing = [shard for shard in sorted(shards) if not (folder / shard).exists()]
    if missing:
        raise FileError(
            f"{folder} lacks {len(missing)} of {len(shards)} files of weights, first {_plain(missing[0])}"
        )
    headers = {}
    for shard, tensors in sorted(shards.items()):
        path = folder / shard
        headers[path] = header = _header(inside(folder, path))
        lacking = next((tensor for tensor in tensors if tensor not in header.tensors), None)
        if lacking is not None:
            raise FileError(
                f"{index} puts {strict_json.shown(lacking)} into {_plain(shard)}, which does not hold it; "
                "fetch the model again"
            )
    return Weights(headers)


def _check_name(shard: str, index: Path) -> None:
    name_text = strict_json.shown(shard)
    if shard.endswith(_PICKLES):
        raise FileError(
            f"{index} names {name_text}, a pickle of torch, which can run code and is never read; convert it "
            "with `model.save_pretrained(folder)`"
        )
    parts = PurePosixPath(shard)
    bad = (
        parts.is_absolute() or ".." in parts.parts or "\\" in shard or ":" in shard or not shard.isprintable()
    )
    if bad or len(shard) > 250 or not shard.endswith(".safetensors"):
        raise FileError(f"{index} names {name_text}; expected .safetensors files inside its folder")


def _plain(shard: str) -> str:
    return shard if len(shard) <= 60 else f"{shard[:57]}…"


def _many(count: float) -> str:
    """A number of weights as a person says it: 70.6 billion."""
    if count >= 1e9:
        return f"{count / 1e9:,.1f} billion"
    return f"{count / 1e6:,.0f} million" if count >= 1e6 else f"{count:,.0f}"
