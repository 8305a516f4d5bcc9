import itertools

import numpy as np
import pytest

from langscape.data import Capture, Tokens
from langscape.errors import DataError, SettingsError
from langscape.views import attention, figure_attention, figure_max_attention, max_attention, write
from langscape.views.heat import thinned


def captured(layers=2, heads=3, tokens=8, seed=0, **metadata):
    weights = np.random.default_rng(seed).dirichlet(np.ones(tokens), size=(layers, heads, tokens))
    names = ["[CLS]", *[f"word{i}" for i in range(tokens - 2)], "[SEP]"][:tokens]
    table = Tokens(names, special=[name.startswith("[") for name in names])
    axes = {"attention": ("layer", "head", "query", "key")}
    return Capture(table, {"attention": weights}, axes, {"model": "tiny", **metadata})


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def test_one_head_is_shown_with_its_tokens():
    capture = captured()
    view = attention(capture, 1, 2)
    np.testing.assert_array_equal(view.arrays["attention"], capture["attention"][1, 2].astype(np.float32))
    assert view.properties["title"] == "Layer 1, head 2"
    assert view.properties["queries"] == view.properties["keys"] == list(capture.tokens)
    assert view.arrays["special_keys"].tolist() == [1, 0, 0, 0, 0, 0, 0, 1]


def test_words_that_the_tokenizer_cut_go_along_and_maps_name_their_rows():
    from langscape.data import Items
    from langscape.views.token_names import cut_words_of

    capture = captured(tokens=6)
    table = capture.tokens.but(texts=["", "un", "be", "lievable", "lamp", ""], words=[None, 0, 0, 0, 1, None])
    view = attention(capture.but(tokens=table), 1, 2)
    assert view.properties["key_words"] == [{"tokens": [1, 2, 3], "text": "unbelievable"}]
    shown = Items(["b", "c", "lamp"], {"position": np.array([2, 3, 4])})
    assert cut_words_of(shown, table) == [{"tokens": [0, 1], "text": "unbelievable"}]
    assert cut_words_of(shown.take(np.array([1, 2])), table) == []


def test_numbers_are_the_models_own_where_a_capture_holds_only_some():
    whole = captured()
    numbers = {"layers": {"attention": [4, 9]}, "heads": {"attention": [0, 5, 7]}}
    capture = whole.but(metadata={**whole.metadata, **numbers})
    view = attention(capture, 9, 5)
    np.testing.assert_array_equal(view.arrays["attention"], capture["attention"][1, 1].astype(np.float32))
    with pytest.raises(SettingsError, match="layer 1 is not there; this capture has layers 4, 9"):
        attention(capture, 1, 5)
    with pytest.raises(SettingsError, match="head 6 is not there; this capture has heads 0, 5, 7"):
        attention(capture, 4, 6)
    with pytest.raises(SettingsError, match="head 3 is not there; this capture has heads 0 to 2"):
        attention(captured(), 0, 3)


def test_cross_attention_has_the_targets_tokens_as_queries():
    weights = np.full((1, 1, 2, 3), 1 / 3)
    axes = {"cross_attention": ("layer", "head", "query", "key")}
    across = Capture(
        ["the", "cat", "</s>"], {"cross_attention": weights}, axes, decoder_tokens=["le", "chat"]
    )
    view = attention(across, 0, 0, side="cross")
    assert view.properties["queries"] == ["le", "chat"]
    assert view.properties["keys"] == ["the", "cat", "</s>"]
    assert figure_attention.draw(view).axes


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.full((1, 1, 2, 2), np.nan), "weights from nan to nan"),
        (np.full((1, 1, 2, 2), 7.0), "weights from 7 to 7; attention is from 0 to 1"),
        (np.full((1, 1, 3, 3), 0.3), "3 along 'query', but there are 2 tokens"),
        (np.ones((0, 1, 2, 2)), r"is empty \(shape \(0, 1, 2, 2\)\)"),
    ],
)
def test_what_is_no_attention_is_refused(weights, said):
    axes = {"attention": ("layer", "head", "query", "key")}
    with pytest.raises(DataError, match=said):
        attention(Capture(["a", "b"], {"attention": weights}, axes), 0, 0)


def test_other_axes_are_refused_by_name():
    capture = Capture(["a"], {"attention": np.ones((1, 1, 1))}, {"attention": ("head", "query", "key")})
    with pytest.raises(DataError, match=r"has axes \('head', 'query', 'key'\)"):
        attention(capture, 0, 0)
    with pytest.raises(DataError, match="not 'attention'"):
        attention(Capture(["a"], {}, {}), 0, 0)


def test_maximum_and_mean_are_taken_over_queries():
    capture = captured()
    view = max_attention(capture, layers=[1])
    np.testing.assert_allclose(view.arrays["maximum"][0], capture["attention"][1].max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(view.arrays["mean"][0], capture["attention"][1].mean(axis=1), rtol=1e-6)
    assert view.properties["layers"] == [1]
    with pytest.raises(SettingsError, match="layer 7 is not there; this capture has layers 0, 1"):
        max_attention(capture, layers=[0, 7])
    with pytest.raises(SettingsError, match="neither"):
        max_attention(capture, show="median")


def test_the_heat_map_holds_the_weights_and_names_what_it_can():
    view = attention(captured(tokens=200), 0, 0)
    figure = figure_attention.draw(view)
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), view.arrays["attention"])
    figure.draw_without_rendering()
    for labels, side in ((axes.get_xticklabels(), 0), (axes.get_yticklabels(), 1)):
        boxes = sorted(
            (extent.x0, extent.x1) if side == 0 else (extent.y0, extent.y1)
            for extent in (label.get_window_extent() for label in labels)
        )
        assert len(boxes) > 50
        assert all(after[0] >= before[1] - 1 for before, after in itertools.pairwise(boxes))
    assert any("token is labelled" in text for text in texts(figure))


@pytest.mark.parametrize(("count", "room", "shown"), [(10, 8, 10), (180, 8, 60), (1, 0.01, 1), (512, 0.0, 1)])
def test_labels_are_thinned_to_the_room_there_is(count, room, shown):
    assert len(thinned(count, room)) == shown


@pytest.mark.parametrize("show", ["maximum", "mean"])
def test_every_layer_has_a_strip(show):
    view = max_attention(captured(layers=3, tokens=40), show=show)
    figure = figure_max_attention.draw(view)
    strips = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title("left") for axes in strips] == ["layer 0", "layer 1", "layer 2"]
    for strip, weights in zip(strips, view.arrays[show], strict=True):
        np.testing.assert_array_equal(strip.images[0].get_array(), weights)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [1, 2, 512])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_shortest_and_long_texts_are_drawn(tmp_path, tokens, suffix):
    capture = captured(layers=1, heads=2, tokens=tokens)
    for name, view in (("a", attention(capture, 0, 1)), ("m", max_attention(capture))):
        assert write(view, tmp_path / f"{name}{suffix}").stat().st_size > 1000


def test_tokens_are_text_and_never_formulas(tmp_path):
    capture = Capture(
        ["$x^2$", "\ud800", "<b>", ""],
        {"attention": np.full((1, 1, 4, 4), 0.25)},
        {"attention": ("layer", "head", "query", "key")},
    )
    write(attention(capture, 0, 0), tmp_path / "a.svg")
    figure = figure_attention.draw(attention(capture, 0, 0))
    assert "$x^2$" in texts(figure)
