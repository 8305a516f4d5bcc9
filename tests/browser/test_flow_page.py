"""The pages of flows, used as a reader uses them; every number on screen is compared with the library's."""

import re
import statistics
from functools import cache

import numpy as np
import pytest
from bench.flow import PROMPTS, interactions
from playwright.sync_api import expect
from tests.browser.test_attention_page import serious, settle
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

from langscape.analyses._flow_baseline import baseline_of
from langscape.analyses.flow import flow
from langscape.analyses.probe import probe
from langscape.engine import colours
from langscape.metrics import contributions as gate_contributions
from langscape.models import capture, contributions, get_model, lens, open_model, stream, wrap_model
from langscape.models.lstm_effects import memory_effects

PROMPT = "the small dog barks ."
TEXT = "the red lamp hung over the unbelievable boats of water"


@cache
def tiny():
    model = open_model("lstm-tiny", device="cpu")
    return model, capture(model, PROMPT)


@cache
def lstm_view():
    return flow(tiny()[0], PROMPT).view()


@cache
def held(name):
    return stream(wrap_model(built({**DECODERS, **ENCODERS}[name]), tokenizer(), name=name), TEXT)


@cache
def stream_view(name):
    return flow(held(name).model, TEXT).view()


def opened(open_page, view, **options):
    page = open_page(view, wait=False, **options).page
    page.wait_for_selector("[data-ready]")
    settle(page)
    return page


@pytest.fixture
def lstm_page(open_page):
    return opened(open_page, lstm_view())


def bar(page, name, dim, count):
    """Clicks the bar of a dimension in the widget of that name."""
    widget = page.locator(f"[data-node='{name}'] .box").first
    box = widget.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * (dim + 0.5) / count)


def number(locator, name):
    return float(locator.first.get_attribute(name))


@pytest.mark.parametrize("gate", ["forget", "input", "candidate", "output"])
def test_a_clicked_gate_value_is_the_sum_of_its_summands_and_bias(lstm_page, gate):
    model, seen = tiny()
    step, unit = 2, 4
    lstm_page.locator(f"[data-step='{step}']").click()
    label = gate if gate == "candidate" else f"{gate} gate"
    bar(lstm_page, f"{label} of layer 0", unit, 7)
    panel = lstm_page.get_by_label("How this value was made")
    assert number(panel.locator("[data-value]"), "data-value") == pytest.approx(
        seen[gate][0, step, unit], abs=1e-7
    )
    parts = gate_contributions(model.weights(), seen, 0, step, gate)
    total = parts["input"][unit].sum() + parts["hidden"][unit].sum() + parts["bias"][unit]
    assert number(panel.locator("[data-total]"), "data-total") == pytest.approx(total, abs=1e-6)
    assert number(panel.locator("[data-pre]"), "data-pre") == pytest.approx(
        seen[f"{gate}_pre"][0, step, unit], abs=1e-6
    )
    assert number(panel.locator("[data-off]"), "data-off") < 1e-6
    largest = max(np.concatenate([parts["input"][unit], parts["hidden"][unit]]), key=abs)
    shown = panel.locator(".summands b").first.inner_text().replace("−", "-")
    assert float(shown) == pytest.approx(largest, abs=6e-3)


def test_what_made_a_value_is_circled_and_darkened(lstm_page):
    bar(lstm_page, "forget gate of layer 0", 2, 7)
    circled = lstm_page.locator(".widget.circled")
    expect(circled).to_have_count(2)
    assert {one.get_attribute("data-node") for one in circled.all()} == {"word", "hidden before of layer 0"}
    assert circled.first.locator(".shares").get_attribute("d")
    lstm_page.keyboard.press("Escape")
    expect(circled).to_have_count(0)


