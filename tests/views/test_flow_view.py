"""The flow view: its graph gives the vectors it leads to, its parts add up, and both are drawn."""

from functools import cache

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

from langscape.analyses._flow_stream import GREY, SPLIT, busy_heads, choices
from langscape.analyses.flow import default_prompt, flow
from langscape.engine.colour import oklab
from langscape.errors import SettingsError
from langscape.io.codec import differences, read_noun, write_noun
from langscape.metrics import spearman
from langscape.models import capture, contributions, lens, open_model, stream, wrap_lstm, wrap_model
from langscape.views import write
from langscape.views.table import table

TEXT = "the red lamp hung over the unbelievable boats of water"


@cache
def tiny_lstm():
    return open_model("lstm-tiny", device="cpu")


def lstm(dim=5, units=7, layers=2):
    """A random LSTM whose embeddings and units differ in width."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        parts = {
            "embedding": torch.nn.Embedding(9, dim),
            "lstm": torch.nn.LSTM(dim, units, layers),
            "decoder": torch.nn.Linear(units, 9),
        }
    return wrap_lstm(**parts, words=[f"w{i}" for i in range(9)], name="random")


@cache
def lstm_flow(of="tiny"):
    model = tiny_lstm() if of == "tiny" else lstm()
    return flow(model, "the small dog barks ." if of == "tiny" else "w1 w2 w3 w1 w5")


def lstm_view(of="tiny"):
    return lstm_flow(of).view()


@cache
def stream_of(name):
    make = {**DECODERS, **ENCODERS}[name]
    return stream(wrap_model(built(make), tokenizer(), name=name), TEXT)


@cache
def stream_flow(name):
    return flow(stream_of(name).model, TEXT)


def vector(view, node, step):
    """A node's vector as the page reads it."""
    node = next(one for one in view.properties["nodes"] if one["id"] == node)
    if "before" in node and step == 0:
        return view.arrays[node["before"]][node["layer"]].astype(np.float64)
    at = step - 1 if "before" in node else step
    array = view.arrays[node["array"]]
    return (array[node["layer"], at] if "layer" in node else array[at]).astype(np.float64)


def computed(view, operation, step):
    """What an operation gives, by its own description."""
    given = [vector(view, one["node"], step) for one in operation["inputs"]]
    if operation["kind"] == "matrix":
        width = len(vector(view, operation["to"], step))
        rows = slice(operation["block"] * width, (operation["block"] + 1) * width)
        summed = sum(
            view.arrays[one["weights"]][rows].astype(np.float64) @ x
            for one, x in zip(operation["inputs"], given, strict=True)
        )
        return summed + view.arrays[operation["bias"]][rows]
    return {
        "sigmoid": lambda: 1 / (1 + np.exp(-given[0])),
        "tanh": lambda: np.tanh(given[0]),
        "sum": lambda: given[0] + given[1],
        "product": lambda: given[0] * given[1],
    }[operation["kind"]]()


@pytest.mark.parametrize("of", ["tiny", "random"])
def test_every_operation_of_the_graph_gives_the_vector_it_leads_to(of):
    view = lstm_view(of)
    for operation in view.properties["operations"]:
        if operation["to"] in ("logits", "softmax"):
            continue
        for step in range(len(view.properties["tokens"])):
            told = vector(view, operation["to"], step)
            np.testing.assert_allclose(computed(view, operation, step), told, atol=2e-6)


@pytest.mark.parametrize("of", ["tiny", "random"])
def test_change_is_told_of_the_vectors_that_are_drawn_and_of_no_others(of):
    """σ of a pre-activation that no one sees is far from it whatever a model does, and hides the rest."""
    view = lstm_view(of)
    placed = {node["id"] for node in view.properties["nodes"] if "column" in node}
    told = set()
    for operation, row in zip(view.properties["operations"], view.arrays["change"], strict=True):
        if np.isfinite(row).any():
            told.add(operation["to"].partition(".")[2])
            assert {operation["main"], operation["to"]} <= placed
            for step in range(len(row)):
                a, b = (vector(view, operation[end], step) for end in ("main", "to"))
                moved = np.linalg.norm(b - a) / max(np.linalg.norm(a) + np.linalg.norm(b), 1e-12)
                assert row[step] == pytest.approx(moved, abs=1e-6)
    assert told == {"forget_product", "remember_product", "cell", "cell_tanh", "hidden"}


