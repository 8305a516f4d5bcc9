"""`look`: every kind of object is told, said in a line, and shown; dead ends name the way out."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

import langscape
from langscape.data.tensors import capture_of
from langscape.errors import LangscapeError
from langscape.looking import KINDS

ROOT = pathlib.Path(__file__).parents[1]
TEXT = "the red lamp and the red lamp"
WORDS = ["tea", "coffee", "milk", "oslo", "rome", "paris"]
QUICK = {"restarts": 1, "steps": 20}


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).random(shape).astype(np.float32)
    return drawn / drawn.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def held(tmp_path_factory) -> dict[str, Any]:
    """What the examples of the table hold."""
    import anndata
    import duckdb
    import gensim
    import pandas
    import peft
    import polars
    import scipy.sparse
    import sentence_transformers
    import torch
    import transformers

    langscape.models.get_model("default")
    folder = tmp_path_factory.mktemp("look") / "tiny-bert"
    network = built(ENCODERS["bert"])
    network.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    network.set_attn_implementation("eager")
    read = tokenizer()(TEXT, return_tensors="pt")
    with torch.no_grad():
        outputs = network(**read, output_attentions=True, output_hidden_states=True)
    array = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    columns = {"title": WORDS, "embedding": array.tolist(), "kind": ["drink"] * 3 + ["city"] * 3}
    talks = pa.table(columns)
    relation = duckdb.connect()
    relation.register("talks", talks)
    keyed = gensim.models.KeyedVectors(5)
    keyed.add_vectors(WORDS, array)
    obs = pandas.DataFrame({"kind": columns["kind"]}, index=WORDS)
    adata = anndata.AnnData(array, obs=obs, obsm={"X_pca": array[:, :3]})
    q, k = array[None, None], array[None, None, ::-1]
    names = tokenizer().convert_ids_to_tokens(read["input_ids"][0])
    cache = {f"blocks.{at}.attn.hook_pattern": one for at, one in enumerate(outputs.attentions)}
    file = folder.parent / "words.vec"
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, array, strict=True))
    file.write_text(f"6 5\n{chr(10).join(lines)}\n")
    known = {
        "adata": adata, "array": array, "cache": cache,
        "duckdb": SimpleNamespace(sql=relation.sql), "file": file, "folder": folder, "langscape": langscape,
        "made": langscape.Map(array[:, :2], langscape.Items(WORDS)), "network": network, "outputs": outputs,
        "pathlib": pathlib, "matrix": weights(9, 9), "table": talks, "text": TEXT,
        "texts": ["the lamp", "red lamp", "the red", "and lamp", "the"], "tokenizer": tokenizer(),
        "torch": torch, "weights": weights(2, 3, 9, 9), "word2vec": SimpleNamespace(wv=keyed),
        "words": WORDS, "q": q, "k": k,
        "pipe": transformers.pipeline("feature-extraction", network, tokenizer=tokenizer(), device="cpu"),
    }  # fmt: skip
    adapted = peft.get_peft_model(built(DECODERS["llama"]), peft.LoraConfig(target_modules=["q_proj"]))
    encoder = sentence_transformers.SentenceTransformer(
        str(langscape.models.model_path("default")), device="cpu"
    )
    frames = {"df": pandas.DataFrame(columns), "frame": polars.DataFrame(columns)}
    known |= {"sparse": scipy.sparse.csr_matrix(array), "saved": SimpleNamespace(value=outputs.attentions[0])}
    return known | frames | {"tokens": names, "columns": columns, "peft_model": adapted, "encoder": encoder}


def other(name: str) -> dict[str, Any]:
    """Tokens that fit the example's tensors, where they are not those of the model."""
    if name.startswith("queries"):
        return {"tokens": WORDS}
    if name.startswith(("one head", "an array of attention")):
        return {"tokens": list("abcdefghi")}
    return {}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_taken_for_what_it_is_and_shown(kind, held, capsys):
    known = {**held, **other(kind.name)}
    *before, last = kind.example.splitlines()
    exec("\n".join(before), known)
    seen: list[tuple[Any, ...]] = []
    known["langscape"] = SimpleNamespace(
        **{name: getattr(langscape, name) for name in ("capture", "open_model", "read_vectors")},
        look=lambda *args, **settings: seen.append((args, settings)),
    )
    exec(last, known)
    (args, settings) = seen[0]
    assert next(one for one in KINDS if one.takes(args[0], args[1:], settings)) is kind
    quick = QUICK if "atlas" in kind.show(*args, **settings)[0] else {}
    found = langscape.look(*args, **settings, **quick)
    assert type(found).__module__.startswith("langscape")
    assert len(capsys.readouterr().out.strip().splitlines()) == 1
    assert len(kind.example.splitlines()) <= 2  # and the import


