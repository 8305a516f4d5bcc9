"""The reference of the library, one page a part: public names, described by mkdocstrings from docstrings."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

from scripts.site.commands import cell

import langscape
from langscape.declarations import Analysis, analyses

PARTS = {
    "data": "Nouns: what analyses take and give",
    "models": "Models: open, capture, edit",
    "sources": "Sources: vectors, word lists, corpora, samples",
    "affinity": "Affinities: who is whose neighbour",
    "engine": "Engine: from affinities to places",
    "metrics": "Metrics: how far to trust a picture",
    "views": "Views: pictures as data, and the files they become",
    "store": "Store: results that last",
    "estimators": "Estimators: t-SNE in scikit-learn",
    "errors": "Errors",
}

ALSO = {"metrics": ("langscape.metrics.score.Place", "langscape.metrics.score_inputs")}
"""What whoever adds to a part needs to know beside its public names."""


def pages() -> dict[str, str]:
    """A page for each part, the analyses, and the list of what `import langscape` gives."""
    written = {f"python/{part}.md": _part(part, title) for part, title in PARTS.items()}
    return written | {"python/analyses.md": _analyses(), "python/index.md": _index()}


def _part(part: str, title: str) -> str:
    module = importlib.import_module(f"langscape.{part}")
    said = (inspect.getdoc(module) or "").split("\n\n")[0]
    text = [f"# {title}", "", f"`langscape.{part}`: {said}", ""]
    for name in public(module):
        found = getattr(module, name)
        if inspect.ismodule(found):
            text += [f"::: {found.__name__}", ""]
        elif inspect.isclass(found) or inspect.isfunction(found):
            text += [f"::: {path_of(found)}", ""]
    for path in ALSO.get(part, ()):
        text += [f"::: {path}", ""]
    return "\n".join(text)


def public(module: ModuleType) -> list[str]:
    """The names that a part offers: its `__all__`, or what it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed, key=lambda name: (name[0].islower(), name))
    return [
        name
        for name, one in vars(module).items()
        if not name.startswith("_") and getattr(one, "__module__", None) == module.__name__
    ]


def path_of(found: Any) -> str:
    """Where a class or function is defined; the anchor of its heading."""
    return f"{found.__module__}.{found.__qualname__}"


def _analyses() -> str:
    text = [
        "# Analyses",
        "",
        "One annotated function each. The same question asked from Python, the command line or the studio",
        "has one recipe and one stored result. A model is a name, a folder, a Hub id or an object that you",
        "hold; a text is a string, a `Path` or a list.",
        "",
    ]
    declared = {one.function.__name__: one for one in analyses().values() if not one.hidden}
    for name in langscape._ANALYSES:
        one = declared[name]
        command = one.name.replace("_", "-").replace(".", "-")
        text += [f"::: {path_of(one.function)}", ""]
        text += [
            *_settings(one),
            f"At the command line: [`langscape {command}`](../commands/{one.group}.md#langscape-{command}).",
            "",
        ]
    return "\n".join(text)


def _settings(one: Analysis) -> list[str]:
    rows = []
    for each in one.signature.inputs:
        rows.append(
            (each.name, "required" if each.required else "", each.annotation.kind, each.annotation.help)
        )
    for each in one.signature.settings:
        default = "required" if each.required else ("" if each.default is None else f"`{each.default!r}`")
        rows.append((each.name, default, each.expected, each.annotation.help))
    for each in one.signature.execution:
        rows.append((each.name, f"`{each.default!r}`", "how it is computed", each.annotation.help))
    text = ["| parameter | default | takes | what it does |", "|---|---|---|---|"]
    return [*text, *(f"| `{a}` | {b} | {cell(c)} | {cell(d)} |" for a, b, c, d in rows), ""]


def _index() -> str:
    text = ["# Python", "", "What `import langscape` gives. Names are loaded when they are first used.", ""]
    text += ["| name | what it is |", "|---|---|"]
    declared = {one.function.__name__: one.function for one in analyses().values() if not one.hidden}
    for name in sorted(langscape.__all__, key=str.lower):
        if name in ("__version__",):
            continue
        found = getattr(langscape, name)
        said = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
        if name in langscape._ANALYSES:
            where = f"analyses.md#{path_of(declared[name])}"
        elif inspect.ismodule(found):
            where = f"{name}.md"
        else:
            part = found.__module__.split(".")[1]
            offered = part in PARTS and name in public(importlib.import_module(f"langscape.{part}"))
            where = f"{part}.md#{path_of(found)}" if offered else ""
        shown = f"[`{name}`]({where})" if where else f"`{name}`"
        text.append(f"| {shown} | {cell(said)} |")
    return "\n".join(text) + "\n"