def test_stepping_forward_and_back_shows_that_steps_vectors(lstm_page):
    _, seen = tiny()
    current = lstm_page.locator("[aria-current='step']")
    # it opens where everything was read
    expect(current).to_have_attribute("data-step", str(len(seen.tokens) - 1))
    lstm_page.locator("[data-step='0']").click()
    expect(current).to_have_text(f"start{seen.tokens[0]}")
    expect(lstm_page.locator("aside")).to_contain_text("“.”, the boundary between sentences")
    lstm_page.keyboard.press("ArrowRight")
    lstm_page.get_by_role("button", name="Step forward").click()
    expect(current).to_have_text(seen.tokens[2])
    bar(lstm_page, "cell of layer 0", 3, 7)
    panel = lstm_page.get_by_label("How this value was made")
    assert number(panel.locator("[data-value]"), "data-value") == pytest.approx(
        seen["cell"][0, 2, 3], abs=1e-7
    )
    lstm_page.keyboard.press("ArrowLeft")
    settle(lstm_page)
    assert number(panel.locator("[data-value]"), "data-value") == pytest.approx(
        seen["cell"][0, 1, 3], abs=1e-7
    )


def test_the_next_words_are_the_models_and_a_word_shows_its_logit(lstm_page):
    model, seen = tiny()
    lstm_page.locator("[data-step='1']").click()
    best = np.argsort(-seen["softmax"][1])[:3]
    for at, row in enumerate(best):
        expect(lstm_page.locator(f"[data-word='{at}']")).to_contain_text(model.words[row])
    lstm_page.locator("[data-word='0']").click()
    panel = lstm_page.get_by_label("How this value was made")
    assert number(panel.locator("[data-total]"), "data-total") == pytest.approx(
        seen["logits"][1, best[0]], abs=1e-5
    )
    assert number(panel.locator("[data-recomputed]"), "data-recomputed") == pytest.approx(
        seen["softmax"][1, best[0]], abs=1e-6
    )


def test_an_operation_can_be_zoomed_into(lstm_page):
    _, seen = tiny()
    lstm_page.locator("[data-step='3']").click()
    lstm_page.locator("[data-operation='l0.hidden']").click()
    zoom = lstm_page.get_by_role("dialog")
    expect(zoom.locator("figure")).to_have_count(3)
    shown = [
        float(text.replace("−", "-"))
        for text in zoom.locator("figure").last.locator("li b").all_inner_texts()
    ]
    np.testing.assert_allclose(shown, seen["hidden"][0, 3], atol=6e-4)
    lstm_page.keyboard.press("Escape")
    expect(zoom).to_have_count(0)


def test_the_softmax_shows_the_hidden_vector_and_the_logits_that_it_is_made_of(lstm_page):
    _, seen = tiny()
    lstm_page.locator("[data-step='1']").click()
    lstm_page.locator("[data-operation='softmax']").click()
    zoom = lstm_page.get_by_role("dialog")
    expect(zoom.locator("figure")).to_have_count(3)
    expect(zoom.locator("[data-node='hidden']")).to_have_count(1)
    best = np.argsort(-seen["logits"][1])[:8]
    shown = zoom.get_by_label("logits").locator("b").all_inner_texts()
    logits = [float(text.replace("−", "-")) for text in shown]
    np.testing.assert_allclose(logits, seen["logits"][1, best], atol=6e-3)


def test_gates_have_one_scale_and_numbers_are_there_when_asked_for(lstm_page):
    _, seen = tiny()
    lstm_page.locator("[data-step='2']").click()
    gate = lstm_page.locator("[data-node='forget gate of layer 0']")
    box = gate.locator(".box").bounding_box()
    bars = gate.locator(".bars").bounding_box()
    assert bars["width"] / box["width"] == pytest.approx(seen["forget"][0, 2].max(), abs=0.02)
    expect(lstm_page.locator("text.number")).to_have_count(0)
    lstm_page.get_by_label("Numbers").check()
    shown = lstm_page.locator("text.number").all_text_contents()
    assert f"{seen['forget'][0, 2, 0]:.3f}" in shown


def test_gates_are_plain_until_they_are_asked_to_have_colours(lstm_page):
    gate = lstm_page.locator("[data-node='forget gate of layer 0']")
    cell = lstm_page.locator("[data-node='candidate of layer 0']")
    expect(cell).not_to_have_class(re.compile("plain"))
    expect(gate).to_have_class(re.compile("plain"))
    lstm_page.get_by_label("Colour the gates too").check()
    expect(gate).not_to_have_class(re.compile("plain"))
    lstm_page.get_by_label("Colours by meaning").uncheck()
    expect(cell).to_have_class(re.compile("plain"))


def percent(share):
    """As the page says a chance."""
    value = 100 * float(share)
    if 0 < value < 0.01:
        return "< 0.01 %"
    return f"{value:.0f} %" if value >= 99.95 else f"{value:.1f} %" if value >= 0.995 else f"{value:.2f} %"


