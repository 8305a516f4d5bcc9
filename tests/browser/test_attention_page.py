"""The pages of attention and of maximum attention, used as a reader uses them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from langscape.data import Capture, Tokens
from langscape.views import attention, max_attention

TOKENS = ["[CLS]", "the", "old", "cat", "sat", "on", "the", "mat", "[SEP]"]
AXES = {"attention": ("layer", "head", "query", "key")}


def sentence(layers=2, heads=3, tokens=TOKENS):
    """Every head attends to the token before, with a little noise; special tokens to themselves."""
    n = len(tokens)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.01, 0.05, size=(layers, heads, n, n))
    weights[..., np.arange(1, n), np.arange(n - 1)] += 1
    weights[..., 0, 0] += 1
    weights /= weights.sum(axis=-1, keepdims=True)
    special = [token.startswith("[") for token in tokens]
    return Capture(Tokens(tokens, special=special), {"attention": weights}, AXES, {"model": "tiny"})


@pytest.fixture
def capture():
    return sentence()


@pytest.fixture
def opened(open_page, capture):
    one = open_page(attention(capture, 1, 2), wait=False)
    one.page.wait_for_selector(".matrix[data-ready] canvas")
    settle(one.page)
    return one


def settle(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def token(page, at, side="from"):
    return page.locator(f"[data-side='{side}'][data-token='{at}']")


def find_cell(page, row, column):
    """Moves the pointer over the matrix, down and then across, to the cell; gives the tip and the place."""
    box = page.locator(".matrix").bounding_box()
    tip = page.locator(".matrix .tip")

    def cell(x, y):
        page.mouse.move(float(x), float(y))
        if not tip.count():
            return None, None
        query, key = tip.inner_text().split("\n")[0].split(" → ")
        return int(query.split()[-1]), int(key.split()[-1])

    # Cells are 40 pixels wide and high, and the gutter of labels is below 120.
    ys = np.arange(box["y"] + 10, box["y"] + box["height"], 20)
    y = next(y for y in ys if cell(box["x"] + 150, y)[0] == row) + 6
    x = next(x for x in np.arange(box["x"] + 10, box["x"] + 500, 20) if cell(x, y)[1] == column) + 6
    assert cell(x, y) == (row, column)
    return tip, (x, y)


def test_the_pointed_cell_says_its_tokens_and_weight(opened, capture):
    tip, _ = find_cell(opened.page, 3, 2)
    assert f"weight {capture['attention'][1, 2, 3, 2]:.3f}" in tip.inner_text()


def test_strong_cells_are_dark_and_weak_ones_light(opened):
    _, strong = find_cell(opened.page, 3, 2)
    _, weak = find_cell(opened.page, 6, 2)
    opened.page.mouse.move(5, 5)
    assert max(opened.colour(*strong)[:2]) < 80
    assert min(opened.colour(*weak)) > 160


def test_a_token_lists_its_strongest_keys_draws_lines_and_can_be_kept(opened, capture):
    page = opened.page
    token(page, 4).hover()
    items = page.locator(".list li")
    weights = capture["attention"][1, 2, 4]
    order = np.argsort(-weights, kind="stable")[:8]
    expect(items.locator("span:first-child")).to_have_text([TOKENS[i] for i in order])
    expect(items.locator(".weight").first).to_have_text(f"{weights[order[0]]:.3f}")
    expect(page.locator(".sentence path")).to_have_count(8)
    above = page.get_by_role("group", name="Direction of the lines").bounding_box()
    tops = [path.bounding_box()["y"] for path in page.locator(".sentence path").all()]
    assert min(tops) > above["y"] + above["height"]
    token(page, 4).click()
    page.mouse.move(5, 5)
    expect(page.locator(".list")).to_contain_text("sat attends most to")
    page.keyboard.press("Escape")
    expect(page.locator(".list")).to_contain_text("Point at a token")


def test_lines_can_be_followed_the_other_way(opened, capture):
    page = opened.page
    page.get_by_role("button", name="is attended by").click()
    token(page, 2).hover()
    strongest = int(np.argmax(capture["attention"][1, 2, :, 2]))
    expect(page.locator(".list li span").first).to_have_text(TOKENS[strongest])


def test_hidden_special_tokens_are_nowhere(opened):
    page = opened.page
    expect(token(page, 0)).to_have_text("[CLS]")
    page.get_by_label("Hide special tokens").check()
    expect(token(page, 0)).to_have_count(0)
    expect(page.locator("[data-side='from']")).to_have_count(7)
    expect(page.get_by_label("Token by token")).to_contain_text("rows sum to less than 1")


def test_pieces_of_a_word_are_joined_on_demand(open_page):
    tokens = ["[CLS]", "un", "##seen", "lamp", "[SEP]"]
    capture = sentence(tokens=tokens)
    table = capture.tokens.but(texts=["[CLS]", "un", "seen", "lamp", "[SEP]"], words=[None, 0, 0, 1, None])
    page = open_page(attention(capture.but(tokens=table), 1, 2), wait=False).page
    page.get_by_label("Whole words").check()
    expect(page.locator("[data-side='from']")).to_have_count(4)
    expect(token(page, 1)).to_have_text("unseen")
    token(page, 2).click()
    weight = capture["attention"][1, 2][3, [1, 2]].sum()
    expect(page.locator(".list li").first).to_contain_text(f"{weight:.3f}")
    page.get_by_label("Whole words").uncheck()
    expect(token(page, 3)).to_have_class(re.compile("pinned|chosen|focus"))


def test_scrolling_zooms_and_show_all_leads_back(opened):
    page = opened.page
    matrix = page.locator(".matrix")
    box = matrix.bounding_box()
    page.mouse.move(5, 5)
    settle(page)
    before = matrix.screenshot()
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    for _ in range(3):
        page.mouse.wheel(0, -200)
    page.get_by_role("button", name="Show all").click()
    page.mouse.move(5, 5)
    settle(page)
    assert matrix.screenshot() == before


def test_the_strip_says_maximum_and_mean(opened, capture):
    page = opened.page
    # a bar stands under its column
    _, (x, _) = find_cell(page, 4, 3)
    page.mouse.move(float(x), page.locator(".strip svg").bounding_box()["y"] + 20)
    column = capture["attention"][1, 2, :, 3]
    said = page.locator(".strip .what")
    expect(said).to_contain_text(f"cat maximum {column.max():.3f}, mean {column.mean():.3f}")


def test_bars_stay_under_the_columns_of_a_matrix_that_is_zoomed(opened):
    page = opened.page
    _, (x, y) = find_cell(page, 4, 5)
    page.mouse.move(float(x), float(y))
    for _ in range(2):
        page.mouse.wheel(0, -200)
    settle(page)
    page.mouse.move(float(x), page.locator(".strip svg").bounding_box()["y"] + 20)
    expect(page.locator(".strip .what")).to_contain_text("on maximum")


def test_cross_attention_has_two_lines_of_tokens(open_page):
    weights = np.array([[[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]]])
    axes = {"cross_attention": AXES["attention"]}
    cross = Capture(["the", "cat", "sat"], {"cross_attention": weights}, axes, decoder_tokens=["le", "chat"])
    page = open_page(attention(cross, 0, 0, side="cross"), wait=False).page
    token(page, 1).hover()
    expect(page.locator(".list")).to_contain_text("chat attends most to")
    expect(page.locator(".list li span").first).to_have_text("cat")
    expect(token(page, 2, "to")).to_have_text("sat")


def test_the_matrix_is_saved_as_png(opened):
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Save as PNG").click()
    assert waiting.value.suggested_filename == "layer-1-head-2.png"
    assert Image.open(waiting.value.path()).width > 300


def test_the_matrix_is_saved_as_svg_with_its_tokens(opened):
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Save as SVG").click()
    assert waiting.value.suggested_filename == "layer-1-head-2.svg"
    drawn = ElementTree.parse(waiting.value.path()).getroot()
    texts = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Layer 1, head 2", *TOKENS} <= set(texts)
    cells = "".join(node.get("d") for node in drawn.iter("{http://www.w3.org/2000/svg}path"))
    assert sum(int(run) for run in re.findall(r"h(\d+)v1", cells)) == len(TOKENS) ** 2


def test_a_finger_scrolls_the_page_until_two_have_zoomed_the_matrix(open_page, capture):
    one = open_page(attention(capture, 1, 2), wait=False, has_touch=True)
    matrix = one.page.locator(".matrix")
    one.page.wait_for_selector(".matrix[data-ready] canvas")
    settle(one.page)
    action = "(node) => getComputedStyle(node).touchAction"
    assert matrix.evaluate(action) == "pan-x pan-y"
    matrix.evaluate("""(node) => {
      const send = (kind, pointerId, clientX) => {
        const told = { pointerId, clientX, clientY: 300, pointerType: 'touch', bubbles: true }
        node.dispatchEvent(new PointerEvent(kind, told))
      }
      node.setPointerCapture = () => {}
      send('pointerdown', 11, 300); send('pointerdown', 12, 340)
      send('pointermove', 11, 260); send('pointermove', 12, 420)
      send('pointerup', 11, 260); send('pointerup', 12, 420)
    }""")
    expect(one.page.get_by_role("button", name="Show all")).to_be_visible()
    assert matrix.evaluate(action) == "none"


def test_maximum_attention_names_head_and_token_and_shows_one_layer(open_page, capture):
    page = open_page(max_attention(capture), wait=False).page
    page.wait_for_selector(".matrix[data-ready] canvas")
    settle(page)
    box = page.locator(".matrix").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + box["height"] - 12)
    tip = page.locator(".matrix .tip")
    expect(tip).to_contain_text("layer 1, head 2")
    column = capture["attention"][1, 2, :, 8]
    expect(tip).to_contain_text(f"maximum {column.max():.4f}"[:14])
    page.get_by_label("Layer").select_option("0")
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + box["height"] - 14)
    expect(tip).to_contain_text("layer 0, head 2")
    page.get_by_label("Show").select_option("mean")
    expect(page.locator("footer")).to_contain_text("mean weight")


def test_hostile_tokens_are_only_text(open_page):
    tokens = ["<img src=x onerror=alert(1)>", "</script>", "\ud800", "", "\n"]
    capture = Capture(tokens, {"attention": np.full((1, 1, 5, 5), 0.2)}, AXES)
    page = open_page(attention(capture, 0, 0, title="<b>x</b>"), wait=False).page
    token(page, 0).hover()
    expect(page.locator(".list li").first).to_contain_text("<img src=x")
    expect(token(page, 4)).to_have_text("⏎")
    expect(page.locator("img, h1 b")).to_have_count(0)


@pytest.mark.parametrize("count", [1, 512])
def test_short_and_long_texts_open(open_page, count):
    tokens = [f"w{i}" for i in range(count)]
    page = open_page(attention(sentence(1, 1, tokens), 0, 0), wait=False).page
    token(page, count - 1).hover()
    expect(page.locator(".list li").first).to_contain_text(f"w{max(count - 2, 0)}")


def test_nothing_is_wider_than_a_narrow_screen(open_page, capture):
    for view in (attention(capture, 0, 0), max_attention(capture)):
        page = open_page(view, width=480, height=800, wait=False).page
        page.wait_for_selector(".matrix canvas")
        assert page.evaluate("() => document.documentElement.scrollWidth") == 480


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, capture, axe, scheme):
    for view in (attention(capture, 0, 0), max_attention(capture)):
        page = open_page(view, color_scheme=scheme, wait=False).page
        page.wait_for_selector(".matrix canvas")
        if view.kind == "attention":
            token(page, 4).click()
        assert serious(page, axe) == []


def serious(page, axe):
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    return [
        (v["id"], [n["html"] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")
    ]
