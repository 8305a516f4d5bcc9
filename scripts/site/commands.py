"""The reference of all commands, read off the command tree: usage, arguments, options, examples."""

from __future__ import annotations

import re
from typing import Any

import typer

from langscape.cli.app import app
from langscape.cli.commands import GROUPS, command_name
from langscape.declarations import analyses


def pages() -> dict[str, str]:
    """A page for each group of commands, and a list of all of them."""
    tree = typer.main.get_command(app)
    context = typer.Context(tree, info_name="langscape")
    grouped: dict[str, list[tuple[str, Any]]] = {group: [] for group in GROUPS}
    for name in tree.list_commands(context):  # type: ignore[attr-defined]
        one = tree.get_command(context, name)  # type: ignore[attr-defined]
        grouped[group_of(name, one)].append((name, one))
    listed = [
        "# Commands",
        "",
        "Every command answers `--help`; `langscape --install-completion` lets the shell complete",
        "",
    ]
    listed[2] += " names, options and choices ([how](../../start/index.md#shell-completion))."
    written = {}
    for group, commands in grouped.items():
        listed += [f"## {GROUPS[group]}", "", "| command | what it does |", "|---|---|"]
        listed += [
            f"| [`{name}`]({group}.md#langscape-{name}) | {cell(one.help)} |" for name, one in commands
        ]
        listed += [""]
        text = [f"# {GROUPS[group]}", ""]
        for name, one in commands:
            text += described(one, f"langscape {name}", context, 2)
        written[f"commands/{group}.md"] = "\n".join(text) + "\n"
    return {"commands/index.md": "\n".join(listed) + "\n"} | written


def group_of(name: str, one: Any) -> str:
    """The group that the list of commands has it in."""
    for declared in analyses().values():
        if not declared.hidden and command_name(declared.name) == name:
            return declared.group
    return getattr(one, "rich_help_panel", None) or "look"


def described(one: Any, called: str, parent: Any, level: int) -> list[str]:
    """A command as Markdown, and those below it."""
    context = typer.Context(one, info_name=called.split()[-1], parent=parent)
    usage = " ".join([called, *one.collect_usage_pieces(context)])
    text = [f"{'#' * level} `{called}`", "", escaped(one.help or ""), "", "```text", usage, "```", ""]
    arguments = [one_ for one_ in one.params if one_.param_type_name == "argument"]
    options = [one_ for one_ in one.params if one_.param_type_name == "option" and "--help" not in one_.opts]
    if arguments:
        text += ["| argument | what it is |", "|---|---|"]
        text += [f"| `{argument.name}` | {cell(argument.help or '')} |" for argument in arguments] + [""]
    if options:
        text += ["| option | default | takes | what it does |", "|---|---|---|---|", *map(row, options), ""]
    examples = re.findall(r"^  (.+)$", one.epilog or "", re.M)
    text += ["```sh", *examples, "```", ""]
    if hasattr(one, "list_commands"):
        for name in one.list_commands(context):
            text += described(one.get_command(context, name), f"{called} {name}", context, level + 1)
    return text


def row(option: Any) -> str:
    """An option as a row of a table."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    default = option.default
    if callable(default) or default in (None, [], (), ""):
        default = "required" if option.required else ""
    elif isinstance(default, bool):
        default = (
            f"`{option.opts[0]}`"
            if default
            else (f"`{option.secondary_opts[0]}`" if option.secondary_opts else "")
        )
    else:
        default = f"`{default}`"
    return f"| {names} | {default} | {takes(option)} | {cell(option.help or '')} |"


def takes(option: Any) -> str:
    """What an option's value may be."""
    shown = re.search(r"<(.+)>", option.get_help_record(typer.Context(typer.main.get_command(app)))[0])
    if option.is_flag or shown is None:
        return ""
    if "|" in shown[1]:
        return ", ".join(f"`{one}`" for one in shown[1].split("|"))
    words = {"int": "a whole number", "float": "a number", "str": "text", "path": "a file or folder"}
    text = next((said for name, said in words.items() if name in shown[1].lower()), shown[1])
    if option.multiple:
        text += ", may be repeated"
    if option.min is not None and option.max is not None:
        return f"{text}, {option.min:g} to {option.max:g}"
    return f"{text}, at least {option.min:g}" if option.min is not None else text


def cell(text: str) -> str:
    """Text that can stand in a cell of a table."""
    return escaped(" ".join(text.split())).replace("|", "\\|")


def escaped(text: str) -> str:
    """Text whose brackets and angle brackets are no links and no elements."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\[\]<>*_])", r"\\\1", part) for part in parts)
