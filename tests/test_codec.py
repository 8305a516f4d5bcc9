"""Any noun written and read is equal, field by field; a damaged file is one error."""

import contextlib
import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from langscape import affinity
from langscape.data import Affinities, Capture, Context, Flow, Gaussians, Items, Map, Tokens, View
from langscape.data.lstm_baseline import LSTMBaseline
from langscape.declarations import analyses
from langscape.engine import WordColours
from langscape.errors import DataError, FileError, OtherVersionError
from langscape.io import codec
from langscape.io.codec import _ELSEWHERE, _NOUNS, FORMAT, differences, is_noun, noun, read_noun, write_noun
from langscape.io.tensor_file import write_tensors
from langscape.metrics import ClassTable
from langscape.metrics.head_search import HeadSearch
from langscape.metrics.head_tally import HeadTally, Passages
from langscape.metrics.role_names import Figures, Judged
from langscape.metrics.stable_groups import StableGroups
from langscape.models.tuned_lens import TunedLens
from langscape.store.results import Table

rng = np.random.default_rng(0)


def back(value, folder):
    write_noun(value, folder / "noun.safetensors")
    return read_noun(folder / "noun.safetensors")


def items(n=4):
    columns = {"group": ["a", None, "ü\ud800", ""][:n], "n": np.arange(n), "flag": np.arange(n) % 2 == 0}
    return Items([f'w{i}"\n' for i in range(n)], columns)


def some_map(n=4):
    return Map(
        rng.random((n, 2)).astype(np.float32),
        items(n),
        kl=0.25,
        kls=np.array([0.25, np.nan, np.inf]),
        history=rng.random((3, 2)),
        settings={"perplexity": 3.0, "schedule": {"steps": 5}, "seeds": [1, 2], "none": None},
        quality={"local": 0.5, "global": float("nan")},
        per_point={"local": rng.random(n).astype(np.float32)},
        shapes=rng.random((n, 2, 2)),
        vectors=rng.random((n, 3)).astype(np.float16),
        metric="cosine",
        notes=("a note", "another"),
    )


GAUSSIANS = Gaussians(
    rng.random((2, 3)), rng.random((2, 3)), Items(["a", "b"]), np.array([1, 2]),
    factors=rng.random((2, 3, 1)), samples=rng.random((3, 3)),
    contexts=[[Context("a cat", 2, 5)], [Context("x", 0, 1), Context("\ud800", 0, 1)]],
    metadata={"table": "t"}, notes=("n",),
)  # fmt: skip
EVERY = [
    Table({"kl": np.array([1.0, np.nan]), "who": ["a", None]}, {"n": 2}),
    Items([]),
    items(),
    Context("text", 0, 2),
    some_map(),
    Map(np.empty((0, 2)), Items([])),
    GAUSSIANS,
    Affinities(np.eye(3)[::-1].copy(), Items.numbered(3), {"perplexity": 2}, metric="cosine", notes=("x",)),
    Affinities(csr_array(np.eye(3)), Items.numbered(3), gaussians=GAUSSIANS),
    TunedLens(np.ones((2, 3, 2), np.float16), np.zeros((2, 2)), np.ones((2, 2)), 3.5, np.ones(2), (4, 8), ""),
    Tokens([]),
    Tokens(["a", "##b"], ["a", "\ud800"], [True, False], [0, 1], [7, 2**40], [[0, 0], [0, 1]], [None, 0],
           ["special", "noun"], "decoder"),
    Capture(["a", "b"], {"hidden": rng.random((2, 3)), "ids": np.arange(2)}, {"hidden": ("token", "dim"),
            "ids": ("token",)}, {"layers": {"hidden": [0]}}, ("note",)),
    Capture(Tokens("ab", special=[True, False]), {"cross_q": rng.random((3, 2))},
            {"cross_q": ("query", "dim")}, decoder_tokens=Tokens("xyz", ids=[1, 2, 3])),
    affinity.Scales("norms", 0.5, 2, (0.5, 1.0), np.array([[0, 1]]),
                    *(rng.random((1, n)) for n in range(1, 13)), clear=2.0, notes=("x",)),
    ClassTable(("word",), ("word", "name"), rng.random((1, 2)), rng.random((1, 2)), np.array([3])),
    affinity.StrongestKeys(items(), 2, ((0, 1),), rng.random((1, 4)), np.zeros((1, 2, 5), np.int32),
                           rng.random((1, 2, 5)), rng.random((1, 3, 3)), "default", ("A cat.",), "drop"),
    WordColours(rng.random((3, 4)), rng.random((3, 3)), rng.random((3, 3)), "rgb", np.arange(2), np.arange(3),
                0.5, {"words": 0.9}),
    Flow("lstm", "lstm", "a title", ("a", "b"), ("a",), 9, {"hidden": rng.random((1, 2, 3))},
         {"hidden": ("layer", "step", "unit")}, {"ids": np.array([0, -1])}, {"sums": float("nan")},
         ({"vector": "hidden", "units": [1]},), {"bias_0": rng.random(4)}, "start", ("token",), True, ("x",)),
    HeadSearch(("next word",), np.array([[0, 1], [0, 2]]), *(rng.random((1, 2)) for _ in range(4)),
               np.array([[True, False]]), np.array([12]), np.array([6])),
    HeadTally.empty(2),
    Figures(rng.random(2), rng.random(2), np.array([0.5, np.nan]), 7),
    Judged(Figures(rng.random(2), rng.random(2), rng.random(2), 9), rng.random(2), rng.random(2),
           np.array([0, 2], np.int8)),
    Passages(*(np.zeros((2, 1), np.int32) for _ in range(3)), rng.random((2, 1)), np.ones((2, 1), np.int32),
             np.zeros((2, 1, 8), np.int32), rng.random((2, 1, 8)), {0: ("a", "␣b"), 7: ("c",)}),
    StableGroups(np.array([0, 0, 1]), 0.9, np.ones(2), rng.random((2, 2)), rng.random((2, 4)), np.arange(3)),
    LSTMBaseline("its own text", 9, rng.random((4, 3, 1, 2)), rng.random((2, 1, 2)), rng.random((1, 2)),
                 (0.5, 1.5), (1.0, float("nan")), 2.0, 3.0, np.arange(3), rng.random((5, 1, 2)),
                 rng.random((2, 2, 1, 2)), 7, rng.random((1, 2)), (1.0, 2.0),
                 np.zeros((2, 1, 2, 3), np.int32), rng.random((3, 1, 2))),
    View("scatter", {"labels": ["a"], "nested": [{"x": (1, 2)}]}, {"xy": rng.random((1, 2))}),
]  # fmt: skip


