"""What a file declares is checked before memory is taken: each of these took gigabytes, or many seconds."""

from __future__ import annotations

import gzip
import os
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

# hostile must be importable by name
sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))

from hostile import (
    fortran_npz,
    gzip_of_one_line,
    npy_header,
    read_apart,
    safetensors,
    wide_words_npz,
    write_npz,
)
from langscape.errors import FileError
from langscape.sources import Vectors, corpus, read_vectors, read_word_list, sentences
from langscape.sources.corpus import passages
from langscape.sources.wordlist import WordList, write_word_list

BEFORE = "from langscape.sources import read_vectors; import langscape.sources.gather, langscape.sources.npz"
linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


@linux
@pytest.mark.parametrize("limit", [3, None])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: fortran_npz(path, rows=400_000), "unpacks from"),
        (lambda path: wide_words_npz(path, width=100_000_000), "unpacks from"),
        (gzip_of_one_line, "has a line longer than"),
    ],
    ids=["Fortran order", "wide words", "gzip"],
)
def test_what_unpacks_to_gigabytes_is_refused_within_a_few_megabytes(tmp_path, make, said, limit):
    path = make(tmp_path / "v")
    assert path.stat().st_size < 1_000_000
    found, taken, seconds = read_apart(f"read_vectors({str(path)!r}, limit={limit})", BEFORE)
    assert found.startswith("FileError")
    assert said in found
    assert taken < 100_000_000
    assert seconds < 10


@linux
def test_the_first_rows_in_fortran_order_take_one_column_at_a_time(tmp_path):
    path = fortran_npz(tmp_path / "v.npz", rows=50_000)  # 60 MB, which any file may unpack to
    found, taken, _ = read_apart(f"read_vectors({str(path)!r}, limit=3)", BEFORE)
    assert found == "read"
    assert taken < 25_000_000


def test_compressed_matrices_in_either_order_are_read_alike(tmp_path):
    matrix = np.random.default_rng(0).normal(size=(50, 7))
    words = np.array([f"w{i}" for i in range(50)])
    for name, order in (("c", "C"), ("f", "F")):
        np.savez_compressed(tmp_path / f"{name}.npz", words=words, vectors=np.asarray(matrix, order=order))
    for chosen in ({}, {"limit": 5}, {"words": ["w9", "w40"]}):
        c, f = (read_vectors(tmp_path / f"{name}.npz", **chosen) for name in "cf")
        assert c.words == f.words
        np.testing.assert_array_equal(c.matrix, f.matrix)


def test_a_word_of_an_array_has_some_thousand_characters_at_most(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(["a"], "<U20000"), vectors=np.ones((1, 2)))
    with pytest.raises(FileError, match="a word has 20,000 characters; at most 16,384"):
        read_vectors(tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ((npy_header("<f4", (0, 10**12)), 0), "at most 1,000,000 are read"),
        ((b"\x93NUMPY\x02\x00\xff\xff\xff\xf0" + b" " * 50, 0), "has a bad header"),
        ((b"\x93NUMPY\x01\x00\x20\x20" + b"(" * 0x2020, 0), "has a bad header"),
        ((b"\x93NUMPY\x01\x00\x20\x20" + b"-" * 0x2020, 0), "has a bad header"),
    ],
    ids=["no rows of 10¹² numbers", "header of 4 GB", "nested header", "signs"],
)
def test_headers_of_arrays_are_not_believed(tmp_path, vectors, said):
    path = write_npz(tmp_path / "v.npz", {"words": (npy_header("|S1", (0,)), 0), "vectors": vectors})
    with pytest.raises(FileError, match=said):
        read_vectors(path)


def test_arrays_are_unpacked_only_as_numpy_packs_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "v.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("vectors.npy", npy_header("<f4", (1, 1)) + bytes(4))
    with pytest.raises(FileError, match="compressed in a way that numpy does not write"):
        read_vectors(tmp_path / "v.npz")


def test_a_gzip_of_rows_without_end_is_refused_while_it_streams(tmp_path):
    with gzip.open(tmp_path / "v.gz", "wb") as file:
        for _ in range(20):
            file.write(b"word 1 2 3\n" * 400_000)
    assert len(read_vectors(tmp_path / "v.gz", limit=3)) == 1
    with pytest.raises(FileError, match=r"unpacks from \d+ kB to \d+ MB or more"):
        read_vectors(tmp_path / "v.gz")


def test_a_text_with_millions_of_numbers_a_line_is_no_text_of_vectors(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"a" + b" 1" * 1_500_000 + b"\n")
    with pytest.raises(FileError, match="a line of more than 1,000,000 fields"):
        read_vectors(tmp_path / "v.txt")


@linux
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_vectors_above_the_ulimit_are_refused_with_both_sizes(tmp_path, limit):
    rows, dim = 10_000_000, 100
    bytes_ = 4 * rows * dim
    header = {
        "vectors": {"dtype": "F32", "shape": [rows, dim], "data_offsets": [0, bytes_]},
        "words": {"dtype": "U8", "shape": [3], "data_offsets": [bytes_, bytes_ + 3]},
    }
    path = safetensors(tmp_path / "v.safetensors", header)
    os.truncate(path, path.stat().st_size + bytes_ + 3)  # without a byte on the disk
    before = f"{BEFORE}; import resource; resource.setrlimit(resource.{limit}, (1 << 30, 1 << 30))"
    found, taken, _ = read_apart(f"read_vectors({str(path)!r})", before)
    assert "10,000,000 × 100 vectors need 5.6 GB, but" in found
    assert taken < 50_000_000


