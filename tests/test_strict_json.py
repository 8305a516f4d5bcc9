"""JSON that nobody vouches for is read whole and right, or is one FileError."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langscape.errors import FileError
from langscape.io.strict_json import field, parse, parse_object, read_object, texts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_what_json_writes_is_read_back(value: object) -> None:
    assert parse(json.dumps(value), "it") == value
    assert parse(json.dumps(value, ensure_ascii=False).encode(), "it") == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_one_error(data: bytes) -> None:
    said = ""
    try:
        assert parse(data, "it") == json.loads(data.decode("utf-8-sig"))
    except FileError as error:
        said = str(error)
    assert not said or said.startswith("it ")
    assert "\n" not in said


@pytest.mark.parametrize("deep", [10, 32, 33, 500, 5_000, 200_000])
def test_depth_is_counted_and_never_the_stack(deep: int) -> None:
    for text in ("[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep):
        if deep <= 32:
            parse(text, "it")
        else:
            with pytest.raises(FileError, match="it nests lists and objects deeper than 32 levels"):
                parse(text, "it")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is not JSON: expecting value at line 1, column 1"),
        ("[1]", 'it holds a JSON list; expected an object, {"name": value, …}'),
        ("null", "it holds a JSON nothing"),
        ("NaN", "it holds a JSON number"),
        ('{"a": 1' + "0" * 5000 + "}", "a number of thousands of digits"),
        (b"\xff{}", "is not UTF-8 text"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"\\uD800": 1}', "half a character"),
        (" " * 20_000_000, "it holds 20,000,000 bytes of JSON; at most 16,000,000 are read"),
    ],
)
def test_what_is_no_object_is_said(text: str | bytes, said: str) -> None:
    with pytest.raises(FileError) as raised:
        parse_object(text, "it")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 200


def test_whole_characters_outside_the_plane_are_text() -> None:
    assert parse('{"a": "\\ud83d\\ude00"}', "it") == {"a": "😀"}


def test_fields_are_of_their_kind_and_in_their_range() -> None:
    told = {"n": 3, "x": 0.5, "b": True, "t": "hm", "l": [1], "o": {}, "inf": float("inf"), "huge": 10**4000}
    assert field(told, "n", "whole number", "it", least=3, most=3) == 3
    assert field(told, "n", "number", "it") == 3
    assert field(told, "b", "true or false", "it") is True
    for name, kind, limits, said in [
        ("n", "whole number", {"least": 4}, '"n" is 3; expected a whole number, at least 4'),
        ("n", "number", {"most": 2.5}, '"n" is 3; expected a number, at most 2.5'),
        ("n", "whole number", {"least": 4, "most": 1000}, "expected a whole number from 4 to 1,000"),
        ("b", "whole number", {}, '"b" is true; expected a whole number'),
        ("x", "whole number", {}, '"x" is 0.5; expected a whole number'),
        ("inf", "number", {}, '"inf" is Infinity; expected a number'),
        ("huge", "whole number", {"most": 9}, '"huge" is a number of 4,001 digits'),
        ("t", "list", {}, '"t" is "hm"; expected a list'),
        ("l", "object", {}, '"l" is a list of 1; expected an object'),
        ("o", "text", {}, '"o" is an object of 0; expected text'),
        ("z", "object", {}, 'it lacks "z"; expected an object'),
    ]:
        with pytest.raises(FileError) as raised:
            field(told, name, kind, "it", **limits)  # type: ignore[call-overload]
        assert said in str(raised.value)
    assert texts(["a"], "words", "it") == ["a"]
    with pytest.raises(FileError, match="it: words holds 1; expected texts only"):
        texts(["a", 1], "words", "it")
    with pytest.raises(FileError, match='it: words is "a"; expected a list of texts'):
        texts("a", "words", "it")


def test_only_regular_files_of_a_size_are_read(tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    path.write_text('\ufeff{"a": 1}', encoding="utf-8")
    assert read_object(path) == {"a": 1}
    with pytest.raises(FileError, match="holds more than 3 bytes"):
        read_object(path, largest=3)
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_object(tmp_path / "none")
    with pytest.raises(FileError, match=r"cannot be read: Is a directory|not a regular file"):
        read_object(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(FileError, match="is not a regular file"):
            read_object(path)
