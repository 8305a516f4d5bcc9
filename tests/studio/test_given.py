"""Inputs and asks: what is taken, what is refused and how, what the page is told."""

from __future__ import annotations

import json

import pytest
from map_settings import SHORT

from langscape.data import Items, Map
from langscape.studio.forms import OFFERED
from langscape.studio.inputs import KINDS, clean_name
from langscape.views.kinds import KINDS as VIEWS


def give(client, kind, body, name="file"):
    return client.post(f"/api/inputs?kind={kind}&name={name}", body)


def test_the_same_bytes_are_the_same_input(client):
    first, again = (give(client, "text", b"Some words.", name) for name in ("a.txt", "b.txt"))
    assert first.status == 201
    assert first.json["id"] == again.json["id"]
    assert first.json["summary"] == {"characters": 11, "words": 2}
    assert client.get(f"/api/inputs/{first.json['id']}/text").json == {"text": "Some words."}
    listed = client.get("/api/inputs").json["inputs"]
    assert [one["name"] for one in listed if one["id"] == first.json["id"]] == ["b.txt"]
    assert "sha256" not in json.dumps(listed)
    assert client.send("DELETE", f"/api/inputs/{first.json['id']}").status == 204
    assert client.get(f"/api/inputs/{first.json['id']}/text").status == 404


def test_a_list_with_groups_is_read_as_the_library_reads_it_whatever_its_ending(client):
    got = give(client, "words", b'group,word\ndrinks,"tea, green"\ncapitals,oslo\n', "list.csv").json
    assert got["summary"] == {"words": 2, "groups": 2}
    text = client.get(f"/api/inputs/{got['id']}/text").json["text"]
    assert text == "word\tgroup\ntea, green\tdrinks\noslo\tcapitals\n"


def test_a_map_file_is_taken(client, tmp_path):
    path = Map([[0.0, 1.0], [2.0, 3.0]], Items(["tea", "oslo"], {"group": ["a", "b"]})).save(
        tmp_path / "m.parquet"
    )
    assert give(client, "map", path.read_bytes()).json["summary"]["items"] == 2


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text", b"", 422), ("text", b"  \n ", 422), ("text", b"\xff\xfe\x00", 422), ("text", b"a\x00b", 422),
        ("text", b"a" * 200_001, 413), ("words", b"\n\n", 422), ("vectors", b"nothing here", 422),
        ("vectors", b"\x80\x04pickle", 422), ("map", b"PAR1", 422), ("table", b"\x00\x01", 422),
        ("gaussians", b"junk" * 9, 422), ("corpus", b"\x00", 422), ("nonsense", b"x", 422), ("", b"x", 422),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_users_name_for_it(client, kind, body, status):
    got = give(client, kind, body, "mine.txt")
    assert got.status == status
    assert "aside" not in got.error["message"]
    assert "Traceback" not in got.error["message"]


def test_nothing_of_a_refused_input_stays(client, held):
    give(client, "text", b"a" * 200_001)
    assert list((held.root / "aside").iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"perplexity": "many"}, "many"), ({"perplexity": 0}, "0"), ({"steps": 1.5}, "1.5"),
        ({"steps": True}, "True"), ({"neighbours": 1}, "1"), ({"metric": "l3"}, "l3"), ({"seed": -1}, "-1"),
        ({"steps": 10**9}, "1000000000"), ({"nonsense": 1}, "nonsense"), ([], "[]"), ({"dims": 5}, "5"),
        ({"landmarks": 20, "limit": 10}, "limit"),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused_before_anything_runs(client, settings, said):
    got = client.post("/api/jobs", {"analysis": "words", "settings": settings})
    assert got.status == 422
    assert said in got.error["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"analysis": "nothing"}, 422), ({"analysis": 3}, 422), ({}, 422),
        ({"analysis": "words", "inputs": []}, 400),
        ({"analysis": "words", "inputs": {"more": "x"}}, 422),
        ({"analysis": "words", "inputs": {"vectors": "in-0"}}, 404),
        ({"analysis": "words", "inputs": {"vectors": "../../etc/passwd"}}, 404),
        ({"analysis": "words", "inputs": {"vectors": "sample-harbour"}}, 422),
        ({"analysis": "words", "inputs": {"vectors": {"a": 1}}}, 422),
        ({"analysis": "words", "settings": {"perplexity": 10**400}}, 422),
        ({"analysis": "words", "settings": {"seed": 10**400}}, 422),
    ],
)  # fmt: skip
def test_asks_that_make_no_sense_are_refused(client, body, status):
    got = client.post("/api/jobs", body)
    assert got.status == status
    assert got.error["message"]


@pytest.mark.parametrize(
    "pipeline",
    ["/tmp/pipeline", "../pipeline", "./en_mine", "blank:en", "os", "en_core\\x", "en_core.x", "en_x\n"],
)
def test_a_pipeline_is_named_and_never_a_path_or_a_module(client, pipeline):
    asked = {"tagger": "spacy", "pipeline": pipeline, "layer": 0, "head": 0}
    got = client.post("/api/jobs", {"analysis": "query_key", "settings": asked})
    assert got.status == 422
    assert "expected a name like de_core_news_sm" in got.error["message"]


