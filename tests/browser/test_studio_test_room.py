"""The studio's room Test: a newcomer sees what makes an induction head; heads and weights are asked about."""

import re

import pytest
from playwright.sync_api import expect

from conftest import SMALL, Studio
from langscape.declarations import analyses
from langscape.models import get_model
from langscape.studio import examples

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A fresh studio with a small atlas, and the reason of a weight and a flow as they are shipped."""
    get_model("decoder")
    shipped = {name: examples._example(analyses()[name]) for name in ("why", "effects", "flow", "patch")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examples, "examples", lambda: {**shipped, "atlas": SMALL["atlas"]})
        one = Studio(tmp_path_factory.mktemp("studio") / "store")
    yield one
    one.stop()


def score(page, title):
    """The induction score that a picture of before and after tells."""
    under = page.locator(".frame", has=page.get_by_role("heading", name=title, exact=True)).locator("header")
    expect(under).to_contain_text("induction score", timeout=180_000)
    return float(re.search(r"induction score ([\d.]+)", under.inner_text())[1])


def test_three_clicks_show_that_16_0_makes_18_6_an_induction_head(open_studio, studio):
    page = open_studio().page
    clicks = [
        page.get_by_role("navigation", name="Rooms").get_by_text("Test", exact=True),
        page.get_by_role("button", name="Why it looks here", exact=True),
        page.get_by_role("button", name="16.0 · previous-token", exact=True),
    ]
    for one in clicks:
        one.click(timeout=300_000)  # the example may still be computed
    assert len(clicks) <= 5
    before, after = score(page, "Head 18.6, unedited"), score(page, "Head 18.6, edited")
    expect(page.locator("main")).to_contain_text(
        "head 16.0 replaced by its mean at every token but the first"
    )
    assert before > 0.5
    assert after < before / 2
    page.go_back()
    sentence = (
        "What 16.0 (previous-token) writes at the key adds most: 71 % of why 18.6 (induction) looks here"
    )
    expect(page.locator("main header").first).to_contain_text(sentence)


def test_a_part_is_taken_away_in_flow_and_the_word_has_the_chance_that_was_told(open_studio, studio):
    page = open_studio("flow").page
    why = page.get_by_role("button", name=re.compile("^head 23.4", re.I)).first
    why.click(timeout=300_000)
    # at “France” two heads of one layer bring something from one token: an error on any step fails the test
    steps = page.locator("[data-step]")
    for step in [*steps.all()[:-1], steps.last]:
        step.click()
        expect(step).to_have_attribute("aria-current", "step")
        expect(page.get_by_role("heading", name=re.compile("^Why “"))).to_be_visible()
    why.click()
    detail = page.locator(".detail", has=page.get_by_role("button", name="Take it away"))
    told = re.search(r"the chance of “Paris” is ([\d.]+) % instead of ([\d.]+) %", detail.inner_text())
    expect(detail.get_by_label("What stands in its place")).to_have_value("zero")
    expect(detail).to_contain_text("as in the total effects of this page")
    detail.get_by_role("button", name="Take it away").click()
    row = page.get_by_role("row", name=re.compile("^Paris")).first
    expect(row).to_be_visible(timeout=120_000)
    assert "#flow" in page.url  # the room is not left
    expect(page.locator("main header").first).to_contain_text("With head 23.4 set to zero: what")
    before, after = (float(one) for one in row.locator("td").all_inner_texts())
    assert before == pytest.approx(float(told[2]), abs=0.06)
    assert after == pytest.approx(float(told[1]), abs=0.06)
    page.get_by_role("button", name="Flow", exact=True).click()
    page.get_by_role("button", name=re.compile("^head 23.4", re.I)).first.click()
    detail.get_by_role("button", name="At every token").click()
    page.get_by_role("button", name="Before and after").click(timeout=120_000)
    for run in ("unedited", "edited"):  # of the head that was clicked
        expect(page.get_by_role("heading", name=f"Head 23.4, {run}", exact=True)).to_be_visible()
    expect(page.locator("main")).to_contain_text("it looks at the same tokens in both runs")


def test_what_comes_next_and_what_is_remembered_are_asked_of_the_flow_on_screen(open_studio, studio):
    page = open_studio("flow").page
    page.get_by_role("combobox", name="Model").select_option("lstm-tiny")
    page.get_by_role("textbox", name="Prompt").fill("the small dogs")
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_label("Why this word")).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="What comes next").click()
    expect(page.locator("main header").first).to_contain_text(
        "What Tiny LSTM writes after “the small dogs”", timeout=60_000
    )
    page.get_by_role("button", name="What it remembers").click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value("lstm-tiny")


def test_a_head_and_a_weight_are_asked_about_where_they_are_shown(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=0&head=2").page
    ask = page.get_by_role("region", name="Does it matter?")
    expect(ask).to_contain_text("Click a weight")
    matrix = page.get_by_role("application", name=re.compile("Attention matrix")).or_(
        page.get_by_label(re.compile("Attention matrix"))
    )
    box = matrix.first.bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"])
    expect(ask).to_contain_text(re.compile(r"looks at .* with weight"))
    ask.get_by_role("button", name="Why does it look here?").click()
    expect(
        page.get_by_role("heading", name=re.compile("Why 0.2 of MiniLM-L6 looks from “.+” at “.+”"))
    ).to_be_visible(timeout=120_000)
    page.go_back()
    place = ask.get_by_label("What stands in its place")
    for value, said in (("mean", "replaced by its mean"), ("zero", "set to zero")):
        place.select_option(value)
        page.get_by_role("button", name="Take 0.2 away", exact=True).click()
        heading = page.get_by_role("heading", name=f"MiniLM-L6 with head 0.2 {said}")
        expect(heading).to_be_visible(timeout=120_000)
        page.go_back()
    page.get_by_role("button", name="Effect of 0.2", exact=True).click()
    groups = page.get_by_role("region", name="Groups")
    expect(groups).to_contain_text("of 11 other heads of its layer", timeout=120_000)


def test_edit_opens_on_the_carried_head_beside_what_other_heads_do(open_studio, studio):
    studio.example("atlas")
    page = open_studio("test?analysis=edit&layer=1&head=8").page
    heading = page.get_by_role("heading", name="MiniLM-L6 with head 1.8 replaced by its mean")
    expect(heading).to_be_visible(timeout=120_000)
    expect(page.locator("main form")).to_have_count(0)
    main = page.locator("main")
    expect(main).to_contain_text(re.compile(r"For 8 other heads of layer 1.*more than \d of 8"))
    expect(page.get_by_label("Key")).to_contain_text("the most that any of 8 other heads of layer 1 changes")
    tokens = page.get_by_role("region", name="The text, what changes at each token").get_by_role("button")
    assert tokens.count() > 20
    heights = [one.locator(".bar").bounding_box()["height"] for one in tokens.all()[:20]]
    assert max(heights) > 2 * min(heights)
    tokens.nth(5).click()
    expect(page.get_by_label("Followed everywhere")).to_contain_text("5")
    # the attention after the edit less that before, drawn as that of two heads is
    page.get_by_role("button", name="Difference", exact=True).click()
    named = re.compile(r"^Head \d+\.\d+, edited less unedited$")
    expect(page.get_by_role("heading", name=named)).to_be_visible(timeout=60_000)
    scale = page.get_by_label("Axes and colours of the matrix")
    expect(scale).to_contain_text(re.compile("unedited more.*edited more", re.DOTALL))
    expect(page.get_by_label("Token by token")).to_contain_text(
        re.compile(r"[\d.]+ % \(.*attention dealt anew")
    )
    looks = page.get_by_label("Where a token looks in both")
    expect(looks.locator("tbody tr").first).to_contain_text(re.compile("[+−]0"))
    page.get_by_role("button", name="unedited", exact=True).click()
    expect(looks).to_have_count(0)


def test_two_prompts_open_on_an_example_whatever_text_is_carried(open_studio, studio):
    studio.example("patch")
    page = open_studio("test?analysis=patch&text=sample-valley&model=default").page
    expect(page.get_by_role("heading", name="Patching the stream of SmolLM2-135M")).to_be_visible()
    expect(page.locator("main form")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("A cell that carries nothing stays at 0")
    page.get_by_role("button", name="Your prompts").click()
    expect(page.locator("main form").get_by_role("combobox", name="Model")).to_have_value("decoder")


def test_prompts_of_ones_own_are_patched_and_no_other_room_takes_them_for_its_text(open_studio, studio):
    studio.example("patch")
    page = open_studio("test?analysis=patch&text=sample-valley&model=default&layer=2&head=9").page
    page.get_by_role("button", name="Your prompts").click()
    form = page.locator("main form")
    prompts = form.locator("textarea")
    assert [one.input_value() for one in prompts.all()] == ["", ""]
    prompts.first.fill("The capital of the country of France is the city of")
    form.get_by_role("button", name="Patch every cell").click()
    expect(page.locator("main")).to_contain_text("takes two prompts and one is given")
    page.get_by_role("button", name="Change and run").click()
    # words that stand several times in a prompt have a column each
    form.locator("textarea").nth(1).fill("The capital of the country of Italy is the city of")
    form.get_by_role("button", name="Patch every cell").click()
    columns = page.get_by_role("region", name="Tables").locator("thead th")
    expect(columns).to_have_count(11, timeout=120_000)
    assert [one.inner_text().strip("␣ \n") for one in columns.all()].count("of") == 3
    page.get_by_role("navigation", name="Rooms").get_by_text("Atlas", exact=True).click()
    page.wait_for_url(re.compile(r"#atlas.*model=default.*text=sample-valley"))
    expect(page.locator("main")).to_contain_text("valley")


def test_a_head_that_the_model_does_not_have_is_not_asked_of_it(open_studio, studio):
    studio.example("effects")
    page = open_studio("compare?text=sample-valley&model=decoder&layer=2&head=9").page
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_attached()
    expect(page.get_by_text("is not there")).to_have_count(0)
    assert not [one for one in studio.jobs.all() if one["analysis"] == "compare" and one["state"] == "failed"]


def test_what_the_room_shows_is_told_in_full(open_studio, studio):
    studio.example("why")
    page = open_studio("test?analysis=why").page
    expect(page.get_by_role("heading", name=re.compile("^Why 18.6"))).to_be_visible(timeout=120_000)
    facts = page.get_by_label("What is shown").first
    for text in ("pattern", "SmolLM2-135M", "18", "6"):
        expect(facts).to_contain_text(text)
    box = facts.bounding_box()
    for one in facts.locator("li").all():
        assert one.evaluate("one => one.scrollWidth <= one.clientWidth")
        inside = one.bounding_box()
        assert inside["y"] + inside["height"] <= box["y"] + box["height"] + 1