def test_why_a_word_is_said_stands_in_sentences_whose_numbers_were_measured(lstm_page):
    model, seen = tiny()
    words = np.argsort(-seen["logits"], axis=-1)[:, :3]
    usual = baseline_of(model)
    found = memory_effects(model.weights(), seen, words, usual)
    last = len(seen.tokens) - 1
    panel = lstm_page.get_by_label("Why this word")
    expect(panel.locator("h2")).to_have_text(f"Why “the”, {percent(seen['softmax'][last, words[last, 0]])}?")
    skipped, written = found.skipped.chances[last, :, 0], found.written.chances[last, :, 0]
    rows = panel.locator("tbody tr")
    assert rows.count() == last + 1
    for at in range(last + 1):  # the first word on top
        assert percent(skipped[last - at]) in rows.nth(at).inner_text()
        assert percent(written[last - at]) in rows.nth(at).inner_text()
        marked = found.skipped.strays[last, last - at], found.written.strays[last, last - at]
        assert rows.nth(at).inner_text().count("*") == sum(one > usual.outside for one in marked)
    expect(panel).to_contain_text(f"in a text without it the chance is {percent(skipped[0])}")
    expect(panel).to_contain_text(f"instead of what it writes, the chance is {percent(written[0])}: it acts")
    expect(panel).to_contain_text(f"alone the chance is {percent(found.alone.chances[last, 0])}")
    opened_gates = found.gates.chances[last, 2, 0]
    expect(panel).to_contain_text(f"at their means the chance would be {percent(opened_gates)}")
    expect(panel).to_contain_text(f"A mean is each unit’s own, {usual.evidence}.")
    # another word is asked about by clicking it
    lstm_page.locator("[data-word='1']").click()
    expect(panel.locator("h2")).to_have_text(f"Why “a”, {percent(seen['softmax'][last, words[last, 1]])}?")


def test_a_word_that_the_model_does_not_know_says_so_beside_the_prompt(open_page):
    page = opened(open_page, flow(open_model("lstm", device="cpu"), "the zzunited states").view())
    expect(page.locator("[data-step='2']")).to_have_text("zzunited<unk>")
    said = page.locator(".unread")
    expect(said).to_contain_text("“zzunited” is not among the 4,000 words that the model knows")
    steps = page.locator(".steps").bounding_box()
    assert said.bounding_box()["y"] == pytest.approx(steps["y"] + steps["height"], abs=2)


def test_two_steps_stand_beside_each_other_whole_with_numbers_that_can_be_read(open_page):
    page = opened(open_page, lstm_view(), width=1440, height=900)
    page.get_by_label("Two steps").check()
    page.get_by_label("Numbers").check()
    settle(page)
    graphs = page.get_by_label("Graph of one step")
    assert graphs.count() == 2
    for graph in graphs.all():
        assert graph.evaluate(
            "one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight"
        )
    sizes = page.locator("text.number").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 10
    assert len(sizes) == 2 * 7 * 12
    assert not [text for text in page.locator("text.number").all_text_contents() if "e" in text]


@cache
def larger_view():
    return flow("lstm", "the people of the united states have").view()


def boxes(found):
    return found.evaluate_all(
        "all => all.map(one => { const { left, right, top, bottom } = one.getBoundingClientRect();"
        " return [left, top, right, bottom] })"
    )


def overlaps(one, other, slack=1.0):
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > slack
        and min(one[3], other[3]) - max(one[1], other[1]) > slack
    )


@pytest.mark.parametrize("width", [1440, 390])
def test_names_of_boxes_are_cut_to_their_column_and_lie_on_no_other(open_page, width):
    page = opened(open_page, larger_view(), width=width, height=900)
    names = boxes(page.locator("svg text.name"))
    assert len(names) > 30  # many of them on two lines
    clashes = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if overlaps(a, b, 4)]
    assert clashes == []


