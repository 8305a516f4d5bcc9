"""The exported ellipse page: toggled, clicked and read."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.data import Context, Gaussians, Items, Map
from langscape.views import ellipses
from langscape.views.figure_ellipses import axes_of

LABELS = ["tea", "oslo", "run"]
XY = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 8.0]])
SHAPES = np.array([[[4.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [[4.0, 1.5], [1.5, 1.0]]])


@pytest.fixture
def view():
    contexts = [
        [Context("She drank 𝔱ea, then tea again.", 20, 23), Context("Tea <b>time</b>.", 0, 3)],
        [Context("Rain in Oslo.", 8, 12)],
        [Context("They run.", 5, 8)],
    ]
    counts = [len(some) for some in contexts]
    given = Gaussians(np.zeros((3, 4)), np.ones((3, 4)), Items(LABELS), counts, contexts=contexts)
    items = Items(LABELS, {"group": ["drinks", "cities", "verbs"]})
    made = Map(
        XY, items, shapes=SHAPES, kl=0.5, quality={"area_variance": 0.93},
        settings={"shape": "contexts", "kappa2": 0.25},
    )  # fmt: skip
    return ellipses(made, given, title="Three words")


def place(opened, view, x, y, places=XY):
    """Where a point of the map lies in the stage before anything moved: all ellipses inside its margin."""
    box = opened.stage.bounding_box()
    long, short, angle = axes_of(view.arrays["outlines"])
    cos, sin = np.cos(angle), np.sin(angle)
    reach = np.column_stack([np.hypot(long * cos, short * sin), np.hypot(long * sin, short * cos)])
    low, high = (places - reach).min(0), (places + reach).max(0)
    margin = min(44, box["width"] / 12)
    scale = min(
        (box["width"] - 2 * margin) / (high[0] - low[0]), (box["height"] - 2 * margin) / (high[1] - low[1])
    )
    dx, dy = (np.array([x, y]) - (low + high) / 2) * scale
    return {"x": box["width"] / 2 + dx, "y": box["height"] / 2 - dy}


def test_ellipses_on_top_of_each_other_are_all_named(open_page):
    labels = ["clock", "clocks", "far"]
    at = np.array([[0.0, 0.0], [0.02, 0.0], [12.0, 6.0]])
    shapes = np.array([[[4.0, 0.0], [0.0, 4.0]], [[4.0, 0.0], [0.0, 3.9]], [[4.0, 0.0], [0.0, 4.0]]])
    given = Gaussians(np.zeros((3, 4)), np.ones((3, 4)), Items(labels), [2, 2, 2])
    map = Map(at, Items(labels), shapes=shapes, kl=0.5, settings={"shape": "contexts", "kappa2": 0.25})
    view = ellipses(map, given, title="Two clocks")
    opened = open_page(view)
    with opened.page.expect_download() as saved:
        opened.page.get_by_role("button", name="Save as SVG").click()
    drawn = ET.fromstring(saved.value.path().read_bytes())
    lines = {
        one.text: float(one.get("y")) for one in drawn.iter("{http://www.w3.org/2000/svg}text") if one.text
    }
    assert {"clock", "clocks", "far"} <= set(lines)
    assert abs(lines["clock"] - lines["clocks"]) >= 12
    # and who points at one is told of the other
    opened.stage.hover(position=place(opened, view, 0.0, 0.0, at))
    expect(opened.page.get_by_role("status").filter(has_text="same place")).to_contain_text("clock")


def test_a_click_inside_an_ellipse_shows_its_contexts_with_the_word_marked(open_page, view):
    opened = open_page(view)
    panel = opened.page.get_by_role("region", name="Contexts")
    expect(panel).to_contain_text("Click an ellipse")
    # inside the outline of tea, far from its middle
    opened.stage.click(position=place(opened, view, 1.6, 0.0))
    expect(opened.page.locator(".focus .name")).to_have_text("tea")
    expect(panel.locator("li")).to_have_text(["She drank 𝔱ea, then tea again.", "Tea <b>time</b>."])
    expect(panel.locator("mark")).to_have_text(["tea", "Tea"])
    opened.stage.click(position=place(opened, view, 10.0, 0.6))
    expect(panel.locator("li")).to_have_text(["Rain in Oslo."])
    opened.page.keyboard.press("Escape")
    expect(panel).to_contain_text("Click an ellipse")


def test_ellipses_are_drawn_and_can_be_switched_off(open_page, view):
    opened = open_page(view)
    box = opened.stage.bounding_box()
    edge = place(opened, view, 1.5, 0.0)
    spot = (box["x"] + edge["x"], box["y"] + edge["y"])
    assert opened.colour(*spot) != (255, 255, 255)
    switch = opened.page.get_by_role("switch", name="Ellipses")
    expect(switch).to_be_checked()
    switch.click()
    assert opened.colour(*spot) == (255, 255, 255)
    opened.stage.click(position=place(opened, view, 1.6, 0.0))
    expect(opened.page.locator(".focus")).to_have_count(0)


def test_the_page_says_what_an_ellipse_is_and_what_its_area_is_worth(open_page, view):
    page = open_page(view).page
    expect(page.get_by_role("region", name="Ellipses", exact=True)).to_contain_text("κ² = 0.25")
    assert "mass" not in page.inner_text("body")
    expect(page.locator(".trust")).to_contain_text("Area and variance")
    expect(page.locator(".trust")).to_contain_text("0.930")
    expect(page.get_by_role("button", name="Area and variance")).to_contain_text("0.930")


def test_the_saved_picture_holds_the_ellipses(open_page, view):
    page = open_page(view).page
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as SVG").click()
    text = waiting.value.path().read_text()
    # all three have fewer than four contexts, and the key has an ellipse of its own
    assert text.count('class="doubtful"') == 3
    assert text.count("<ellipse") == 4
    assert "rotate(" in text


def test_the_page_is_accessible(open_page, view, axe):
    page = open_page(view).page
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")
    assert [one["id"] for one in found["violations"]] == []
