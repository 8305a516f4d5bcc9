"""What pages say of heads: verdicts on the maps of an atlas, partners and the reading thread of one map."""

from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.data import Capture, Items, Map, Tokens
from langscape.metrics import strongest_partners
from langscape.views import atlas, scatter

N = 9
HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]
SVG = "{http://www.w3.org/2000/svg}"


def judged():
    rng = np.random.default_rng(0)
    tokens = Tokens([f"Ġw{i}" for i in range(N)], [f" w{i}" for i in range(N)])
    axes = {"attention": ("layer", "head", "query", "key")}
    capture = Capture(tokens, {"attention": rng.dirichlet(np.ones(N), (2, 2, N))}, axes)
    maps = {key: Map(rng.normal(size=(N, 2)), Items(list(tokens)), kl=0.5) for key in HEADS}
    columns = {
        "layer": [layer for layer, _ in HEADS],
        "head": [head for _, head in HEADS],
        "interest": [0.1, 0.9, 0.4, 0.6],
        "parked": [0.0, 0.46, 0.0, 0.1],
        "kept": [0.05, 0.8, 0.1, 0.6],
        "kept_null": [0.05, 0.2, 0.12, 0.2],
        "share": [0.1, 0.4, 0.2, 0.3],
        "verdict": ["evenly spread", "good", "not to be read", "good"],
    }
    return atlas(capture, maps, Items([f"{a}.{b}" for a, b in HEADS], columns), title="Judged")


def shown(page):
    return [button.get_attribute("data-head") for button in page.locator("[data-head]").all()]


@pytest.fixture
def heads(open_page):
    page = open_page(judged(), wait=False).page
    page.wait_for_selector("[data-head='0.1'] canvas")
    return page


def test_the_atlas_opens_in_the_order_of_the_ranking_with_score_and_verdict_on_every_tile(heads):
    assert shown(heads) == ["0.1", "1.1", "1.0", "0.0"]
    best, even = heads.locator("[data-head='0.1']"), heads.locator("[data-head='0.0']")
    expect(best).to_contain_text("focused 0.900")
    expect(best.locator(".verdict")).to_have_text("map good")
    expect(best.locator(".unseen")).to_have_text("Layer 0, head 1, map good, 46 % on sinks")
    expect(even.locator(".words")).to_have_text("evenly spread")
    assert float(even.locator("canvas").evaluate("(canvas) => getComputedStyle(canvas).opacity")) < 0.3
    assert float(best.locator("canvas").evaluate("(canvas) => getComputedStyle(canvas).opacity")) == 1


def test_heads_are_filtered_and_sorted_by_verdict_and_by_what_their_maps_keep(heads):
    heads.get_by_role("button", name="good 2").click()
    assert shown(heads) == ["0.1", "1.1"]
    heads.get_by_role("button", name="good 2").click()
    heads.get_by_role("button", name="More", exact=True).click()
    heads.get_by_role("combobox", name="Kept").select_option("at least 75 %")
    assert shown(heads) == ["0.1"]
    heads.get_by_role("combobox", name="Kept").select_option("any")
    heads.get_by_role("combobox", name="Sort").select_option("Verdict")
    heads.get_by_role("button", name="best first").click()
    assert shown(heads) == ["0.0", "1.0", "0.1", "1.1"]


def test_the_saved_atlas_says_the_verdicts(heads):
    with heads.expect_download() as waiting:
        heads.get_by_role("button", name="Save as SVG").click()
    drawn = ElementTree.parse(waiting.value.path()).getroot()
    texts = [node.text for node in drawn.iter(f"{SVG}text")]
    assert [text for text in texts if text in {f"{a}.{b}" for a, b in HEADS}] == shown(heads)
    assert texts.count("good") == 3  # two tiles and the legend
    assert "focused 0.900" in texts
    assert [group.get("opacity") for group in drawn.iter(f"{SVG}g") if group.get("opacity")] == [".14"]


def test_what_stands_on_the_cards_is_explained_above_them(heads):
    key = heads.locator(".card-key")
    expect(key).to_contain_text("How far the head’s map (not the head) can be read.")
    expect(key).to_contain_text("Weight that is neither on sinks nor spread evenly")
    expect(key).to_contain_text("How much a head changes the residual stream directly")


def test_a_map_that_is_not_to_be_read_says_why_and_what_is_to_be_read_instead(heads):
    heads.locator("[data-head='1.0']").click()
    detail = heads.locator(".detail")
    expect(detail.locator(".verdict")).to_have_text("map not to be read")
    expect(detail).to_contain_text("10 % of each token’s strongest partners among its nearest")
    expect(detail).to_contain_text(
        "the same weights shuffled, 12 %. Near says nothing on this map; the matrix"
    )


