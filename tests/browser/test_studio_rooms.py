"""The studio as a user walks it: what is on screen is compared with the library's own numbers."""

import csv
import io
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.engine import insert
from langscape.sources import samples

MARGIN = 44
ROOMS = ["Atlas", "Head", "Queries & keys", "Words", "Distributions", "Flow", "Test", "Compare", "Jobs"]
TEXT = "The cat sat on the mat. The dog saw the cat, and the cat ran away from the dog."

pytestmark = pytest.mark.slow


def go(page, room):
    page.get_by_role("navigation", name="Rooms").get_by_role("link", name=room).click()


def head_of(page):
    """Layer and head in the pickers of the head room."""
    return int(page.get_by_label("Layer", exact=True).input_value()), int(
        page.get_by_label("Head", exact=True).input_value()
    )


def places(map, box):
    """Where the items of a whole map are in the window, as `Opened.at` says of one."""
    low, high = map.xy.min(axis=0), map.xy.max(axis=0)
    margin = min(MARGIN, box["width"] / 12)
    room = np.array([box["width"], box["height"]]) - 2 * margin
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    return middle + (map.xy - (low + high) / 2) * min(room / (high - low)) * [1, -1]


@pytest.fixture(scope="module")
def atlas(studio):
    return studio.example("atlas")


@pytest.fixture(scope="module")
def words(studio):
    return studio.example("words")


def test_it_opens_on_a_finished_example_with_the_heads_that_matter_first(open_studio, atlas):
    page = open_studio().page
    page.wait_for_selector("[data-head]")
    on_screen = page.locator("[data-head]").evaluate_all("all => all.map((one) => one.dataset.head)")
    # by what each head adds to the stream; who matters by being taken away is not known of an atlas alone
    share = np.asarray(atlas.scores.columns["share"])
    order = np.argsort(-share, kind="stable")
    assert on_screen == [atlas.scores.labels[row] for row in order]
    assert re.search(r"#atlas\?.*job=atlas-", page.url) or page.wait_for_url(re.compile("job=atlas-")) is None


def test_own_text_is_mapped_with_progress_and_a_head_of_it_opens(open_studio, studio):
    page = open_studio().page
    page.wait_for_selector("[data-head]")
    page.get_by_role("button", name="Your text").click()
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("spinbutton", name="Restarts").fill("2")
    page.get_by_text("More settings").click()
    page.get_by_role("spinbutton", name="Steps").fill("60")
    page.get_by_role("button", name="Map every head").click()
    expect(page.get_by_role("heading", name=re.compile("over “The cat sat"))).to_be_visible(timeout=120_000)
    id = re.search(r"job=(atlas-[0-9a-f]+)", page.url)[1]
    made = studio.app.parts["pictures"].finished(id).result
    best = made.scores.labels[made.ranked()[0]]
    page.locator("[data-head]").first.click()
    page.get_by_role("button", name="Open this head").click()
    assert ".".join(map(str, head_of(page))) == best
    layer, head = head_of(page)
    expect(page.get_by_role("button", name=re.compile("^KL"))).to_contain_text(
        f"{made.maps[layer, head].kl:.3f}"
    )


def test_a_heads_matrix_and_lines_say_the_library_s_weights(open_studio, atlas):
    page = open_studio("head?layer=2&head=8").page
    expect(page.get_by_role("heading", name="Layer 2, head 8").first).to_be_visible()
    weights = atlas.capture["attention"][2, 8]
    token = next(i for i, one in enumerate(atlas.capture.tokens) if one == "harbour")
    page.locator(f"[data-side=from][data-token='{token}']").click()
    rows = page.locator(".list li").all_inner_texts()
    strongest = np.argsort(-weights[token], kind="stable")[:8]
    assert [int(re.split(r"\s+", row.strip())[-2]) for row in rows] == strongest.tolist()
    shown = [float(re.split(r"\s+", row.strip())[-1]) for row in rows if "<" not in row]
    assert shown == pytest.approx(weights[token][strongest[: len(shown)]], abs=6e-4)