@pytest.mark.parametrize("width", [1440, 1106, 390])  # the second: the studio's, in a window of 1280
def test_no_name_of_two_layers_lies_under_a_sign_or_a_wire_that_rises_beside_its_box(open_page, width):
    page = opened(open_page, larger_view(), width=width, height=900)
    names = boxes(page.locator("svg text.name"))
    signs = boxes(page.locator("[data-operation] rect"))
    assert len(signs) > 10
    assert [(a, b) for a in names for b in signs if overlaps(a, b)] == []
    rising = page.locator("svg path.wire").evaluate_all(
        """all => all.flatMap(one => {
          const [scale, length] = [one.getScreenCTM(), one.getTotalLength()]
          const at = along => one.getPointAtLength(Math.min(along, length)).matrixTransform(scale)
          return Array.from({ length: Math.floor(length / 2) }, (_, i) => [at(2 * i), at(2 * i + 2)])
            .filter(([a, b]) => Math.abs(b.x - a.x) < 0.5 * Math.abs(b.y - a.y))
            .map(([a]) => [a.x, a.y])
        })"""
    )
    assert len(rising) > 100
    for left, top, right, bottom in names:
        assert not [(x, y) for x, y in rising if left + 1 < x < right - 1 and top + 1 < y < bottom - 1], (
            left,
            top,
        )


@pytest.mark.parametrize("width", [1440, 1260])  # as wide as the studio's page is in a window of 1440
def test_two_layers_and_their_next_words_are_seen_without_scrolling(open_page, width):
    page = opened(open_page, larger_view(), width=width, height=900)
    graph = page.get_by_label("Graph of one step")
    assert graph.evaluate("one => one.scrollWidth <= one.clientWidth")
    right = boxes(graph)[0][2]
    assert max(box[2] for box in boxes(page.locator(".word text"))) <= right


def test_the_chosen_token_of_a_long_text_stays_in_sight_where_the_strip_grows_narrow(open_page):
    view = flow("lstm-tiny", " ".join(["the small dog barks ."] * 14)).view()
    page = opened(open_page, view, width=1280, height=900)
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    strip = boxes(page.get_by_label("Steps", exact=True))[0]
    chosen = boxes(page.locator("[aria-current='step']"))[0]
    assert strip[1] - 1 <= chosen[1] < chosen[3] <= strip[3] + 1


def test_signs_of_the_graph_are_the_fields_and_stand_in_the_key(lstm_page):
    signs = lstm_page.locator("[data-operation] text").all_text_contents()
    assert sorted(signs) == sorted(["σ"] * 3 + ["tanh"] * 2 + ["×"] * 3 + ["+", "softmax"])
    learned = lstm_page.locator("[data-operation]:has(.learned)")
    assert {one.get_attribute("data-operation") for one in learned.all()} == {
        *(f"l0.{name}" for name in ("forget", "input", "candidate", "output")),
        "softmax",
    }
    letters = [
        "".join(one.locator(".letter").all_text_contents())
        for one in lstm_page.locator("svg text.name").all()
    ]
    assert sorted(filter(None, letters)) == sorted(
        ["x", "ct−1", "ht−1", "f", "i", "g", "o", "f × ct−1", "i × g", "c", "h"]
    )
    strip = lstm_page.get_by_role("group", name="Key")
    for said in (
        "learned layer",
        "unit by unit",
        "bar: one unit",
        "gate: 0 shut, 1 open",
        "a vector lies near",
    ):
        expect(strip).to_contain_text(said)
    strip.get_by_role("button", name="Key").click()
    key = lstm_page.get_by_role("dialog", name="Key to the graph")
    expect(strip.locator("i").first).to_be_visible()
    swatches = strip.locator("span:has(> i)").inner_text().partition(", here ")[2].split()
    assert swatches
    assert set(swatches) <= set(lstm_view().properties["words"])
    expect(key).to_contain_text("c = f × ct−1 + i × g")
    words, view = key.get_by_label("Colours of some words").locator("li"), lstm_view()
    for one in words.all():
        word = view.properties["words"].index(one.inner_text())
        colour = ", ".join(str(value) for value in view.arrays["word_colours"][word])
        assert one.locator("i").evaluate("one => getComputedStyle(one).backgroundColor") == f"rgb({colour})"
    lstm_page.keyboard.press("Escape")
    expect(key).to_have_count(0)


