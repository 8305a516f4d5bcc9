"""Heads over a corpus: the analysis as a whole, on tiny models and on the packaged ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from papers.trust.heads_corpus import closed_rightly
from tests.commands import at_home_in, run
from tests.models.folders import bert_folder

import langscape
from langscape.analyses.heads import passage
from langscape.declarations.running import using
from langscape.errors import DataError, FileError, SettingsError
from langscape.io.codec import differences
from langscape.store import Store

WORDS = "the cat sat on a mat and saw red lamp over north door".split()  # noqa: SIM905


def made_texts(count, seed=0, shortest=8):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(shortest, 20))) for _ in range(count)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(bert_folder(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def store(tmp_path):
    with using(Store(tmp_path / "store")):
        yield Store(tmp_path / "store")


def test_a_list_a_file_of_lines_and_a_column_are_one_question(tiny, store, tmp_path):
    import pyarrow as pa

    texts = made_texts(24)
    (tmp_path / "lines.txt").write_text("\n".join(texts))
    found = [
        langscape.heads(tiny, texts),
        langscape.heads(tiny, tmp_path / "lines.txt", unit="line"),
        langscape.heads(tiny, pa.array(texts)),
    ]
    assert found[0].texts == 24
    for other in found[1:]:
        assert not differences(found[0], other)
    parts = [one for one in store.entries() if one.recipe and one.recipe["step"] == "heads.part"]
    assert len(parts) == 12  # two texts each: computed once, whatever the texts came as


def test_means_are_those_of_single_texts(tiny, store):
    from langscape.analyses.atlas import make_atlas
    from langscape.models import capture, open_model

    texts = made_texts(6)
    found = langscape.heads(tiny, texts)
    model = open_model(tiny)
    alone = [make_atlas(capture(model, one, ("attention",)), restarts=1, steps=20).scores for one in texts]
    for name in ("interest", "parked", "entropy", "previous_token"):
        values = np.array([one.columns[name] for one in alone])
        np.testing.assert_allclose(found.figures[name].mean, np.nanmean(values, axis=0), rtol=1e-5)
    reach = found.figures["entropy"].high - found.figures["entropy"].mean
    values = np.array([one.columns["entropy"] for one in alone])
    np.testing.assert_allclose(reach, 2.5706 * values.std(axis=0, ddof=1) / np.sqrt(6), rtol=1e-3)


def test_an_opened_model_gives_the_same_as_its_name(tiny, store):
    from langscape.models import open_model

    texts = made_texts(10)
    by_name, by_object = langscape.heads(tiny, texts), langscape.heads(open_model(tiny), texts)
    np.testing.assert_array_equal(by_name.figures["interest"].mean, by_object.figures["interest"].mean)


def test_texts_that_are_short_or_long_are_said(tiny, store):
    found = langscape.heads(tiny, [*made_texts(20), "the cat", " ".join(WORDS * 9)], tokens=16)
    assert found.texts == 21
    said = " ".join(found.notes)
    assert "1 text has fewer than 8 tokens" in said
    assert "longer than is read" in said
    assert max(len(tokens) for tokens in found.passages.tokens.values()) <= 16
    with pytest.raises(DataError, match=r'no text has as many as 8 tokens.*unit="paragraph"'):
        langscape.heads(tiny, ["the cat", "a mat"])
    with pytest.raises(SettingsError, match="LSTM"):
        langscape.heads("lstm-tiny", made_texts(3))


def test_a_decoder_is_probed_for_induction(tiny_gpt, store):
    found = langscape.heads(str(tiny_gpt / "tiny"), made_texts(12))
    assert found.roles["induction"].figures.texts == 16
    assert found.figures["induction"].texts == 16


def test_passages_name_tokens_of_their_text_and_mark_query_and_key(tiny, store):
    texts = made_texts(12)
    found = langscape.heads(tiny, texts)
    table = found.passage_columns()
    assert len(table["text"]) == found.passages.text[found.passages.text >= 0].size
    for row in range(0, len(table["text"]), 7):
        assert f"[{table['query'][row]}]" in table["text"][row]
        assert f"«{table['key'][row]}»" in table["text"][row]
    assert (np.diff(table["beyond"][:5]) <= 1e-6).all()
    tokens = found.passages.tokens[int(found.passages.text[0, 0])]
    assert " ".join(tokens[1:-1]) in texts
    assert passage(found.passages, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"workers": 2}, {"cluster": "local"}], ids=["workers", "dask"])
def test_workers_and_a_cluster_give_the_result_of_one_process(tiny, tmp_path, how):
    if "cluster" in how:
        pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    texts, found = made_texts(40), []
    for at, one in enumerate(({}, how)):
        with using(Store(tmp_path / f"store{at}")):
            found.append(langscape.heads(tiny, texts, **one))
    assert differences(*found) == []


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_stood(tiny, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(made_texts(400)))
    code = (
        "import langscape, sys\n"
        "from langscape.declarations.running import using\n"
        "from langscape.store import Store\n"
        f"with using(Store({str(tmp_path / 'store')!r})):\n"
        f"    found = langscape.heads({tiny!r}, __import__('pathlib').Path({str(tmp_path / 'lines.txt')!r}), "
        "unit='line')\n"
        "print(found.texts)\n"
    )

    def parts():
        held = Store(tmp_path / "store").entries()
        return {one.digest: one.made for one in held if one.recipe and one.recipe["step"] == "heads.part"}

    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    while len(parts()) < 3 and child.poll() is None:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    before = parts()
    assert 3 <= len(before) < 16
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "400\n"
    after = parts()
    assert len(after) == 16
    assert before.items() <= after.items()  # none was computed again


def test_the_command_prints_roles_and_writes_table_figure_and_folder(tiny, tmp_path, monkeypatch):
    at_home_in(tmp_path, monkeypatch)
    (tmp_path / "lines.txt").write_text("\n".join(made_texts(20)))
    done = run(
        "heads", tiny, "--texts", "lines.txt", "--unit", "line", "--show", "2", "-o", "all", "-o", "f.svg"
    )
    assert "20 texts" in done.stdout
    assert "groups of heads that attend alike" in done.stdout
    assert "«" in done.stdout
    names = (tmp_path / "all" / "scores.csv").read_text().splitlines()[0].split(",")
    assert {"names", "sometimes", "interest_low", "by_position_high"} <= set(names)
    assert (tmp_path / "all" / "passages.csv").read_text().count("\n") > 6
    assert (tmp_path / "f.svg").stat().st_size > 10_000
    with pytest.raises(FileError, match=r"there is no corpus nowhere\.txt; give a text file"):
        run("heads", tiny, "--texts", "nowhere.txt")
    with pytest.raises(SettingsError, match="heads cannot be ranked by 'beauty'; use one of .*, interest, "):
        run("heads", tiny, "--texts", "lines.txt", "--unit", "line", "--sort", "beauty")


@pytest.mark.slow
def test_known_heads_of_the_packaged_models_are_found_again(store):
    """0.2 and 2.11 of MiniLM look back, 1.8 ahead, 2.4 at the open bracket."""
    found = langscape.heads("default")
    by = dict(zip(found.scores.labels, found.scores.columns["names"], strict=True))
    assert "previous-token" in by["0.2"]
    assert "position-only" in by["0.2"]
    assert "previous-token" in by["2.11"]
    assert "next-token" in by["1.8"]
    assert "bracket-matching" in by["2.4"]
    assert found.halves > 0.85
    # on lines of code that are no part of the texts, heads named by prose do what their name says
    named = [row for row, names in enumerate(found.scores.columns["names"]) if "bracket-matching" in names]
    right = closed_rightly(langscape.open_model("default"))
    assert len(named) >= 2
    assert right[named].min() >= 0.5
    assert np.median(right) < 0.1
