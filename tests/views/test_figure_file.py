import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from langscape.data import Items, Map
from langscape.data.plane import flat
from langscape.errors import SettingsError
from langscape.views import colours, figure_scatter, scatter, write
from langscape.views.figure import write_figure


def cloud(n, *, groups=3, dims=2, seed=0, **columns):
    rng = np.random.default_rng(seed)
    columns = columns or {"group": [f"group {i % groups}" for i in range(n)]}
    return Map(rng.normal(size=(n, dims)), Items([f"word{i}" for i in range(n)], columns), kl=0.5)


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def overlapping(figure):
    boxes = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts]
    return [(a, b) for i, (a, box) in enumerate(boxes) for b, other in boxes[:i] if box.overlaps(other)]


def test_labels_do_not_overlap():
    figure = figure_scatter.draw(scatter(cloud(120)))
    assert len(figure.axes[0].texts) > 60
    assert not overlapping(figure)


def test_the_caption_says_how_many_are_labelled_and_how_far_to_trust_it():
    view = scatter(cloud(800).but(notes=("mind the gap",)))
    figure = figure_scatter.draw(view)
    drawn = len(figure.axes[0].texts)
    assert drawn <= figure_scatter.MOST_LABELS
    assert any(text.startswith(f"800 items, {drawn} labelled") for text in texts(figure))
    assert "KL\u00a00.500" in texts(figure)
    assert "Note: mind the gap" in texts(figure)


def test_ringed_items_are_labelled_first_and_named_in_the_legend():
    inserted = np.zeros(600, dtype=bool)
    inserted[-5:] = True
    view = scatter(cloud(600, inserted=inserted))
    figure = figure_scatter.draw(view)
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert {f"word{i}" for i in range(595, 600)} <= shown
    bold = {text.get_text() for text in figure.axes[0].texts if text.get_fontweight() == "bold"}
    assert bold == {f"word{i}" for i in range(595, 600)}
    assert not overlapping(figure)
    assert "inserted" in texts(figure)


def test_a_region_s_name_is_not_written_over_a_period_s_and_the_caption_says_what_a_dash_means():
    place = {"x": 0.0, "y": 0.0}
    region = {"name": "tariff · currency · duties", "size": 40, "inside": 0.9, "outside": 0.1, **place}
    periods = [
        {"name": name, "x": x, "y": 0.0, "size": 40, "shape": [0.1, 0.0, 0.1], "p": p}
        for name, x, p in (("1800", -0.2, None), ("1810", 0.2, 0.4))
    ]
    map = cloud(80)
    figure = figure_scatter.draw(scatter(map.but(settings={"regions": [region], "periods": periods})))
    assert {"1800", "1810", region["name"]} <= set(texts(figure))
    assert not overlapping(figure)
    assert any("dashed where shuffled periods step as far" in text for text in texts(figure))
    assert not any("dashed" in text for text in texts(figure_scatter.draw(scatter(map))))


def test_every_group_has_a_labelled_item_though_the_first_alone_would_fill_the_figure():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [30, 0], [0, 30], [30, 30], [15, 15]])
    groups = np.repeat(np.arange(5), [400, 60, 60, 60, 20])
    map = Map(centres[groups] + rng.normal(size=(600, 2)), Items.numbered(600).with_columns(group=groups))
    figure = figure_scatter.draw(scatter(map))
    labelled = groups[[int(text.get_text()) for text in figure.axes[0].texts]]
    assert np.bincount(labelled, minlength=5).min() >= 5


def test_spread_rows_cover_the_plane_before_they_crowd_it():
    plane = np.random.default_rng(0).uniform(size=(4000, 2))
    rows = figure_scatter.spread(plane, 64)
    assert len(set(rows)) == 64
    cells = set(map(tuple, np.floor(plane[rows] * 4).astype(int)))
    assert len(cells) == 16
    assert figure_scatter.spread(plane[:0], 9) == []
    assert sorted(figure_scatter.spread(np.zeros((3, 2)), 9)) == [0, 1, 2]


def test_labels_asked_for_come_before_the_spread_ones():
    view = scatter(cloud(3000), labels=[f"word{i}" for i in range(2000, 2020)])
    assert figure_scatter._wanted(view, view.arrays["xy"])[:20] == list(range(2000, 2020))


@pytest.mark.parametrize(("stretch", "shape"), [((30, 1), "low"), ((1, 1), "square"), ((1, 30), "high")])
def test_the_figure_is_as_high_as_the_map_wants(stretch, shape):
    map = cloud(50).but(xy=np.random.default_rng(1).normal(size=(50, 2)) * stretch)
    width, height = figure_scatter.draw(scatter(map)).get_size_inches()
    assert width == 10
    assert {"low": height < 6, "square": 7 < height < 11, "high": 9 < height < 11}[shape]


def test_quantile_axes_spread_the_points_evenly_and_say_that_distances_are_lost():
    map = cloud(200).but(xy=np.random.default_rng(1).standard_cauchy(size=(200, 2)))
    figure = figure_scatter.draw(scatter(map, quantiles=1000))
    axes = figure.axes[0]
    places = np.sort(np.vstack([c.get_offsets() for c in axes.collections])[:, 0])
    np.testing.assert_allclose(places, np.linspace(0, 1, 200), atol=1e-6)
    middle = axes.get_xticklabels()[5].get_text().replace("−", "-")
    assert float(middle) == pytest.approx(np.median(map.xy[:, 0]), rel=0.01)
    assert any("k = 1000: distances are not preserved" in text for text in texts(figure))