def test_arrow_keys_lead_to_the_neighbouring_heads(open_studio):
    page = open_studio("head?layer=2&head=8").page
    expect(page.get_by_role("heading", name="Layer 2, head 8").first).to_be_visible()
    for key, there in [
        ("ArrowRight", (2, 9)),
        ("ArrowDown", (3, 9)),
        ("ArrowLeft", (3, 8)),
        ("ArrowUp", (2, 8)),
    ]:
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=f"Layer {there[0]}, head {there[1]}").first).to_be_visible()
        assert head_of(page) == there
    page.go_back()
    expect(page.get_by_role("heading", name="Layer 3, head 8").first).to_be_visible()


def test_a_chosen_token_is_lit_in_every_room_and_in_the_address(open_studio, atlas):
    page = open_studio("head?layer=2&head=8").page
    token = next(i for i, one in enumerate(atlas.capture.tokens) if one == "bread")
    page.locator(f"[data-side=from][data-token='{token}']").click()
    followed = page.get_by_label("Followed everywhere")
    expect(followed).to_contain_text("bread")
    expect(page.get_by_label("Selection", exact=True)).to_contain_text("bread")
    go(page, "Words")
    expect(page.get_by_label("Selection", exact=True)).to_contain_text("bread")
    expect(page.get_by_label("Selection", exact=True)).to_contain_text("Kept: near in the data and here")
    page.wait_for_url(re.compile(rf"sel=\*{token}:bread"))
    page.reload()
    expect(page.get_by_label("Selection", exact=True)).to_contain_text("bread")
    go(page, "Head")
    expect(page.locator(f"[data-side=from][data-token='{token}'].chosen")).to_be_visible()
    page.keyboard.press("Escape")
    expect(followed).not_to_contain_text("bread")
    expect(page.locator("[data-side=from].chosen")).to_have_count(0)


def test_a_word_typed_into_follow_is_lit_too(open_studio):
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Follow a token or word in every room").fill("Coffee")
    page.keyboard.press("Enter")
    expect(page.locator(".focus .name")).to_have_text("coffee")
    box, followed = page.get_by_label("Follow a token or word in every room"), page.locator("#followed")
    box.fill("hedgeh")
    box.press("Enter")
    expect(followed).to_contain_text("“hedgeh” is not in this room")
    followed.get_by_role("button", name="hedgehog").click()
    expect(page.locator(".focus .name")).to_have_text("hedgehog")
    expect(followed).not_to_contain_text("is not in this room")
    box.fill("some")
    box.press("Escape")
    expect(box).to_have_value("")
    expect(page.locator(".focus .name")).to_have_text("hedgehog")
    box.press("Escape")
    expect(page.locator(".focus .name")).to_have_count(0)


def test_words_are_placed_live_where_the_library_places_them(open_studio, words):
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Place new words").fill("money, wintar, oslo")
    page.keyboard.press("Enter")
    placed = page.get_by_label("Placed words")
    expect(placed).to_contain_text("money")
    expect(placed).to_contain_text("wintar")
    expect(placed).to_contain_text("is not in the vectors")
    expect(placed).to_contain_text("is on the map already")
    vectors = samples.words().take(["money"])
    grown = insert(words, vectors.matrix, vectors.words)
    near = str(grown.items.columns["nearest"][-1]).split(", ") if "nearest" in grown.items.columns else None
    if near:
        expect(placed).to_contain_text(near[0])
    counted = page.locator("main header p").first
    expect(counted).to_contain_text("632 items")
    facts = page.get_by_label("Selection", exact=True)
    expect(facts).to_contain_text("money")
    page.reload()
    expect(counted).to_contain_text("632 items")
    expect(page.get_by_label("Placed words")).to_contain_text("money")
    page.get_by_role("button", name="Own vector").click()
    page.get_by_label("Vector", exact=True).fill("mine 1 2 three")
    expect(page.get_by_role("button", name="Place it")).to_be_disabled()
    numbers = " ".join(f"{one:.4f}" for one in 2 * words.vectors[words.labels.index("coffee")])
    page.get_by_label("Vector", exact=True).fill(f"mine {numbers}")
    page.get_by_role("button", name="Place it").click()
    expect(counted).to_contain_text("633 items")
    expect(placed.locator("li", has_text="mine")).to_contain_text("near coffee 1")
    page.get_by_role("button", name="Take all off").click()
    expect(counted).to_contain_text("631 items")


