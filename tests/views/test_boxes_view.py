import numpy as np
import pytest

from langscape.errors import DataError
from langscape.views import boxes, figure_boxes, write

rng = np.random.default_rng(0)


def test_a_box_is_matplotlibs_own():
    from matplotlib.cbook import boxplot_stats

    values = rng.standard_t(2, size=300)
    view = boxes({("0", "heads"): values})
    count, low, q1, median, q3, high, mean, sd = view.arrays["numbers"][0, 0]
    (peer,) = boxplot_stats(values)
    told = [peer[name] for name in ("whislo", "q1", "med", "q3", "whishi", "mean")]
    np.testing.assert_allclose([low, q1, median, q3, high, mean], told, rtol=1e-5)
    assert count == 300
    assert sd == pytest.approx(values.std(ddof=1), rel=1e-5)
    np.testing.assert_allclose(np.sort(view.arrays["outliers"]), np.sort(peer["fliers"]), rtol=1e-5)


def test_pairs_stand_in_the_order_given_and_absent_ones_leave_room():
    view = boxes({("0", "a"): [1, 2], ("0", "a, after"): [3, 4], ("1", "a"): [5, np.nan], ("1", "b"): [6]})
    assert view.properties["groups"] == ["0", "1"]
    assert view.properties["series"] == ["a", "a, after", "b"]
    assert view.properties["hues"] == [0, 0, 1]
    assert view.properties["full"] == [False, True, False]
    assert view.arrays["numbers"][:, :, 0].tolist() == [[2, 2, 0], [1, 0, 1]]
    assert view.properties["notes"] == ["1 values are not finite and were left out"]
    with pytest.raises(DataError, match="nothing to draw"):
        boxes({})


@pytest.mark.slow
def test_the_figure_says_what_it_shows(tmp_path):
    view = boxes(
        {(str(i), name): rng.normal(i, 1, 40) for i in range(3) for name in ("hidden", "heads")},
        title="KL $of$ both", x="layer", y="KL",
    )  # fmt: skip
    figure = figure_boxes.draw(view)
    said = [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
    for words in ("KL $of$ both", "layer", "KL", "hidden", "heads", "standard\ndeviation"):
        assert words in said
    assert len(figure.axes[0].patches) == 6
    assert len(figure.axes[1].patches) == 6
    assert write(view, tmp_path / "boxes.svg").stat().st_size > 1000
