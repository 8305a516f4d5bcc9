"""Views, arrays and files of finished jobs, next to the library's own."""

from __future__ import annotations

import csv
import io
import threading

import duckdb
import numpy as np
import psutil
import pytest
from map_settings import SHORT
from PIL import Image

from langscape import affinity, embed, read_vectors
from langscape.engine import Schedule, insert
from langscape.models import get_model
from langscape.sources import samples
from langscape.studio.forms import OFFERED
from langscape.studio.pictures import Pictures
from langscape.views.page import STATIC

TEXT = b"The old harbour lay quiet. Marta carried bread to the boats, and the boats lay still."
ATLAS = {"restarts": 2, "steps": 60, "layers": [1, 2]}


@pytest.fixture
def words(client, vectors):
    record = client.ask("words", {**SHORT, "neighbours": "perplexity"}, vectors=vectors)
    client.wait(record["id"])
    return record["id"]


@pytest.fixture
def library(few, tmp_path):
    (tmp_path / "few.txt").write_bytes(few)
    read = read_vectors(tmp_path / "few.txt")
    P = affinity.points(read.matrix, 10.0, items=read.items())
    return embed(P, schedule=Schedule(steps=60))


@pytest.fixture(scope="module")
def atlas(running):
    client = running.client
    text = client.post("/api/inputs?kind=text&name=harbour.txt", TEXT).json["id"]
    record = client.ask("atlas", ATLAS, text=text)
    return client.wait(record["id"], seconds=300)


def view_of(client, id, name, query=""):
    got = client.get(f"/api/jobs/{id}/views/{name}{query}")
    assert got.status == 200, got.body
    return got.json


def test_examples_are_drawn_before_they_are_asked_for_but_not_before_the_first_picture(words, running):
    pictures, stopped = Pictures(running.jobs), threading.Event()
    ready = threading.Thread(target=pictures.make_ready, args=([words, "words-gone"], stopped))
    ready.start()
    ready.join(1.2)
    assert ready.is_alive()  # nobody has looked at anything yet
    assert len(pictures._views._held) == 0
    pictures.view(words, "map", {"color": "local"})
    ready.join(30)
    assert not ready.is_alive()
    assert len(pictures._views._held) == 2


def test_arrays_are_immutable_and_answer_to_their_version_only(client, words):
    view = view_of(client, words, "map")
    url = view["arrays"]["xy"]["url"]
    assert "immutable" in client.get(url).headers["cache-control"]
    assert client.get(url.replace("v=", "v=0")).error["code"] == "gone"
    assert client.get(f"/api/jobs/{words}/views/map/nothing").error["code"] == "not_found"


def test_quality_is_on_the_view(client, words, library):
    shown = {one["name"]: one["brief"] for one in view_of(client, words, "map")["properties"]["quality"]}
    assert shown["kl"] == f"{library.kl:.3f}"
    assert shown["local"].startswith(f"{100 * library.quality['local']:.1f} % (")


@pytest.mark.parametrize("format", ["svg", "pdf", "png", "csv", "parquet"])
def test_a_map_is_saved_in_every_format_and_can_be_read(client, words, library, tmp_path, format):
    got = client.get(f"/api/jobs/{words}/export?view=map&format={format}")
    assert got.status == 200, got.body
    assert got.headers["content-disposition"].startswith("attachment; filename=")
    if format == "png":
        assert min(Image.open(io.BytesIO(got.body)).size) > 500
    elif format in ("svg", "pdf"):
        assert got.body.lstrip()[:5] in (b"<?xml", b"%PDF-")
    else:
        if format == "csv":
            rows = list(csv.DictReader(io.StringIO(got.body.decode())))
        else:
            path = tmp_path / "map.parquet"
            path.write_bytes(got.body)
            table = duckdb.sql(f"select * from read_parquet('{path}')")
            rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
        assert [row["label"] for row in rows] == list(library.labels)
        xy = np.array([[float(row["x"]), float(row["y"])] for row in rows], np.float32)
        assert xy.tobytes() == np.asarray(library.xy, np.float32).tobytes()
        assert np.allclose([float(row["local"]) for row in rows], library.per_point["local"])