def test_a_lasso_takes_the_points_inside_it_and_saves_them(open_studio, words):
    opened = open_studio("words")
    opened.map = words
    page = opened.page
    page.wait_for_selector("[data-renderer]")
    box = opened.stage.bounding_box()
    x0, y0, x1, y1 = box["x"] + 60, box["y"] + 60, box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(x0, y0)
    page.mouse.down()
    for x, y in [(x1, y0), (x1, y1), (x0, y1), (x0, y0 + 4)]:
        page.mouse.move(x, y, steps=8)
    page.mouse.up()
    page.keyboard.up("Shift")
    at = places(words, box)
    inside = {label for label, (x, y) in zip(words.labels, at, strict=True) if x0 < x < x1 and y0 < y < y1}
    assert 20 < len(inside) < 400
    with page.expect_download() as file:
        page.get_by_label("Selection", exact=True).get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(file.value.path().read_text(encoding="utf-8"))))
    # A point on the rim itself may fall on either side.
    assert len(inside.symmetric_difference(row["label"] for row in rows)) <= 2
    # so many are kept in the address as rows of the map
    assert len(rows) > 100
    page.wait_for_url(re.compile(r"sel=%40words/map(%7E|%21)"))
    page.reload()
    expect(page.get_by_label("Selection", exact=True)).to_contain_text(f"{len(rows)}")
    row = next(row for row in rows if row["label"] in inside)
    assert [float(row["x"]), float(row["y"])] == pytest.approx(
        words.xy[words.labels.index(row["label"])], rel=1e-5
    )


def test_the_address_holds_colour_and_zoom(open_studio):
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Colour", exact=True).last.select_option("local")
    page.locator(".stage").hover()
    page.mouse.wheel(0, -400)
    page.wait_for_url(re.compile(r"map\.at=.*map\.colour=local"))
    kept = page.url
    other = open_studio(kept.split("#")[1]).page
    other.wait_for_selector("[data-renderer]")
    expect(other.get_by_label("Colour", exact=True).last).to_have_value("local")
    # The same part of the map is on screen: a label that is shown in one is in the other.
    other.wait_for_timeout(300)
    assert other.url.split("#")[1] == kept.split("#")[1]


def test_a_job_is_cancelled_survives_a_reload_and_is_reopened(open_studio, studio):
    page = open_studio("atlas").page
    page.wait_for_selector("[data-head]")
    first = studio.app.parts["examples"]["atlas"]
    page.get_by_role("button", name="Your text").click()
    page.get_by_role("button", name="valley").click()
    page.get_by_role("spinbutton", name="Restarts").fill("150")
    page.get_by_text("More settings").click()
    page.get_by_role("spinbutton", name="Steps").fill("20000")
    page.get_by_role("button", name="Map every head").click()
    page.wait_for_url(lambda url: first not in url and "job=atlas-" in url)
    id = re.search(r"job=(atlas-[0-9a-f]+)", page.url)[1]
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.reload()
    expect(page.get_by_role("progressbar")).to_be_visible()
    go(page, "Jobs")
    row = page.locator(f"tr[data-job='{id}']")
    row.get_by_role("button", name=re.compile("^Cancel")).click()
    expect(row.locator("[data-state=cancelled]")).to_be_visible(timeout=60_000)
    assert studio.jobs.get(id)["state"] == "cancelled"
    page.reload()
    expect(row.locator("[data-state=cancelled]")).to_be_visible()
    row.get_by_role("button", name=re.compile("^Remove")).click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Open Words of eleven groups").first.click()
    expect(page.get_by_role("heading", name="Words", exact=True)).to_be_visible()
    page.wait_for_selector("[data-renderer]")


MAGIC = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>", "parquet": b"PAR1"}


