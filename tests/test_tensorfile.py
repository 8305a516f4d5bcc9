import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from langscape.errors import DataError
from langscape.io.tensor_file import write_tensors

KINDS = ["bool", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8"]


def test_the_library_reads_every_kind_of_number_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {kind: (rng.normal(size=(3, 5)) * 40).astype(kind) for kind in KINDS}
    arrays |= {"empty": np.empty((0, 7), "f4"), "one": np.array(2.5), "turned": arrays["f4"].T}
    arrays["other end"] = arrays["f8"].astype(">f8")
    write_tensors(tmp_path / "a", arrays, {"ü": "x\ny"})
    back = load_file(tmp_path / "a")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].shape == array.shape
        assert back[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(back[name], array)
    with safe_open(tmp_path / "a", "numpy") as file:
        assert file.metadata() == {"ü": "x\ny"}


def test_the_file_is_written_in_place_and_under_no_other_name(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    before = path.stat().st_ino
    write_tensors(path, {"x": np.arange(5)})
    assert path.stat().st_ino == before
    assert load_file(path)["x"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("wrong", [np.array(["a"]), np.array([1j]), np.array([None])])
def test_what_is_no_number_is_refused_by_name(tmp_path: Path, wrong: np.ndarray) -> None:
    with pytest.raises(DataError, match="'odd'"):
        write_tensors(tmp_path / "a", {"odd": wrong})
    assert not (tmp_path / "a").exists()


HEADERS = [
    b"[" * 100_000, b"[]", b"{", b"", {"a": 3}, {"a": {}},
    {"a": {"dtype": 3, "shape": [1], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}},
    {"__metadata__": {"a": 3}}, {"__metadata__": [1]},
    {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]}},
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}},
    {"a": {"dtype": "F32", "shape": [0, 10**18, 10**18], "data_offsets": [4, 4]}},
    {"a": {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 4 * 10**18]}},
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_headers_that_cannot_be_true_are_one_error(tmp_path, header):
    from langscape.errors import FileError
    from langscape.io.tensor_file import read_header

    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    with pytest.raises(FileError, match=r"a\.safetensors"):
        read_header(path)
    path.write_bytes((1 << 60).to_bytes(8, "little") + text)
    with pytest.raises(FileError, match=r"a\.safetensors"):
        read_header(path)