def test_a_sentence_lights_the_gate_that_it_speaks_of(lstm_page):
    lit = lstm_page.locator("[data-lit]")
    kept = lstm_page.get_by_label("What it keeps")
    forget = kept.get_by_role("button", name="forget gate")
    forget.hover()
    expect(lit).to_have_count(1)
    expect(lit).to_have_attribute("data-lit", "l0.forget")
    lstm_page.mouse.move(2, 2)
    expect(lit).to_have_count(0)
    kept.get_by_role("button", name="output gate").focus()
    expect(lit).to_have_attribute("data-lit", "l0.output")
    forget.click()
    lstm_page.mouse.move(2, 2)
    forget.blur()
    expect(lit).to_have_attribute("data-lit", "l0.forget")
    lstm_page.keyboard.press("Escape")
    expect(lit).to_have_count(0)


def test_a_unit_says_after_which_words_it_is_high_and_low(lstm_page):
    model, seen = tiny()
    usual = baseline_of(model)
    cells = (seen["cell"][0, -1] - usual.means[4, 0]) / usual.spread[0]
    first = int(np.abs(cells).argmax())
    said = lstm_page.get_by_label("Units that stand out")
    words = ", ".join(f"“{model.words[word]}”" for word in usual.after[0, 0, first])
    expect(said.locator("li").first).to_contain_text(f"Its cell is highest after {words}")
    expect(said.locator("li").first).to_contain_text(f"{abs(cells[first]):.1f} standard deviations")
    said.get_by_role("button", name=f"unit {first}").click()
    over = lstm_page.get_by_label("One unit over time")
    expect(over).to_contain_text(f"Its cell is highest after {words}")
    expect(over).to_contain_text(f"shifted along the text explain {100 * usual.told[1, 0, first]:.1f} %")


def test_a_zoomed_operation_says_what_its_boxes_and_numbers_are(open_page):
    page = opened(open_page, larger_view(), width=1440, height=900)
    page.locator("[data-operation='l0.forget']").click()
    zoom = page.get_by_role("dialog")
    assert zoom.locator("figcaption").all_inner_texts() == [
        "word", "hidden before", "the sum, before σ", "forget gate",
    ]  # fmt: skip
    expect(zoom.locator(".formula")).to_have_text(
        "forget gate = σ(W × word + U × hidden before + bias). σ presses every value between 0, shut, and 1, "
        "open. W and U are learned weights."
    )
    assert zoom.locator("figure > small").all_inner_texts() == [
        "dimension and value, the 16 largest of 128",
        *["unit and value, the 16 largest of 128"] * 3,
    ]


def test_two_steps_of_several_layers_stand_above_each_other_whole(open_page):
    page = opened(open_page, larger_view(), width=1440, height=900)
    page.get_by_label("Two steps").check()
    settle(page)
    graphs = page.get_by_label("Graph of one step")
    (first, second) = boxes(graphs)
    assert second[1] >= first[3]
    assert second[0] == first[0]
    assert second[2] == first[2]
    for graph in graphs.all():  # the page is scrolled, no graph within it is
        assert graph.evaluate(
            "one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight"
        )
    expect(page.locator(".at").first).to_contain_text("Step 6 reads “states” and expects “has”")
    expect(page.locator(".at").last).to_contain_text("Step 7 reads “have”")


@pytest.fixture
def stream_page(open_page):
    return opened(open_page, stream_view("llama"))


def by_layers(page):
    """The grid of all nodes, which stands behind the path."""
    page.get_by_role("tab", name="Layer by layer").click()
    return page


def test_every_node_says_its_best_word_and_opens(stream_page):
    by_layers(stream_page)
    words = lens(held("llama"), 1)
    decode = held("llama").model.tokenizer.decode
    for node, token in ((0, 1), (3, 4), (6, 10)):
        cell = stream_page.locator(f"[data-node='{node}'][data-token='{token}']")
        expect(cell.locator("b")).to_have_text(decode([words.ids[node, token, 0]]))
    stream_page.locator("[data-node='4'][data-token='4']").click()
    expect(stream_page.get_by_label("Layer 1 at this token")).to_be_visible()
    stream_page.keyboard.press("ArrowUp")
    expect(stream_page.locator("button.chosen[data-token]")).to_have_attribute("data-node", "3")