def test_a_page_of_its_own_is_saved_where_the_page_is_built(client, words):
    got = client.get(f"/api/jobs/{words}/export?view=map&format=html")
    if (STATIC / "page.js").exists():
        assert got.status == 200
        assert b"Content-Security-Policy" in got.body
        assert b"http://" not in got.body.split(b"<script>")[0].replace(b"http://www.w3.org", b"")
    else:
        assert (got.status, got.error["code"]) == (424, "missing")
        assert "make page" in got.error["hint"]


def test_labels_that_utf8_cannot_hold_reach_the_page_as_they_are(client, few):
    """Vector files cut a letter in two now and then; such a word is shown, and breaks nothing."""
    rows = few.split(b"\n")
    rows[1] = b"caf\xc3 " + rows[1].split(b" ", 1)[1]
    given = client.post("/api/inputs?kind=vectors&name=cut.txt", b"\n".join(rows)).json["id"]
    id = client.wait(client.ask("words", {**SHORT, "neighbours": "perplexity"}, vectors=given)["id"])["id"]
    view = view_of(client, id, "map")
    assert view["properties"]["labels"][0].startswith("caf")
    assert client.get(f"/api/jobs/{id}/export?view=map&format=csv").status == 200


def test_what_cannot_be_drawn_is_refused_by_name(client, words):
    for path, said in (
        ("export?view=map&format=exe", "exe"),
        ("export?view=grid&format=svg", "grid"),
        ("views/map?quantiles=-1", "-1"),
        ("views/map?quantiles=NaN", "NaN"),
        ("views/map?color=nothing", "nothing"),
        ("views/map?more=1", "more"),
    ):
        got = client.get(f"/api/jobs/{words}/{path}")
        assert got.status == 422, path
        assert said in got.error["message"]


def test_inserted_words_lie_where_the_library_puts_them_and_the_old_do_not_move(client, vectors, library):
    sample = client.ask("words", {**SHORT, "limit": 300}, vectors="sample-words")
    client.wait(sample["id"])
    asked = {"job": sample["id"], "words": ["harbor", "bread", "the", "breadd", "bread"]}
    got = client.post("/api/insert", asked).json
    view = view_of(client, sample["id"], "map", "?insert=bread,harbor")
    xy = client.arrays(view)["xy"]
    before = client.arrays(view_of(client, sample["id"], "map"))["xy"]
    assert xy[:300].tobytes() == before.tobytes()
    assert view["properties"]["labels"][300:] == ["bread", "harbor"]
    placed = {one["word"]: one for one in got["words"]}
    assert np.allclose(placed["bread"]["xy"], xy[300], atol=1e-5)
    assert [one["word"] for one in got["known"]] == ["the"]
    assert got["missing"][0]["word"] == "breadd"
    assert "bread" in got["missing"][0]["like"]
    everything = samples.words()
    near = placed["bread"]["nearest"]
    row = everything.words.index("bread")
    unit = everything.matrix / np.linalg.norm(everything.matrix, axis=1, keepdims=True)
    similar = unit[:300] @ unit[row]
    assert near[0]["row"] == int(similar.argmax())
    assert near[0]["similarity"] == pytest.approx(similar.max(), abs=1e-3)


