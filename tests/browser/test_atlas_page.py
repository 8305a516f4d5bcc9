"""The atlas page, used as a reader uses it."""

from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.data import Capture, Items, Map, Tokens
from langscape.views import atlas

TOKENS = ["[CLS]", "the", "old", "cat", "sat", "on", "the", "mat", "[SEP]"]
LAYERS, HEADS = 3, 4
KEYS = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
ENTROPY = np.array([5, 1, 8, 2, 11, 3, 9, 4, 10, 6, 12, 7], dtype=float)
DOES = ["previous-token", "first-token sink", "diffuse", ""] * 3


def parts():
    rng = np.random.default_rng(0)
    n = len(TOKENS)
    weights = rng.uniform(0.01, 0.05, size=(LAYERS, HEADS, n, n))
    for row, (layer, head) in enumerate(KEYS):
        if DOES[row] == "previous-token":
            weights[layer, head, np.arange(1, n), np.arange(n - 1)] += 1
        if DOES[row] == "first-token sink":
            weights[layer, head, :, 0] += 1
    weights /= weights.sum(axis=-1, keepdims=True)
    special = [token.startswith("[") for token in TOKENS]
    axes = {"attention": ("layer", "head", "query", "key")}
    capture = Capture(Tokens(TOKENS, special=special), {"attention": weights}, axes, {"model": "tiny"})
    items = Items(TOKENS, {"special": np.array(special)})
    grid = np.array([[i % 3, i // 3] for i in range(n)], dtype=float)
    maps = {key: Map(grid + 0.1 * rng.normal(size=(n, 2)), items, kl=0.5) for key in KEYS}
    numbers = {"layer": [layer for layer, _ in KEYS], "head": [head for _, head in KEYS]}
    scores = Items(
        [f"{layer}.{head}" for layer, head in KEYS],
        {**numbers, "tags": DOES, "entropy": ENTROPY, "cluster": ["x", "y"] * 6},
    )
    head_map = Map(np.array([[head * 10.0, layer * 10.0] for layer, head in KEYS]), scores)
    return capture, maps, scores, head_map


DRAWN = """(canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  return data.filter((value, i) => i % 4 === 3 && value).length
}"""


@pytest.fixture
def opened(open_page):
    return open_page(atlas(*parts(), title="Tiny atlas"), wait=False)


@pytest.fixture
def page(opened):
    opened.page.wait_for_selector("[data-head='0.0'] canvas")
    return opened.page


def shown(page):
    return [button.get_attribute("data-head") for button in page.locator("[data-head]").all()]


def head(page, name):
    return page.locator(f"[data-head='{name}']")


def detail(page):
    return page.locator(".detail")


def test_every_head_is_there_numbered_from_0(page):
    assert shown(page) == [f"{layer}.{head}" for layer, head in KEYS]
    expect(page.locator("header p")).to_contain_text(
        "12 heads in 3 layers, 7 tokens (and 2 special); numbers begin at 0"
    )
    for canvas in page.locator("[data-head] canvas").all():
        assert canvas.evaluate(DRAWN) > 20


def test_sorting_by_a_score_shows_it_and_turns_round(page):
    page.get_by_role("combobox", name="Sort").select_option("Entropy")
    order = [f"{KEYS[row][0]}.{KEYS[row][1]}" for row in np.argsort(-ENTROPY)]
    assert shown(page) == order
    expect(head(page, order[0])).to_contain_text("12")
    page.get_by_role("button", name="largest first").click()
    assert shown(page) == order[::-1]
    expect(page.get_by_label("Heads", exact=True)).to_contain_text("0 looks at one token")


def test_heads_are_filtered_by_what_they_do_and_by_number(page):
    page.get_by_role("button", name="previous-token 3").click()
    assert shown(page) == ["0.0", "1.0", "2.0"]
    page.get_by_role("button", name="previous-token 3").click()
    page.get_by_role("textbox", name="Only heads of this number or name").fill("2.")
    assert shown(page) == ["2.0", "2.1", "2.2", "2.3"]
    page.get_by_role("textbox", name="Only heads of this number or name").fill("sink")
    assert shown(page) == ["0.1", "1.1", "2.1"]
    page.get_by_role("textbox", name="Only heads of this number or name").fill("zebra")
    page.get_by_role("button", name="Show all").click()
    assert len(shown(page)) == 12


def test_the_map_of_heads_has_the_legend_of_its_own_colours(page):
    expect(page.get_by_label("Marks")).to_contain_text("position")
    page.get_by_role("button", name="Map of heads").click()
    marks = page.get_by_label("Marks")
    expect(marks).to_have_count(1)
    expect(marks).not_to_contain_text("position")
    expect(marks).to_contain_text("previous-token")
    page.get_by_role("combobox", name="Colour of heads").select_option("Entropy")
    expect(marks).to_contain_text("entropy 1 12")


def test_heads_are_grouped(page):
    expect(page.get_by_role("combobox", name="Group")).to_have_count(0)  # one click away
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("combobox", name="Group").select_option("what it does")
    headings = page.locator(".sight h2")
    expect(headings).to_have_text(["previous-token 3", "first-token sink 3", "diffuse 3", "(none) 3"])
    page.get_by_role("combobox", name="Group").select_option("Cluster")
    expect(headings).to_have_text(["x 6", "y 6"])


def test_a_head_opens_with_map_matrix_lines_and_scores(page):
    capture = parts()[0]
    head(page, "1.0").click()
    expect(detail(page).locator("h2")).to_have_text("Layer 1, head 0")
    expect(detail(page).locator(".tags")).to_have_text("previous-token")
    expect(detail(page).locator(".scores")).to_contain_text("Entropy")
    expect(detail(page).locator(".scores")).to_contain_text("2nd of 12")
    page.locator("[data-side='from'][data-token='4']").hover()
    expect(detail(page).locator(".list li span").first).to_have_text("cat")
    weight = float(detail(page).locator(".list .weight").first.text_content())
    assert weight == pytest.approx(capture["attention"][1, 0, 4, 3], abs=1 / 255)
    expect(detail(page)).to_contain_text("right to within 0.0039")
    page.keyboard.press("Escape")
    expect(detail(page)).to_have_count(0)


def test_arrows_lead_to_the_neighbouring_heads(page):
    head(page, "1.1").click()
    title = detail(page).locator("h2")
    for key, name in (
        ("ArrowRight", "Layer 1, head 2"),
        ("ArrowDown", "Layer 2, head 2"),
        ("ArrowLeft", "Layer 2, head 1"),
        ("ArrowUp", "Layer 1, head 1"),
    ):
        page.keyboard.press(key)
        expect(title).to_have_text(name)
    expect(head(page, "1.1")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Next head").click()
    expect(title).to_have_text("Layer 1, head 2")


def test_arrows_follow_the_order_that_is_shown(page):
    page.get_by_role("combobox", name="Sort").select_option("Entropy")
    order = shown(page)
    head(page, order[3]).click()
    page.keyboard.press("ArrowRight")
    layer, number = order[4].split(".")
    expect(detail(page).locator("h2")).to_have_text(f"Layer {layer}, head {number}")


COLOURED = """(canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  let count = 0
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200 && data[i] < 60 && data[i + 1] < 100 && data[i + 2] > 170) count++
  return count
}"""


def test_a_token_lights_up_in_every_map(page):
    before = [canvas.evaluate(COLOURED) for canvas in page.locator("[data-head] canvas").all()]
    page.get_by_label("Light a token in every map").fill("cat")
    expect(page.locator("[role='search'] [aria-live]")).to_have_text("1 match")
    after = [canvas.evaluate(COLOURED) for canvas in page.locator("[data-head] canvas").all()]
    assert max(before) < 10
    assert min(after) > 10


def test_hidden_special_tokens_are_on_no_map_and_in_no_line(page):
    head(page, "0.1").click()
    expect(page.locator("[data-side='from']")).to_have_count(9)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("checkbox", name="Hide special tokens").check()
    expect(page.locator("[data-side='from']")).to_have_count(7)
    page.get_by_label("Light a token in every map").fill("CLS")
    expect(page.locator("[role='search'] [aria-live]")).to_have_text("no match")


def test_the_map_of_heads_leads_to_a_head(page):
    page.get_by_role("button", name="Map of heads").click()
    stage = page.locator(".headmap .stage")
    expect(stage.locator("canvas")).to_have_count(2)
    box = stage.bounding_box()
    # Heads lie on a 4 × 3 lattice; the lower left is layer 0, head 0.
    margin = 44
    scale = min((box["width"] - 2 * margin) / 30, (box["height"] - 2 * margin) / 20)
    page.mouse.click(box["x"] + box["width"] / 2 - 15 * scale, box["y"] + box["height"] / 2 + 10 * scale)
    expect(detail(page).locator("h2")).to_have_text("Layer 0, head 0")


def test_colour_by_a_column_of_the_tokens(page):
    picture = head(page, "0.0").screenshot()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("combobox", name="Colour").select_option("special")
    assert head(page, "0.0").screenshot() != picture


def test_the_maps_of_the_heads_shown_are_saved(page):
    page.get_by_role("textbox", name="Only heads of this number or name").fill("1.")
    page.wait_for_function("() => document.querySelectorAll('[data-head]').length < 12")
    names = shown(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as SVG").click()
    drawn = ElementTree.parse(waiting.value.path()).getroot()
    texts = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text in {f"{a}.{b}" for a, b in KEYS}] == names
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == len(names) * len(TOKENS)
    head(page, names[0]).click()
    for what in ("map", "matrix"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Save the {what} as SVG").click()
        assert waiting.value.suggested_filename.endswith(f"{what}.svg")
        ElementTree.parse(waiting.value.path())


def test_hostile_names_are_only_text(open_page):
    bad = "<img src=x onerror=alert(1)>"
    axes = {"attention": ("layer", "head", "query", "key")}
    capture = Capture([bad, "</script>"], {"attention": np.full((1, 1, 2, 2), 0.5)}, axes, {"model": bad})
    scores = Items(["x"], {"layer": [0], "head": [0], "tags": [bad], bad: [bad]})
    map = Map(np.eye(2), Items([bad, "</script>"], {bad: [bad, bad]}), kl=1.0, settings={bad: bad})
    page = open_page(atlas(capture, {(0, 0): map}, scores, title=bad), wait=False).page
    head(page, "0.0").click()
    expect(detail(page).locator(".tags")).to_have_text(bad)
    expect(page.locator("img")).to_have_count(0)


def test_a_token_that_a_head_leaves_out_is_not_on_its_map(open_page):
    capture, maps, scores, head_map = parts()
    rows = [0, 1, 2, 4, 5, 6, 7, 8]
    whole = maps[0, 0]
    maps[0, 0] = Map(whole.xy[rows], whole.items.take(rows).with_columns(position=np.array(rows)))
    page = open_page(atlas(capture, maps, scores, head_map), wait=False).page
    page.get_by_label("Light a token in every map").fill("cat")
    lit = [canvas.evaluate(COLOURED) for canvas in page.locator("[data-head] canvas").all()]
    assert lit[0] < 10 < min(lit[1:])
    head(page, "0.0").click()
    expect(page.locator("[data-side='from']")).to_have_count(9)


def test_an_atlas_of_one_head_without_scores_opens(open_page):
    capture, maps, _, _ = parts()
    bare = {(1, 1): maps[1, 1].but(kl=float("nan"))}
    page = open_page(atlas(capture, bare), wait=False).page
    head(page, "1.1").click()
    expect(detail(page).locator("h2")).to_have_text("Layer 1, head 1")
    page.keyboard.press("ArrowRight")
    expect(detail(page).locator("h2")).to_have_text("Layer 1, head 1")


def test_nothing_is_wider_than_a_narrow_screen(open_page):
    page = open_page(atlas(*parts()), width=480, height=800, wait=False).page
    head(page, "0.0").click()
    expect(detail(page)).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") == 480


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, axe, scheme):
    page = open_page(atlas(*parts()), color_scheme=scheme, wait=False).page
    head(page, "1.0").click()
    expect(page.locator("[data-side='from']")).to_have_count(9)
    page.get_by_role("combobox", name="Sort").select_option("Entropy")
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    bad = [
        (v["id"], [n["html"] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert bad == []


@pytest.mark.slow
def test_two_hundred_and_seventy_heads_open_and_answer(open_page):
    rng = np.random.default_rng(0)
    tokens = [f"t{i}" for i in range(180)]
    weights = rng.dirichlet(np.full(180, 0.1), size=(30, 9, 180)).astype(np.float32)
    capture = Capture(tokens, {"attention": weights}, {"attention": ("layer", "head", "query", "key")})
    items = Items(tokens)
    maps = {(layer, n): Map(rng.normal(size=(180, 2)), items) for layer in range(30) for n in range(9)}
    page = open_page(atlas(capture, maps), wait=False).page
    expect(page.locator("[data-head]")).to_have_count(270)
    head(page, "29.8").click()
    expect(detail(page).locator("h2")).to_have_text("Layer 29, head 8")
    page.locator("[data-side='from'][data-token='7']").hover()
    strongest = int(weights[29, 8, 7].argmax())
    expect(detail(page).locator(".list li small").first).to_have_text(str(strongest))