def test_one_column_is_followed_with_its_numbers_and_marked_from_where_it_keeps_its_word(stream_page):
    by_layers(stream_page)
    ids = lens(held("llama"), 1).ids[:, :, 0]
    token = 4
    stream_page.locator(f"[data-node='6'][data-token='{token}']").click()
    settled = max((node + 1 for node in range(6) if ids[node, token] != ids[6, token]), default=0)
    marked = stream_page.locator("td.settled", has=stream_page.locator(f"[data-token='{token}']"))
    expect(marked).to_have_count(7 - settled)
    # numbers stand in the followed column alone, which is wider than the others
    expect(stream_page.locator("td em")).to_have_count(7)
    wide = [
        stream_page.locator(f"[data-node='3'][data-token='{one}']").bounding_box()["width"]
        for one in (token, token + 1)
    ]
    assert wide[0] > wide[1]
    expect(stream_page.locator(".told")).to_contain_text("ends with")


def test_every_part_of_the_path_has_a_name_or_is_counted(stream_page):
    drawn = stream_page.get_by_role("group", name="Path from the prompt to the next word")
    stream_page.get_by_label("Least importance of a line").fill("0.02")
    listed = stream_page.locator("details.all")
    listed.locator("summary").click()
    rows = listed.locator("tbody tr").count()
    lines = drawn.locator("[data-edge], [data-mlp], [data-missed]").count()
    assert rows >= lines > 0  # a line may be of several heads
    left = sum(int(one.get_attribute("data-left") or 0) for one in drawn.locator("[data-left]").all())
    said = listed.locator("summary").inner_text()
    assert (f"{left} ha" in said) == (left > 0)
    assert f"All {drawn.locator('[data-name]').count() + left} parts" in said


def test_layers_go_down_from_the_first_in_every_picture(stream_page):
    def order(found):
        tops = [(one.bounding_box()["y"], one.get_attribute("data-part")) for one in found.all()]
        return [int(name.rpartition(" ")[2]) for _, name in sorted(tops)]

    assert order(stream_page.locator("[data-part^='mlp']")) == [0, 1, 2]
    path = stream_page.get_by_role("group", name="Path from the prompt to the next word")
    layers = [one for one in path.locator("text.layer").all() if one.text_content().isdigit()]
    places = sorted((one.bounding_box()["y"], int(one.text_content())) for one in layers)
    assert [layer for _, layer in places] == [0, 1, 2]
    by_layers(stream_page)
    nodes = stream_page.locator("[data-token='4']")
    tops = sorted((one.bounding_box()["y"], int(one.get_attribute("data-node"))) for one in nodes.all())
    assert [node for _, node in tops] == list(range(7))


def test_contributions_on_the_page_are_the_librarys_and_add_up_to_the_logit(stream_page):
    view = stream_view("llama")
    token = len(held("llama").capture.tokens) - 1
    decode = {held("llama").model.tokenizer.decode([i]): i for i in range(60)}
    chosen = decode[view.properties["words"][view.arrays["choices"][token, 0]]]
    parts = contributions(held("llama"), np.full((token + 1, 1), chosen))
    panel = stream_page.get_by_label("Effects on a word")
    for layer in range(3):
        for head in range(4):
            cell = panel.locator(f"[data-part='{layer}.{head}']")
            assert number(cell, "data-share") == pytest.approx(parts.heads[layer, head, token, 0], abs=1e-5)
            without = view.arrays["part_log_chance_heads"][token, 0, layer, head]
            lost = view.arrays["log_chance"][token, 0] - without
            assert number(cell, "data-total-effect") == pytest.approx(lost, abs=1e-5)
        share = number(panel.locator(f"[data-part='mlp {layer}']"), "data-share")
        assert share == pytest.approx(parts.mlp[layer, token, 0], abs=1e-5)
    logit = held("llama").capture["logits"][token, chosen]
    assert number(panel.locator("[data-score]"), "data-score") == pytest.approx(logit, abs=1e-5)
    assert number(panel.locator("[data-total]"), "data-total") == pytest.approx(logit, abs=1e-4)
    panel.locator("[data-part='1.2']").click()
    shares = [float(one.get_attribute("data-share")) for one in panel.locator(".detail [data-share]").all()]
    assert sum(shares) == pytest.approx(parts.heads[1, 2, token, 0], abs=5e-3)
    said = panel.locator(".detail p").first.inner_text()
    assert "Direct: it adds" in said
    assert "Total: without it the chance of" in said


