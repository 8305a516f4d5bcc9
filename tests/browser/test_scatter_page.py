"""The exported scatter page, used as a reader uses it."""

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from scatter_hands import around, downloaded, lasso, near, rgb, search_box

from langscape.data import Items, Map
from langscape.views import scatter
from langscape.views.colours import CATEGORIES

SVG = "{http://www.w3.org/2000/svg}"
# The page prefers painted pixels where WebGL runs in software, as it does in tests.
AS_IF_ON_A_CARD = """
const real = WebGL2RenderingContext.prototype.getParameter
WebGL2RenderingContext.prototype.getParameter = function (name) {
  return name === 0x9246 ? 'A real card' : real.call(this, name)
}"""


@pytest.mark.parametrize(("init", "renderer"), [(None, "canvas"), (AS_IF_ON_A_CARD, "webgl")])
def test_points_are_drawn_in_their_groups_colours_with_one_request(open_page, nine, init, renderer):
    opened = open_page(nine, init=init)
    assert opened.stage.get_attribute("data-renderer") == renderer
    # Points are 92 % opaque on white.
    for label, colour in (("tea", CATEGORIES[0]), ("rome", CATEGORIES[1]), ("dog", CATEGORIES[2])):
        assert near(opened.pixel(label), colour, within=24)
    assert near(opened.colour(*np.mean([opened.at("dog"), opened.at("rome")], axis=0)), "#ffffff", within=0)
    assert len(opened.requests) == 1


def test_both_renderers_draw_the_same_picture(open_page, nine):
    rings = np.arange(9) % 2 == 0
    shapes = Map(nine.xy, Items(nine.labels, {"kind": [f"kind {i * 4}" for i in range(9)]}))
    many = Map(
        np.vstack([shapes.xy, np.full((27, 2), 5.0) + np.arange(27)[:, None] * 0.1]),
        Items([*nine.labels, *[f"x{i}" for i in range(27)]], {"kind": [f"kind {i % 32}" for i in range(36)]}),
    )
    view = scatter(many, rings=np.concatenate([rings, np.zeros(27, bool)]))
    pictures = []
    for init in (None, AS_IF_ON_A_CARD):
        page = open_page(view, init=init).page
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shot = Image.open(io.BytesIO(page.locator(".stage").screenshot())).convert("RGB")
        pictures.append(np.asarray(shot, dtype=float))
    away = np.abs(pictures[0] - pictures[1]).max(axis=2)
    drawn = (pictures[0] < 240).any(axis=2).sum()
    # Edges differ by how each rounds to pixels; shapes, colours and rings do not.
    assert drawn > 2000
    assert (away > 90).sum() < 0.05 * drawn


def test_colour_by_a_number_shows_a_ramp_with_both_ends_and_greys_what_has_none(open_page, nine):
    opened = open_page(nine)
    opened.page.get_by_role("combobox", name="Colour").select_option("count")
    expect(opened.page.locator(".ends span")).to_have_text(["1", "40"])
    expect(opened.page.locator(".name", has_text="(none)")).to_be_visible()
    assert near(opened.pixel("milk"), "#e5d67f", within=24)
    assert near(opened.pixel("rome"), "#322474", within=24)
    assert near(opened.pixel("hen"), "#9aa0a8", within=24)
    opened.page.get_by_role("combobox", name="Colour").select_option("")
    assert near(opened.pixel("hen"), CATEGORIES[0], within=24)


def test_a_blank_group_is_grey_and_named_none(open_page, nine):
    groups = ["drinks"] * 3 + ["capitals"] * 3 + ["", " ", None]
    opened = open_page(nine.but(items=Items(nine.labels, {"group": groups})))
    expect(opened.page.get_by_role("button", name="(none) 3")).to_be_visible()
    expect(opened.page.get_by_label("Colour", exact=True).locator("li")).to_have_count(3)
    assert near(opened.pixel("cat"), "#9aa0a8", within=24)


