"""A declared analysis as a command: options in the order of the signature, and nothing said twice."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from langscape.declarations.declaration import (
    Analysis,
    ExecutionParameter,
    InputParameter,
    Parameter,
    analyses,
    find_analysis,
    modules,
    of_module,
    read_signature,
    registered,
)
from langscape.errors import Cancelled, SettingsError

Out = list[Path]

GROUPS = {
    "look": "Look at a model, words or texts",
    "measure": "Measure and test",
    "train": "Train a model",
    "keep": "Keep models, corpora and results",
}
"""What the list of commands is headed with, by `declaration.Group`."""


class CommandTree(TyperGroup):
    """The commands written in this package, and one for every analysis.

    An analysis is imported when its command is called: the list of commands is read off their sources.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command by name, those of analyses after the others."""
        return [*super().list_commands(ctx), *_modules()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name."""
        found = super().get_command(ctx, cmd_name)
        return found if found is not None else analysis_command(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, by what they are for."""
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for name, one in self.commands.items():
            if not one.hidden:
                rows[getattr(one, "rich_help_panel", None) or "look"].append(
                    (name, one.get_short_help_str(200))
                )
        for name, module in _modules().items():
            group, sentence = _listed(module)
            rows[group].append((name, sentence))
        for group, listed in rows.items():
            with formatter.section(GROUPS[group]):
                formatter.write_dl(listed)


def analysis_command(name: str) -> Any:
    """The command of an analysis, by its name or an alias; None where there is none."""
    module = _modules().get(name)
    known = [of_module(module)] if module in modules() else analyses().values()
    for declared in known:
        if not declared.hidden and name in (command_name(declared.name), *declared.aliases):
            one = typer.Typer(
                rich_markup_mode=None, add_completion=False, context_settings={"max_content_width": 120}
            )
            one.command(name, help=declared.help, epilog=examples(*declared.examples))(command_of(declared))
            return typer.main.get_command(one)
    return None


def examples(*lines: str) -> str:
    """Calls of a command, as its help ends with them."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)]) if lines else ""


def command_name(name: str) -> str:
    """What an analysis is called at the command line."""
    return name.replace("_", "-").replace(".", "-")


def _modules() -> dict[str, str]:
    """The names of all commands of analyses, with the module or, of one declared elsewhere, the analysis."""
    found = {command_name(module): module for module in modules()}
    return found | {command_name(name): name for name in registered() if command_name(name) not in found}


def _listed(module: str) -> tuple[str, str]:
    """What the list of commands says of an analysis: its group, and the first paragraph of its docstring."""
    source = Path(__file__).parents[1] / "analyses" / f"{module}.py"
    if source.is_file():
        text = source.read_text("utf-8")
        found = re.search(rf'^def {module}\(.*?^\) -> .*?:\n    """(.*?)(?:\n\n|""")', text, re.S | re.M)
        if found:
            declared = text[text.rindex("@analysis(", 0, found.start()) : found.start()]
            group = re.search(r'^    group="(\w+)"', declared, re.M)
            return group[1] if group else "look", " ".join(found[1].split())
    declared = find_analysis(module)
    return declared.group, declared.help


def command_of(declared: Analysis) -> Callable[..., None]:
    """The function that the command tree calls; its signature is made from the declaration."""
    shown = _shown_parameters(declared)

    def command(**given: Any) -> None:
        _run(declared, given)

    parameters: list[inspect.Parameter] = []
    for one in _in_order(declared):
        if isinstance(one, InputParameter) and one.annotation.typed:
            parameters.append(_typed(one))
        parameters.append(_option(one))
    parameters.sort(key=lambda one: not isinstance(one.default, typer.models.ArgumentInfo))
    parameters += [_option(one) for one in shown.values() if one.name not in {p.name for p in parameters}]
    parameters.append(
        inspect.Parameter(
            "out",
            inspect.Parameter.KEYWORD_ONLY,
            annotation=list[Path],
            default=typer.Option([], "--out", "-o", help=_out_help(declared)),
        )
    )
    if declared.opens:
        opens = typer.Option(True, "--open/--no-open", help="Without --out, open the page in the browser.")
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("open_it", kind, annotation=bool, default=opens))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__name__ = declared.name.replace(".", "_")
    command.__doc__ = declared.help
    return command


def option_name(name: str) -> str:
    """What a setting is called at the command line."""
    return f"--{name.strip('_').replace('_', '-')}"


