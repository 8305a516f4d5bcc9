"""The page of box plots, used as a reader uses it."""

from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.views import boxes

rng = np.random.default_rng(0)
VALUES = {
    (str(layer), name): rng.normal(layer + 2 * (name != "hidden states"), 0.3, 80)
    for layer in range(4)
    for name in ("hidden states", "heads", "heads, disturbed")
    if not (layer == 3 and name != "hidden states")
}


@pytest.fixture
def opened(open_page):
    one = open_page(boxes(VALUES, title="KL <by> layer", x="layer", y="KL"), wait=False)
    one.page.wait_for_selector(".stage svg rect")
    return one


def test_a_box_says_its_figures(opened):
    page = opened.page
    expect(page.locator(".legend li")).to_have_count(3)
    box = page.locator(".stage svg").bounding_box()
    # layer 1 is the second quarter, heads the middle of three
    page.mouse.move(box["x"] + 62 + (box["width"] - 78) * 3 / 8, box["y"] + 100)
    tip = page.locator(".tip")
    expect(tip).to_contain_text("1 · heads")
    expect(tip).to_contain_text("80")
    expect(tip).to_contain_text(f"{np.median(VALUES['1', 'heads']):.2f}")


@pytest.mark.parametrize("kind", ["SVG", "CSV", "PNG"])
def test_picture_and_numbers_are_saved(opened, kind):
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name=f"Save as {kind}").click()
    assert waiting.value.suggested_filename == f"kl-by-layer.{kind.lower()}"
    if kind == "SVG":
        drawn = ElementTree.parse(waiting.value.path()).getroot()
        assert drawn.find("{http://www.w3.org/2000/svg}title").text == "KL <by> layer"
    if kind == "CSV":
        with open(waiting.value.path(), encoding="utf-8") as file:
            assert len(file.read().splitlines()) == 1 + len(VALUES)


def test_nothing_is_wider_than_a_narrow_screen(open_page):
    page = open_page(boxes(VALUES, title="KL"), wait=False, width=360, height=640).page
    page.wait_for_selector(".stage svg rect")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, axe, scheme):
    page = open_page(boxes(VALUES, title="KL"), wait=False, color_scheme=scheme).page
    page.wait_for_selector(".stage svg rect")
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