def test_landmarks_carry_the_map_and_the_rest_is_inserted(client, vectors):
    record = client.ask("words", {**SHORT, "landmarks": 40, "neighbours": "perplexity"}, vectors=vectors)
    client.wait(record["id"])
    view = client.get(f"/api/jobs/{record['id']}/views/map").json
    assert len(view["properties"]["labels"]) == 80
    inserted = next(one for one in view["properties"]["columns"] if one["name"] == "inserted")
    codes = client.arrays(view)[inserted["array"]]
    assert [inserted["categories"][code] for code in codes].count("yes") == 40


def test_the_page_is_told_everything_it_needs(client):
    about = client.get("/api/about").json
    assert set(about["analyses"]) == set(OFFERED)
    assert {"default", "decoder"} <= {model["name"] for model in about["models"]}
    assert {text["id"] for text in about["texts"]} >= {"sample-harbour", "sample-pattern"}
    assert set(about["limits"]["bytes"]) == set(KINDS)
    for ask in about["analyses"].values():
        for setting in ask["settings"]:
            assert setting["help"], setting["name"]
            assert setting["label"]
        for wanted in ask["inputs"]:
            assert wanted["kind"] in KINDS
        for view in ask["views"]:
            assert view["kind"] in VIEWS


def test_names_lose_folders_and_what_cannot_be_seen():
    assert clean_name("../../etc/pass\x00wd") == "passwd"
    assert clean_name("C:\\x\\my\u202etxt.exe") == "mytxt.exe"
    assert len(clean_name("a" * 500)) == 120


def test_every_ask_has_its_paragraph_in_the_documentation(pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "studio.md").read_text(encoding="utf-8")
    for name, ask in OFFERED.items():
        assert f"`{name}`" in text
        for picture in ask.pictures:
            assert f"`{picture.name}`" in text, picture.name


def test_packaged_corpora_that_are_here_can_be_chosen(tmp_path, monkeypatch):
    from langscape.studio.capabilities import capabilities
    from langscape.studio.inputs import samples

    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path))
    assert [one["id"] for one in capabilities({}, 1)["corpora"]] == ["sample-corpus"]
    folder = tmp_path / "corpora" / "austen"
    folder.mkdir(parents=True)
    told = capabilities({}, 1)["corpora"]
    assert told[1:] == [{"id": "sample-corpus-austen", "name": "Jane Austen's six novels"}]
    chosen = samples()["sample-corpus-austen"]
    assert (chosen.kind, chosen.path) == ("corpus", folder)


def test_tokens_are_counted_before_anything_is_computed(client):
    found = client.post("/api/tokens", json.dumps({"model": "default", "text": "The ☃ boat."}).encode())
    assert found.status == 200
    assert (found.json["tokens"], found.json["most"], found.json["unknown"]) == (4, 510, ["☃"])
    long = client.post("/api/tokens", json.dumps({"model": "default", "text": "a" * 200_001}).encode())
    assert (long.status, long.error["code"]) == (413, "too_large")
    elsewhere = client.post("/api/tokens", json.dumps({"model": "/etc", "text": "a"}).encode())
    assert "cannot be counted beforehand" in elsewhere.error["message"]
    torn = client.post("/api/tokens", json.dumps({"model": "default", "text": 3}).encode())
    assert torn.error["message"] == "text is 3; expected a text"


def test_a_text_and_its_job_are_renamed_and_an_empty_name_is_the_usual_one(client):
    text = give(client, "text", b"A cat sat on a mat, and a dog lay there too.", "cat.txt").json["id"]
    job = client.ask("atlas", {"restarts": 1, "steps": 20}, text=text)
    client.post(f"/api/jobs/{job['id']}/cancel")
    assert client.post(f"/api/inputs/{text}/name", {"name": "My \x07cat"}).json["name"] == "My cat"
    assert client.get(f"/api/jobs/{job['id']}").json["title"].endswith("My cat")
    renamed = client.post(f"/api/jobs/{job['id']}/name", {"name": "For the talk"}).json
    assert (renamed["title"], renamed["inputs"]["text"]["name"]) == ("For the talk", "My cat")
    client.post(f"/api/inputs/{text}/name", {"name": "Cats"})
    assert client.get(f"/api/jobs/{job['id']}").json["title"] == "For the talk"
    assert client.post(f"/api/jobs/{job['id']}/name", {"name": " "}).json["title"].endswith("Cats")
    assert client.post(f"/api/inputs/{text}/name", {"name": ""}).error["code"] == "bad_input"
    assert client.post("/api/inputs/in-none/name", {"name": "x"}).status == 404
    assert client.post(f"/api/jobs/{job['id']}/name", {"name": "x" * 201}).status == 422
    client.send("DELETE", f"/api/jobs/{job['id']}")


def test_a_model_that_is_here_is_ready_and_an_unknown_one_is_not_found(client):
    assert client.get("/api/models/default").json["state"] == "ready"
    assert client.post("/api/models/default/fetch").json["state"] == "ready"
    assert client.get("/api/models/nonsense").status == 404
    assert client.post("/api/models/nonsense/fetch").error["code"] == "not_found"
