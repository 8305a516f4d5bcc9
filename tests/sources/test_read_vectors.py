from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from langscape.data import Step
from langscape.errors import DataError, SettingsError
from langscape.sources import Vectors, WordList, read_vectors, samples, write_vectors
from langscape.sources import text as text_reader

SUFFIXES = (".bin", ".txt", ".vec", ".npz", ".safetensors", ".parquet")


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return samples.words().rows(range(700))


def keyed(vectors: Vectors) -> KeyedVectors:
    out = KeyedVectors(vectors.dim)
    out.add_vectors(list(vectors.words), vectors.matrix)
    return out


def assert_equal(found: Vectors, expected: Vectors | KeyedVectors) -> None:
    if isinstance(expected, KeyedVectors):
        expected = Vectors(expected.index_to_key, expected.vectors)
    assert found.words == expected.words
    assert found.matrix.dtype == np.float32
    assert np.array_equal(found.matrix, expected.matrix)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_back_bit_for_bit(tmp_path: Path, vectors: Vectors, suffix: str) -> None:
    found = read_vectors(write_vectors(tmp_path / f"v{suffix}", vectors))
    assert_equal(found, vectors)
    assert found.notes == ()
    assert not found.matrix.flags.writeable
    assert [path.name for path in tmp_path.iterdir()] == [f"v{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_chosen_words_keep_the_callers_order_spelling_and_groups(
    tmp_path: Path, vectors: Vectors, suffix: str
) -> None:
    path = write_vectors(tmp_path / f"v{suffix}", vectors)
    chosen = WordList(["People", "nowhere", "the", "people"], ["a", "b", "c", "d"])
    found = read_vectors(path, chosen)
    assert found.words == ("People", "the", "people")
    assert found.groups == ("a", "c", "d")
    assert found.missing == ("nowhere",)
    rows = [vectors.words.index(word) for word in ("people", "the", "people")]
    assert np.array_equal(found.matrix, vectors.matrix[rows])
    assert any("1 of 4 listed words was not found: nowhere" in note for note in found.notes)
    assert any("People → people" in note for note in found.notes)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_limit_means_the_first_rows_of_the_file(tmp_path: Path, vectors: Vectors, suffix: str) -> None:
    path = write_vectors(tmp_path / f"v{suffix}", vectors)
    assert_equal(read_vectors(path, limit=5), vectors.rows(range(5)))
    assert_equal(read_vectors(path, limit=10_000), vectors)
    last = vectors.words[40]
    assert read_vectors(path, [vectors.words[3], last], limit=40).missing == (last,)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_none_of_the_chosen_words_found_is_an_error(tmp_path: Path, vectors: Vectors, suffix: str) -> None:
    path = write_vectors(tmp_path / f"v{suffix}", vectors)
    with pytest.raises(DataError, match=rf"none of the 2 chosen words is in {path} .*the spelling"):
        read_vectors(path, ["zzz", "yyy"])
    with pytest.raises(
        DataError, match=rf"in the first 2 rows of {path} .*; raise the limit or leave it out"
    ):
        read_vectors(path, [vectors.words[3]], limit=2)


@pytest.mark.parametrize("binary", [True, False])
def test_word2vec_files_written_by_gensim_read_as_gensim_reads_them(
    tmp_path: Path, vectors: Vectors, binary: bool
) -> None:
    path = tmp_path / "vectors.any"
    keyed(vectors).save_word2vec_format(str(path), binary=binary)
    expected = KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert_equal(read_vectors(path), expected)
    assert_equal(
        read_vectors(path, limit=33), KeyedVectors.load_word2vec_format(str(path), binary=binary, limit=33)
    )


def test_binary_rows_with_line_breaks_between_them_read_as_gensim_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "original.bin"
    rows = np.arange(12, dtype="<f4").reshape(4, 3) / 7
    body = b"".join(f"wörd{i} ".encode() + rows[i].tobytes() + b"\n" for i in range(4))
    path.write_bytes(b"4 3\n" + body)
    found = read_vectors(path)
    assert_equal(found, KeyedVectors.load_word2vec_format(str(path), binary=True))
    assert found.notes == ()


