"""Two maps laid over each other, and one head with all its restarts."""

from dataclasses import replace

import numpy as np
import pytest

from langscape import affinity
from langscape.analyses._restarts import embed_restarts, head_schedules
from langscape.analyses.compare import Comparison, compare, compare_maps, compared_neighbours
from langscape.analyses.head import all_restarts
from langscape.data import Affinities, Items, Map
from langscape.errors import DataError, SettingsError
from langscape.io.codec import differences, read_noun, write_noun
from langscape.metrics import kl, kl_points


def turned(xy, angle=0.7, scale=3.0, mirror=True):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return scale * (xy @ turn) * ([1, -1] if mirror else [1, 1]) + [5, -2]


@pytest.fixture
def places():
    return np.random.default_rng(0).normal(size=(40, 2))


def test_a_map_that_was_only_turned_mirrored_and_scaled_has_not_moved(places):
    labels = [f"w{i}" for i in range(40)]
    order = np.random.default_rng(1).permutation(40)
    left, right = Map(places, Items(labels)), Map(turned(places)[order], Items([labels[i] for i in order]))
    made = compare_maps(left, right)
    assert made.left.labels == made.right.labels
    assert np.abs(made.right.per_point["moved"]).max() < 1e-6
    assert made.left.quality["shared"] == 1.0


def test_what_was_moved_is_what_moved_most(places):
    other = turned(places)
    other[[3, 17]] += 12
    labels = [f"w{i}" for i in range(40)]
    made = compare_maps(Map(places, Items(labels)), Map(other, Items(labels)))
    assert set(np.argsort(-made.left.per_point["moved"])[:2]) == {3, 17}
    assert made.left.per_point["moved"].mean() == pytest.approx(made.left.quality["moved"])


def test_tokens_are_matched_in_the_order_of_the_text_whatever_marks_their_model_uses(places):
    def tokens(texts, xy):
        return Map(xy[: len(texts)], Items(texts, {"position": np.arange(len(texts)), "text": texts}))

    left = tokens(["[CLS]", "the", "cat", "saw", "the", "dog", "##s"], places)
    right = tokens(["the", "Ġbig", "Ġcat", "Ġsaw", "Ġthe", "Ġdog", "s"], places)
    made = compare_maps(left, right)
    assert list(made.left.labels) == ["the", "cat", "saw", "the", "dog", "##s"]
    assert list(made.right.labels) == ["the", "Ġcat", "Ġsaw", "Ġthe", "Ġdog", "s"]
    assert any("1 items are on this map only" in note for note in made.left.notes)


def test_maps_with_nothing_in_common_say_so(places):
    with pytest.raises(DataError, match="in common"):
        compare_maps(Map(places, Items.numbered(40)), Map(places, Items([f"w{i}" for i in range(40)])))
    with pytest.raises(DataError, match="dimensions"):
        compare_maps(Map(places, Items.numbered(40)), Map(np.zeros((40, 3)), Items.numbered(40)))


def test_a_comparison_comes_back_from_the_store_as_it_was(places, tmp_path):
    items = Items([f"w{i}" for i in range(40)], {"group": ["a", "b"] * 20, "size": np.arange(40.0)})
    left, right = Map(places, items, kl=0.5, kls=np.array([0.5, 0.6])), Map(turned(places), items)
    direct = compare_maps(left, right)
    write_noun(direct, tmp_path / "noun.safetensors")
    stored = read_noun(tmp_path / "noun.safetensors")
    assert isinstance(stored, Comparison)
    assert differences(stored, direct) == []
    assert stored.left.items.columns["group"].tolist() == ["a", "b"] * 20
    assert (stored.left.kl, stored.left.kls.tolist()) == (0.5, [0.5, 0.6])


def test_a_comparison_is_written_in_every_format(places, tmp_path):
    labels = [f"w{i}" for i in range(40)]
    made = compare_maps(Map(places, Items(labels)), Map(turned(places), Items(labels)))
    for ending in (".parquet", ".csv", ".svg"):
        path = made.save(tmp_path / f"both{ending}", title="one and other")
        assert path.stat().st_size > 1000
    first = (tmp_path / "both.csv").read_text().splitlines()[0]
    assert first == "left_label,left_x,left_y,right_label,right_x,right_y,moved,shared"


