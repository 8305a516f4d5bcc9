"""The OpenAPI document of the studio: what FastAPI reads off the routes, and what it cannot know.

It cannot know the bodies, which are read with limits of ours; the settings of each analysis; the parameters
of views; and the stream of events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import models_json_schema

from langscape.analyses._typed_words import insertion_parameters
from langscape.declarations import Analysis, Parameter
from langscape.declarations.validation import model_of, settings_model
from langscape.studio import bodies
from langscape.studio.forms import OFFERED, default_input
from langscape.studio.pictures import FORMATS
from langscape.studio.problem import STATUS

_REF = "#/components/schemas/{model}"
_LISTED = {"numbers": "0,5,11", "words": "tea,oslo", "vectors": "name:0.5,-1.2;other:1,2"}
_VIEWS = ("/api/jobs/{id}/views/{view}", "/api/jobs/{id}/views/{view}/{array}", "/api/jobs/{id}/export")
_DESCRIPTION = (
    "Programs send the key of `studio/PORT.key` in the store as a bearer token; the page sends the cookie "
    "and the key of its session. Everything that is refused has the shape of `ErrorBody`. In settings, null "
    "is the same as nothing."
)


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document; it says nothing of this machine or of what is in the store."""
    schema = get_openapi(
        title=app.title,
        version=app.version,
        description=_DESCRIPTION,
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    requests = {name: request_model(one) for name, one in OFFERED.items()}
    events = [bodies.Job, bodies.DeletedJob]
    models = [*requests.values(), insert_model(), bodies.TokenRequest, bodies.RenameRequest, *events]
    _, schemas = models_json_schema([(one, "validation") for one in models], ref_template=_REF)
    schema["components"]["schemas"] |= schemas["$defs"]
    schema["components"]["schemas"] |= {
        "JobRequest": _one_of("An analysis with its inputs and settings.", requests.values())
        | {
            "discriminator": {
                "propertyName": "analysis",
                "mapping": {name: _name(one) for name, one in requests.items()},
            }
        },
        "JobEvent": _one_of("What each `data:` of the stream of events holds.", events),
    }
    schema["components"]["schemas"] = dict(sorted(schema["components"]["schemas"].items()))
    schema["paths"]["/api/events"] = {"get": _events()}
    parameters = _view_parameters()
    for path in _VIEWS:
        operation = schema["paths"][path]["get"]
        operation["parameters"] += [*(_export_parameters() if path.endswith("export") else ()), *parameters]
    schema["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "The key for programs."},
        "session": {
            "type": "apiKey",
            "in": "header",
            "name": "langscape-key",
            "description": "Beside the cookie.",
        },
    }
    schema["security"] = [{"bearer": []}, {"session": []}]
    return schema


def request_model(analysis: Analysis) -> type[BaseModel]:
    """The body that runs it: its name, its inputs, and its settings by their declaration."""
    name = re.sub("[._]", "", analysis.name.title())
    settings = model_of(analysis)
    config = ConfigDict(extra="forbid")
    inputs: Any = {
        one.name: (
            str if one.required and default_input(one) is None else str | None,
            Field(
                ... if one.required and default_input(one) is None else default_input(one),
                description=one.annotation.help or one.annotation.label,
            ),
        )
        for one in analysis.signature.inputs
    }
    needed = any(one.required and default_input(one) is None for one in analysis.signature.inputs)
    taken = create_model(f"{name}Inputs", __config__=config, __doc__="Ids of inputs.", **inputs)
    body: Any = {
        "analysis": (Literal[analysis.name], ...),
        "inputs": (taken, ... if needed else {}),
        "settings": (settings, ... if any(one.required for one in analysis.signature.settings) else {}),
    }
    return create_model(f"{name}Request", __config__=config, __doc__=f"{analysis.title}.", **body)


def insert_model() -> type[BaseModel]:
    """The body that inserts words, with its settings by their declaration."""
    settings: Any = (settings_model("insertion", tuple(insertion_parameters())), {})
    return create_model("InsertionRequest", __base__=bodies.InsertionRequest, settings=settings)


def refusals(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that refuses with these codes; without codes, what any route may answer."""
    if not codes:
        return {"default": {"model": bodies.ErrorBody, "description": "Refused, or failed"}}
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], []).append(code)
    return {
        status: {"model": bodies.ErrorBody, "description": " or ".join(named).replace("_", " ").capitalize()}
        for status, named in by_status.items()
    }


def takes_json(name: str) -> dict[str, Any]:
    """A JSON body that the component of that name describes."""
    content = {"application/json": {"schema": {"$ref": _REF.format(model=name)}}}
    return {"requestBody": {"required": True, "content": content}}


def takes_file() -> dict[str, Any]:
    """A body that is a file, and what the address says of it."""
    kinds = {"type": "string", "enum": list(bodies.InputKind.__args__)}
    return {
        "parameters": [
            _query("kind", kinds, "What the file is.", required=True),
            _query("name", {"type": "string"}, "What the user calls it."),
        ],
        "requestBody": {"required": True, "content": binary("application/octet-stream")},
    }


def binary(*types: str) -> dict[str, Any]:
    """Content that is bytes of one of these media types."""
    return {one: {"schema": {"type": "string", "format": "binary"}} for one in types}


def _name(model: type[BaseModel]) -> str:
    return _REF.format(model=model.__name__)


def _one_of(description: str, models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    return {"description": description, "oneOf": [{"$ref": _name(one)} for one in models]}


def _query(name: str, schema: dict[str, Any], description: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": description}


def _export_parameters() -> list[dict[str, Any]]:
    formats = {"type": "string", "enum": [*FORMATS]}
    return [
        _query("view", {"type": "string"}, "The name of a view, as the job lists it.", required=True),
        _query("format", formats, "What it is saved as.", required=True),
    ]


def _view_parameters() -> list[dict[str, Any]]:
    """Every parameter that some view takes; a view refuses those of others."""
    found: dict[str, dict[str, Parameter]] = {}
    for analysis in OFFERED.values():
        for picture in analysis.pictures:
            for one in picture.parameters:
                found.setdefault(one.name, {})[f"{analysis.name} {picture.name}"] = one
    return [_view_parameter(name, taken) for name, taken in sorted(found.items())]


def _view_parameter(name: str, taken: dict[str, Parameter]) -> dict[str, Any]:
    schemas: list[dict[str, Any]] = []
    helps: dict[str, list[str]] = {}
    for where, one in taken.items():
        schema = _query_schema(one)
        if schema not in schemas:
            schemas.append(schema)
        helps.setdefault(one.annotation.help, []).append(where)
    text = " ".join(f"{help} (Of {', '.join(places)}.)" for help, places in helps.items())
    return _query(name, schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, text)


def _query_schema(one: Parameter) -> dict[str, Any]:
    """How a parameter stands in an address; lists are written with commas."""
    if one.type == "choice":
        return {"enum": list(one.choices)}
    if one.type in _LISTED:
        return {"type": "string", "example": _LISTED[one.type]}
    limits = {"minimum": one.annotation.ge, "maximum": one.annotation.le}
    types = {"integer": "integer", "number": "number", "flag": "boolean", "text": "string"}
    return {"type": types[one.type]} | {key: value for key, value in limits.items() if value is not None}


def _events() -> dict[str, Any]:
    schemas = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": _REF.format(model="JobEvent")},
    }
    failed = {"schema": {"$ref": _REF.format(model="ErrorBody")}}
    return {
        "operationId": "events",
        "summary": "Events",
        "description": "Jobs as they change, as server-sent events: first the live and the latest ones.",
        "responses": {
            "200": {
                "description": "Until one of both goes",
                "content": {"text/event-stream": {"schema": schemas}},
            },
            "default": {"description": "Refused, or failed", "content": {"application/json": failed}},
        },
    }