def test_glove_text_reads_as_gensim_reads_it(tmp_path: Path, vectors: Vectors) -> None:
    path = tmp_path / "glove.6B.100d.txt"
    lines = [
        f"{w} {' '.join(f'{x:.5g}' for x in row)}"
        for w, row in zip(vectors.words, vectors.matrix, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = KeyedVectors.load_word2vec_format(str(path), no_header=True)
    assert_equal(read_vectors(path), expected)


def test_repeated_words_keep_the_first_as_gensim_does(tmp_path: Path) -> None:
    path = tmp_path / "twice.txt"
    path.write_text("4 2\na 1 2\nb 3 4\na 5 6\na 7 8\n")
    found = read_vectors(path)
    gensims = KeyedVectors.load_word2vec_format(str(path))  # its unused rows stay behind, without a word
    assert set(found.words) == set(gensims.key_to_index)
    assert all(np.array_equal(found.take([word]).matrix[0], gensims[word]) for word in found.words)
    assert found.notes == ("2 repeated words: the first row of each was kept (a, a)",)


@pytest.mark.parametrize("form", ["text", "binary"])
def test_gzipped_files_read_like_plain_ones(tmp_path: Path, vectors: Vectors, form: str) -> None:
    plain = write_vectors(tmp_path / ("v.txt" if form == "text" else "v.bin"), vectors)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert_equal(read_vectors(packed), vectors)
    assert read_vectors(packed, ["the"]).words == ("the",)


def test_the_suffix_does_not_decide(tmp_path: Path, vectors: Vectors) -> None:
    for suffix in SUFFIXES:
        path = write_vectors(tmp_path / f"v{suffix}", vectors)
        assert_equal(read_vectors(path.rename(tmp_path / "renamed.dat")), vectors)


def test_words_with_spaces_are_whole_in_glove_text(tmp_path: Path) -> None:
    path = tmp_path / "glove.840B.txt"
    path.write_bytes(
        b"the 0.1 0.2 0.3\n. . . 0.4 0.5 0.6\nat name@domain.com 0.7 0.8 0.9\n1 1.0 1.1 1.2\n"
        + "caf\u00a0é 1.3 1.4 1.5\n".encode()
    )
    found = read_vectors(path)
    assert found.words == ("the", ". . .", "at name@domain.com", "1", "caf\u00a0é")
    assert np.allclose(found.matrix, np.arange(1, 16).reshape(5, 3) / 10)
    assert read_vectors(path, ["at name@domain.com"]).matrix.tolist() == found.matrix[2:3].tolist()


def test_fasttext_lines_with_trailing_spaces_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wiki.vec"
    path.write_bytes(b"\xef\xbb\xbf3 2\r\n</s> 0.5 1e-05 \r\nand -3 +4 \r\n\r\nNew York\t5 6\r\n")
    found = read_vectors(path)
    assert found.words == ("</s>", "and", "New York")
    assert np.array_equal(found.matrix, np.float32([[0.5, 1e-5], [-3, 4], [5, 6]]))


def test_compiled_and_plain_text_reading_agree_on_awkward_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "awkward.txt"
    path.write_bytes(
        b"a 0.1 -2.5e-3\nb b 1e-40 12345678901234567890\nc nan 1\nd 0.30000000000000004 7\n\n"
        b"a 3 4\n\xff 5 6\ne  7   8  \n.5 1. .5\n 9 10"
    )
    plain = read_vectors(path)
    monkeypatch.setattr(text_reader, "COMPILED_FROM", 0)
    compiled = read_vectors(path)
    assert plain.words == ("a", "b b", "d", "\\xff", "e", ".5", "")
    assert_equal(compiled, plain)
    assert compiled.notes == plain.notes
    assert len(plain.notes) == 3
    assert_equal(read_vectors(path, limit=3), plain.rows([0, 1]))


def test_notes_count_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "holes.txt"
    path.write_bytes(b"3 2\na 1 nan\n\xc3\x28 1 2\nc inf 1\n")
    found = read_vectors(path)
    assert found.words == ("\\xc3(",)
    assert found.notes == (
        "2 rows with NaN or infinity were left out (a, c)",
        "1 words are not valid UTF-8: the bad bytes are shown as \\x.. (line 3)",
    )


def test_a_file_longer_than_its_header_is_read_as_far_as_promised_and_said(tmp_path: Path) -> None:
    text = tmp_path / "v.txt"
    text.write_text("2 2\na 1 2\nb 3 4\nc 5 6\n")
    binary = write_vectors(tmp_path / "v.bin", read_vectors(text))
    binary.write_bytes(binary.read_bytes() + b"c " + np.float32([5, 6]).tobytes())
    for path in (text, binary):
        found = read_vectors(path)
        assert found.words == ("a", "b")
        assert found.notes == ("the file goes on after the 2 rows its header promises",)


def test_other_peoples_npz_are_read(tmp_path: Path, vectors: Vectors) -> None:
    words = np.array([word.encode() for word in vectors.words])
    forms = {
        "compressed": lambda path: np.savez_compressed(path, vocab=np.array(vectors.words), X=vectors.matrix),
        "bytes": lambda path: np.savez(path, labels=words, embeddings=vectors.matrix.astype(np.float64)),
        "fortran": lambda path: np.savez(path, words=words, m=np.asfortranarray(vectors.matrix)),
        "both": lambda path: np.savez_compressed(path, words=words, m=np.asfortranarray(vectors.matrix)),
    }
    for name, save in forms.items():
        save(tmp_path / f"{name}.npz")
        assert_equal(read_vectors(tmp_path / f"{name}.npz"), vectors)
        chosen = read_vectors(tmp_path / f"{name}.npz", [vectors.words[600], vectors.words[2]])
        assert np.array_equal(chosen.matrix, vectors.matrix[[600, 2]])


def test_half_precision_and_metadata_words_are_read_from_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    rows = np.float32([[1, -2, 0.5], [4, 0, 3]])
    path = tmp_path / "bfloat.safetensors"
    upper = (rows.view(np.uint32) >> 16).astype("<u2")
    header = {"embedding": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}
    header["__metadata__"] = {"words": json.dumps(["é", "b c"])}
    raw = json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + upper.tobytes())
    save_file({"vectors": rows.astype(np.float16)}, tmp_path / "half.safetensors", {"words": '["é", "b c"]'})
    many = [f"w{i}" * 30 for i in range(2000)]  # a header longer than what is looked at first
    save_file({"vectors": np.zeros((2000, 2))}, tmp_path / "long", {"words": json.dumps(many)})
    assert read_vectors(tmp_path / "long").words == tuple(many)
    for file in tmp_path.glob("*.safetensors"):
        found = read_vectors(file)
        assert found.words == ("é", "b c")
        assert np.array_equal(found.matrix, rows)


def test_other_peoples_parquet_is_read(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "it's [1]*.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "create table t as "
            "select * from (values ('a', 0.5::double, 2::float), ('b', 3, 4)) as v(token, x, y)"
        )
        connection.execute(f"copy t to '{str(path).replace(chr(39), chr(39) * 2)}' (format parquet)")
    found = read_vectors(path)
    assert found.words == ("a", "b")
    assert found.matrix.tolist() == [[0.5, 2], [3, 4]]


def peak_growth(path: Path) -> float:
    """Megabytes by which a process grows at most while it opens two chosen words."""
    code = (
        "import resource, sys; from langscape.sources import read_vectors, binary, npz, tensors\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3\n"
        "before = peak(); found = read_vectors(sys.argv[1], ['w7', 'w59999'])\n"
        "assert len(found) == 2; print(peak() - before)"
    )
    made = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    return float(made.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".bin", ".npz", ".safetensors"])
