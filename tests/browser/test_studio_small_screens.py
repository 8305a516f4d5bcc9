"""Every room on a phone and a small laptop: named, whole, scrolled in one way, large enough for a finger."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.test_attention_page import serious, settle

pytestmark = pytest.mark.slow

ROOMS = ["atlas", "head", "queries", "words", "distributions", "flow", "test", "compare", "jobs"]
NAMES = ["Atlas", "Head", "Queries & keys", "Words", "Distributions", "Flow", "Test", "Compare", "Jobs"]
SIZES = {390: 844, 1024: 768}

SCROLLED = """() => {
  const name = (one) => `${one.tagName}.${one.className} ${one.getAttribute('aria-label') ?? ''}`
  const all = [...document.querySelectorAll('*')].filter((one) => {
    const isRoot = one === document.documentElement
    const scrolls = isRoot || /auto|scroll/.test(getComputedStyle(one).overflowY)
    const isLonger = one.scrollHeight > one.clientHeight + 1
    return scrolls && isLonger && one.checkVisibility() && one.tagName !== 'SELECT'
  })
  return all.map((one) => [name(one), all.filter((other) => other !== one && other.contains(one)).map(name)])
}"""

SMALL = """() =>
  [...document.querySelectorAll('button, summary, select, nav a, label:has(> [type=checkbox])')]
  .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
  // words of a sentence are as high as its lines, and the bars of a chart as wide as they are many
  .filter((one) => !one.closest('svg, .bars, .unseen') && getComputedStyle(one).display !== 'inline')
  .map((one) => [one.textContent.trim().slice(0, 30) || one.ariaLabel, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 1 && (width < 23.5 || height < 23.5))
  .map(([name, { width, height }]) => `${name}: ${width} × ${height}`)"""


COVERED = """() => {
  const box = (one) => one.getBoundingClientRect()
  return [...document.querySelectorAll('.frame footer')].flatMap((foot) =>
    [...foot.parentElement.querySelectorAll('table')]
      .filter((one) => !foot.contains(one) && one.checkVisibility())
      .filter((one) => box(one).bottom > box(foot).top + 1 && box(one).top < box(foot).bottom - 1)
      .map((one) => `${foot.textContent.slice(0, 40)} over ${one.textContent.slice(0, 40)}`))
}"""


def opened(open_studio, room, width, **options):
    page = open_studio(room, width=width, height=SIZES[width], **options).page
    shown = "[data-job]" if room == "jobs" else ".frame[aria-busy=false]"
    expect(page.locator(shown).first).to_be_visible(timeout=120_000)
    settle(page)
    return page


@pytest.mark.parametrize("width", SIZES)
def test_all_rooms_are_named_and_the_help_is_there(open_studio, width):
    page = opened(open_studio, "atlas", width)
    rooms = page.get_by_role("navigation", name="Rooms")
    for name in NAMES:
        box = rooms.get_by_role("link", name=name).get_by_text(name, exact=True).bounding_box()
        assert box["width"] > 15, name  # the word itself, not only a sign
        assert 0 <= box["x"] <= width - box["width"]
    assert rooms.bounding_box()["height"] < (90 if width < 640 else 700)
    rooms.get_by_role("link", name="Flow").click()
    expect(page.get_by_role("heading", name="Flow", exact=True)).to_be_attached()
    page.get_by_role("button", name="Tour and shortcuts").click()
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("width", SIZES)
def test_nothing_is_cut_and_nothing_is_scrolled_inside_of_what_is_scrolled(open_studio, room, width):
    page = opened(open_studio, room, width)
    assert [(one, inside) for one, inside in page.evaluate(SCROLLED) if inside] == []
    for one in ("html", "main"):
        wide = page.locator(one).evaluate("one => one.scrollWidth - one.clientWidth")
        assert wide <= 0, one
    if width < 640:
        assert page.evaluate(SMALL) == []
        assert page.evaluate(COVERED) == []


def test_a_phone_chooses_what_a_room_computes_from_one_list(open_studio, studio):
    page = opened(open_studio, "head", 390)
    chosen = page.get_by_role("combobox", name="What is computed")
    expect(chosen).to_have_value("atlas")
    chosen.select_option("Hidden states")
    page.wait_for_url(re.compile("hidden"))
    expect(chosen).to_have_value("hidden")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1024, "light")])
@pytest.mark.parametrize("room", ["atlas", "flow"])
def test_axe_finds_nothing_serious_on_a_small_screen(open_studio, axe, room, width, scheme):
    page = opened(open_studio, room, width, color_scheme=scheme)
    assert serious(page, axe) == []