@pytest.mark.parametrize(
    "text", ["." * 40_000, "?" * 40_000 + "x", "J. " * 60_000, "." * 20_000 + '"' * 20_000]
)
def test_the_ends_of_sentences_are_found_in_linear_time(text):
    started = time.process_time()
    whole = list(passages(text, "sentence"))
    cut = sentences(text)
    assert time.process_time() - started < 2
    assert "".join(whole).replace(" ", "") == "".join(cut).replace(" ", "") == text.replace(" ", "")


def test_several_marks_end_one_sentence():
    assert list(passages("What?! He left... It rained.", "sentence")) == [
        "What?!",
        "He left...",
        "It rained.",
    ]


HARD = ['"hello', 'say "yes"', '"', "a;b", "c;d", "tea, green", "l'été", '""', "x\ty"]


@pytest.mark.parametrize("groups", [None, [f'"g{i};' for i in range(len(HARD))]], ids=["plain", "groups"])
@pytest.mark.parametrize(
    "words", [HARD, HARD[:1], ["a;b", "c;d"], ["tea"]], ids=["all", "quote", "marks", "one"]
)
def test_a_list_that_is_written_is_read_the_same_whatever_the_words_hold(tmp_path, words, groups):
    given = WordList(words, groups and groups[: len(words)])
    write_word_list(tmp_path / "list.bin", given)
    back = read_word_list(tmp_path / "list.bin")
    assert (back.words, back.groups) == (given.words, given.groups)


@pytest.mark.parametrize("ending", [".tsv", ".txt", ".csv"])
def test_a_quotation_mark_that_is_not_closed_is_a_letter(tmp_path, ending):
    (tmp_path / f"list{ending}").write_text('"hello\tgreetings\ntea\tdrinks\n"oslo\tcapitals\n')
    assert read_word_list(tmp_path / f"list{ending}").words == ('"hello', "tea", '"oslo')


def test_columns_without_name_and_values_are_none(tmp_path):
    (tmp_path / "list.csv").write_text("word,,\ntea,,\noslo,,\n")
    listed = read_word_list(tmp_path / "list.csv")
    assert (listed.words, listed.groups, listed.notes) == (("tea", "oslo"), None, ())


def test_vectors_keep_working_at_the_usual_sizes(tmp_path):
    from langscape.sources import write_vectors

    path = write_vectors(tmp_path / "v.npz", Vectors(["a", "b"], np.eye(2, dtype=np.float32)))
    assert read_vectors(path).words == ("a", "b")


READERS = """
import os, sys
from pathlib import Path
from langscape import read_gaussians, read_map, read_vectors
from langscape.errors import LangscapeError
from langscape.models.config import is_lstm
from langscape.sources.textfile import read_text
from langscape.store.recipe import hash_file
from langscape.sources import corpus, read_word_list, tables
from langscape.studio.looking import KINDS
def whole(path):
    return list(corpus(path).documents())
readers = [read_gaussians, read_map, read_vectors, read_text, hash_file, read_word_list, whole]
readers += [tables.columns_of]
readers += [lambda path, look=kind.look: look(path, "mine") for kind in KINDS.values()]
for path in sys.argv[1:]:
    for at, reader in enumerate(readers):
        try:
            reader(Path(path))
            print(at, path, "read")
        except LangscapeError as error:
            assert "\\n" not in str(error), error
print(is_lstm(Path(sys.argv[1]).parent / "model"))
"""


@linux
def test_every_reader_refuses_pipes_devices_and_folders_without_waiting(tmp_path):
    import subprocess

    for name in ("pipe.csv", "pipe.parquet"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "model").mkdir()
    os.mkfifo(tmp_path / "model/config.json")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    paths = [str(tmp_path / name) for name in ("pipe.csv", "pipe.parquet", "zero.csv", "model")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", READERS, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.stdout.strip() == "False", done.stdout + done.stderr[-2000:]


@linux
@pytest.mark.parametrize(
    "command",
    [["words", "pipe"], ["words", "good.txt", "--words", "pipe"], ["view", "pipe"],
     ["gaussians", "--table", "pipe", "--by", "a"], ["words", "good.txt", "--initial-map", "pipe.parquet"]],
)  # fmt: skip
def test_commands_refuse_pipes_without_waiting(tmp_path: Path, command: list[str]) -> None:
    import subprocess

    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / "good.txt").write_text("".join(f"w{i} {i} 1\n" for i in range(40)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LANGSCAPE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "langscape.cli", *command],
        capture_output=True, text=True, timeout=120, cwd=tmp_path, env=env,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "pipe" in done.stderr


def test_a_corpus_with_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is a named pipe"):
        corpus(tmp_path / "pipe")
