from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langscape.errors import FileError, SettingsError
from langscape.store import recipe as recipes
from langscape.store import registry
from langscape.store.recipe import Recipe, canonical, digest
from langscape.store.store import Store

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), plain_values, max_size=5))
def test_a_recipe_comes_back_from_json_with_every_float_exact(settings: dict) -> None:
    recipe = Recipe("chores.free", settings)
    again = Recipe.from_json(json.loads(json.dumps(recipe.to_json())))
    assert again == recipe
    assert canonical(dict(again.settings)) == canonical(settings)


def test_the_order_of_settings_does_not_matter_and_a_bit_of_a_float_does() -> None:
    name = "chores.square"
    base = digest(Recipe(name, {"n": 1, "pause": 0.1}))
    assert digest(Recipe(name, {"pause": 0.1, "n": 1})) == base
    assert digest(Recipe(name, {"n": 1, "pause": float(np.nextafter(0.1, 1))})) != base


def test_a_default_written_down_is_the_same_computation() -> None:
    assert digest(Recipe("chores.square", {"n": 3})) == digest(Recipe("chores.square", {"n": 3, "pause": 0}))


def test_numpy_scalars_and_tuples_are_their_plain_values() -> None:
    given_ = Recipe("chores.square", {"n": np.int64(3), "pause": np.float64(0.5)})
    assert given_ == Recipe("chores.square", {"n": 3, "pause": 0.5})
    assert Recipe("x", {"a": (1, 2)}) == Recipe("x", {"a": [1, 2]})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"a": float("nan")}, "nan"),
        ({"a": [1, float("inf")]}, "inf"),
        ({"a": {1: 2}}, "key 1"),
        ({"a": b"bytes"}, "bytes"),
        ({"a": np.zeros(3)}, "ndarray"),
        ({"a": {1, 2}}, "set"),
        ([1], "mapping"),
    ],
)
def test_settings_that_are_not_plain_are_refused_by_name(settings: object, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Recipe("chores.square", settings)  # type: ignore[arg-type]


def test_an_unknown_step_or_setting_names_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"no step 'nowhere'; known steps: .*chores\.square"):
        digest(Recipe("nowhere"))
    with pytest.raises(SettingsError, match="no setting 'm'; it has n, pause"):
        digest(Recipe("chores.square", {"m": 1}))


@pytest.mark.parametrize(
    "value", ["", 7, {"steps": "x"}, {"step": "x", "inputs": [1]}, {"step": ""}, [], None]
)
def test_what_is_no_recipe_is_refused(value: object) -> None:
    with pytest.raises(SettingsError):
        Recipe.from_json(value)


def test_the_digest_follows_the_bytes_of_inputs_not_their_place(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "elsewhere.txt"
    first.write_text("one\ntwo\n")
    second.write_text("one\ntwo\n")
    of = {path: digest(Recipe("chores.lines", {}, {"text": path})) for path in (first, second)}
    assert of[first] == of[second]
    second.write_text("one\ntwO\n")
    assert digest(Recipe("chores.lines", {}, {"text": second})) != of[first]


def test_the_same_bytes_are_the_same_input_whatever_their_name(tmp_path: Path) -> None:
    # readers look at what a file holds; lists of words, where the ending counts, are kept in one form
    names = ["a.vec", "a.txt", "other.bin"]
    for name in names:
        (tmp_path / name).write_text("tea 1 2\n")
    kept = Store(tmp_path / "store").keep(b"tea 1 2\n")
    sources = [*(tmp_path / name for name in names), kept]
    assert len({digest(Recipe("chores.lines", {}, {"text": source})) for source in sources}) == 1


def test_a_folder_counts_by_the_names_and_bytes_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "weights").write_bytes(b"123")
    recipe = Recipe("chores.lines", {}, {"text": folder})
    before = digest(recipe)
    assert digest(recipe) == before
    (folder / "deep" / "weights").write_bytes(b"124")
    changed = digest(recipe)
    (folder / "deep" / "weights").rename(folder / "weights")
    assert len({before, changed, digest(recipe)}) == 3


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="nothing\\.txt does not exist"):
        digest(Recipe("chores.lines", {}, {"text": tmp_path / "nothing.txt"}))
    for wrong in (None, 3, "", "sha256:12"):
        with pytest.raises(SettingsError, match="input 'text'"):
            Recipe("chores.lines", {}, {"text": wrong})  # type: ignore[dict-item]


def test_code_version_and_model_revision_are_part_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(settings: object, inputs: object, progress: object) -> dict:
        return {}

    def named(version: int, revision: str | None) -> str:
        monkeypatch.setattr(registry, "_STEPS", {})
        registry.step("x", version=version, revision=None if revision is None else lambda settings: revision)(
            run
        )
        return digest(Recipe("x"))

    assert named(1, None) == named(1, None)
    assert len({named(1, None), named(2, None), named(1, "abc"), named(1, "abd")}) == 4


def test_a_step_name_belongs_to_one_function() -> None:
    with pytest.raises(SettingsError, match="already registered by chores"):
        registry.step("chores.square", version=1)(lambda settings, inputs, progress: {})


def test_a_large_input_is_hashed_once_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "big.txt"
    path.write_text("a\n" * 1000)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    hashed: list[Path] = []

    def counted(file: Path) -> str:
        hashed.append(file)
        return recipes.hash_file(file)

    monkeypatch.setattr("langscape.store.store.hash_file", counted)
    recipe = Recipe("chores.lines", {}, {"text": path})
    first = Store(tmp_path / "store").name(recipe).digest
    assert (
        Store(tmp_path / "store").name(recipe).digest == first
    )  # another process would find it in the index
    assert len(hashed) == 1
    path.write_text("b\n" * 1000)
    os.utime(path, (1_000_000_000, 1_000_000_001))
    assert Store(tmp_path / "store").name(recipe).digest != first


def test_a_file_just_written_is_not_trusted_to_keep_its_time(tmp_path: Path) -> None:
    store, path = Store(tmp_path / "store"), tmp_path / "fresh.txt"
    path.write_text("a")
    status = path.stat()
    recipe = Recipe("chores.lines", {}, {"text": path})
    first = store.name(recipe).digest
    path.write_text("b")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert store.name(recipe).digest != first


@pytest.mark.parametrize("path", ["a\x00b", "half a letter \ud800", "a\nb", "a" * 3000])
def test_a_path_that_no_file_can_have_is_said_in_one_short_line(path: str) -> None:
    with pytest.raises(FileError, match="cannot be read") as caught:
        recipes.digest(Recipe("chores.lines", {}, {"text": path}))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("settings", ["a" * 10_000, ["a"] * 10_000])
def test_settings_that_are_none_are_not_repeated_in_full(settings: object) -> None:
    with pytest.raises(SettingsError, match="expected a mapping of names") as caught:
        Recipe("chores.lines", settings)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300