@pytest.mark.parametrize("width", [1280, 800])
def test_the_preview_of_a_head_does_not_hide_what_is_pointed_at(open_page, width):
    page = open_page(judged(), wait=False, width=width).page
    page.wait_for_selector("[data-head='0.1'] canvas")
    for name in shown(page):
        tile = page.locator(f"[data-head='{name}']")
        assert tile.get_attribute("title") is None  # the browser's own words would lie over it
        tile.hover()
        preview = page.locator(".preview")
        expect(preview).to_contain_text(f"Layer {name[0]}, head {name[2]}")
        one, other = tile.bounding_box(), preview.bounding_box()
        assert other["x"] >= one["x"] + one["width"] or other["x"] + other["width"] <= one["x"]
        assert one["y"] - other["height"] < other["y"] < one["y"] + one["height"]  # beside it
        page.mouse.move(2, 2)
        expect(preview).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_token_is_yellow_and_the_last_violet_on_both_grounds(open_page, scheme):
    page = open_page(judged(), wait=False, color_scheme=scheme).page
    stops = page.get_by_label("Marks").locator("stop")
    first, last = (stops.nth(at).get_attribute("stop-color").lstrip("#") for at in (0, -1))
    red, _, blue = (int(first[at : at + 2], 16) for at in (0, 2, 4))
    assert red > blue + 60
    red, _, blue = (int(last[at : at + 2], 16) for at in (0, 2, 4))
    assert blue > red + 60


def token_map():
    """Tokens on a line; the first attends to the last, and the second to the first."""
    tokens = Tokens([f"Ġw{i}" for i in range(N)], [f" w{i}" for i in range(N)])
    A = np.full((N, N), 0.002)
    A[0, N - 1], A[1, 0] = 0.7, 0.4
    columns = {
        "position": np.arange(N)[::-1] + 20,
        "special": np.zeros(N, bool),
        "text": np.array(tokens.shown, object),
    }
    xy = np.stack([np.arange(N) * 10.0, np.zeros(N)], axis=1)
    per_point = {"kept": np.linspace(0, 1, N), "shown": np.full(N, 0.75)}
    map = Map(xy, Items(list(tokens), columns), per_point=per_point)
    return scatter(map, title="A head", partners=strongest_partners(A))


@pytest.fixture
def tokens(open_page):
    return open_page(token_map()).page


def focus(page, label):
    page.get_by_placeholder("Search").fill(label)
    page.keyboard.press("Enter")


def saved(page):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as SVG").click()
    return ElementTree.parse(waiting.value.path()).getroot()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_lines_of_a_token_have_a_key_below_the_map(open_page, width):
    tokens = open_page(token_map(), width=width).page
    key = tokens.get_by_label("What the lines mean")
    expect(key).to_have_count(0)
    before = tokens.locator(".stage").bounding_box()
    focus(tokens, "w0")
    expect(key.get_by_role("listitem")).to_have_text(
        ["attends to", "is attended to by", "strong in the weights, far here"]
    )
    # it covers no point, and the map stays where it was under the pointer
    after = tokens.locator(".stage").bounding_box()
    assert after == before
    assert key.bounding_box()["y"] >= after["y"] + after["height"]


def test_a_token_shows_whom_it_attends_to_however_far(tokens):
    focus(tokens, "w0")
    panel = tokens.get_by_label("Selection", exact=True)
    expect(panel.locator(".name")).to_contain_text("␣w0")
    expect(panel.locator(".name small")).to_have_text("Ġw0")
    asks = panel.get_by_label("Asks: it attends most to").get_by_role("button")
    expect(asks.first).to_contain_text("␣w8")
    expect(asks.first).to_contain_text("far")
    expect(asks.first).to_contain_text("0.700")
    expect(panel).to_contain_text("It attends to “␣w8” at 20, which lies far.")
    asked = panel.get_by_label("Is asked: most attended to by").get_by_role("button")
    expect(asked.first).to_contain_text("␣w1")
    expect(panel).to_contain_text("25 % of its weight lies on tokens that this map leaves off.")
    expect(panel.get_by_label("Nearest on the map, by distance").get_by_role("button").first).to_contain_text(
        "␣w1"
    )
    arcs = [path for path in saved(tokens).iter(f"{SVG}path") if path.get("fill") == "none"]
    assert {bool(path.get("stroke-dasharray")) for path in arcs} == {False, True}
    asks.first.click()
    expect(panel.locator(".name")).to_contain_text("␣w8")


def test_the_reading_thread_runs_through_the_tokens_in_order(tokens):
    assert not list(saved(tokens).iter(f"{SVG}polyline"))
    tokens.get_by_role("switch", name="Reading thread").check()
    (thread,) = saved(tokens).iter(f"{SVG}polyline")
    across = [float(number) for number in thread.get("points").split()][::2]
    assert len(across) == N
    assert across == sorted(across, reverse=True)  # the text begins at the right here


def test_tokens_are_coloured_by_what_the_map_keeps_and_shows_of_them(tokens):
    colours = tokens.get_by_role("combobox", name="Colour")
    colours.select_option("kept")
    expect(tokens.locator(".ends span")).to_have_text(["0.0 %", "100.0 %"])
    # of the map it shows as much of every token, and a scale from a number to the same is none
    colours.select_option("shown")
    expect(tokens.get_by_role("region", name="Colour")).to_contain_text("have the same, 75.0 %")