def test_there_are_twenty_kinds_and_the_documentation_lists_them():
    from langscape.looking import kinds_table

    assert len(KINDS) >= 20
    assert kinds_table() in (ROOT / "docs" / "objects.md").read_text(encoding="utf-8")


def test_attentions_of_a_model_make_the_capture_of_the_model(held):
    seen = langscape.capture(held["network"], TEXT, tokenizer=held["tokenizer"])
    made = capture_of(
        attention=held["outputs"].attentions, hidden=held["outputs"].hidden_states, tokens=seen.tokens
    )
    assert np.allclose(made["attention"], seen["attention"], atol=1e-6)
    assert np.allclose(made["hidden"], seen["hidden"], atol=1e-5)


def test_queries_and_keys_give_the_attention_of_the_model(held):
    seen = langscape.capture(held["network"], TEXT, tokenizer=held["tokenizer"])
    made = langscape.Capture.of_tensors(q=seen["q"], k=seen["k"], tokens=seen.tokens)
    assert np.allclose(made["attention"], seen["attention"], atol=1e-5)
    causal = langscape.capture(built(DECODERS["llama"]), [5, 6, 7, 8, 9])
    made = capture_of(q=causal["q"], k=causal["k"], causal=True)
    assert np.allclose(made["attention"], causal["attention"], atol=1e-5)


def test_keys_that_heads_share_are_repeated():
    q, k = np.random.default_rng(0).normal(size=(2, 1, 4, 5, 3))
    assert np.array_equal(
        capture_of(q=q, k=k[:, :2])["attention"], capture_of(q=q, k=k[:, [0, 0, 1, 1]])["attention"]
    )


def test_names_of_transformer_lens_keep_the_numbers_of_layers():
    q = np.random.default_rng(0).normal(size=(1, 5, 2, 3))  # text, token, head, dim
    cache = {
        "blocks.3.attn.hook_pattern": weights(1, 2, 5, 5),
        "blocks.7.attn.hook_pattern": weights(1, 2, 5, 5),
    }
    cache |= {"blocks.3.attn.hook_q": q, "blocks.3.hook_resid_post": np.ones((5, 4)), "hook_embed": None}
    from langscape.data.tensors import capture_of_activations

    seen = capture_of_activations(cache)
    assert seen.layers_of("attention") == (3, 7)
    assert seen.layers_of("hidden") == seen.layers_of("q") == (3,)
    assert np.allclose(seen["q"][0, 1, 4], q[0, 4, 1])


def test_arrays_of_torch_come_whatever_their_type():
    import torch

    drawn = torch.from_numpy(weights(1, 1, 4, 4)).requires_grad_()
    for one in (drawn, drawn.double(), drawn.to(torch.bfloat16)):
        assert np.abs(capture_of(attention=one)["attention"] - weights(1, 1, 4, 4)).max() < 0.01


