"""The ellipse view as data and as a picture: what is drawn, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection

from langscape import affinity, embed, views
from langscape.data import Context, Gaussians, Items
from langscape.engine import Schedule, pca
from langscape.engine.context_ellipses import steady_spread
from langscape.errors import DataError, SettingsError
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES
from langscape.views.figure_ellipses import axes_of, draw
from langscape.views.trust import trust

rng = np.random.default_rng(0)
SHORT = Schedule(steps=60, early_steps=20)


@pytest.fixture(scope="module")
def words():
    n = 25
    labels = [f"word {i}" for i in range(n)]
    contexts = [[Context(f"𝔘 höt {label} no {j}", 6, 6 + len(label)) for j in range(4)] for label in labels]
    return Gaussians(
        rng.normal(size=(n, 5)),
        rng.uniform(0.1, 1, size=(n, 5)),
        Items(labels, {"group": ["a", "b", "c", "d", "e"] * 5}),
        np.full(n, 4),
        samples=rng.normal(size=(4 * n, 5)),
        contexts=contexts,
    )


def test_an_ellipse_holds_the_mass_that_is_asked_for(words):
    m = pca(words)
    for mass in (0.5, 0.9):
        long, short, angle = axes_of(views.ellipses(m, mass=mass).arrays["outlines"])
        drawn = rng.multivariate_normal([0, 0], m.shapes[3], 40_000)
        turn = np.array([[np.cos(angle[3]), -np.sin(angle[3])], [np.sin(angle[3]), np.cos(angle[3])]])
        inside = (((drawn @ turn) / [long[3], short[3]]) ** 2).sum(1) <= 1
        assert inside.mean() == pytest.approx(mass, abs=0.01)


def test_a_map_of_contexts_speaks_of_variance_and_never_of_mass(words):
    m = embed(affinity.gaussians(words, perplexity=7), shape="contexts", schedule=SHORT)
    view = views.ellipses(m, words, mass=0.9)
    long, short, _ = axes_of(view.arrays["outlines"])
    np.testing.assert_allclose(long * short, m.settings["kappa2"] * steady_spread(words), rtol=1e-4)
    kappa = f"κ² = {m.settings['kappa2']:.3g}"
    assert "κ" not in view.properties["subtitle"]
    assert kappa in view.properties["outline_meaning"]
    said = " ".join([view.properties["subtitle"], view.properties["outline_meaning"], *map(str, m.notes)])
    assert "%" not in said.replace("90 % interval", "")
    assert "mass" not in said


@pytest.mark.parametrize("shape", ["contexts", "diagonal", "full"])
def test_every_map_carries_what_its_sizes_are_worth_first(words, shape):
    m = embed(affinity.gaussians(words, perplexity=7), shape=shape, schedule=SHORT)
    first = views.ellipses(m).properties["quality"][0]
    name = "area_held" if shape == "contexts" else "area_variance"
    assert first["name"] == name
    assert first["brief"].startswith(f"{m.quality[name]:z.3f} (".replace("-", "−"))
    assert SCORES[name].in_words(m.quality[name], Null.read(m.quality, name)) in first["shown"]
    if shape != "contexts":
        assert "need not follow" in views.ellipses(m).properties["outline_meaning"]


def test_passages_go_along_with_their_word_in_utf_16(words):
    view = views.ellipses(pca(words), words, contexts=2)
    arrays = view.arrays
    assert arrays["context_counts"].tolist() == [4] * 25
    assert np.diff(arrays["context_starts"]).tolist() == [2] * 25
    raw = arrays["context_text"].tobytes()
    ends = arrays["context_ends"].tolist()
    text = raw[ends[0] : ends[1]].decode()
    assert text == words.contexts[0][3].text
    start, end = arrays["context_words"][1].tolist()
    assert text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le") == "word 0"


def test_only_the_named_items_have_an_outline(words):
    view = views.ellipses(pca(words), only=["word 3", "word 5"])
    assert np.flatnonzero(np.isfinite(view.arrays["outlines"][:, 0])).tolist() == [3, 5]
    with pytest.raises(SettingsError, match="'nobody'"):
        views.ellipses(pca(words), only=["nobody"])


def test_the_figure_holds_all_ellipses_inside_and_writes_as_a_picture(words, tmp_path):
    view = views.ellipses(pca(words), words, title="Words")
    figure = draw(view)
    axes = figure.axes[0]
    (drawn,) = [c for c in axes.collections if isinstance(c, EllipseCollection)]
    assert len(drawn.get_offsets()) == 25
    long, _, _ = axes_of(view.arrays["outlines"])
    left, right = axes.get_xlim()
    assert left <= (view.arrays["xy"][:, 0] - 0.7 * long).min()
    assert right >= (view.arrays["xy"][:, 0] + 0.7 * long).max()
    for name in ("words.svg", "words.png"):
        assert views.write(view, tmp_path / name).stat().st_size > 5000


def test_maps_without_shapes_are_refused(words):
    m = embed(affinity.gaussians(words, perplexity=7), schedule=SHORT)
    with pytest.raises(DataError, match="no shapes"):
        views.ellipses(m)
    with pytest.raises(SettingsError, match=r"mass 1\.5"):
        views.ellipses(pca(words), mass=1.5)
    with pytest.raises(DataError, match="no distribution among those given"):
        views.ellipses(pca(words), words.take([1, 2]))


def planted(counts, seed=0):
    """Items of so many rows each, whose spreads differ four-fold; the mean of a single row is the row."""
    rng = np.random.default_rng(seed)
    rows = [
        rng.normal(rng.normal(0, 3, 6), 1 + 3 * (i % 5) / 4, (count, 6)) for i, count in enumerate(counts)
    ]
    return Gaussians(
        np.stack([some.mean(axis=0) for some in rows]),
        np.stack([some.var(axis=0) for some in rows]),
        Items([f"item {i}" for i in range(len(rows))]),
        np.array(counts),
        samples=np.concatenate(rows),
    )


def test_an_item_seen_once_is_a_point_without_an_ellipse_and_the_picture_says_how_many():
    given = planted([1] * 20 + [8] * 20)
    map = embed(affinity.gaussians(given, perplexity=5), shape="contexts", schedule=Schedule(steps=250))
    assert map.settings["single"] == 20
    assert not map.shapes[:20].any()
    assert np.isnan(map.per_point["variance"][:20]).all()
    view = views.ellipses(map, given)
    assert np.isnan(view.arrays["outlines"][:20]).all()
    assert np.isfinite(view.arrays["outlines"][20:]).all()
    assert "20 of 40 seen once" in view.properties["subtitle"]
    assert "20 of 40 items have a single context" in view.properties["outline_notes"][0]
    (drawn,) = [one for one in draw(view).axes[0].collections if isinstance(one, EllipseCollection)][:1]
    assert len(drawn.get_offsets()) == 20


def test_a_dubious_ellipse_and_one_of_few_contexts_are_dashed_and_the_key_says_so():
    given = planted([2] * 3 + [8] * 37)
    map = embed(affinity.gaussians(given, perplexity=5), shape="contexts", schedule=Schedule(steps=250))
    local, limit = map.per_point["local"], map.quality["dubious"]
    view = views.ellipses(map, given)
    wanted = (given.counts < 4) | (local <= limit)
    assert 3 <= wanted.sum() < 40
    assert view.arrays["doubtful"].astype(bool).tolist() == wanted.tolist()
    assert "fewer than 4 contexts" in view.properties["doubtful_meaning"]
    figure = draw(view)
    (outlines,) = [one for one in figure.axes[0].collections if isinstance(one, EllipseCollection)][:1]
    dashed = [dashes is not None for _, dashes in outlines.get_linestyles()]
    assert sum(dashed) == wanted.sum()


def test_words_of_which_only_some_contexts_were_taken_say_how_many_at_most():
    given = planted([8] * 40)
    map = embed(affinity.gaussians(given, perplexity=5), shape="contexts", schedule=Schedule(steps=250))
    found = given.items.with_columns(occurrences=np.arange(40))
    sampled = replace(given, items=found, metadata={"asked": 8})
    view = views.ellipses(map, sampled)
    assert view.properties["sampled"] == "at most 8 contexts a word"
    assert "at most 8 contexts a word" in view.properties["subtitle"]
    every = replace(sampled, items=given.items.with_columns(occurrences=given.counts))
    assert views.ellipses(map, every).properties["sampled"] == ""


@pytest.mark.parametrize(("many", "judged"), [(6, False), (30, True)])
def test_sizes_get_no_verdict_from_the_few_items_that_have_rows_enough(many, judged):
    given = planted([1] * (40 - many) + [40] * many)
    map = embed(affinity.gaussians(given, perplexity=5), shape="contexts", schedule=Schedule(steps=250))
    (held,) = [one for one in trust(map) if one["name"] == "area_held"]
    assert map.quality["area_held"] > 0.8  # of those that can be judged, sizes are right
    assert f"{many} of 40 items judged" in held["shown"]
    assert ("good" in held["brief"]) == judged


def test_where_every_item_was_seen_once_there_is_no_ellipse_and_no_score_of_sizes():
    given = planted([1] * 24)
    map = embed(affinity.gaussians(given, perplexity=5), shape="contexts", schedule=Schedule(steps=250))
    view = views.ellipses(map, given)
    assert np.isnan(view.arrays["outlines"]).all()
    assert "area_held" not in map.quality
    assert "How far sizes can be trusted is not known" in view.properties["outline_notes"][-1]