def test_two_layers_two_heads_and_two_files_are_compared(tmp_path, monkeypatch):
    from tests.commands import at_home_in, run
    from tests.models.folders import TEXT, bert_folder

    from langscape.sources import samples, write_vectors

    bert_folder(tmp_path / "tiny")
    at_home_in(tmp_path, monkeypatch)
    few = {"restarts": 1, "steps": 60, "perplexity": 3}
    made = compare("tiny", TEXT, layer=0, other_layer=1, **few)
    assert made.left.labels == made.right.labels
    assert made.left.quality["moved"] > 0
    heads = compare("tiny", TEXT, what="head", layer=1, head=0, other_head=1, **few)
    assert heads.names == ("head 1.0", "head 1.1")
    first, second = heads.attention.weights()
    assert np.allclose(heads.attention.elsewhere, np.abs(second - first).sum(1) / 2, atol=1e-6)
    where = heads.left.items.columns["position"]
    assert np.allclose(heads.left.per_point["attention_elsewhere"], heads.attention.elsewhere[where])
    shown = heads.attention_view()
    assert np.allclose(shown.arrays["second"] - shown.arrays["attention"], second - first)
    assert [view.kind for view in heads.views()] == ["attention", "scatter", "scatter"]
    heads.save(tmp_path / "heads.csv")
    assert "attention_elsewhere" in (tmp_path / "heads.csv").read_text().splitlines()[0]
    pairs = heads.save(tmp_path / "pairs.csv", show="attention").read_text().splitlines()
    assert pairs[0] == "query_position,query,key_position,key,first,second,difference,attention_elsewhere"
    assert len(pairs) == 1 + first.size
    assert heads.save(tmp_path / "heads.png").stat().st_size > 1000
    told = run("compare", "tiny", "--what", "head", "--layer", 1, "--other-head", 1, "--restarts", 1,
               "--steps", 60, "-o", "heads.parquet")  # fmt: skip
    assert "of a token’s attention goes elsewhere" in told.stderr
    texts = compare("tiny", TEXT, what="head", layer=1, other_text=f"so {TEXT}", **few)
    assert texts.attention is None
    assert any("their attention is not" in note for note in texts.notes)
    with pytest.raises(SettingsError, match="no attention to subtract"):
        texts.attention_view()
    one = write_vectors(tmp_path / "one.bin", samples.words().rows(range(60)))
    other = write_vectors(tmp_path / "other.bin", samples.words().rows(range(20, 80)))
    words = compare(what="words", vectors=one, other_vectors=other, perplexity=5)
    assert len(words.left) == 40
    told = run("compare", "tiny", "--layer", 0, "--other-layer", 1, "--restarts", 1, "--steps", 60,
               "--perplexity", 3, "-o", "both.csv")  # fmt: skip
    assert "both.csv" in told.stdout
    assert len(told.stdout.splitlines()) == 11  # what moved most, and the file
    assert "items on both maps" in told.stderr
    with pytest.raises(SettingsError, match="both sides are the same"):
        compare("tiny", TEXT, layer=1)
    with pytest.raises(SettingsError, match="give the other one"):
        compare("tiny", TEXT, what="words")


def test_titles_say_first_what_tells_both_sides_apart(places):
    from langscape.declarations.declaration import declaration_of

    declared = declaration_of(compare)
    own = {one.name: one.default for one in declared.signature.settings}

    def titled(names, **settings):
        return declared.called({**own, **settings}, names)

    heads = titled({"text": "Salt and pepper"}, what="head", layer=1, head=8, other_head=7)
    assert heads == "Head 1.8 beside head 1.7, MiniLM-L6 over Salt and pepper"
    texts = titled({"text": "One, two", "other_text": "Salt and pepper"}, layer=3)
    assert texts == "One, two beside Salt and pepper, layer 3 of MiniLM-L6"
    made = compare_maps(Map(places, Items.numbered(40)), Map(places, Items.numbered(40)))

    def sides(title, names):
        return [replace(made, names=names).scatter(side, title=title).properties["title"] for side in
                ("left", "right")]  # fmt: skip

    over = ", MiniLM-L6 over Salt and pepper"
    assert sides(heads, ("head 1.8", "head 1.7")) == [f"Head 1.8{over}", f"Head 1.7{over}"]
    assert sides(texts, ("first text", "second text")) == ["One, two", "Salt and pepper"]
    assert sides("Mine", ("layer 1", "layer 2")) == ["Mine: layer 1", "Mine: layer 2"]


@pytest.mark.parametrize(("items", "k"), [(4, 1), (12, 3), (28, 5), (2000, 5)])
def test_maps_are_compared_by_few_neighbours_however_many_items_they_have(items, k):
    assert compared_neighbours(items) == k
    if items > 100:
        return
    xy = np.random.default_rng(0).normal(size=(items, 2))
    made = compare_maps(Map(xy, Items.numbered(items)), Map(xy, Items.numbered(items)))
    assert (made.neighbours, made.scatter().properties["shared_k"]) == (k, k)
    (shared,) = [one for one in made.scatter().properties["quality"] if one["name"] == "shared"]
    assert f"item’s {k} nearest" in shared["meaning"]


@pytest.fixture
def problem() -> Affinities:
    return affinity.points(np.random.default_rng(2).normal(size=(30, 5)), 6)


def test_the_points_shares_of_the_kl_add_up_to_it_dense_and_sparse(problem):
    from scipy.sparse import csr_array

    xy = np.random.default_rng(3).normal(size=(30, 2))
    P = np.asarray(problem.P, np.float64)
    shares = kl_points(P, xy)
    assert shares.sum() == pytest.approx(kl(P, xy), abs=1e-9)
    assert np.allclose(kl_points(csr_array(P), xy), shares, atol=1e-9)
    q = 1 / (1 + ((xy[:, None] - xy[None]) ** 2).sum(-1))
    np.fill_diagonal(q, 0)
    q /= q.sum()
    row = P[7] > 0
    assert shares[7] == pytest.approx((P[7, row] * np.log(P[7, row] / q[7, row])).sum(), abs=1e-9)


def test_all_restarts_keep_the_best_and_the_others_lie_over_it(problem):
    schedules = head_schedules(30, 60)
    made, runs = all_restarts(problem, 4, schedules, seed=5)
    (best,), figures = embed_restarts([problem], 4, schedules, 5)
    assert made.xy.tobytes() == best.xy.tobytes()
    assert made.kl == made.kls.min()
    assert runs.shape == (4, 30, 2)
    kept = runs[int(made.kls.argmin())]
    assert np.allclose(kept, best.xy, atol=1e-3)
    assert made.quality["stability"] == pytest.approx(figures["stability"][0])
    assert made.per_point["error"].sum() == pytest.approx(made.kl, abs=1e-4)