def test_units_are_equal_on_both_axes_and_every_point_is_inside():
    map = cloud(50).but(xy=np.random.default_rng(1).normal(size=(50, 2)) * [30, 1])
    axes = figure_scatter.draw(scatter(map)).axes[0]
    box = axes.get_window_extent()
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert (right - left) / box.width == pytest.approx((top - bottom) / box.height)
    assert left < map.xy[:, 0].min()
    assert right > map.xy[:, 0].max()


def test_a_3d_map_is_drawn_as_the_page_first_shows_it_and_says_so():
    map = cloud(40, dims=3)
    figure = figure_scatter.draw(scatter(map))
    plane = flat(map.xy)
    centred = map.xy - map.xy.mean(axis=0)
    # Yaw 0.6 around the upright axis: what was to the right goes right by cos, what was near goes by sin.
    np.testing.assert_allclose(plane[:, 0], np.cos(0.6) * centred[:, 0] + np.sin(0.6) * centred[:, 2])
    assert any("three dimensions seen from one side" in text for text in texts(figure))
    assert any("axes 0 and 1 of 4" in text for text in texts(figure_scatter.draw(scatter(cloud(9, dims=4)))))


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_every_format_is_written_whole_and_the_same_twice(tmp_path, suffix):
    view = scatter(cloud(30))
    first = write(view, tmp_path / f"a{suffix}").read_bytes()
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert write(view, tmp_path / f"b{suffix}").read_bytes() == first


def test_labels_are_text_and_never_formulas_or_markup(tmp_path):
    labels = ["$x^2$", "$\\frac{", "</svg><script>", "_hidden", "\ud800lone", "line\nbreak", "", "x" * 500]
    map = Map(np.random.default_rng(0).normal(size=(8, 2)), Items(labels, {"group": labels}))
    path = write(scatter(map, title="$\\frac{"), tmp_path / "map.svg")
    assert ET.parse(path).getroot().find(".//{http://www.w3.org/2000/svg}script") is None
    assert "$x^2$" in texts(figure_scatter.draw(scatter(map)))


def test_letters_of_a_drawing_are_written_once_and_labels_keep_their_rims(tmp_path):
    view = scatter(cloud(200))
    drawn = write(view, tmp_path / "map.svg").read_text()
    assert len(drawn) < 300_000
    assert len(re.findall(r'<path id="DejaVuSans-\w+"', drawn)) < 80
    labels = re.findall(r'<g id="(label_\d+)">', drawn)
    assert len(labels) == len(figure_scatter.draw(view).axes[0].texts)
    assert re.findall(r'<use xlink:href="#(label_\d+)" style="stroke: #ffffff', drawn) == labels


def test_letters_that_no_font_has_are_warned_of_once(tmp_path):
    map = Map(np.zeros((1, 2)), Items(["\U00013000\U00013001"]))
    with pytest.warns(UserWarning, match=r"map\.png: some labels have letters") as caught:
        write(scatter(map), tmp_path / "map.png")
    assert len(caught) == 1


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("color", ["group", "count"])
def test_the_smallest_maps_are_drawn(tmp_path, n, color):
    map = cloud(n, group=["a"] * n, count=np.full(n, 7.0))
    assert write(scatter(map, color=color), tmp_path / "map.png").stat().st_size > 1000


def test_numbers_have_a_bar_and_missing_ones_are_grey():
    counts = np.arange(20.0)
    counts[3] = np.nan
    figure = figure_scatter.draw(scatter(cloud(20, count=counts), color="count"))
    assert figure.axes[1].get_title("left") == "count"
    grey = next(c for c in figure.axes[0].collections if len(c.get_offsets()) == 1)
    np.testing.assert_allclose(
        grey.get_facecolor()[0][:3], [int(colours.NEUTRAL[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )


def test_a_suffix_that_is_no_figure_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"'map\.html' ends in \.html; a figure is \.png, \.svg, \.pdf"):
        write_figure(scatter(cloud(3)), tmp_path / "map.html")


def test_the_colours_equal_those_of_the_page(pytestconfig):
    source = (pytestconfig.rootpath / "web/src/lib/colour.ts").read_text(encoding="utf-8")

    def listed(name, key):
        block = re.search(rf"export const {name} = {{(.*?)}} as const", source, re.DOTALL).group(1)
        return tuple(re.findall(r"'([^']+)'", re.search(rf"{key}: (.*)", block).group(1).split("dark:")[0]))

    assert listed("CATEGORIES", "light") == colours.CATEGORIES
    assert listed("RAMP", "light") == colours.RAMP
    assert listed("HEAT", "light") == colours.HEAT
    assert listed("BELOW", "light") == colours.BELOW
    assert int(re.search(r"export const SIDES = (\d+)", source).group(1)) == colours.SIDES
    told = re.search(r"export const VERDICTS = {\s*light: {(.*?)}", source).group(1)
    assert dict(re.findall(r"'?([a-z][a-z ]*)'?: '(#\w+)'", told)) == colours.VERDICTS
    assert listed("NEUTRAL", "light") == (colours.NEUTRAL,)
    assert re.search(r"NO_VALUE_TEXT = '(.*)'", source).group(1) == colours.NO_VALUE
    shapes = re.search(r"export const SHAPES = \[(.*?)\]", source).group(1)
    assert tuple(re.findall(r"'([^']+)'", shapes)) == colours.SHAPES
