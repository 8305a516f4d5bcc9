from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langscape.sources.float_parser import parse_lines
from langscape.sources.text import parse_line


def compiled(text: bytes, dim: int, tab: bool = False) -> tuple[np.ndarray, np.ndarray]:
    lines = text.count(b"\n")
    values, bounds = np.zeros((lines, dim), np.float32), np.zeros((lines, 3), np.int64)
    parse_lines(np.frombuffer(text, np.uint8), tab, values, bounds)
    return values, bounds


numbers = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: str(np.float32(x))),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=6).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["-0", "0.000", "1e22", "1e-22", "+.5", "5.", "9007199254740993", "0.1e+1", "1E5"]),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=8))
def test_compiled_numbers_equal_pythons_bit_for_bit_where_it_takes_them(fields: list[str]) -> None:
    line = ("word " + " ".join(fields)).encode()
    values, bounds = compiled(line + b"\n", len(fields))
    word, expected = parse_line(line, len(fields))
    assert word == b"word"
    assert bounds[0, 0] == 0
    assert bounds[0, 2] == len(line)
    if bounds[0, 1] >= 0:
        with np.errstate(over="ignore"):
            assert values[0].tobytes() == np.array(expected, np.float64).astype(np.float32).tobytes()


def test_ordinary_numbers_are_never_left_to_the_plain_parser() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 20)).astype(np.float32) * 10.0 ** rng.integers(-6, 6, (300, 1)).astype(
        np.float32
    )
    text = "".join(f"w{i} {' '.join(map(str, row))}\n" for i, row in enumerate(rows))
    values, bounds = compiled(text.encode(), 20)
    assert (bounds[:, 1] > 0).all()
    assert np.array_equal(values, rows)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.integers(1, 4), st.booleans())
def test_noise_is_left_to_the_plain_parser_or_parsed_alike(noise: bytes, dim: int, tab: bool) -> None:
    text = noise + b"\n"
    values, bounds = compiled(text, dim, tab)
    for line, row, (start, word_end, end) in zip(
        text.split(b"\n")[:-1], values, bounds.tolist(), strict=True
    ):
        assert text[start:end] == line
        if word_end >= 0:
            fields = text[word_end:end].split()
            assert np.array_equal(row, np.array([float(field) for field in fields]).astype(np.float32))
            assert len(fields) == dim


def test_a_tab_ends_a_word_with_spaces() -> None:
    values, bounds = compiled(b"New York\t1 2\ntea\t3\t4\n", 2, tab=True)
    assert bounds[:, 1].tolist() == [8, 16]
    assert values.tolist() == [[1, 2], [3, 4]]
