"""The OpenAPI document: every route, parameter, body and answer, and the settings of each ask."""

from __future__ import annotations

import json
import re

import pytest
from pydantic import ValidationError
from starlette.routing import Route

from langscape.declarations import analyses
from langscape.studio import bodies
from langscape.studio.app import application
from langscape.studio.events import Events
from langscape.studio.forms import OFFERED, form_of
from langscape.studio.inputs import KINDS
from langscape.studio.openapi import request_model
from langscape.studio.pictures import FORMATS
from langscape.studio.problem import STATUS

APP = application({"events": Events(list)}, lambda problem: problem)
SAID = APP.openapi()
SCHEMAS = SAID["components"]["schemas"]


def operations():
    return [(path, method, one) for path, held in SAID["paths"].items() for method, one in held.items()]


def test_every_route_below_api_is_in_it():
    here = {
        (route.path, method.lower())
        for route in APP.routes
        if isinstance(route, Route) and route.path.startswith("/api/") and route.path != "/api/openapi.json"
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert {(path, method) for path, method, _ in operations()} == here


def test_the_studio_serves_what_the_script_writes(client):
    assert client.get("/api/openapi.json").json == json.loads(json.dumps(SAID))


@pytest.mark.parametrize(("path", "method", "said"), operations(), ids=lambda one: str(one)[:60])
def test_every_operation_says_its_parameters_body_answer_and_errors(path, method, said):
    named = {one["name"] for one in said.get("parameters", []) if one["in"] == "path"}
    assert named == set(re.findall(r"{(\w+)}", path))
    assert all(one["description"] for one in said.get("parameters", []))
    assert ("requestBody" in said) == (method == "post" and not path.endswith(("cancel", "fetch", "look")))
    assert said["description"]
    good = [one for status, one in said["responses"].items() if status.startswith("2")]
    assert good
    assert all(one.get("content") for one in good) == (method != "delete")
    failed = said["responses"]["default"]["content"]["application/json"]["schema"]
    assert failed == {"$ref": "#/components/schemas/ErrorBody"}
    assert SCHEMAS["ErrorDetail"]["properties"]["code"]["enum"] == list(STATUS)


def test_every_reference_leads_to_a_schema():
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(SAID)))
    assert named <= set(SCHEMAS)
    assert not {"HTTPValidationError", "ValidationError"} & set(SCHEMAS)


@pytest.mark.parametrize("name", OFFERED)
def test_every_ask_has_a_body_with_its_settings_and_inputs(name):
    reference = SCHEMAS["JobRequest"]["discriminator"]["mapping"][name]
    assert {"$ref": reference} in SCHEMAS["JobRequest"]["oneOf"]
    body = SCHEMAS[reference.rpartition("/")[2]]
    assert body["properties"]["analysis"]["const"] == name
    form = form_of(OFFERED[name])
    for part in ("settings", "inputs"):
        held = SCHEMAS[body["properties"][part]["$ref"].rpartition("/")[2]]
        assert list(held.get("properties", {})) == [one["name"] for one in form[part]]
        assert held["additionalProperties"] is False
        for one in form[part]:
            assert (one["name"] in held.get("required", [])) == one["required"]


def test_a_declared_analysis_brings_the_limits_of_its_settings():
    for name, declared in analyses().items():
        for one in declared.signature.settings if name in OFFERED else ():
            held = request_model(OFFERED[name]).model_json_schema()["$defs"]
            (settings,) = [value for key, value in held.items() if key.endswith("Settings")]
            said = settings["properties"][one.name]
            of = next((part for part in said.get("anyOf", []) if part.get("type") != "null"), said)
            if one.type in ("integer", "number"):
                assert (of.get("minimum"), of.get("maximum")) == (one.annotation.ge, one.annotation.le), (
                    one.name
                )
            if one.type == "choice":
                assert of.get("enum", [of.get("const")]) == list(one.choices)


def test_every_parameter_of_a_view_is_one_of_the_address():
    wanted = {one.name for ask in OFFERED.values() for picture in ask.pictures for one in picture.parameters}
    for path in ("views/{view}", "views/{view}/{array}", "export"):
        held = SAID["paths"][f"/api/jobs/{{id}}/{path}"]["get"]["parameters"]
        queries = {one["name"] for one in held if one["in"] == "query"}
        assert queries == wanted | ({"view", "format"} if path == "export" else set())
    content = SAID["paths"]["/api/jobs/{id}/export"]["get"]["responses"]["200"]["content"]
    assert set(content) == set(FORMATS.values())


def test_the_kinds_of_inputs_are_those_that_are_taken():
    given = SAID["paths"]["/api/inputs"]["post"]["parameters"]
    assert next(one for one in given if one["name"] == "kind")["schema"]["enum"] == list(KINDS)


@pytest.mark.parametrize(
    ("model", "body", "code"),
    [
        (bodies.JobRequest, [1], "the request is list; expected an object with names"),
        (
            bodies.JobRequest,
            {"analysis": "head", "more": 1},
            "it may have analysis, inputs, settings",
        ),
        (bodies.JobRequest, {"analysis": 3}, "there is no analysis '3'"),
        (bodies.JobRequest, {"analysis": "head", "inputs": []}, "inputs are not an object of names with ids"),
        (bodies.InsertionRequest, {"words": ["a"]}, "job is missing; expected the id of a map of words"),
        (bodies.InsertionRequest, {"job": "x", "words": []}, "words are no list of 1 to 2,000"),
        (
            bodies.InsertionRequest,
            {"job": "x", "words": ["a", 1]},
            "a word is no text of 1 to 200 characters",
        ),
        (bodies.InsertionRequest, {"job": "x", "name": ""}, "name is not a text of 1 to 200 characters"),
    ],
)
def test_a_body_that_is_refused_is_refused_in_our_words(model, body, code):
    with pytest.raises(Exception, match=re.escape(code)) as caught:
        bodies.read_body(model, body)
    assert not isinstance(caught.value, ValidationError)