def test_a_vector_finds_its_colour_step_by_step_and_ends_where_the_library_puts_it(lstm_page):
    model, seen = tiny()
    step = len(seen.tokens) - 1
    bar(lstm_page, "cell of layer 0", 2, 7)
    lstm_page.get_by_text("How its colour is found").click()
    panel = lstm_page.get_by_role("dialog", name="How a vector finds its colour")
    assert panel.evaluate("one => one.getBoundingClientRect().bottom <= innerHeight")
    slider = panel.get_by_label("Step of the fitting")
    expect(panel).to_contain_text("Step 0 of")
    middle = panel.locator("circle").last.get_attribute("fill")
    slider.fill(slider.get_attribute("max"))
    said = re.search(r"Step (\d+) of (\d+)", panel.inner_text())
    assert said
    assert said[1] == said[2]
    words = colours(model.weights()["embedding"], seed=0)
    rgb = np.round(255 * words.fit(seen["cell"][0, step], "force")[0]).astype(int)
    assert panel.locator("circle").last.get_attribute("fill") == f"rgb({rgb[0]} {rgb[1]} {rgb[2]})" != middle
    panel.get_by_role("button", name="Again").click()
    expect(panel.get_by_role("button", name="Stop")).to_be_visible()
    expect(slider).not_to_have_value("0")


def test_both_lenses_are_read_and_their_scores_stand_beside_them(open_page, tmp_path):
    text = tmp_path / "words.txt"
    chance = np.random.default_rng(0)
    text.write_text(" ".join(chance.choice(TEXT.split(), 1500)))
    found = flow(held("llama").model, TEXT, lens="tuned", lens_text=text)
    page = by_layers(opened(open_page, found.view()))
    for name, array in (("tuned lens", "tuned"), ("logit lens", "lens")):
        page.get_by_role("radio", name=name).click()
        page.locator("[data-node='3'][data-token='5']").click()
        word = found.words[found.arrays[array][3, 5, 0]]
        assert f"“{word}”" in page.locator("[data-node='3'][data-token='5']").get_attribute("title")
    page.locator("[data-node='4'][data-token='5']").click()
    panel = page.get_by_label("How far to trust the lenses")
    logit, tuned = found.arrays["lens_kl"][:, 2]
    expect(panel).to_contain_text(f"After layer 1: logit lens {logit:.2f}")
    expect(panel).to_contain_text(f"tuned lens {tuned:.2f}")


def test_the_path_is_drawn_from_the_prompt_to_the_next_word_and_opens_its_parts(stream_page):
    view = stream_view("llama")
    token = len(view.properties["tokens"]) - 1
    drawn = stream_page.get_by_role("group", name="Path from the prompt to the next word")
    expect(drawn.locator("[data-mlp]")).not_to_have_count(0)
    edges = view.arrays["route_heads"][view.arrays["route_importance"] >= 0.06]
    into = {(layer, source) for layer, _, source, to in edges.tolist() if to == token}
    shown = [one.get_attribute("data-edge").split() for one in drawn.locator("[data-edge]").all()]
    assert {(int(layer), int(source)) for layer, source, to in shown if int(to) == token} == into
    slider = stream_page.get_by_label("Least importance of a line")
    before = drawn.locator("[data-edge]").count()
    slider.fill("0.2")
    assert drawn.locator("[data-edge]").count() < before
    drawn.locator("[data-mlp]").first.click(force=True)
    expect(stream_page.locator(".detail h3")).to_contain_text("MLP")
    short = stream_page.get_by_label("In short")
    expect(short).to_contain_text("without one head or another the chance is")
    short.get_by_role("button").first.click()
    expect(stream_page.locator(".detail h3")).to_contain_text(
        short.get_by_role("button").first.text_content().strip()
    )


def test_a_transformers_page_has_one_meaning_for_a_colour(stream_page):
    # blue and orange raise and lower a word; colours by meaning stand in the layers, on demand
    expect(stream_page.locator(".near i")).to_have_count(0)
    expect(stream_page.get_by_label("Colours by meaning")).to_have_count(0)
    expect(stream_page.locator("header")).not_to_contain_text("Colour match")
    key = stream_page.get_by_role("list", name="Key")
    for said in ("line: a head, square: an MLP", "raises “", "lowers it", "log-probability loses"):
        expect(key).to_contain_text(said)
    by_layers(stream_page)
    expect(stream_page.locator("td button i")).to_have_count(0)
    stream_page.get_by_label("Colours by meaning").check()
    expect(stream_page.locator("td button i").first).to_be_visible()
    expect(stream_page.locator("header")).to_contain_text("Colour match")