def test_a_vector_of_ones_own_is_inserted_and_one_like_nothing_is_warned_of(client, words, library, few):
    base = library
    assert base.vectors is not None
    vector = (base.vectors[3] * 2).tolist()
    got = client.post("/api/insert", {"job": words, "name": "mine", "vector": vector}).json["words"][0]
    assert got["nearest"][0]["word"] == base.labels[3]
    assert np.allclose(got["xy"], insert(base, [vector]).xy[-1], atol=1e-5)
    said = ",".join(f"{one:.6g}" for one in vector)
    view = view_of(client, words, "map", f"?vectors=mine:{said}")
    assert view["properties"]["labels"] == [*base.labels, "mine"]
    assert np.allclose(client.arrays(view)["xy"][-1], got["xy"], atol=1e-3)
    odd = client.post("/api/insert", {"job": words, "name": "odd", "vector": (-base.vectors[3]).tolist()})
    assert odd.json["words"][0]["dissimilar"]
    assert odd.json["words"][0]["verdict"] == "not to be read"
    assert "unlike everything on the map" in odd.json["words"][0]["reason"]
    # the line, the ring of the picture and the column of its table say the same
    assert odd.json["trust"].startswith("not to be read, local")
    assert "chance" not in odd.json["trust"]
    said = ",".join(f"{-one:.6g}" for one in base.vectors[3])
    view = view_of(client, words, "map", f"?vectors=odd:{said}")
    arrays = client.arrays(view)
    assert arrays["rings"][-1] == 2
    verdict = next(one for one in view["properties"]["columns"] if one["name"] == "verdict")
    assert verdict["categories"][arrays[verdict["array"]][-1]] == "not to be read"


@pytest.mark.parametrize(
    "more",
    [
        {"words": []}, {"words": "tea"}, {"words": [3]}, {"words": ["x" * 201]}, {"vector": [1, 2]},
        {"vector": [0.0] * 100}, {"vector": ["a"] * 100}, {"words": ["tea"], "settings": {"neighbours": 0}},
        {"words": ["tea"], "settings": {"theta": 2}}, {"words": ["tea"], "settings": []}, {},
    ],
)  # fmt: skip
def test_insertions_that_make_no_sense_are_refused(client, words, more):
    assert client.post("/api/insert", {"job": words, **more}).status == 422


@pytest.mark.parametrize(
    ("given", "why"), [("mine:1,2", "has 2 numbers"), ("mine", "expected"), ("a:b", "expected")]
)
def test_vectors_that_cannot_be_placed_are_refused_with_the_reason(client, words, given, why):
    got = client.get(f"/api/jobs/{words}/views/map?vectors={given}")
    assert got.status == 422
    assert why in got.error["message"]


@pytest.mark.slow
def test_a_heads_views_are_the_librarys_own(client, atlas, held):
    entry = held.entry(atlas["digest"])
    assert entry.recipe["step"] == "atlas"
    made = held.load(entry)
    grid = view_of(client, atlas["id"], "grid")
    arrays = client.arrays(grid)
    whole = made.view().arrays
    assert {name for name in arrays if name.startswith("attention")} == set(grid["properties"]["later"])
    assert len(grid["properties"]["later"]) == 24
    for name, array in whole.items():
        assert arrays[name].tobytes() == np.ascontiguousarray(array).tobytes(), name
    head = client.arrays(view_of(client, atlas["id"], "head", "?layer=1&head=3"))
    assert head["xy"].tobytes() == np.asarray(made.maps[1, 3].xy, np.float32).tobytes()
    weights = client.arrays(view_of(client, atlas["id"], "attention", "?layer=2&head=5"))["attention"]
    assert weights.tobytes() == made.capture["attention"][1, 5].astype(np.float32).tobytes()
    strips = client.arrays(view_of(client, atlas["id"], "max_attention", "?layers=2"))
    assert np.array_equal(strips["maximum"][0], made.capture["attention"][1].max(axis=1))


