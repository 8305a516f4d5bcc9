"""Heads over a corpus as a view: what it carries, its table, its figure and the lines of its tree."""

import numpy as np
import pytest
from tests.metrics.planted import HEADS, survey

from langscape.views import figure_survey, write
from langscape.views.survey import branches
from langscape.views.table import table


@pytest.fixture(scope="module")
def found():
    return survey(1)


def test_the_view_carries_names_intervals_groups_and_passages(found):
    view = found.view("A title")
    properties, arrays = view.properties, view.arrays
    assert properties["title"] == "A title"
    assert "16 texts" in properties["subtitle"]
    assert properties["names"][list(HEADS).index("bracket-matching")] == ["bracket-matching"]
    row = [one["name"] for one in properties["scores"]].index("previous_token")
    np.testing.assert_allclose(arrays["mean"][row], found.figures["previous_token"].mean, rtol=1e-6)
    assert (arrays["low"][row] <= arrays["mean"][row]).all()
    assert sorted(arrays["order"]) == list(range(len(HEADS)))
    head = list(HEADS).index("duplicate-token")
    text = properties["tokens"][arrays["passage_text"][head, 0]]
    query, key = arrays["passage_query"][head, 0], arrays["passage_key"][head, 0]
    assert text[query] == text[key]  # a head of duplicates is shown looking at one
    assert properties["notes"][0] == "4 texts have fewer than 8 tokens, too few to be scored"


def test_branches_join_where_their_leaves_stand():
    tree = np.array([[0, 2, 0.2, 2], [1, 3, 0.7, 3]])
    made = branches(tree, [1, 0, 2], [0, 1, 0])
    assert made.tolist() == [
        [1, 2, 0, 0, pytest.approx(0.2), 0],
        [0, 1.5, 0, pytest.approx(0.2), pytest.approx(0.7), -1],
    ]
    assert branches(np.zeros((0, 4)), [0], [0]).shape == (0, 6)


def test_its_table_has_a_row_for_each_head(found):
    columns = table(found.view())
    assert len(columns["layer"]) == len(HEADS)
    assert columns["names"].tolist() == found.scores.columns["names"].tolist()
    assert columns["names"][list(HEADS).index("bracket-matching")] == "bracket-matching"
    np.testing.assert_allclose(columns["parked_high"], found.figures["parked"].high, rtol=1e-5)


def test_the_figure_marks_roles_and_names_heads(found, tmp_path):
    view = found.view("Planted $heads$")
    figure = figure_survey.draw(view)
    said = [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
    for words in ("Planted $heads$", "0.3", "bracket-matching", "Focused attention", "Weight on sinks"):
        assert words in said
    assert len(figure.axes[0].lines) == len(HEADS) - 1
    assert write(view, tmp_path / "heads.svg").stat().st_size > 10_000