@pytest.mark.parametrize("value", EVERY, ids=lambda one: type(one).__name__)
def test_every_noun_comes_back_equal_in_every_field(tmp_path, value):
    assert differences(value, back(value, tmp_path)) == []


@pytest.mark.parametrize("value", [one for one in EVERY if type(one).__name__ in _ELSEWHERE], ids=type)
def test_a_noun_of_a_module_that_is_not_imported_yet_is_read(tmp_path, value):
    write_noun(value, tmp_path / "noun.safetensors")
    code = "import sys; from pathlib import Path; from langscape.io.codec import read_noun; "
    code += "print(type(read_noun(Path(sys.argv[1]))).__module__)"
    words = [sys.executable, "-c", code, str(tmp_path / "noun.safetensors")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout.strip() == _ELSEWHERE[type(value).__name__], done.stderr


def test_a_difference_in_any_field_is_seen():
    one = some_map()
    for field in dataclasses.fields(one):
        held = getattr(one, field.name)
        other = (
            held + 1
            if isinstance(held, np.ndarray | float)
            else ("other",)
            if field.name == "notes"
            else None
        )
        if other is not None:
            assert differences(one, dataclasses.replace(one, **{field.name: other})), field.name
    assert differences(one, one.but(items=items().with_columns(n=np.arange(4) + 1)))


def test_every_marked_noun_is_tried_here_or_is_a_result_of_an_analysis():
    analyses()
    tried = {type(one).__name__ for one in EVERY}
    results = {name for name, one in _NOUNS.items() if one.__module__.startswith("langscape.analyses.")}
    ours = {name for name, one in _NOUNS.items() if one.__module__.startswith("langscape.")}
    assert ours == tried | results


arrays = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.float16, np.int8, np.uint16, np.int64, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats() | st.text(max_size=8) | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        | st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 9)), inner, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def tokens(draw):
    n = draw(st.integers(0, 5))

    def column(one):
        return st.none() | st.lists(one, min_size=n, max_size=n)

    labels, number = st.text(max_size=4), st.integers(-(2**62), 2**62)
    return Tokens(
        draw(st.lists(labels, min_size=n, max_size=n)),
        draw(column(labels)),
        draw(column(st.booleans())),
        draw(column(st.integers(0, 9))),
        draw(column(number)),
        draw(column(st.tuples(number, number))),
        draw(column(st.none() | number)),
        draw(column(labels)),
        draw(st.sampled_from([None, "encoder", "decoder"])),
    )