def test_an_array_that_only_speaks_dlpack_is_read():
    class Foreign:
        shape = (1, 1, 4, 4)

        def __dlpack__(self, **settings: Any) -> Any:
            return weights(*self.shape).__dlpack__(**settings)

        def __dlpack_device__(self) -> Any:
            return weights(1).__dlpack_device__()

    assert np.array_equal(capture_of(attention=Foreign())["attention"], weights(1, 1, 4, 4))


def test_arrays_of_jax_are_read():
    from jax import numpy

    drawn = numpy.asarray(weights(2, 2, 4, 4))
    for one in (drawn, drawn.astype("bfloat16")):
        assert np.abs(capture_of(attention=one)["attention"] - weights(2, 2, 4, 4)).max() < 0.01


def test_rows_are_refused_renormalised_or_kept_by_choice():
    masked = weights(1, 1, 4, 4) * np.float32(0.5)
    with pytest.raises(LangscapeError, match=r'4 of 4 rows .* 0\.5; say rows="renormalise"'):
        capture_of(attention=masked)
    made = capture_of(attention=masked, rows="renormalise")
    assert np.allclose(made["attention"], weights(1, 1, 4, 4))
    assert "divided by their sums" in made.notes[0]
    kept = capture_of(attention=masked, rows="keep")
    assert np.array_equal(kept["attention"], masked)
    assert "do not sum to 1" in kept.notes[0]


