"""The file of Gaussians: everything comes back, and what is broken is named."""

import json

import numpy as np
import pytest

from langscape import read_gaussians, read_vectors
from langscape.data import Context, Gaussians, Items
from langscape.errors import DataError, FileError

rng = np.random.default_rng(0)


def three():
    counts = np.array([2, 0, 3])
    contexts = [
        [Context("a cup of tea", 9, 12), Context("tea: höt ☕", 0, 3)],
        [],
        [Context(f"oslo {'x' * i}", 0, 4) for i in range(3)],
    ]
    return Gaussians(
        rng.normal(size=(3, 4)).astype(np.float32),
        rng.uniform(size=(3, 4)).astype(np.float32),
        Items(["tea", "new\nline", "oslo"], {"group": ["a", None, "b"], "few": [True, False, True]}),
        counts,
        factors=rng.normal(size=(3, 4, 2)).astype(np.float32) * 0.1,
        samples=rng.normal(size=(5, 4)).astype(np.float16),
        contexts=contexts,
        metadata={"model": "default", "layer": -1},
        notes=("one word has few contexts",),
    )


def test_everything_comes_back_bit_for_bit(tmp_path):
    given = three()
    back = read_gaussians(given.save(tmp_path / "words.safetensors"))
    for name in ("means", "variances", "counts", "factors", "samples"):
        assert getattr(back, name).dtype == getattr(given, name).dtype
        np.testing.assert_array_equal(getattr(back, name), getattr(given, name))
    assert back.contexts == given.contexts
    assert back.labels == given.labels
    assert back.items.columns["group"].tolist() == ["a", None, "b"]
    assert back.items.columns["few"].dtype == bool
    assert (dict(back.metadata), back.notes) == (dict(given.metadata), given.notes)
    text = back.contexts[0][1]
    assert text.text[text.start : text.end] == "tea"
    assert list(tmp_path.iterdir()) == [tmp_path / "words.safetensors"]


def test_the_means_can_be_read_as_vectors(tmp_path):
    given = three()
    found = read_vectors(given.save(tmp_path / "words.safetensors"))
    np.testing.assert_array_equal(found.matrix, given.means)
    assert found.words[2] == "oslo"


def test_chosen_items_keep_their_own_samples_and_contexts():
    given = three()
    some = given.take([2, 0])
    assert some.labels == ("oslo", "tea")
    np.testing.assert_array_equal(some.samples_of(0), given.samples_of(2))
    np.testing.assert_array_equal(some.samples_of(1), given.samples_of(0))
    assert some.contexts == (given.contexts[2], given.contexts[0])


def test_factors_add_to_the_variances_what_lies_off_the_diagonal():
    given = three()
    C = given.covariance(0)
    F = given.factors[0].astype(float)
    np.testing.assert_allclose(np.diag(C), np.maximum(given.variances[0], (F**2).sum(1)))
    np.testing.assert_allclose(C - np.diag(np.diag(C)), F @ F.T - np.diag((F**2).sum(1)), atol=1e-12)
    U = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    np.testing.assert_allclose(given.projected(U)[0], U @ C @ U.T, rtol=1e-6)


def test_broken_files_are_named(tmp_path):
    path = three().save(tmp_path / "words.safetensors")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="cut short"):
        read_gaussians(path)
    with pytest.raises(FileError, match=r"there is no file .*nowhere"):
        read_gaussians(tmp_path / "nowhere.safetensors")
    from safetensors.numpy import save_file

    save_file({"means": np.zeros((2, 2))}, tmp_path / "other.safetensors")
    with pytest.raises(FileError, match="holds no distributions"):
        read_gaussians(tmp_path / "other.safetensors")


def test_shapes_that_do_not_belong_together_are_refused():
    with pytest.raises(DataError, match="variances have shape"):
        Gaussians(np.zeros((2, 3)), np.zeros((2, 2)), Items(["a", "b"]), [1, 1])
    with pytest.raises(DataError, match="negative variance"):
        Gaussians(np.zeros((1, 2)), [[1.0, -1.0]], Items(["a"]), [1])
    with pytest.raises(DataError, match="NaN"):
        Gaussians([[np.nan]], [[1.0]], Items(["a"]), [1])


def changed(path, tmp_path, said=None, tensors=None, drop=()):
    """The file with parts of its description or arrays replaced."""
    from langscape.io.tensor_file import read_header, read_tensors, write_tensors

    header = read_header(path)
    arrays = {name: array for name, array in read_tensors(path, header).items() if name not in drop}
    told = header.metadata["langscape"]
    if isinstance(said, dict):
        told = json.dumps({**json.loads(told), **said})
    elif said is not None:
        told = said
    write_tensors(tmp_path / "other.safetensors", {**arrays, **(tensors or {})}, {"langscape": told})
    return tmp_path / "other.safetensors"


SAID = [
    "[" * 100_000, '{"a":' * 100_000, "[]", "3", "{", "null", {"format": "1"}, {"format": None},
    {"labels": 3},
    {"labels": [1, 2, 3]}, {"labels": {"a": 1}}, {"columns": []}, {"columns": {"group": 3}}, {"made": "x"},
    {"columns": {"group": [["a"], ["b"], ["c"]]}}, {"columns": {"group": "nothing"}}, {"notes": None},
    {"made": json.loads("[" * 50 + "]" * 50)}, {"notes": [None]}, {"labels": ["a"]}, {"format": 10**30},
]  # fmt: skip


@pytest.mark.parametrize("said", SAID, ids=lambda said: str(said)[:30])
def test_a_description_of_wrong_types_or_depth_is_one_error(tmp_path, said):
    path = changed(three().save(tmp_path / "words.safetensors"), tmp_path, said)
    with pytest.raises(FileError, match=r"other\.safetensors") as caught:
        read_gaussians(path)
    assert "\n" not in str(caught.value)


TENSORS = [
    {"means": np.float32(1)}, {"means": np.zeros((3, 4), np.int64)}, {"means": np.zeros(3)},
    {"counts": np.array([2.0, np.nan, 3])}, {"counts": np.array([3, -1, 3])}, {"counts": np.array([2, 1, 3])},
    {"counts": np.array([2**62, 2**62, 2**62])}, {"context_words": np.zeros((5, 2))},
    {"context_words": np.zeros((5, 3), np.int32)}, {"context_ends": np.zeros((5, 1), np.int64)},
    {"context_ends": np.array([1, 2, 3, 4, 10**9])}, {"context_ends": np.array([5, 4, 3, 2, 1])},
    {"context_words": np.full((5, 2), [0, 10**6], np.int32)},
    {"context_words": np.full((5, 2), [-3, 2], np.int32)},
    {"context_words": np.full((5, 2), [2, 1], np.int32)}, {"context_text": np.full(99, 0xFF, np.uint8)},
    {"factors": np.zeros((3, 4))}, {"samples": np.zeros((4, 4))}, {"column 1": np.zeros((3, 3), bool)},
]  # fmt: skip


@pytest.mark.parametrize("tensors", TENSORS, ids=lambda one: f"{next(iter(one))}")
def test_arrays_of_wrong_types_shapes_or_places_are_one_error(tmp_path, tensors):
    tensors = {name: np.asarray(array) for name, array in tensors.items()}
    path = changed(three().save(tmp_path / "words.safetensors"), tmp_path, tensors=tensors)
    with pytest.raises(FileError, match=r"other\.safetensors"):
        read_gaussians(path)


def test_a_word_outside_its_context_is_refused():
    with pytest.raises(DataError, match="outside its context"):
        Context("tea", 1, 4)
