"""The reference of the studio's HTTP interface, read off its OpenAPI document."""

from __future__ import annotations

from typing import Any

from scripts.site.commands import cell, escaped

from langscape.studio.app import application
from langscape.studio.events import Events


def pages() -> dict[str, str]:
    """One page with every endpoint and every body."""
    document = application({"events": Events(list)}, lambda trouble: trouble).openapi()
    text = [
        "# HTTP interface of the studio",
        "",
        "The studio's page talks to its server by these endpoints, and so can a script. The server",
        "listens on 127.0.0.1 alone. Every request carries the header `langscape-key`, whose value the page",
        "keeps after it was opened with the address that `langscape studio` prints;",
        "[security](../project/security.md) says why. The types of the page are generated from the same",
        "document.",
        "",
    ]
    for path, methods in sorted(document["paths"].items()):
        for method, one in methods.items():
            text += endpoint(path, method, one)
    text += ["# Bodies", ""]
    for name, one in sorted(document.get("components", {}).get("schemas", {}).items()):
        text += body(name, one)
    return {"http.md": "\n".join(text).replace("\n# Bodies", "\n## Bodies") + "\n"}


def endpoint(path: str, method: str, one: dict[str, Any]) -> list[str]:
    """An endpoint as Markdown."""
    text = [f"## `{method.upper()} {path}`", ""]
    said = one.get("description") or one.get("summary") or ""
    text += [escaped(said), ""] if said else []
    given = one.get("parameters", [])
    if given:
        text += ["| parameter | in | type | required |", "|---|---|---|---|"]
        text += [
            f"| `{one['name']}` | {one['in']} | {kind(one.get('schema', {}))} | {yes(one.get('required'))} |"
            for one in given
        ]
        text += [""]
    taken = one.get("requestBody", {}).get("content", {})
    for media, content in taken.items():
        text += [f"Takes {kind(content.get('schema', {}))} as `{media}`.", ""]
    for status, answer in one.get("responses", {}).items():
        kinds = [kind(content.get("schema", {})) for content in answer.get("content", {}).values()]
        shown = ", ".join(sorted({each for each in kinds if each}))
        text += [f"- `{status}`: {cell(answer.get('description', ''))}" + (f" ({shown})" if shown else "")]
    return [*text, ""]


def body(name: str, one: dict[str, Any]) -> list[str]:
    """A body as Markdown."""
    text = [f"### {name} {{ #body-{name.lower()} }}", ""]
    if one.get("description"):
        text += [escaped(one["description"].split("\n\n")[0].replace("\n", " ")), ""]
    fields = one.get("properties", {})
    if fields:
        needed = one.get("required", [])
        text += ["| field | type | required |", "|---|---|---|"]
        text += [f"| `{key}` | {kind(each)} | {yes(key in needed)} |" for key, each in fields.items()] + [""]
    elif "enum" in one:
        text += ["One of " + ", ".join(f"`{each}`" for each in one["enum"]) + ".", ""]
    return text


def yes(needed: object) -> str:
    """What a cell says of something that must be there."""
    return "yes" if needed else ""


def kind(schema: dict[str, Any]) -> str:
    """A type in words, linked where it is a body."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#body-{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[key]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {})) or 'anything'}"
    return str(schema.get("type", ""))
