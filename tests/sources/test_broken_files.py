from __future__ import annotations

import contextlib
import gzip
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langscape.errors import DataError, FileError
from langscape.sources import Vectors, read_vectors, write_vectors

ROWS = np.float32([[0.25, -1.5, 3], [4, 5, 6], [7, 8, 9]])
GOOD = Vectors(["tea", "öl", "oslo"], ROWS)


def binary(header: bytes, rows: int = 3) -> bytes:
    body = b"".join(
        w.encode() + b" " + r.tobytes() for w, r in zip(GOOD.words[:rows], ROWS[:rows], strict=True)
    )
    return header + body


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n  \n", "holds no words"),
    "prose": (
        b"Once upon a time there was a file.\nIt held no vectors at all.\n",
        "is not a file of word vectors",
    ),
    "noise": (b"\x01\x02\x00\x03" * 50, "is not a file of word vectors"),
    "html": (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "is not a file of word vectors"),
    "no rows": (b"0 3\n", "promises 0 rows of 3 numbers"),
    "negative rows": (b"-2 3\na 1 2 3\nb 1 2 3\n", "promises -2 rows of 3 numbers"),
    "negative dimension": (b"2 -3\na 1 2 3\nb 1 2 3\n", "promises 2 rows of -3 numbers"),
    "absurd rows": (b"999999999999999 3\na 1 2 3\n", "only 8 can follow"),
    "absurd dimension": (b"2 999999999999\na 1 2 3\n", "its header lies"),
    "too few lines": (b"3 2\na 1 2\nb 3.25 4.25\n", "promises 3 rows, but it ends after 2, at line 3"),
    "too few numbers": (b"a 1 2 3\nb 4 5\nc 7 8 9\n", "line 2: 2 numbers, expected 3"),
    "too many numbers": (b"a 1 2 3\nb 4.1 5.1 6.1 7.1\nc 7 8 9\n", "line 2: more than 3 numbers, expected 3"),
    "cut in the last line": (b"a 1 2 3\nb 4 5 6\nc 7", "line 3: 1 numbers, expected 3"),
    "wrong dimension in header": (b"2 4\na 1 2 3\nb 4 5 6\n", "line 2: 3 numbers, expected 4"),
    "no number": (b"a 1 2 3\nb 4 five 6\n", "line 2: 'five' is not a number"),
    "underscore": (b"a 1 2 3\nb 4 1_0 6\n", "line 2: '_' within a number"),
    "all NaN": (b"a nan nan\nb nan nan\n", "every row that was read holds NaN or infinity"),
    "binary cut": (binary(b"3 3\n")[:-5], "cut short"),
    "binary cut within the words' slack": (binary(b"3 3\n")[:-1], "row 3 of 3 begins at byte 36"),
    "binary absurd rows": (binary(b"4000000000 3\n"), "at least 52,000,000,000 bytes"),
    "binary absurd dimension": (binary(b"3 4000000000\n"), "its header lies"),
    "binary negative": (binary(b"3 -3\n"), "promises 3 rows of -3 numbers"),
    "gzip cut": (gzip.compress(b"a 1 2\n" * 5000)[:-20], "gzip stream"),
    "gzip noise": (b"\x1f\x8b\x08\x00" + bytes(60), "gzip stream"),
    "pickle": (pickle.dumps({"a": [1.0, 2.0]}, protocol=4), "is a pickle"),
    "npy": (b"\x93NUMPY\x01\x00", "is an .npy array"),
    "fasttext model": (b"\xba\x16\x4f\x2f" + bytes(100), "is a fastText model"),
    "utf-16": ("a 1 2\n".encode("utf-16"), "is UTF-16 text"),
    "bzip2": (b"BZh91AY&SY", "compressed with bzip2"),
    "parquet cut": (b"PAR1" + bytes(40), "cut short or damaged"),
    "zip cut": (b"PK\x03\x04" + bytes(40), "cut short or damaged"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("words", [None, ["a", "tea"]], ids=["all", "chosen"])
def test_a_broken_file_is_named_with_its_place(tmp_path: Path, name: str, words: list[str] | None) -> None:
    raw, message = BROKEN[name]
    path = tmp_path / "broken.vec"
    path.write_bytes(raw)
    if words and name in (
        "too few numbers",
        "too many numbers",
        "cut in the last line",
        "no number",
        "underscore",
    ):
        assert read_vectors(path, words).words == ("a",)  # the other lines are not looked at
        return
    with pytest.raises(FileError) as caught:
        read_vectors(path, words)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_header_with_the_wrong_dimension_puts_a_binary_file_out_of_step(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 20)).astype("<f4")
    body = b"".join(b"word%d " % i + row.tobytes() for i, row in enumerate(rows))
    for dim in (8, 19, 21):
        path.write_bytes(b"400 %d\n" % dim + body)
        with pytest.raises(FileError, match=f"dimension {dim} is wrong|cut short"):
            read_vectors(path)