@pytest.mark.parametrize("of", ["tiny", "random"])
def test_the_best_words_are_the_models_and_their_logits_come_from_the_last_hidden_vector(of):
    model = tiny_lstm() if of == "tiny" else lstm()
    view = lstm_view(of)
    seen = capture(model, [model.words.index(word) for word in view.properties["tokens"]])
    last = seen["hidden"][-1].astype(np.float64)
    top = view.arrays["top"]
    words = [[view.properties["words"][i] for i in row] for row in top]
    order = np.argsort(-seen["logits"], axis=1, kind="stable")[:, : top.shape[1]]
    assert words == [[model.words[i] for i in row] for row in order]
    logits = np.einsum("skd,sd->sk", view.arrays["decoder"][top].astype(np.float64), last)
    logits += view.arrays["decoder_bias"][top]
    np.testing.assert_allclose(logits, view.arrays["top_logits"], atol=1e-5)
    chances = np.exp(logits - view.arrays["log_total"][:, None])
    np.testing.assert_allclose(chances, view.arrays["top_chances"], atol=1e-6)


def test_vectors_of_another_width_are_coloured_through_the_words_they_predict():
    view = lstm_view("random")
    assert any("different widths" in note for note in view.properties["notes"])
    assert view.arrays["colour_hidden"].shape == (2, 5, 3)
    assert not any("different widths" in note for note in lstm_view().properties["notes"])


def test_the_figure_of_colours_is_that_of_the_vectors_shown_and_the_others_are_grey_and_counted(
    monkeypatch,
):
    tiny = lstm_flow("tiny")
    monkeypatch.setattr("langscape.analyses.flow.honest", lambda words: 0.9)
    found = flow(lstm(), "w1 w2 w3 w1 w5")
    names = ("embedding", "candidate", "forget_product", "remember_product", "cell", "cell_tanh", "hidden")
    names = (*names, "cell_before", "hidden_before")
    shown = np.concatenate([found.arrays[f"colour_{name}"].reshape(-1, 3) for name in names])
    grey = int((shown == GREY).all(1).sum())
    (note,) = [note for note in found.remarks if "are grey" in note]
    assert note.startswith(f"{grey} of {len(shown)} vectors")
    assert 0 < grey < len(shown)
    vectors = np.concatenate([tiny.vectors[name].reshape(-1, 7) for name in names])
    colours = np.concatenate([tiny.arrays[f"colour_{name}"].reshape(-1, 3) for name in names])
    told = (colours != GREY).any(1)
    figure = spearman(vectors[told], oklab(colours[told] / 255))
    assert tiny.scores["colours"] == pytest.approx(float(figure), abs=0.02)
    assert abs(tiny.scores["colours_null"]) < 0.2 < tiny.scores["colours"]


def test_a_word_has_one_colour_whatever_the_prompt():
    one, other = flow(tiny_lstm(), "the dog barks ."), flow(tiny_lstm(), "a small cat sleeps .")
    first, second = (
        dict(zip(of.words, of.arrays["word_colours"].tolist(), strict=True)) for of in (one, other)
    )
    shared = first.keys() & second.keys()
    assert len(shared) > 3
    assert all(first[word] == second[word] for word in shared)


def test_a_first_token_that_the_prompt_does_not_hold_is_explained():
    said = flow(tiny_lstm(), "the dog").view().properties
    assert (said["tokens"][0], "boundary between sentences" in said["start"]) == (".", True)
    assert flow(tiny_lstm(), ". the dog").view().properties["start"] == ""


def test_an_lstms_prompt_too_long_for_a_page_is_refused_with_what_would_fit():
    with pytest.raises(SettingsError, match="1,201 tokens is too long for a page; give at most 1,000"):
        flow(tiny_lstm(), prompt_file="the dog barks . " * 300)


def test_a_word_that_the_model_never_expected_is_noticed():
    view = flow(tiny_lstm(), "the the dog dog barks barks").view()
    told = [alarm["text"] for alarm in view.properties["alarms"] if alarm["vector"] == "softmax"]
    assert any("came “the”, given 1 in " in text for text in told)
    assert not any("e+" in text or "e-" in text for text in told)


