"""Nouns ↔ arrays and JSON: the one way in which a result is put into a file and comes back equal.

Any frozen dataclass marked with `@noun` is written field by field: arrays as tensors, everything else as one
JSON text that lies among them. Only marked classes are ever made again, by their own name; nothing is
pickled. A class whose fields change their meaning raises its `codec_version`: what was written before is then
not read but computed again.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langscape.data import Affinities, Capture, Context, Flow, Gaussians, Items, Map, Tokens, View
from langscape.errors import DataError, FileError, OtherVersionError
from langscape.io.tensor_file import write_tensors

FORMAT = 1
"""Raised when the way of writing changes; older files are computed again."""

T = TypeVar("T", bound=type)

_NOUNS: dict[str, type] = {}
_ELSEWHERE = {
    "Figures": "langscape.metrics.role_names",
    "HeadSearch": "langscape.metrics.head_search",
    "HeadTally": "langscape.metrics.head_tally",
    "Judged": "langscape.metrics.role_names",
    "LSTMBaseline": "langscape.data.lstm_baseline",
    "Passages": "langscape.metrics.head_tally",
    "Scales": "langscape.affinity.scale",
    "StableGroups": "langscape.metrics.stable_groups",
    "ClassTable": "langscape.metrics.classes",
    "StrongestKeys": "langscape.affinity.strongest_keys",
    "TunedLens": "langscape.models.tuned_lens",
    "WordColours": "langscape.engine.colour",
}
"""Nouns of modules that are slow to import: they are imported when such a noun is read."""
_TREE = "noun"


def noun(cls: T) -> T:
    """Mark a dataclass as one that may be written and read."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is no dataclass")
    known = _NOUNS.setdefault(cls.__name__, cls)
    if known is not cls and known.__module__ != cls.__module__:
        raise TypeError(
            f"there are two nouns named {cls.__name__}, in {known.__module__} and {cls.__module__}"
        )
    _NOUNS[cls.__name__] = cls
    return cls  # type: ignore[return-value]


for _one in (Affinities, Capture, Context, Flow, Gaussians, Items, Map, Tokens, View):
    noun(_one)


def is_noun(value: Any) -> bool:
    """Whether the value can be written by this codec as it is."""
    return _NOUNS.get(type(value).__name__) is type(value)


def write_noun(value: Any, path: Path) -> None:
    """Write a noun to a file; the caller makes it last."""
    arrays: dict[str, np.ndarray] = {}
    tree = _Writer(arrays).encode(value, type(value).__name__)
    text = json.dumps({"format": FORMAT, "tree": tree}, allow_nan=False, separators=(",", ":"))
    arrays[_TREE] = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    write_tensors(path, arrays, {"langscape": "noun"})


def read_noun(path: Path, part: Callable[[str, Any], np.ndarray] | None = None) -> Any:
    """The noun that `write_noun` put there, equal to it field by field.

    part(name, slice) says what is read of each array, by the field it stands in ("Capture.arrays.q") and a
    slice that reads what it is indexed with; the rest stays on the disk.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            if _TREE not in names:
                raise FileError(f"{path.name} holds no result of langscape")
            written = json.loads(file.get_tensor(_TREE).tobytes().decode("utf-8", "surrogatepass"))
            if not isinstance(written, dict) or written.get("format") != FORMAT:
                raise OtherVersionError(f"{path.name} was written by another langscape; compute it again")

            def tensor(name: str) -> np.ndarray:
                if part is None:
                    return file.get_tensor(name)
                return part(name.partition(" ")[2], file.get_slice(name))

            found = _Reader(tensor, names).decode(written["tree"])
            if not is_noun(found):
                raise FileError(f"{path.name} holds no result of langscape")
            return found
    except FileError:
        raise
    except (
        SafetensorError,
        ArithmeticError,
        LookupError,
        RecursionError,
        ValueError,
        TypeError,
        AttributeError,
        DataError,
    ) as error:
        reason = " ".join(str(error).split())[:120]
        raise FileError(f"{path.name} is damaged ({type(error).__name__}: {reason})") from None


def read_arrays(path: Path, where: str, part: Callable[[str, Any], np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of one field of a noun ("Capture.arrays"), by name; nothing else of the file is read or made.

    part(name, slice) says what is read of each, as in `read_noun`. An array that the noun has twice is in the
    file once, under the name it was met by first.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            found = {name.partition(" ")[2]: name for name in file.keys()}  # noqa: SIM118  no mapping
            inside = {name: at for name, at in found.items() if name.startswith(f"{where}.")}
            return {name[len(where) + 1 :]: part(name, file.get_slice(at)) for name, at in inside.items()}
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        reason = " ".join(str(error).split())[:120]
        raise FileError(f"{path.name} is damaged ({type(error).__name__}: {reason})") from None


class _Writer:
    """Values as JSON; arrays go into `arrays`, and what occurs twice is written once."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self.seen: dict[int, tuple[str, Any]] = {}
        self.nouns: dict[int, tuple[int, Any]] = {}

    def encode(self, value: Any, where: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, list | tuple):
            items = [self.encode(one, f"{where}[{at}]") for at, one in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        if isinstance(value, Mapping):
            return self._mapping(value, where)
        if is_noun(value):
            return self._noun(value)
        if type(value).__name__ == "csr_array":
            parts = [self._array(one, where) for one in (value.data, value.indices, value.indptr)]
            return {"$csr": parts, "shape": list(value.shape)}
        raise DataError(f"{where} holds a {type(value).__name__}, which cannot be kept in a file")

    def _array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            known = self.seen.get(id(value))
            if known is None:
                name = f"{len(self.arrays)} {where}"[:200]
                self.arrays[name] = value
                self.seen[id(value)] = known = (name, value)  # held, so that no other takes its id
            return {"$array": known[0]}
        if value.dtype.kind in "OUS" and value.ndim == 1:
            items = [self.encode(one, where) for one in value.tolist()]
            return {"$texts": items, "dtype": "object" if value.dtype.kind == "O" else value.dtype.str}
        raise DataError(f"{where} holds {value.dtype} of shape {value.shape}, which cannot be kept in a file")

    def _mapping(self, value: Mapping[Any, Any], where: str) -> Any:
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: self.encode(one, f"{where}.{key}") for key, one in value.items()}
        pairs = [[self.encode(key, where), self.encode(one, f"{where}[{key}]")] for key, one in value.items()]
        return {"$map": pairs}

    def _noun(self, value: Any) -> Any:
        known = self.nouns.get(id(value))
        if known is not None:
            return {"$same": known[0]}
        name = type(value).__name__
        fields = {
            one.name: self.encode(getattr(value, one.name), f"{name}.{one.name}")
            for one in dataclasses.fields(value)
            if one.init
        }
        self.nouns[id(value)] = (len(self.nouns), value)
        return {"$noun": name, "version": getattr(type(value), "codec_version", 1), "fields": fields}


