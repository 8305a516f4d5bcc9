"""`langscape atlas`, and the steps behind it, on a tiny model that is made here and on the packaged one."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from tests.commands import at_home_in, run

from langscape import affinity
from langscape.analyses._captures import captured as captured_text
from langscape.analyses._captures import induction_probe
from langscape.analyses._restarts import embed_restarts
from langscape.analyses.atlas import lines, make_atlas
from langscape.data import Capture, Items, Tokens
from langscape.engine import Schedule, embed_many
from langscape.errors import DataError, LangscapeError, SettingsError
from langscape.io.codec import differences, read_noun, write_noun

AXES = ("layer", "head", "query", "key")
SHORT = Schedule(steps=120, early_steps=30)


def captured(layers=2, heads=3, n=14):
    weights = np.random.default_rng(0).dirichlet(np.full(n, 0.4), size=(layers, heads, n)).astype(np.float32)
    tokens = ["[CLS]", *(f"t{i % 5}" for i in range(n - 2)), "[SEP]"]
    special = [True, *[False] * (n - 2), True]
    return Capture(Tokens(tokens, special=special), {"attention": weights}, {"attention": AXES})


def test_restarts_are_those_of_embed_many_and_say_how_far_they_differ():
    capture = captured()
    problems = [affinity.attention(capture, layer, 1) for layer in range(2)]
    maps, figures = embed_restarts(problems, 3, [SHORT], seed=5)
    for made, plain in zip(maps, embed_many(problems, 2, "pca", SHORT, 3, seed=5), strict=True):
        assert np.array_equal(made.xy, plain.xy)
        assert np.array_equal(made.kls, plain.kls)
        assert made.settings == plain.settings
    assert figures["kl_sd"].tolist() == [float(one.kls.std()) for one in maps]
    assert (figures["stability"] > 0).all()


def test_an_atlas_has_a_map_a_score_and_a_place_for_every_head():
    made = make_atlas(captured(), restarts=2, schedule=SHORT)
    keys = [(layer, head) for layer in range(2) for head in range(3)]
    assert sorted(made.maps) == keys
    assert list(zip(made.scores.columns["layer"], made.scores.columns["head"], strict=True)) == keys
    assert len(made.maps[0, 0]) == 12
    assert made.head_map is not None
    assert np.isfinite(made.head_map.xy).all()
    assert made.scores.columns["kl"].tolist() == [made.maps[key].kl for key in keys]
    view = made.view("six heads")
    assert view.arrays["xy"].shape == (6, 12, 2)
    assert {"interest", "kl_sd", "stability", "mixing", "tags"} <= {
        c["name"] for c in view.properties["columns"]
    }


def test_an_atlas_comes_back_from_the_store_as_it_was(tmp_path):
    made = make_atlas(captured(layers=3, heads=2), restarts=2, schedule=SHORT, special="keep")
    write_noun(made, tmp_path / "atlas.safetensors")
    back = read_noun(tmp_path / "atlas.safetensors")
    assert differences(made, back) == []
    assert len(back.maps[2, 1].history)
    assert np.array_equal(back.view().arrays["attention_2_1"], made.view().arrays["attention_2_1"])


def test_some_layers_keep_the_models_numbers():
    chosen = captured()
    chosen = chosen.but(metadata={"layers": {"attention": [4, 7]}, "heads": {"attention": [0, 1, 2]}})
    made = make_atlas(chosen, restarts=1, schedule=SHORT)
    assert {layer for layer, _ in made.maps} == {4, 7}
    assert np.isnan(made.scores.columns["stability"]).all()


def test_a_causal_atlas_tells_how_soon_a_walk_is_absorbed_instead_of_where_it_lasts():
    n = 12
    weights = np.tri(n, dtype=np.float32) * np.random.default_rng(1).uniform(0.1, 1, (1, 4, n, n))
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    capture = Capture([f"t{i}" for i in range(n)], {"attention": weights}, {"attention": AXES})
    made = make_atlas(capture, restarts=1, schedule=SHORT)
    assert (made.scores.columns["steps"] > 1).all()
    assert "induction" not in made.scores.columns


def test_a_token_that_stands_alone_in_a_head_is_left_off_its_map_by_name():
    capture = captured()
    weights = capture["attention"].copy()
    weights[1, 2, 5] = 0
    weights[1, 2, :, 5] = 0
    weights[1, 2, 5, 5] = 1
    made = make_atlas(
        capture.but(arrays={"attention": weights}),
        restarts=1,
        schedule=SHORT,
    )
    assert len(made.maps) == len(made.scores) == 6
    alone, other = made.maps[1, 2], made.maps[1, 1]
    assert 5 not in alone.items.columns["position"]
    assert 5 in other.items.columns["position"]
    assert any("have no attention with any other and were left out" in note for note in alone.notes)


def test_heads_are_ranked_by_figures_only():
    made = make_atlas(captured(), restarts=1, schedule=SHORT)
    entropy = made.scores.columns["entropy"]
    assert entropy[made.ranked("entropy")].tolist() == sorted(entropy, reverse=True)
    with pytest.raises(SettingsError, match="ranked by 'tags'"):
        made.ranked("tags")


def test_heads_are_ranked_by_what_they_do_where_that_is_known_and_else_by_interest():
    made = make_atlas(captured(), restarts=1, schedule=SHORT)
    assert made.order == "interest"
    assert np.array_equal(made.ranked(), made.ranked("interest"))
    share = np.arange(len(made.scores), dtype=float)
    known = replace(made, scores=Items(list(made.scores.labels), {**made.scores.columns, "share": share}))
    assert known.order == "share"
    assert known.ranked().tolist() == list(range(len(share)))[::-1]
    assert lines(known)[0].split()[:2] == ["head", "share"]


def test_a_text_of_one_token_is_refused_in_words_about_the_text():
    with pytest.raises(DataError, match="the text has 1 token to map; give a longer one"):
        make_atlas(captured(n=3), restarts=1, schedule=SHORT)


def test_a_score_that_no_head_has_is_refused_before_anything_is_read():
    refused = "heads cannot be ranked by 'beauty'; use one of"
    for command in ("atlas", "heads"):
        with pytest.raises(SettingsError, match=f"{refused}.*interest"):
            run(command, "default", "--sort", "beauty")


@pytest.fixture
def folder(tiny_gpt, monkeypatch):
    at_home_in(tiny_gpt, monkeypatch)
    return tiny_gpt


@pytest.mark.slow
def test_the_command_ranks_heads_and_writes_a_figure_and_a_table(folder):
    words = ("atlas", "tiny", "--text", "text.txt", "--restarts", 2, "--steps", 200, "--show", 3)
    done = run(*words, "-o", "heads.svg", "-o", "heads.csv")
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["head", "share"]
    assert lines[-2:] == ["heads.svg", "heads.csv"]
    with (folder / "heads.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["layer"], row["head"]) for row in rows] == [
        (str(a), str(b)) for a in range(2) for b in range(4)
    ]
    assert all(0 < float(row["kl"]) < 10 and 0 <= float(row["induction"]) <= 1 for row in rows)
    strongest = max(rows, key=lambda row: float(row["share"]))
    assert lines[1].startswith(f"{strongest['layer']}.{strongest['head']} ")
    again = run(*words)
    assert again.stdout.splitlines()[:4] == lines[:4]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--text", "none.txt"), "none.txt"),
        (("--text", "long.txt", "--no-cut"), "takes 160 at once"),
        (("--text", "text.txt", "--layers", "x"), "--layers is 'x'; expected whole numbers"),
        (("--text", "text.txt", "-o", "heads.docx"), "heads.docx"),
        (("--text", "text.txt", "--steps", "100", "--sort", "beauty"), "beauty"),
    ],
)
def test_what_cannot_be_done_is_said(words, said):
    with pytest.raises(LangscapeError, match=said):
        run("atlas", "tiny", *words)


def test_a_long_text_is_cut_and_the_note_says_so(folder):
    from langscape.models import open_model

    model = open_model(str(folder / "tiny"))
    capture = captured_text(model, (folder / "long.txt").read_text(), ("attention",), cut=True)
    assert len(capture.tokens) == 160
    assert "of which the first 160 were read" in capture.notes[0]


@pytest.mark.slow
def test_the_atlas_of_smollm2_names_its_known_heads():
    from langscape.analyses.atlas import _keys, _scores
    from langscape.models import get_model, open_model
    from langscape.sources import samples

    get_model("decoder")
    model = open_model("decoder", device="cpu")
    seen = captured_text(model, samples.text("orchard"), ("attention",)).attention()
    keys = _keys(seen)
    tags = dict(zip(keys, _scores(seen, keys, induction_probe(model).attention())["tags"], strict=True))
    assert all("induction" in tags[head] for head in ((18, 6), (17, 4)))
    assert all("previous-token" in tags[head] for head in ((16, 0), (11, 1)))


def test_the_last_step_says_that_all_heads_are_scored():
    from langscape.analyses.atlas import _counted

    steps = []
    assert list(_counted(iter("ab"), 2, steps.append)) == ["a", "b"]
    # what comes after it is then timed as a part of its own
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2), (2, 2)]