# behind a gate that is stuck below, one that stands quite still is not blamed before that is mended
@pytest.mark.parametrize(("stuck", "told"), [([1], [1]), ([0, 1], [0])])
def test_gates_that_are_always_open_raise_an_alarm(stuck: list[int], told: list[int]):
    model = lstm()
    with torch.no_grad():
        for layer in stuck:
            getattr(model.network.lstm, f"bias_ih_l{layer}")[7:14] += 9  # the forget gate's rows
    view = flow(model, "w1 w2 w3 w1 w5").view()
    found = [alarm for alarm in view.properties["alarms"] if alarm["vector"] == "forget"]
    assert [alarm["layer"] for alarm in found] == told
    assert all(alarm["level"] == "alarm" and "always open" in alarm["text"] for alarm in found)


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2", "bert"])
def test_the_parts_on_the_page_add_up_to_the_score(name):
    arrays = stream_flow(name).view().arrays
    parts = arrays["part_heads"].sum((2, 3)) + arrays["part_mlp"].sum(2) + arrays["part_bias"].sum(2)
    parts += arrays["part_embedding"].sum(2) + arrays["part_constant"]
    np.testing.assert_allclose(parts, arrays["score"], atol=1e-4, rtol=1e-5)
    halves = arrays["sources"].view("<f2")[..., 0].astype(np.float64)
    np.testing.assert_allclose(halves.sum(-1), arrays["part_heads"][:, :SPLIT], atol=2e-2, rtol=2e-3)


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_the_vectors_on_the_page_are_the_streams(name):
    held = stream_of(name)
    arrays = stream_flow(name).view().arrays
    np.testing.assert_array_equal(arrays["stream"], held.capture["stream"])
    for layer in range(3):
        given = arrays[f"heads_{layer}"].view("<f2")[..., 0]
        np.testing.assert_allclose(given, held.capture["heads"][layer], rtol=1e-3, atol=1e-6)


def test_the_next_word_of_the_text_is_among_those_taken_apart():
    held = stream_of("llama")
    view = stream_flow("llama").view()
    ids, words = held.capture.tokens.require_ids().tolist(), view.properties["words"]
    for token in range(len(ids) - 1):
        told = {words[i] for i in view.arrays["choices"][token]}
        assert held.model.tokenizer.decode([ids[token + 1]]) in told


def test_of_a_long_prompt_the_tokens_that_are_looked_at_are_told_as_ever(monkeypatch):
    whole = stream_flow("llama")
    count = len(whole.tokens)
    monkeypatch.setattr("langscape.analyses._flow_stream.PAGE", 30_000)
    some = flow(stream_of("llama").model, TEXT, at=4)
    looked = some.arrays["looked"].tolist()
    assert 4 in looked
    assert 1 < len(looked) < count
    assert any(
        f"of {count} tokens {len(looked)} are shown whole" in note for note in some.view().properties["notes"]
    )
    np.testing.assert_array_equal(some.vectors["stream"], whole.vectors["stream"][:, looked])
    for name in ("part_heads", "part_total_heads", "part_log_chance_mlp", "all_neurons", "query_key"):
        np.testing.assert_allclose(some.arrays[name], whole.arrays[name][looked], atol=2e-5, err_msg=name)
    assert len(some.arrays["surprise"]) == count
    with pytest.raises(SettingsError, match="token 99"):
        flow(stream_of("llama").model, TEXT, at=99)


def test_long_prompts_are_rounded(monkeypatch):
    monkeypatch.setattr("langscape.views.flow_stream.BUDGET", 1)
    assert stream_flow("llama").view().arrays["stream"].dtype == np.uint8


def test_words_of_ones_own_are_taken_apart_first():
    found = flow(stream_of("llama").model, TEXT, words=["lamp", "water"])
    named = [[found.words[i].strip() for i in row[:2]] for row in found.arrays["choices"]]
    assert named == [["lamp", "water"]] * len(found.tokens)
    with pytest.raises(SettingsError, match="several tokens"):
        flow(stream_of("llama").model, TEXT, words=["unbelievable"])


def test_sums_that_miss_the_models_scores_are_not_shown(monkeypatch):
    """A head's share is made wrong: no number of a sum is on the page, and total effects stay."""
    from langscape.models import logits

    def wrong(*given, **settings):
        found = contributions(*given, **settings)
        return type(found)(**{**vars(found), "heads": found.heads + 1})

    monkeypatch.setattr(logits, "contributions", wrong)
    view = flow(stream_of("gpt2").model, TEXT).view()
    assert view.properties["sums"] is False
    assert np.isnan(view.arrays["part_heads"]).all()
    assert np.isfinite(view.arrays["part_total_heads"]).all()
    assert any("miss the scores" in note for note in view.properties["notes"])
    assert stream_flow("gpt2").view().properties["sums"] is True


def test_an_encoder_says_that_its_words_are_no_predictions():
    view = stream_flow("bert").view()
    assert view.properties["model"] == "encoder"
    assert any("no language head" in note for note in view.properties["notes"])
    assert any("scales" in note for note in view.properties["notes"])
    assert "surprise" not in view.arrays


@pytest.mark.parametrize("of", ["tiny", "random", "llama", "bert"])
def test_flows_are_drawn_as_figures(of, tmp_path):
    view = lstm_view(of) if of in ("tiny", "random") else stream_flow(of).view()
    assert write(view, tmp_path / "flow.svg").stat().st_size > 10_000