@pytest.mark.slow
def test_only_what_is_looked_at_is_sent(client, atlas):
    """The grid's own JSON and arrays hold no attention; each head's is fetched apart."""
    grid = view_of(client, atlas["id"], "grid")
    later = set(grid["properties"]["later"])
    now = [one["url"] for name, one in grid["arrays"].items() if name not in later]
    sent = sum(len(client.get(url).body) for url in now)
    tokens = len(grid["properties"]["tokens"])
    assert sent < 24 * tokens * tokens


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "columns", "rows"),
    [
        ("grid", ["layer", "head"], lambda n: 24),
        ("attention&layer=1&head=0", ["query_position", "query", "key_position", "key"], lambda n: n * n),
        ("max_attention", ["layer", "head", "position", "token", "maximum", "mean"], lambda n: 24 * n),
    ],
)  # fmt: skip
def test_every_room_saves_its_table(client, atlas, view, columns, rows):
    tokens = len(view_of(client, atlas["id"], "grid")["properties"]["tokens"])
    got = client.get(f"/api/jobs/{atlas['id']}/export?view={view}&format=csv")
    table = list(csv.DictReader(io.StringIO(got.body.decode())))
    assert list(table[0])[: len(columns)] == columns
    assert len(table) == rows(tokens)


@pytest.mark.slow
def test_a_text_too_long_and_a_model_that_is_not_there_say_so(client):
    text = client.post("/api/inputs?kind=text&name=long.txt", b"word " * 3000).json["id"]
    failed = client.wait(
        client.ask("atlas", {**ATLAS, "cut": False}, text=text)["id"], "failed", "done", seconds=300
    )
    assert failed["error"]["code"] == "bad_input"
    lost = {
        "analysis": "atlas",
        "settings": {**ATLAS, "model": "./nowhere"},
        "inputs": {"text": "sample-harbour"},
    }
    refused = client.post("/api/jobs", lost)
    assert refused.status == 422
    assert "nowhere" in refused.error["message"]


ASKED = {
    "head": {"layer": 1, "head": 2, "restarts": 3, "steps": 60},
    "heads": {"most": 12},
    "max_attention": {},
    "texts": {"perplexity": 5, "restarts": 1},
    "hidden": {"layer": 1, "restarts": 2, "steps": 60, "perplexity": 5},
    "query_key": {"layer": 1, "head": 2, "steps": 60, "perplexity": 5, "choose": "norms"},
    "query_key.grid": {"steps": 60, "perplexity": 5},
    "query_key.scale": {"percentile": 20},
    "query_key.constants": {"layer": 1, "head": 2, "steps": 60, "perplexity": 5, "percentile": 20},
    "query_key.beside": {"layer": 1, "head": 2, "steps": 60, "perplexity": 5},
    "query_key.search": {"find": ["next word"]},
    "gaussians": {"most": 4, "contexts": 2},
    "ellipses": {"most": 20, "contexts": 5, "perplexity": 4},
    "flow": {},
    "compare_kl": {"runs": 2, "layers": [1], "heads": [2], "steps": 60, "perplexity": 5},
    "robustness": {"repeats": 2, "layers": [1], "heads": [2], "steps": 60, "perplexity": 5},
    "compare": {"what": "head", "layer": 1, "head": 2, "other_head": 3, "restarts": 2, "steps": 60},
    "effects": {"verify": 3, "first_tokens": 16},
    "why": {"model": "default", "layer": 2, "head": 1, "first_tokens": 16},
    "edit": {"model": "default", "edits": ["head 2.5 mean"], "first_tokens": 16},
    "patch": {"of": "mlp"},
    "edges": {"model": "default", "layer": 2, "head": 1, "verify": 3, "random": 3, "first_tokens": 16},
    "roles": {"model": "default", "heads": 2, "others": 5, "first_tokens": 16},
    "chunks": {"model": "default", "by": "sentences"},
    "probe": {"model": "lstm-tiny", "most": 120, "words": 800, "tagger": "none"},
    "generate": {"model": "lstm-tiny", "prompt": "the small dog", "other": "the small dogs"},
}
"""Small settings of every ask that needs a model."""