def test_the_difference_of_two_words_is_the_difference_of_their_parts(stream_page):
    view = stream_view("llama")
    token = len(view.properties["tokens"]) - 1
    panel = stream_page.get_by_label("Effects on a word")
    panel.get_by_label("Minus").select_option("1")
    share = number(panel.locator("[data-part='1.2']"), "data-share")
    heads = view.arrays["part_heads"][token]
    assert share == pytest.approx(heads[0, 1, 2] - heads[1, 1, 2], abs=1e-5)
    score = view.arrays["score"][token]
    assert number(panel.locator("[data-score]"), "data-score") == pytest.approx(score[0] - score[1], abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_one_number_of_the_stream_is_the_sum_of_what_made_it(open_page, name):
    page = by_layers(opened(open_page, stream_view(name)))
    page.locator("[data-node='3'][data-token='5']").click()
    bar(page, "layer 1, after attention", 8, 32)
    panel = page.get_by_label("Layer 1 at this token")
    value = held(name).capture["stream"][3, 5, 8]
    expect(panel.locator("h3")).to_contain_text("Dimension 8")
    assert number(panel.locator("[data-value]"), "data-value") == pytest.approx(value, abs=1e-6)
    assert number(panel.locator("[data-total]"), "data-total") == pytest.approx(value, abs=5e-3)
    if name != "bert":
        panel.get_by_label("back to the embedding").check()
        expect(panel.locator(".sum li").first).to_be_visible()
        assert number(panel.locator("[data-total]"), "data-total") == pytest.approx(value, abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lstm", "decoder"])
def test_interactions_are_answered_and_measured(open_page, record_property, name):
    """Nothing is asserted of time itself: figures of a busy machine would say little."""
    get_model(name) if name == "decoder" else None
    view = flow(open_model(name, device="cpu"), PROMPTS[name][0]).view()
    page = opened(open_page, view, width=1440, height=900)
    times = interactions(page, view, repeats=5)
    for act, taken in times.items():
        said = f"{statistics.median(taken):.0f} ms, worst {max(taken):.0f}"
        record_property(act, said)
        print(f"{name}: {act}: {said}")
    assert len(times) == (5 if name == "lstm" else 6)
    assert all(len(taken) == 5 for taken in times.values())
    if name == "lstm":
        page.get_by_label("Numbers").uncheck()
        page.keyboard.press("Escape")
        expect(page.locator("text.label")).to_have_count(0)
        page.get_by_label("Numbers").check()
        assert page.locator("text.label").count() > 10  # strips name the units of their largest values


@pytest.mark.parametrize("width", [1440, 1256, 390])
def test_the_table_of_probes_is_as_wide_as_its_place(open_page, width):
    view = probe(tiny()[0], most=40, back=[1]).view()
    page = opened(open_page, view, width=width, height=844)
    table = page.locator(".detail table")
    assert table.evaluate("one => one.scrollWidth <= one.parentElement.clientWidth")


def test_hostile_words_are_only_text(open_page):
    words = ["<img src=x onerror=alert(1)>", "</script>", "b", "\n", " "]
    view = stream_view("llama")
    named = [words[i % 5] for i in range(len(view.properties["words"]))]
    hostile = type(view)(view.kind, {**view.properties, "words": named, "title": "<b>x</b>"}, view.arrays)
    page = opened(open_page, hostile)
    expect(page.locator("img, h1 b")).to_have_count(0)


def test_nothing_is_wider_than_a_narrow_screen(open_page):
    for view in (lstm_view(), stream_view("bert")):
        page = opened(open_page, view, width=480, height=800)
        assert page.evaluate("() => document.documentElement.scrollWidth") == 480


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, axe, scheme):
    for view in (lstm_view(), stream_view("llama")):
        page = opened(open_page, view, color_scheme=scheme)
        if view.properties["model"] == "lstm":
            bar(page, "forget gate of layer 0", 2, 7)
        assert serious(page, axe) == []