def _run(declared: Analysis, given: dict[str, Any]) -> None:
    from langscape.cli.outputs import check_outs
    from langscape.cli.terminal import bar, say
    from langscape.declarations.running import answer
    from langscape.declarations.validation import check_settings, parse_setting

    outs: Out = given.pop("out") or ([Path(declared.out)] if declared.out else [])
    shows = given.pop("open_it", False) and not outs
    again = _join_typed(declared, given)
    check_outs(outs, declared.formats, folder=declared.folder)
    settings = {one.name: one for one in declared.signature.settings}
    shown = _shown_parameters(declared)
    asked: dict[str, Any] = {}
    how: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in given.items():
        one = settings.get(name) or shown.get(name)
        if one is not None and one.type == "words" and isinstance(value, list):
            value = ",".join(value) or None  # an option that may be given several times
        if one is not None and isinstance(value, str):
            value = parse_setting(one, value)
        if name in shown:
            how[name] = value
        if name in settings or name not in shown:
            asked[name] = value
    how = check_settings(shown.values(), how, declared.name, called=option_name)
    for one in declared.signature.inputs:
        paths = asked.get(one.name)
        if paths:
            listed = paths if isinstance(paths, list) else [paths]
            called = [path.name if isinstance(path, Path) else path for path in listed]
            names[one.name] = ", ".join(called)
            if one.annotation.many:
                _name_files(shown, how, called)
    complete = check_settings(
        settings.values(),
        {k: v for k, v in asked.items() if k in settings},
        declared.name,
        called=option_name,
    )
    inputs = {one.name: asked[one.name] for one in declared.signature.inputs if asked.get(one.name)}
    if declared.check is not None:
        declared.check(complete, inputs, how)
    title = declared.called(complete, names)
    try:
        with bar(title) as progress:
            result = answer(declared, (), {**asked, "progress": progress}, called=option_name)
    except Cancelled as stopped:
        _keep_partial(stopped, outs, title)
    for line in _lines(declared, result, how):
        typer.echo(line)
    say(*again, *(declared.notes(result, inputs) if declared.notes else _notes(result)))
    faults: list[Exception] = []
    for path in [*outs, *([_page_aside(declared)] if declared.opens and not outs else [])]:
        try:
            files = _write(declared, result, path, title, how)
        except Exception as fault:  # one file that cannot be written must not cost the others
            faults.append(fault)
            continue
        for file in files:
            typer.echo(file)
            if shows:
                _open(file)
    if faults:
        raise faults[0]


def _name_files(shown: dict[str, Parameter], how: dict[str, Any], names: list[str]) -> None:
    """Tell what is printed and written how the files are called, where the user has not said it."""
    for one in shown.values():
        if one.annotation.names == "files" and how.get(one.name) is None:
            if len(set(names)) < len(names):
                raise SettingsError(
                    "two texts have the same file name; rename one, so that the table tells them apart"
                )
            how[one.name] = names


def _page_aside(declared: Analysis) -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix="langscape-")) / f"{declared.name}.html"


def _open(file: Path) -> None:
    import webbrowser

    from langscape.cli.terminal import say

    if not webbrowser.open(file.resolve().as_uri()):
        say("no browser could be opened; open the file above in one")


def _keep_partial(stopped: Cancelled, outs: Out, title: str) -> NoReturn:
    """Write what stood at Ctrl-C. Files that are there already stay: a finished map is worth more."""
    from langscape.data import Map

    if not isinstance(stopped.partial, Map) or not outs:
        raise Cancelled(f"{stopped}; nothing was kept") from None
    for path in outs:
        free = path.with_name(f"{path.stem}.stopped{path.suffix}") if path.exists() else path
        typer.echo(stopped.partial.save(free, title=title))
    raise Cancelled(f"{stopped}; the map as it stood is in the files above") from None


def _lines(declared: Analysis, result: Any, how: dict[str, Any]) -> Sequence[str]:
    if declared.lines is None:
        return []
    wanted = {one.name for one in read_signature(declared.lines, skip=1).settings}
    return declared.lines(result, **{name: value for name, value in how.items() if name in wanted})


def _notes(result: Any) -> list[str]:
    """What is said beside a result: the summary of a map, and the notes of anything."""
    from langscape.analyses._maps import summary
    from langscape.data import Map

    found = result if isinstance(result, Map) else getattr(result, "map", None)
    if isinstance(found, Map):
        more = [note for note in getattr(result, "notes", ()) if note not in found.notes]
        return [*summary(found), *more]
    return list(dict.fromkeys(getattr(result, "all_notes", getattr(result, "notes", ()))))


