from __future__ import annotations

from pathlib import Path

import pytest

from langscape.errors import DataError, FileError
from langscape.sources import WordList, match_words, read_word_list
from langscape.sources.word_lookup import spellings


def written(tmp_path: Path, text: str | bytes, name: str = "list.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "drinks,tea\ndrinks,gin\nfood,New York roll\n",
        "tea,drinks\ngin,drinks\nNew York roll,food\n",
        "word,group\ntea,drinks\ngin,drinks\nNew York roll,food\n",
        "Group,Word\ndrinks,tea\ndrinks,gin\nfood,New York roll\n",
        "category;word\ndrinks;tea\ndrinks;gin\nfood;New York roll\n",
        "drinks\ttea\r\ndrinks\tgin\r\n\r\nfood\tNew York roll\r\n",
        "\ufeffdrinks,tea\r\ndrinks,gin\r\nfood,New York roll",
        'drinks, "tea"\ndrinks, gin\nfood, "New York roll"\n',
        "word,cluster\ntea,drinks\ngin,drinks\nNew York roll,food\n",
    ],
)
def test_word_and_group_are_told_apart_in_either_order(tmp_path: Path, text: str) -> None:
    found = read_word_list(written(tmp_path, text))
    assert found.words == ("tea", "gin", "New York roll")
    assert found.groups == ("drinks", "drinks", "food")


@pytest.mark.parametrize("name", ["list.csv", "list.txt", "list"])
def test_one_column_is_words_alone(tmp_path: Path, name: str) -> None:
    found = read_word_list(written(tmp_path, "\ufeffhoney\r\nice cream\r\n\r\nOslo\r\n", name))
    assert (found.words, found.groups) == (("honey", "ice cream", "Oslo"), None)
    assert found.items().columns == {}


def test_a_comma_in_a_line_of_text_belongs_to_the_word(tmp_path: Path) -> None:
    found = read_word_list(written(tmp_path, "Washington, D.C.\nOslo\n", "list.txt"))
    assert found.words == ("Washington, D.C.", "Oslo")


def test_a_word_in_two_groups_stands_twice_and_repeated_rows_once(tmp_path: Path) -> None:
    found = read_word_list(written(tmp_path, "food,duck\nanimal,duck\nfood,rice\nfood,egg\nfood,duck\n"))
    assert list(zip(found.groups or (), found.words, strict=True)) == [
        ("food", "duck"),
        ("animal", "duck"),
        ("food", "rice"),
        ("food", "egg"),
    ]
    assert found.notes == (
        "1 repeated row was kept once: duck",
        "1 word stands in more than one group: duck",
    )


def test_more_columns_need_a_heading_and_the_others_are_named(tmp_path: Path) -> None:
    found = read_word_list(written(tmp_path, "id,word,group,note\n1,tea,drinks,x\n2,gin,drinks,y\n"))
    assert (found.words, found.groups) == (("tea", "gin"), ("drinks", "drinks"))
    assert found.notes == ("columns not used: id, note",)
    with pytest.raises(FileError, match="has 3 columns; name the one with the words"):
        read_word_list(written(tmp_path, "1,tea,drinks\n2,gin,drinks\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no words"),
        ("word,group\n", "holds no words below"),
        ("food,rice\nfood,bread\ntea\n", "line 3: 1 columns where most lines have 2"),
        ("food,rice\nfood,\nfood,egg\n", "line 2: there is no word"),
        (b"tea\ngin\n\xff\xfe\n", "line 3: not valid UTF-8"),
        ("tea\n".encode("utf-16"), "is UTF-16"),
    ],
)
def test_a_broken_list_is_named_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_word_list(written(tmp_path, text))
    with pytest.raises(FileError, match="does not exist"):
        read_word_list(tmp_path / "nowhere.csv")


def test_groups_must_be_one_per_word() -> None:
    with pytest.raises(DataError, match="1 groups for 2 words"):
        WordList(["a", "b"], ["g"])


def test_matching_prefers_exact_then_lower_case_then_other_joints() -> None:
    rows = {"Turkey": 0, "turkey": 1, "new_york": 2, "New-York": 3, "ice cream": 4, "a": 5}
    listed = ["Turkey", "TURKEY", "New York", "ice-cream", "Ice_Cream", "b", "Turkey"]
    found = match_words(listed, rows)
    assert found.rows == (0, 1, 3, 4, 4, 0)
    assert found.kept == (0, 1, 2, 3, 4, 6)
    assert found.missing == ("b",)
    assert found.respelled == {
        "TURKEY": "turkey",
        "New York": "New-York",
        "ice-cream": "ice cream",
        "Ice_Cream": "ice cream",
    }
    assert spellings("tea") == ("tea",)