PROMPTS = {
    "chunks": {"text": b"The lamp hung over the door. Anna saw the boat. The boat came in. Anna was glad."},
    "roles": {"text": b"The cat sat on the mat, and the dog sat by the cat. The cat saw the dog."},
    "patch": {"clean": b"The capital of France is", "corrupt": b"The capital of Italy is"},
    "query_key.search": {"text": b"The boats lay in the harbour. Anna saw the boats, and he saw her. " * 5},
}
"""What is read instead of a text."""


def test_every_ask_with_a_model_is_asked_here():
    assert set(ASKED) == set(OFFERED) - {"atlas", "insert", "insert_texts", "words"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_every_view_of_every_ask_is_drawn_sent_and_saved(client, name):
    if name == "patch":
        get_model("decoder")
    taken = {one.name for one in OFFERED[name].signature.inputs}
    texts = PROMPTS.get(name, {"text": TEXT})
    inputs = {
        one: client.post(f"/api/inputs?kind=text&name={one}.txt", texts[one]).json["id"]
        for one in taken & set(texts)
    }
    record = client.wait(client.ask(name, ASKED[name], **inputs)["id"], seconds=300)
    for picture in OFFERED[name].pictures:
        which = "layer=1&head=2" if name == "edit" and picture.kind == "attention" else ""
        view = view_of(client, record["id"], picture.name, which and f"?{which}")
        assert view["kind"] == picture.kind
        for key, array in client.arrays(view).items():
            assert list(array.shape) == view["arrays"][key]["shape"]
        for format in ("svg", "csv") if picture is OFFERED[name].pictures[0] else ("csv",):
            asked = f"view={picture.name}&format={format}&{which}".rstrip("&")
            got = client.get(f"/api/jobs/{record['id']}/export?{asked}")
            assert got.status == 200, got.body
            assert len(got.body) > 200


@pytest.mark.slow
def test_the_places_and_the_kl_of_every_restart_come_with_a_head(client, held):
    text = client.post("/api/inputs?kind=text&name=harbour.txt", TEXT).json["id"]
    record = client.wait(client.ask("head", ASKED["head"], text=text)["id"], seconds=300)
    view = view_of(client, record["id"], "head")
    assert view["properties"]["later"] == ["restarts"]
    arrays = client.arrays(view)
    kls = view["properties"]["kls"]
    assert arrays["restarts"].shape == (3, *arrays["xy"].shape)
    assert np.allclose(arrays["restarts"][int(np.argmin(kls))], arrays["xy"], atol=1e-3)


@pytest.mark.slow
def test_a_table_becomes_distributions(client):
    rows = "\n".join(f"p{i // 5},{i % 7},{i * i % 11}" for i in range(60))
    table = client.post("/api/inputs?kind=table&name=t.csv", f"who,a,b\n{rows}\n".encode()).json
    assert set(table["summary"]["columns"]) == {"who", "a", "b"}
    record = client.ask("ellipses", {"by": "who", "method": "pca"}, table=table["id"])
    client.wait(record["id"])
    view = view_of(client, record["id"], "map")
    assert sorted(view["properties"]["labels"]) == sorted(f"p{i}" for i in range(12))
    refused = client.post("/api/jobs", {"analysis": "ellipses", "inputs": {"table": table["id"]}})
    assert "by" in refused.error["message"]


@pytest.mark.slow
def test_the_server_itself_never_opens_a_model(start_apart):
    """Models live in the workers: what answers the page stays small and quick."""
    one = start_apart()
    text = one.client.post("/api/inputs?kind=text&name=harbour.txt", TEXT).json["id"]
    record = one.client.wait(one.client.ask("head", ASKED["head"], text=text)["id"], seconds=300)
    assert one.client.get(f"/api/jobs/{record['id']}/views/attention").status == 200
    held = [one.path for one in psutil.Process(one.process.pid).memory_maps()]
    assert not [path for path in held if "torch" in path]