def test_the_legend_hides_and_shows_groups(open_page, nine):
    opened = open_page(nine)
    entry = opened.page.get_by_role("button", name="drinks 3")
    expect(entry).to_have_attribute("aria-pressed", "true")
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "false")
    assert near(opened.pixel("tea"), "#ffffff", within=0)
    opened.hover("tea")
    expect(opened.tip).to_have_count(0)
    opened.page.get_by_role("button", name="Show all").click()
    opened.hover("tea")
    expect(opened.tip).to_contain_text("drinks")


def test_dark_follows_the_system_and_the_button_changes_it(open_page, nine):
    opened = open_page(nine, color_scheme="dark")
    root = opened.page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    ground = opened.colour(*np.mean([opened.at("dog"), opened.at("rome")], axis=0))
    assert max(ground) < 40
    opened.page.get_by_role("button", name="Use light colours").click()
    expect(root).to_have_attribute("data-theme", "light")
    assert near(opened.pixel("tea"), CATEGORIES[0], within=24)


def test_the_figures_of_trust_and_the_notes_are_on_the_page(open_page, nine):
    opened = open_page(nine.but(notes=("'quux' is unlike every word here.",)))
    trust = opened.page.get_by_label("How far to trust this map")
    expect(trust.get_by_role("definition").first).to_have_text("0.694")
    expect(trust).to_contain_text("median 0.710")
    expect(trust).to_contain_text("best of 3 restarts")
    expect(trust).to_contain_text("53.0 % ± 10.0")
    notes = trust.get_by_role("list", name="Notes").get_by_role("listitem")
    expect(notes.first).to_contain_text("9 items are too few for t-SNE")
    expect(notes.last).to_contain_text("'quux' is unlike every word here.")
    expect(opened.page.get_by_role("button", name="KL 0.694 (median 0.710)")).to_be_visible()
    expect(opened.page.get_by_role("button", name="2 notes")).to_be_visible()


def test_saved_pictures_hold_title_figures_labels_and_legend(open_page, nine):
    view = scatter(nine, title="Nine words", rings=["tea"])
    page = open_page(view).page
    name, content = downloaded(page, "Save as SVG")
    assert name == "nine-words.svg"
    root = ET.fromstring(content)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "Nine words" in texts
    assert set(nine.labels) <= set(texts)
    assert {"drinks", "capitals", "animals", "marked"} <= set(texts)
    assert any("KL\u00a00.694" in text for text in texts)
    name, content = downloaded(page, "Save as PNG")
    assert name == "nine-words.png"
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    assert (picture.width, picture.height) == (2 * float(root.get("width")), 2 * float(root.get("height")))
    colours = {colour for _, colour in picture.getcolors(1 << 24)}
    assert rgb(CATEGORIES[1]) in colours


def test_equal_tokens_are_told_apart_on_the_map_in_files_and_in_lists(open_page):
    texts = ["bank", "the", "bank", "river", "the", "Bank"]
    at = np.array([[0, 0], [4, 1], [9, 0], [0, 8], [5, 5], [9, 8]], float)
    tokens = Items(texts, {"position": np.arange(6), "special": [False] * 6, "text": texts})
    opened = open_page(scatter(Map(at, tokens, kl=0.5), title="Banks"))
    _, content = downloaded(opened.page, "Save as SVG")
    shown = [text.text for text in ET.fromstring(content).iter(f"{SVG}text")]
    assert {"bank¹", "bank²", "Bank³", "river", "the"} <= set(shown)
    assert "bank" not in shown
    # what is searched are tokens, and all of them are found
    search_box(opened.page).fill("bank")
    expect(opened.page.get_by_text("3 matches")).to_be_visible()