@pytest.mark.parametrize("of", ["tiny", "llama"])
def test_a_flow_comes_back_from_its_file_as_it_was(of, tmp_path):
    found = lstm_flow() if of == "tiny" else stream_flow(of)
    write_noun(found, tmp_path / "flow.safetensors")
    assert differences(found, read_noun(tmp_path / "flow.safetensors")) == []


def test_what_is_impossible_is_said():
    with pytest.raises(SettingsError, match="top"):
        flow(tiny_lstm(), "the dog", top=0)
    with pytest.raises(SettingsError, match="fit"):
        flow(tiny_lstm(), "the dog", fit="near")


@pytest.mark.parametrize("top", [1, 30])
@pytest.mark.parametrize("name", ["llama", "bert"])
def test_the_parts_of_any_number_of_words_are_those_of_the_model(name, top):
    """Two routes: what is shown, and what the model is asked for the same words."""
    held = stream_of(name)
    found = flow(held.model, TEXT, top=top)
    assert found.arrays["lens"].shape[-1] == top
    ids = held.capture.tokens.require_ids().tolist()
    given = [ids[at : at + 2] for at in range(len(ids))]
    chosen = choices(lens(held, 8).ids, given, found.kind, len(held.words))
    parts = contributions(held, chosen)
    named = {found.words[i] for i in found.arrays["choices"].ravel()}
    assert named == {held.model.tokenizer.decode([i]) or "" for i in chosen.ravel()}
    heads = np.moveaxis(parts.heads, [2, 3], [0, 1])
    np.testing.assert_allclose(found.arrays["part_heads"], heads, rtol=1e-5, atol=1e-6)
    sources = np.moveaxis(parts.sources, [2, 3], [0, 1])[:, :SPLIT]
    np.testing.assert_allclose(found.arrays["sources"], sources, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.arrays["score"], parts.score, rtol=1e-6)
    looked_up = found.arrays["heads_words"][..., 0] >= 0
    np.testing.assert_array_equal(looked_up, busy_heads(heads.astype(np.float32)))


def test_a_model_without_a_prompt_reads_one_of_its_own():
    assert flow(lstm()).view().properties["tokens"]
    assert "Italy" in default_prompt(stream_of("llama").model)


def test_a_node_mixes_the_colours_of_the_words_it_says_and_a_head_without_words_is_grey():
    view = flow(stream_of("llama").model, TEXT).view()
    for node, token in ((0, 1), (3, 4), (6, 8)):
        told = view.arrays["word_colours"][view.arrays["lens"][node, token]]
        mixed = np.average(told, axis=0, weights=view.arrays["lens_values"][node, token])
        np.testing.assert_allclose(view.arrays["colour_stream"][node, token], mixed, atol=0.51)
    none = view.arrays["heads_words"][..., 0] < 0
    assert (view.arrays["colour_heads"][none] == [154, 160, 168]).all()


def test_of_a_large_vocabulary_the_words_of_the_page_are_coloured(monkeypatch):
    monkeypatch.setattr("langscape.analyses.flow.WHOLE", 10)
    view = flow(stream_of("gpt2").model, TEXT).view()
    assert len(np.unique(view.arrays["word_colours"], axis=0)) > 20
    assert [one["label"] for one in view.properties["quality"]] == ["Sum check", "Colour match"]


def test_the_table_of_a_transformer_holds_what_its_parts_do_to_each_word():
    found = stream_flow("gpt2")
    view = found.view()
    columns = table(view)
    at, choice = len(found.arrays["looked"]) - 1, 0
    position = int(found.arrays["looked"][at])
    word = view.properties["words"][found.arrays["choices"][at, choice]]
    rows = (columns["position"] == position) & (columns["word"] == word)
    heads, mlps = rows & (columns["part"] == "head"), rows & (columns["part"] == "MLP")
    assert columns["token"][rows][0] == found.tokens[position]
    added = columns["logit_added"]
    assert added[heads].tolist() == found.arrays["part_heads"][at, choice].ravel().tolist()
    assert added[mlps].tolist() == found.arrays["part_mlp"][at, choice].tolist()
    assert columns["logit_lost"][mlps].tolist() == found.arrays["part_total_mlp"][at, choice].tolist()
    assert (columns["head"][mlps] == -1).all()
    chance, without = (
        np.exp(found.arrays[name][at, choice]) for name in ("log_chance", "part_log_chance_mlp")
    )
    assert columns["chance"][rows] == pytest.approx(chance)
    assert columns["chance_without"][mlps] == pytest.approx(without)
    assert columns["nats_lost"][mlps] == pytest.approx(np.log(chance / without), abs=1e-5)