def test_missing_files_folders_and_forbidden_ones_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nowhere\.bin does not exist"):
        read_vectors(tmp_path / "nowhere.bin")
    with pytest.raises(FileError, match="is a folder"):
        read_vectors(tmp_path)


def save_npz(path: Path, **arrays: np.ndarray) -> None:
    np.savez(path, **arrays)  # type: ignore[arg-type]


NPZ: dict[str, tuple[Callable[[Path], object], str]] = {
    "objects": (lambda p: save_npz(p, words=np.array(["a", None], object), m=np.ones((2, 2))), "never opens"),
    "no words": (lambda p: save_npz(p, m=np.ones((2, 2))), "must hold one 1-d array of strings"),
    "two matrices": (
        lambda p: save_npz(p, w=np.array(["a"]), m=np.ones((1, 2)), n=np.ones((1, 2))),
        "it holds m, n",
    ),
    "other length": (lambda p: save_npz(p, w=np.array(["a"]), m=np.ones((2, 2))), "1 words for 2 vectors"),
    "empty": (lambda p: save_npz(p, w=np.array([], "U1"), m=np.ones((0, 2))), "holds no words"),
}


@pytest.mark.parametrize("name", NPZ)
def test_an_npz_that_is_no_table_of_vectors_is_refused(tmp_path: Path, name: str) -> None:
    save, message = NPZ[name]
    save(tmp_path / "v.npz")
    with pytest.raises(FileError, match=message):
        read_vectors(tmp_path / "v.npz")


def test_an_npz_whose_header_lies_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    save_npz(path, words=np.array(["a", "b"]), vectors=np.ones((2, 2), np.float32))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    lie = members["vectors.npy"].replace(b"(2, 2), }" + b" " * 11, b"(2, 900000000000), }")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("words.npy", members["words.npy"])
        archive.writestr("vectors.npy", lie)
    with pytest.raises(FileError, match=r"says it is \(2, 900000000000\)"):
        read_vectors(path)


def test_safetensors_and_parquet_that_are_no_vectors_are_refused(tmp_path: Path) -> None:
    import duckdb
    from safetensors.numpy import save_file

    save_file({"vectors": ROWS}, tmp_path / "wordless.safetensors")
    save_file({"vectors": ROWS.astype(np.int8)}, tmp_path / "whole.safetensors", {"words": '["a", "b", "c"]'})
    save_file({"vectors": ROWS}, tmp_path / "short.safetensors", {"words": '["a", "b"]'})
    queries = {
        "uneven": "select * from (values ('a', [1.0::float, 2]), ('b', [1.0::float])) v(word, vector)",
        "wordless": "select 1.5::float as x",
        "listless": "select 'a' as word, 1 as n",
        "null": "select * from (values ('a', [1.0::float]), (null, [1.0::float])) v(word, vector)",
    }
    with duckdb.connect() as connection:
        for name, query in queries.items():
            connection.execute(f"copy ({query}) to '{tmp_path}/{name}.parquet' (format parquet)")
    for name, message in {
        "wordless.safetensors": "has no words beside its vectors",
        "whole.safetensors": "the vectors are I8",
        "short.safetensors": "2 words for 3 vectors",
        "uneven.parquet": "row 1 has 2 numbers where most rows have 1",
        "wordless.parquet": "needs a column of words",
        "listless.parquet": "needs a column of lists",
        "null.parquet": "row 2 has no word",
    }.items():
        with pytest.raises(FileError, match=message):
            read_vectors(tmp_path / name)


@pytest.mark.parametrize("suffix", [".bin", ".txt", ".npz", ".safetensors", ".parquet"])
def test_a_file_cut_anywhere_is_an_error(tmp_path: Path, suffix: str) -> None:
    whole = write_vectors(tmp_path / f"v{suffix}", GOOD).read_bytes()
    path = tmp_path / "cut"
    step = max(len(whole) // 40, 1)
    for end in range(0, len(whole), step):
        path.write_bytes(whole[:end])
        if suffix == ".txt" and whole[end:].strip(b"0123456789.\n") == b"":
            continue  # a last number that lost digits is still a number
        with pytest.raises(DataError):
            read_vectors(path)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("suffix", [".bin", ".txt", ".npz", ".safetensors"])
def test_damage_anywhere_gives_our_error_or_finite_vectors(
    tmp_path: Path, suffix: str, data: st.DataObject
) -> None:
    path = write_vectors(tmp_path / f"v{suffix}", GOOD)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    words = data.draw(st.sampled_from([None, ["tea", "oslo"]]))
    with contextlib.suppress(DataError):
        found = read_vectors(path, words)
        assert np.isfinite(found.matrix).all()
        assert len(found.words) == len(found.matrix)