def test_a_placed_word_that_keeps_nothing_has_a_dashed_ring_and_a_paler_label(open_page):
    labels = [f"w{i}" for i in range(40)] + ["kept", "lost"]
    at = np.array([[i % 7, i // 7] for i in range(42)], float)
    verdict = np.array([""] * 40 + ["good", "not to be read"], object)
    map = Map(
        at, Items(labels, {"inserted": np.arange(42) >= 40, "verdict": verdict}),
        kl=0.5, notes=("unlike everything on the map, placed all the same: lost",),
    )  # fmt: skip
    opened = open_page(scatter(map, title="Placed"))
    expect(opened.page.get_by_text("inserted, not to be read: no more of its nearest")).to_be_visible()
    _, content = downloaded(opened.page, "Save as SVG")
    root = ET.fromstring(content)
    rings = [one for one in root.iter(f"{SVG}circle") if one.get("fill") == "none"]
    # one on the map and one in the key of either kind
    assert [bool(one.get("stroke-dasharray")) for one in rings].count(True) == 2
    assert len(rings) == 4
    strength = {one.text: one.get("fill-opacity") for one in root.iter(f"{SVG}text")}
    assert "unlike everything on the map, placed all the same: lost" in strength
    assert strength["kept"] is None
    assert strength["lost"] == "0.65"


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!-- -->",
    '"><b>bold</b>',
    "{@html 'x'}",
    "javascript:alert(3)",
    "\u202egnp.exe",
    "\ud800",
    "",
]


def test_hostile_labels_are_only_text(open_page, nine):
    columns = {"group": HOSTILE, "<b>name</b>": HOSTILE}
    map = Map(
        nine.xy, Items(HOSTILE, columns), notes=("<img src=x onerror=alert(4)>",), settings={"<i>": "<u>"}
    )
    opened = open_page(scatter(map, title="</title><script>alert(5)</script>", rings=HOSTILE[:1]))
    opened.map = map
    for label in HOSTILE[:3]:
        opened.hover(label)
        expect(opened.tip.locator("p")).to_have_text(label)
    opened.click(HOSTILE[0])
    expect(opened.page.locator(".focus .name")).to_have_text(HOSTILE[0])
    lasso(opened, around(opened, HOSTILE))
    expect(opened.page.locator(".items button")).to_have_count(9)
    for element in ("img", "b:not(a > b)", "i", "u", "body script:not([id]) ~ script"):
        expect(opened.page.locator(element)).to_have_count(0)
    _, content = downloaded(opened.page, "Save as SVG")
    assert ET.fromstring(content).find(f".//{SVG}script") is None
    _, content = downloaded(opened.page, "Save as PNG")
    assert content.startswith(b"\x89PNG")


@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_single_maps_open_and_save(open_page, n):
    map = Map(np.full((n, 2), 3.0), Items.numbered(n))
    opened = open_page(map)
    box = opened.stage.bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    if n:
        expect(opened.tip).to_contain_text("0")
        opened.stage.click()
        expect(opened.page.locator(".focus .name")).to_have_text("0")
    else:
        expect(opened.stage).to_contain_text("This map holds no items.")
    opened.page.mouse.wheel(0, -300)
    search_box(opened.page).fill("0")
    expect(opened.page.locator("[aria-live]")).to_have_text("1 match" if n else "no match")
    assert downloaded(opened.page, "Save as PNG")[1].startswith(b"\x89PNG")


def test_a_3d_map_says_so_turns_under_the_drag_and_lists_3d_distances(open_page):
    xyz = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 5.0]])
    opened = open_page(Map(xyz, Items(["origin", "right", "up", "near"])))
    expect(opened.stage).to_contain_text("Three dimensions seen from one side")
    before = opened.stage.screenshot()
    box = opened.stage.bounding_box()
    opened.page.mouse.move(box["x"] + 300, box["y"] + 300)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 420, box["y"] + 330, steps=5)
    opened.page.mouse.up()
    assert opened.stage.screenshot() != before
    search_box(opened.page).fill("origin")
    search_box(opened.page).press("Enter")
    expect(opened.page.locator(".picks span:last-child")).to_have_text(["1", "1", "5"])


def test_of_four_dimensions_two_are_chosen_and_the_page_says_so(open_page):
    rng = np.random.default_rng(0)
    opened = open_page(Map(rng.normal(size=(12, 4)), Items.numbered(12)))
    about = opened.page.get_by_label("About this map")
    expect(about).to_contain_text("This map has 4 dimensions and two are drawn")
    before = opened.stage.screenshot()
    opened.page.get_by_role("combobox", name="Up").select_option("axis 3")
    opened.page.wait_for_timeout(100)
    assert opened.stage.screenshot() != before