def test_one_text_of_several_is_taken_by_its_number():
    both = (weights(2, 3, 4, 4, seed=1), weights(2, 3, 4, 4, seed=2))
    made = capture_of(attention=both, batch=1)
    assert np.array_equal(made["attention"], np.stack([one[1] for one in both]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attention": weights(4, 4), "tokens": ["a"]}, "1 tokens, but the tensors hold 4"),
        ({"attention": weights(4, 4), "tokens": "abcd"}, "tokens is one text; give a list"),
        ({"attention": weights(4, 4), "tokens": np.ones((1, 4))}, r"of one text, .*\(ids\[0\]\)"),
        ({"hidden": np.full((4, 2), np.inf)}, "hidden holds NaN or infinity, .* float32"),
        ({"attention": (weights(2, 3, 4, 4),)}, "2 texts; say which with batch=0 to batch=1"),
        ({"attention": (weights(2, 3, 4, 4),), "batch": 2}, "texts 0 to 1"),
        ({"attention": np.full((4, 4), np.nan)}, "NaN or infinity, first in layer 0"),
        ({"attention": np.full((4, 4), -1.0)}, "after softmax"),
        ({"attention": weights(1, 1, 1, 4)}, "1 queries and 4 keys"),
        ({"attention": np.zeros((4, 4)), "rows": "renormalise"}, "all zeros"),
        ({"attention": weights(4, 4), "rows": "guess"}, "rows 'guess' is not known"),
        ({"attention": weights(4)}, r"shape \(4,\)"),
        ({"attention": np.empty((0, 0))}, "holds nothing"),
        ({"attention": (weights(1, 2, 4, 4), weights(1, 3, 4, 4))}, "of one shape"),
        ({"attention": [["a"]]}, "expected numbers"),
        ({"attention": weights(4, 4), "hidden": np.ones((5, 2))}, "attention 4, hidden 5"),
        ({"q": np.ones((1, 2, 4, 3)), "k": np.ones((1, 2, 4, 5))}, "dim must be equal"),
        ({}, "there are no tensors"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit_are_refused_with_the_fix(given, said):
    with pytest.raises(LangscapeError, match=said):
        capture_of(**given)


def test_a_map_keeps_the_order_the_labels_and_the_other_columns(held):
    found = langscape.look(held["table"], label="title", steps=50)
    assert list(found.labels) == WORDS
    assert found.items.columns["kind"].tolist() == held["columns"]["kind"]
    assert np.allclose(found.vectors, held["array"])
    wide = pa.table({f"x{at}": held["array"][:, at] for at in range(5)} | {"name": WORDS})
    again = langscape.look(wide, steps=50)
    assert np.array_equal(again.xy, found.xy)
    assert list(again.labels) == WORDS


def test_a_frame_without_an_arrow_stream_comes_by_its_interchange_protocol(held):
    plain = (
        held["table"]
        .select(["title"])
        .append_column("x", [range(6)])
        .append_column("y", [[3, 1, 4, 1, 5, 9]])
    )
    frame = type("Frame", (), {"__dataframe__": lambda self, **_: plain.__dataframe__()})()
    assert list(langscape.look(frame, steps=50).labels) == WORDS


def test_an_index_of_pandas_labels_the_rows_and_numbers_of_rows_are_no_vectors(held):
    import pandas

    frame = pandas.DataFrame(held["array"], columns=list("vwxyz"))
    assert langscape.look(frame.set_axis(WORDS), steps=50).labels == tuple(WORDS)
    assert langscape.look(frame.iloc[::-1], steps=50).vectors.shape == (6, 5)


def listed(**columns: Any) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        (listed(a=pa.array([], pa.string())), {}, "the table is empty"),
        (listed(a=["x"], e=[[1.0]]), {"vectors": "f"}, "vectors 'f' is no column; there are 'a', 'e'"),
        (listed(a=["x"], e=[[1.0]]), {"label": "b"}, "label 'b' is no column"),
        (listed(e=[[1.0], [1.0, 2.0], [1.0]]), {}, "most have 1 numbers, that of row 1 has 2"),
        (listed(e=[[1.0], None]), {}, r"lacks 1 vectors; .* df.dropna\(subset=\['e'\]\)"),
        (listed(e=[[1.0], [float("nan")]]), {}, "1 of 2 vectors hold NaN"),
        (listed(e=["[1, 2]"]), {"vectors": "e"}, r"json\.loads"),
        (listed(e=["x"], n=[1]), {}, "no vectors: no column of lists"),
        (listed(e=[[1.0]], f=[[1.0]]), {}, "2 columns of vectors; say vectors="),
        (listed(e=[[1.0], [2.0]]), {}, "2 vectors make no map"),
        (listed(e=[[1.0]] * 5), {"preplexity": 3}, "no setting 'preplexity' here; there are perplexity"),
        ({"tea": [1.0], "oslo": [1.0, 2.0]}, {}, "that of"),
        ({}, {}, "the dict is empty"),
        (np.ones((4, 3)), {"labels": ["a"]}, "1 labels for 4 vectors"),
        (np.ones(4), {}, r"shape \(4,\); expected \(items, dim\)"),
        (np.ones((4, 3), complex), {}, "complex numbers, expected numbers"),
        ({"tea": "hot"}, {}, "the vector of 'tea' holds text, expected numbers"),
        ([[1.0], [1.0, 2.0], [1.0]], {}, "most have 1 numbers, that of row 1 has 2"),
        ([], {}, "it is empty: give texts, or vectors with labels"),
        (["a", 3], {}, "it holds int and str: give a list of texts"),
        ({"a", "b"}, {}, "it holds str: give a list of texts"),
        ((one for one in "ab"), {}, r"langscape.look\(list\(x\)\)"),
        (np.array([1, None], object), {}, r"nor vectors; .* langscape.look\(df\)"),
        (weights(4, 4), {"tokens": list("abc")}, "3 tokens, but the tensors hold 4"),
        (np.full((4, 4), np.nan), {"tokens": list("abcd")}, "leave padding out, as "),
        (object(), {}, r"langscape.look\(array, labels=names\)"),
        (3, {}, "does not know objects of type int"),
        (None, {"tokens": ["a"]}, "gives this as outputs.attentions: .*output_attentions=True"),
        ((None, None), {}, r"langscape.look\(model, text, tokenizer=tokenizer\)"),
        (tokenizer(), {}, "a tokenizer goes with its model"),
        (["a lamp", "the lamp"], {}, "2 texts make no map; give at least 4"),
        (weights(2, 3, 5, 5), {"layer": 2}, "layer 2 is not there; what was given has layers 0, 1"),
        (weights(2, 3, 5, 5), {"layers": []}, "layers is empty"),
        (weights(2, 3, 5, 5), {"layres": [0]}, "no setting 'layres' here; there are layers, layer, head"),
        (weights(3, 3), {"tokens": list("abc"), "rows": "x"}, "rows 'x'"),
    ],
    ids=[str(at) for at in range(35)],
)  # fmt: skip
def test_dead_ends_name_the_way_out(given, settings, said):
    with pytest.raises(LangscapeError, match=said):
        langscape.look(given, **settings)


def test_dead_ends_of_data_frames_name_the_way_out(held):
    import pandas
    import polars
    import torch

    frame = held["df"]
    for given, said in [
        (polars.DataFrame(held["columns"]).lazy(), r"langscape.look\(frame.collect\(\)\)"),
        (frame.assign(embedding=list(torch.ones(6, 2))), r"one\.tolist\(\) for one in df\[column\]"),
        (pandas.DataFrame(held["array"], columns=list("aabbc")), r"df.columns = names"),
        (frame.iloc[:0], "the table is empty"),
        (frame.assign(embedding=[[1.0]] * 5 + [[1.0, 2.0]]), "different lengths"),
        (frame[["title"]], r"langscape.look\(list\(table\[column\]\)\)"),
        (pandas.DataFrame(held["array"]).replace(held["array"][0, 0], np.nan), r"df.dropna\(\)"),
        (frame["kind"].map({"drink": 1, "city": 2}), "neither texts nor vectors|shape"),
    ]:
        with pytest.raises(LangscapeError, match=said):
            langscape.look(given)


def test_a_column_of_vectors_is_labelled_by_its_index(held):
    found = langscape.look(held["df"].set_index("title")["embedding"], steps=20)
    assert list(found.labels) == WORDS
    assert np.allclose(found.vectors, held["array"])


def test_an_output_without_attention_says_how_to_get_it(held):
    from transformers.modeling_outputs import BaseModelOutput

    with pytest.raises(LangscapeError, match="output_attentions=True"):
        langscape.look(BaseModelOutput(last_hidden_state=held["outputs"].last_hidden_state))


def test_three_tokens_have_a_matrix_but_no_map(capsys):
    found = langscape.look(weights(3, 3), tokens=["a", "b", "c"])
    assert (found.kind, found.properties["keys"]) == ("attention", ["a", "b", "c"])
    assert "a map needs 4 tokens" in capsys.readouterr().out


def test_tokens_come_second_as_in_bertviz_and_labels_of_vectors_still_do(held, capsys):
    found = langscape.look(held["outputs"].attentions, held["tokens"], layers=[1], **QUICK)
    assert list(found.capture.tokens) == held["tokens"]
    assert {layer for layer, _ in found.maps} == {1}
    matrix = langscape.look(weights(6, 6), WORDS, **QUICK)
    assert np.array_equal(matrix.capture.attention().one(0, 0), weights(6, 6))
    assert langscape.look(held["array"], WORDS, steps=20).vectors.shape == (6, 5)
    assert langscape.look(list(held["array"]), steps=20).vectors.shape == (6, 5)
    capsys.readouterr()
    langscape.look(weights(6, 6) * 2, steps=20)
    assert capsys.readouterr().out.endswith("To see it as attention, give tokens=.\n")


def test_a_head_of_given_attentions_is_shown_by_its_own_number():
    given = weights(2, 3, 6, 6)
    found = langscape.look(given, tokens=WORDS, layer=1, head=2, **QUICK)
    assert (found.layer, found.head) == (1, 2)
    assert np.array_equal(found.capture.attention().one(1, 2), given[1, 2])