class _Reader:
    """What `_Writer` wrote, made again."""

    def __init__(self, tensor: Any, names: set[str]) -> None:
        self.tensor, self.names = tensor, names
        self.arrays: dict[str, np.ndarray] = {}
        self.nouns: list[Any] = []

    def decode(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.decode(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        if "$array" in tree:
            return self._array(tree["$array"])
        if "$noun" in tree:
            return self._noun(tree)
        if "$same" in tree:
            return self.nouns[tree["$same"]]
        if "$tuple" in tree:
            return tuple(self.decode(one) for one in tree["$tuple"])
        if "$map" in tree:
            return {self.decode(key): self.decode(one) for key, one in tree["$map"]}
        if "$float" in tree:
            return float(tree["$float"])
        if "$texts" in tree:
            return self._texts(tree)
        if "$csr" in tree:
            from scipy.sparse import csr_array

            data, indices, indptr = (self.decode(one) for one in tree["$csr"])
            return csr_array((data, indices, indptr), shape=tuple(tree["shape"]))
        return {key: self.decode(one) for key, one in tree.items()}

    def _array(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.arrays:
            array = self.tensor(name)
            array.flags.writeable = False
            self.arrays[name] = array
        return self.arrays[name]

    def _texts(self, tree: dict[str, Any]) -> np.ndarray:
        items = [self.decode(one) for one in tree["$texts"]]
        out = np.empty(len(items), dtype=object)
        out[:] = items
        return out if tree["dtype"] == "object" else out.astype(str)

    def _noun(self, tree: dict[str, Any]) -> Any:
        if tree["$noun"] in _ELSEWHERE:
            importlib.import_module(_ELSEWHERE[tree["$noun"]])
        cls = _NOUNS.get(tree["$noun"])
        if cls is None:
            raise FileError(f"there is no noun {str(tree['$noun'])[:40]!r} in this langscape")
        if tree["version"] != getattr(cls, "codec_version", 1) or not _has_fields(cls, tree["fields"]):
            raise OtherVersionError(f"{cls.__name__} was written by another langscape; compute it again")
        result = cls(**{name: self.decode(one) for name, one in tree["fields"].items()})
        self.nouns.append(result)
        return result


def _has_fields(cls: type[Any], names: Mapping[str, Any]) -> bool:
    """Whether a class can be made of these fields: it knows all of them, and needs no other."""
    if not dataclasses.is_dataclass(cls):
        return True
    known = {one.name: one for one in dataclasses.fields(cls) if one.init}
    missing = dataclasses.MISSING
    needed = {
        name for name, one in known.items() if one.default is missing and one.default_factory is missing
    }
    return needed <= set(names) <= set(known)


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two values differ, field by field; an empty list says that they are equal. NaN equals NaN."""
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        found = []
        for field in dataclasses.fields(one):
            a, b = getattr(one, field.name), getattr(other, field.name)
            found += differences(a, b, f"{where}.{field.name}")
        return found
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if list(one) != list(other):
            return [f"{where}: {list(one)} and {list(other)}"]
        return [line for key in one for line in differences(one[key], other[key], f"{where}[{key!r}]")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return [f"{where}: {len(one)} and {len(other)} items"]
        pairs = enumerate(zip(one, other, strict=True))
        return [line for at, (a, b) in pairs for line in differences(a, b, f"{where}[{at}]")]
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return [f"{where}: {one.dtype}{one.shape} and {other.dtype}{other.shape}"]
        if one.dtype.kind == "O":
            return differences(one.tolist(), other.tolist(), where)
        return [] if np.array_equal(one, other, equal_nan=one.dtype.kind == "f") else [f"{where}: values"]
    if hasattr(one, "indptr") and hasattr(other, "indptr"):
        return [
            line
            for name in ("data", "indices", "indptr")
            for line in differences(getattr(one, name), getattr(other, name), f"{where}.{name}")
        ]
    if isinstance(one, float) and isinstance(other, float) and one != one and other != other:
        return []
    return [] if one == other else [f"{where}: {one!r} and {other!r}"]