def circles(page):
    root = ET.fromstring(downloaded(page, "Save as SVG")[1])
    texts = [text.text for text in root.iter(f"{SVG}text")]
    return np.array([[float(c.get("cx")), float(c.get("cy"))] for c in root.iter(f"{SVG}circle")]), texts


def test_equal_quantiles_spread_the_points_evenly_move_gradually_and_say_what_is_lost(open_page):
    rng = np.random.default_rng(0)
    map = Map(rng.standard_cauchy(size=(60, 2)), Items([f"word{i}" for i in range(60)]))
    page = open_page(map).page
    before, _ = circles(page)
    page.get_by_role("switch", name="Equal quantiles").check()
    expect(page.get_by_label("Axes")).to_contain_text("distances are not preserved")
    page.get_by_label("Number of quantiles").fill("60")
    page.wait_for_timeout(900)
    after, texts = circles(page)
    assert np.array_equal(np.argsort(before[:, 0]), np.argsort(after[:, 0]))
    steps = np.diff(np.sort(after[:, 0]))
    np.testing.assert_allclose(steps, steps.mean(), atol=0.05)
    assert any("k = 60: distances are not preserved" in text for text in texts)
    assert {f"{np.median(map.xy[:, 0]):.3f}".replace("-", "−")} <= set(texts)
    page.get_by_role("switch", name="Equal quantiles").uncheck()
    page.wait_for_timeout(900)
    np.testing.assert_allclose(circles(page)[0], before, atol=0.02)


def test_a_view_may_begin_with_equal_quantiles_and_neighbours_keep_true_distances(open_page, nine):
    page = open_page(scatter(nine, quantiles=3)).page
    expect(page.get_by_role("switch", name="Equal quantiles")).to_be_checked()
    expect(page.get_by_label("Axes")).to_contain_text("k = 3")
    search_box(page).fill("tea")
    search_box(page).press("Enter")
    expect(page.locator(".picks span:last-child").first).to_have_text("2")


def test_several_views_are_tabs(open_page, nine):
    page = open_page([scatter(nine, title="First"), scatter(nine, title="Second")]).page
    expect(page.locator("h1")).to_have_text("First")
    page.get_by_role("button", name="Second").click()
    expect(page.locator("h1")).to_have_text("Second")
    expect(page.locator("canvas")).to_have_count(2)


def test_nothing_is_wider_than_a_narrow_screen(open_page, nine):
    opened = open_page(nine, width=480, height=800)
    assert opened.page.evaluate("() => document.documentElement.scrollWidth") == 480
    opened.hover("rome")
    expect(opened.tip).to_contain_text("rome")
    box = opened.tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 480


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, nine, axe, scheme):
    opened = open_page(scatter(nine.but(notes=("a note",)), rings=["tea"]), color_scheme=scheme)
    opened.map = nine
    lasso(opened, around(opened, ["oslo", "rome", "paris"]))
    opened.page.locator(".items button").first.click()
    opened.page.get_by_role("button", name="drinks 3").click()
    opened.page.locator("summary").click()
    search_box(opened.page).fill("o")
    opened.hover("dog")
    opened.page.evaluate(axe)
    found = opened.page.evaluate("() => axe.run()")["violations"]
    serious = [
        (v["id"], [n["html"] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.slow
def test_a_hundred_thousand_points_open_and_answer(open_page):
    rng = np.random.default_rng(0)
    xy = np.vstack([rng.normal(size=(99_999, 2)), [[9.0, 9.0]]])
    labels = [f"w{i}" for i in range(100_000)]
    opened = open_page(Map(xy, Items(labels, {"group": np.arange(100_000) % 5})))
    opened.hover("w99999")
    expect(opened.tip).to_contain_text("w99999")
    search_box(opened.page).fill("9999")
    expect(opened.page.locator("[aria-live]")).to_have_text("19 matches")