def test_chosen_words_do_not_bring_the_rest_into_memory(tmp_path: Path, suffix: str) -> None:
    matrix = np.zeros((60_000, 300), np.float32)
    path = write_vectors(tmp_path / f"v{suffix}", Vectors([f"w{i}" for i in range(60_000)], matrix))
    assert path.stat().st_size > 72e6
    growth = peak_growth(path)
    path.unlink()
    assert growth < 36


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path, vectors: Vectors) -> None:
    path = write_vectors(tmp_path / "v.bin", vectors)
    steps: list[Step] = []
    read_vectors(path, progress=steps.append)
    assert steps[-1].done == steps[-1].total == path.stat().st_size


def test_settings_that_ask_for_nothing_are_refused(tmp_path: Path, vectors: Vectors) -> None:
    path = write_vectors(tmp_path / "v.bin", vectors)
    with pytest.raises(SettingsError, match="limit 0"):
        read_vectors(path, limit=0)
    with pytest.raises(SettingsError, match="empty"):
        read_vectors(path, [])
    with pytest.raises(SettingsError, match="must be a list of words"):
        read_vectors(path, "tea")


def test_vectors_take_rows_and_items_agree() -> None:
    vectors = Vectors(["tea", "New York", "tea"], np.eye(3), ["x", "y", "z"])
    taken = vectors.take(["NEW", "tea"])
    assert (taken.words, taken.missing) == (("tea",), ("NEW",))
    assert vectors.take(["New_York", "tea"]).matrix.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert vectors.take(["New_York"]).groups == ("y",)
    assert vectors.rows([2, 0]).groups == ("z", "x")
    assert vectors.items().columns["group"].tolist() == ["x", "y", "z"]
    with pytest.raises(DataError, match="3 words need a matrix"):
        Vectors(["a", "b", "c"], np.eye(2))
    with pytest.raises(DataError, match="1 groups for 3 words"):
        Vectors(["a", "b", "c"], np.eye(3), ["g"])


def test_writing_refuses_what_a_format_cannot_keep(tmp_path: Path) -> None:
    spaced = Vectors(["New York"], np.ones((1, 2)))
    with pytest.raises(DataError, match="'New York'"):
        write_vectors(tmp_path / "v.bin", spaced)
    assert read_vectors(write_vectors(tmp_path / "v.txt", spaced)).words == ("New York",)
    with pytest.raises(DataError, match="stand twice"):
        write_vectors(tmp_path / "v.npz", Vectors(["a", "a"], np.ones((2, 2))))
    with pytest.raises(SettingsError, match=r"must end in one of \.bin"):
        write_vectors(tmp_path / "v.xlsx", spaced)
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]