def test_every_format_is_exported_from_a_room(open_studio, atlas):
    page = open_studio("head?layer=2&head=8").page
    page.wait_for_selector("[data-renderer]")
    files = {}
    for name in ["SVG", "PNG", "HTML", "CSV", "Parquet"]:
        page.get_by_role("button", name="Export", exact=True).click()
        with page.expect_download() as file:
            page.get_by_role("button", name=f"Export Map of tokens as {name}").click()
        files[name.lower()] = file.value.path().read_bytes()
        expect(page.get_by_role("button", name=f"Export Map of tokens as {name}")).to_be_hidden()
    for kind, start in MAGIC.items():
        assert files[kind].startswith(start), kind
    rows = list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"))))
    map = atlas.maps[2, 8]
    readable = atlas.capture.tokens.readable
    assert [row["label"] for row in rows] == [readable[int(at)] for at in map.items.columns["position"]]
    assert [float(row["x"]) for row in rows] == pytest.approx(map.xy[:, 0], rel=1e-4)


def test_what_the_server_refuses_is_shown_with_what_to_do(open_studio, tmp_path):
    page = open_studio("atlas", refusals=True).page
    page.wait_for_selector("[data-head]")
    page.get_by_role("button", name="Your text").click()
    (tmp_path / "empty.txt").write_text("")
    page.get_by_label("Upload Text").set_input_files(tmp_path / "empty.txt")
    expect(page.get_by_role("alert")).to_be_visible()
    assert len(page.get_by_role("alert").inner_text()) > 20
    page.get_by_role("button", name="Close this message").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_job_that_is_not_there_says_so(open_studio):
    page = open_studio("words?job=words-0000", refusals=True).page
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("words-0000")
    page.wait_for_selector("[data-renderer]")
    page.wait_for_url(re.compile(r"job=words-[0-9a-f]{8}"))
    # whatever else an address may ask for in vain is said in the same place, and the address set right
    for asked, said, right in (
        ("words?job=atlas-0000", "a result of the room Atlas", r"#words\?job=words-[0-9a-f]+$"),
        ("head?layer=abc&head=-3", "There is no layer “abc”, head “-3”", r"head=\d+.*&layer=\d+$"),
        (
            "atlas?grid.sort=foo&grid.head=1.44",
            "There is no sort “foo” in this picture. There is no head “1.44”",
            "sort=share",
        ),
    ):
        page.evaluate("(to) => (location.hash = to)", asked)
        expect(alert).to_contain_text(said)
        page.wait_for_url(re.compile(right))


def test_every_control_says_what_it_does_and_where_it_comes_from(open_studio):
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.locator("[data-about=insert]").click()
    expect(page.get_by_role("note").filter(has_text="After Claassen 2020")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Your words").click()
    page.locator("[data-about=Perplexity]").click()
    expect(page.get_by_role("note").filter(has_text="After Claassen 2020").last).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_room(open_studio, axe, scheme):
    page = open_studio(color_scheme=scheme).page
    for room in ROOMS:
        go(page, room)
        expect(page.get_by_role("heading", level=1).first.or_(page.locator(".empty")).first).to_be_visible()
        page.wait_for_timeout(400)
        page.evaluate(axe)
        found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        bad = [
            (one["id"], one["nodes"][0]["html"])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == [], room


def test_a_head_that_is_not_there_is_said_and_no_wide_window_is_needed(open_studio):
    page = open_studio("head?layer=99&head=8", width=1024, height=700).page
    page.wait_for_selector("[data-renderer]")
    expect(page.get_by_role("alert")).to_contain_text("There is no layer 99, head 8 in this atlas")
    page.keyboard.press("ArrowLeft")  # shown is 2.11, the last of its layer
    expect(page.get_by_role("alert")).to_have_count(0)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 1024
    page.set_viewport_size({"width": 800, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") == 800
    # the map keeps its height, and what is followed is one click away
    page.wait_for_function("() => document.querySelector('.stage')?.getBoundingClientRect().height >= 300")
    page.get_by_role("button", name="What is followed").click()
    page.get_by_label("Follow a token or word in every room").fill("bread")
    page.keyboard.press("Enter")
    expect(page.locator("#followed")).to_contain_text("bread")


def test_what_a_room_turns_to_is_asked_of_the_head_on_screen(open_studio, studio):
    studio.example("query_key")  # layer 1, head 3 of harbour
    page = open_studio("queries").page
    page.wait_for_selector(".query-key")
    for turned in ("Six values of c", "Beside attention"):
        page.get_by_role("button", name=turned, exact=True).click()
        expect(page.locator("main h1").last).to_contain_text("ayer 1, head 3")
        expect(page).to_have_url(re.compile("head=3&.*layer=1"))