def _write(declared: Analysis, result: Any, path: Path, title: str, how: dict[str, Any]) -> list[Path]:
    wanted = {one.name for one in read_signature(declared.save, skip=2).settings} if declared.save else set()
    chosen = {name: value for name, value in how.items() if name in wanted}
    if declared.folder and (path.is_dir() or path.suffix.lower() not in declared.formats):
        return list(result.save_all(path, title=title, **chosen))
    if declared.save is not None:
        return [declared.save(result, path, title=title, **chosen)]
    return [result.save(path, title=title)]


def _shown_parameters(declared: Analysis) -> dict[str, Parameter]:
    """Settings of what is printed and written, beside those of what is computed."""
    found: dict[str, Parameter] = {}
    for function, skip in ((declared.lines, 1), (declared.save, 2)):
        if function is not None:
            found |= {one.name: one for one in read_signature(function, skip=skip).settings}
    return found


def _in_order(declared: Analysis) -> list[Parameter | InputParameter | ExecutionParameter]:
    """The parameters as they stand in the signature, those that are given without a name first."""
    known: dict[str, Any] = {}
    for group in (declared.signature.settings, declared.signature.inputs, declared.signature.execution):
        known |= {one.name: one for one in group}
    order = [known[name] for name in inspect.signature(declared.function).parameters if name in known]
    return sorted(order, key=lambda one: not getattr(one.annotation, "argument", False))


def _option(one: Parameter | InputParameter | ExecutionParameter) -> inspect.Parameter:
    if isinstance(one, InputParameter):
        annotation: Any = list[Path] if one.annotation.many else Path
        default = _declare(
            one, annotation, [] if one.annotation.many else None, one.required and not one.annotation.sample
        )
    elif isinstance(one, ExecutionParameter):
        annotation = int if one.annotation.ge is not None else str
        default = typer.Option(
            one.default, option_name(one.name), help=one.annotation.help, min=one.annotation.ge
        )  # type: ignore[arg-type]
    else:
        annotation = {"integer": int, "number": float, "flag": bool}.get(one.type, str)
        if one.type == "integer" and one.choices:
            annotation = str
        if one.type == "choice":  # the shell completes what is named
            annotation = Literal[tuple(str(choice) for choice in one.choices)]  # type: ignore[misc]
        value = one.default
        if one.type == "words":
            annotation, value = list[str], list(value or [])
        elif one.type == "numbers" and value is not None:
            value = ",".join(str(item) for item in value)
        elif one.choices and value is not None:
            value = str(value)
        default = _declare(one, annotation, value, one.required)
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _typed(one: InputParameter) -> inspect.Parameter:
    """The words themselves, beside the option that takes a list of them."""
    default = typer.Argument(None, metavar="WORD", help=f"{one.annotation.label}, one by one.")
    name = f"typed_{one.name}"
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=list[str], default=default)


def _join_typed(declared: Analysis, given: dict[str, Any]) -> list[str]:
    """Put words that were typed in the place of a list, each once; says which were named again."""
    from langscape.errors import SettingsError
    from langscape.sources.word_lookup import some

    names: list[str] = []
    for one in declared.signature.inputs:
        words = given.pop(f"typed_{one.name}", None) or []
        if not words:
            continue
        if given[one.name]:
            raise SettingsError(f"{one.name} are named and given as a list; leave one of both out")
        again = dict.fromkeys(word for at, word in enumerate(words) if word in words[:at])
        if again:
            names.append(
                f"{some(again)} {'is' if len(again) == 1 else 'are'} named more than once, and taken once"
            )
        given[one.name] = list(dict.fromkeys(words))
    return names


def _declare(one: Parameter | InputParameter, annotation: Any, value: Any, required: bool) -> Any:
    setting = one.annotation
    more: dict[str, Any] = {}
    if isinstance(one, Parameter) and one.type in ("integer", "number") and not one.choices:
        more |= {"min": one.annotation.ge, "max": one.annotation.le}
    if setting.argument:
        return typer.Argument(... if required else value, help=setting.help)
    names = [setting.option or option_name(one.name), *([f"-{setting.short}"] if setting.short else [])]
    if isinstance(one, Parameter) and one.type == "flag":
        names[0] = f"{names[0]}/--no-{names[0].removeprefix('--')}"
    return typer.Option(... if required else value, *names, help=setting.help, **more)


def _out_help(declared: Analysis) -> str:
    listed = ", ".join(declared.formats)
    return (
        f"Where to write: {listed}{', or a folder' if declared.folder else ''}; may be given several times."
    )