@settings(max_examples=60, deadline=None)
@given(tokens(), st.none() | tokens(), st.data())
def test_tokens_and_captures_of_them_come_back_equal(tmp_path_factory, read, written, data):
    folder = tmp_path_factory.mktemp("nouns")
    assert differences(read, back(read, folder)) == []
    rows = data.draw(st.lists(st.integers(0, max(len(read) - 1, 0)), max_size=4 * bool(len(read))))
    chosen = read.take(rows)
    assert list(chosen) == [read[row] for row in rows]
    assert differences(chosen, back(chosen, folder)) == []
    arrays, axes = {"hidden": np.zeros((len(read), 2))}, {"hidden": ("token", "dim")}
    if written is not None:
        arrays["cross_attention"] = np.zeros((1, 1, len(written), len(read)))
        axes["cross_attention"] = ("layer", "head", "query", "key")
    capture = Capture(read, arrays, axes, decoder_tokens=written)
    assert differences(capture, back(capture, folder)) == []


def test_a_capture_as_it_was_kept_before_tokens_were_a_table_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(Capture, "codec_version", 1)
    write_noun(Capture(["a"], {}, {}), tmp_path / "old")
    monkeypatch.undo()
    with pytest.raises(FileError, match="written by another langscape; compute it again"):
        read_noun(tmp_path / "old")


@noun
@dataclasses.dataclass(frozen=True, eq=False)
class Anything:
    value: object
    again: object


@settings(max_examples=120, deadline=None)
@given(plain)
def test_whatever_a_noun_holds_comes_back_with_its_type(tmp_path_factory, value):
    found = back(Anything(value, value), tmp_path_factory.mktemp("nouns"))
    assert differences(Anything(value, value), found) == []
    assert type(found.value) is type(value)


def test_what_several_share_is_written_once(tmp_path):
    one = some_map(4)
    write_noun(Anything([one] * 50, one.xy), tmp_path / "many")
    write_noun(Anything([one], one.xy), tmp_path / "one")
    assert (tmp_path / "many").stat().st_size < 1.2 * (tmp_path / "one").stat().st_size + 2000
    found = read_noun(tmp_path / "many")
    assert found.value[0] is found.value[49]


def test_what_cannot_be_kept_is_named(tmp_path):
    with pytest.raises(DataError, match=r"Anything\.value holds a set"):
        write_noun(Anything({1}, None), tmp_path / "x")
    assert not is_noun({"a": 1})


def test_a_noun_of_another_version_is_not_read(tmp_path, monkeypatch):
    write_noun(Anything(1, 2), tmp_path / "x")
    monkeypatch.setattr(Anything, "codec_version", 2, raising=False)
    with pytest.raises(FileError, match="written by another langscape"):
        read_noun(tmp_path / "x")


def test_a_noun_with_other_fields_is_not_read(tmp_path, monkeypatch):
    write_noun(Anything(1, 2), tmp_path / "x")
    fewer = dataclasses.make_dataclass("Anything", [("value", object)], frozen=True, eq=False)
    monkeypatch.setitem(codec._NOUNS, "Anything", fewer)
    with pytest.raises(OtherVersionError, match="written by another langscape"):
        read_noun(tmp_path / "x")
    more = [("value", object), ("again", object), ("third", object)]
    monkeypatch.setitem(codec._NOUNS, "Anything", dataclasses.make_dataclass("Anything", more, frozen=True))
    with pytest.raises(OtherVersionError, match="written by another langscape"):
        read_noun(tmp_path / "x")


def test_a_class_that_is_not_marked_is_never_made(tmp_path):
    @dataclasses.dataclass
    class Anything:
        value: object
        again: object

    with pytest.raises(DataError, match="cannot be kept"):
        write_noun(Anything(1, 2), tmp_path / "x")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_file_is_one_error_or_a_right_answer(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("nouns") / "x"
    write_noun(some_map(), path)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(
        bytes(raw[: data.draw(st.integers(0, len(raw)))]) if data.draw(st.booleans()) else bytes(raw)
    )
    with contextlib.suppress(FileError):
        assert is_noun(read_noun(path))


def test_json_that_is_no_noun_is_no_result(tmp_path):
    text = json.dumps({"format": FORMAT, "tree": {"tokens": []}}).encode()
    write_tensors(tmp_path / "x", {"noun": np.frombuffer(text, np.uint8)}, {})
    with pytest.raises(FileError, match="x holds no result of langscape"):
        read_noun(tmp_path / "x")


def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path):
    write_noun(some_map(), tmp_path / "x")
    raw = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(raw.replace(b'"U8"', b'"\\n"'))
    with pytest.raises(FileError, match="x is damaged") as caught:
        read_noun(tmp_path / "x")
    assert "\n" not in str(caught.value)


def test_affinities_of_real_points_come_back(tmp_path):
    made = affinity.points(rng.normal(size=(30, 4)).astype(np.float32), 5)
    assert differences(made, back(made, tmp_path)) == []
