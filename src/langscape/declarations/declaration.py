"""One declaration per analysis: an annotated function. Command, form, endpoint and recipe are read off it.

    @analysis(version=1, title="Atlas of heads", room="atlas", pictures=(grid, head))
    def atlas(model: Model = "default", text: Text = None, *, restarts: Restarts = 8, progress=None) -> Atlas:
        "Map every head of a model, rank them, name what they do and group those that attend alike."

Each parameter's annotation carries a `Setting` (plain values), an `Input` (a text, a file, an object) or an
`Execution` (how it is computed, never what). Calling the function goes through the store: the same question
asked from Python, the command line or the studio has one recipe, one digest and one stored result.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.store import Recipe, Store

P = ParamSpec("P")
R = TypeVar("R")

Group = Literal["look", "measure", "train", "keep"]
"""What a command is for: to look at something, to measure it, to train a model, to keep files and results."""

Type = Literal["integer", "number", "text", "choice", "flag", "numbers", "words", "vectors"]


@dataclass(frozen=True, eq=False)
class Setting:
    """What an annotation says of a plain value.

    label     what a form writes beside it
    help      one sentence on what it does
    ge, le    the least and the largest value
    pattern   what the whole of a text must match, and `like` such a text, for messages
    hint      a few words below a form’s field: what it needs that its range does not tell
    document  the number of the work that it comes from
    labels    what a form calls the choices, by value
    percent   whether a form shows the number, a share, as per cent
    option    the name of the command's option where it is not the parameter's own
    short     a letter for the command's option
    argument  whether the command takes it without the name of an option
    names     "model" for a model; "layer", "head" or "hidden layer" for a number that the model must have;
              "files" for what the files of an input are called, in the order in which they were given
    """

    label: str
    help: str = ""
    ge: float | None = None
    le: float | None = None
    pattern: str | None = None
    like: str = ""
    hint: str = ""
    document: str = ""
    labels: Mapping[Any, str] = field(default_factory=dict)
    percent: bool = False
    option: str = ""
    short: str = ""
    argument: bool = False
    names: str = ""


@dataclass(frozen=True, eq=False)
class Input:
    """What an annotation says of a text, a file or an object: `kind` is one of `declarations.inputs.KINDS`.

    sample is the id of the sample that a form begins with; many takes several. Of a list of words, `typed`
    lets the command take them one by one as well, without a file. Of a corpus, `listed` takes a list or
    column of text as the texts themselves.
    """

    kind: str
    label: str
    help: str = ""
    sample: str | None = None
    many: bool = False
    typed: bool = False
    listed: bool = False
    option: str = ""
    short: str = ""
    argument: bool = False


@dataclass(frozen=True, eq=False)
class Execution:
    """What an annotation says of a parameter that changes how, and never what, is computed."""

    help: str
    ge: float | None = None


@dataclass(frozen=True, eq=False)
class Parameter:
    """One setting as every face sees it: what the signature and its annotation say, and nothing more."""

    name: str
    type: Type
    default: Any
    required: bool
    annotation: Setting
    choices: tuple[Any, ...] = ()
    """What a choice may be; of a number, the words that may stand for it."""
    whole: bool = True
    """Whether a number must be whole."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return expected(self)


@dataclass(frozen=True, eq=False)
class InputParameter:
    """One input as every face sees it."""

    name: str
    required: bool
    annotation: Input


@dataclass(frozen=True, eq=False)
class ExecutionParameter:
    """A parameter that changes how something is computed."""

    name: str
    default: Any
    type: Any
    annotation: Execution


@dataclass(frozen=True, eq=False)
class Signature:
    """The parameters of a declared function, sorted by what they are."""

    settings: tuple[Parameter, ...]
    inputs: tuple[InputParameter, ...]
    execution: tuple[ExecutionParameter, ...]

    def setting(self, name: str) -> Parameter | None:
        """The setting of that name."""
        return next((one for one in self.settings if one.name == name), None)


@dataclass(frozen=True)
class Later:
    """An array of a view that is made when it is asked for."""

    dtype: str
    shape: tuple[int, ...]
    make: Callable[[], Any]


@dataclass(frozen=True)
class Finished:
    """A finished run, as pictures see it: its result, what it is called, its settings, recipe and store."""

    result: Any
    title: str
    settings: Mapping[str, Any]
    recipe: Recipe
    store: Store


@dataclass(frozen=True)
class Picture:
    """A view of a result: a function of the result and its own annotated parameters.

    `whole` is drawn for files, where nothing can be fetched later; `later` are arrays made on demand.
    """

    name: str
    kind: str
    draw: Callable[..., Any]
    whole: Callable[..., Any] | None = None
    later: Callable[..., Mapping[str, Later]] | None = None

    @functools.cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the picture, without the result and the run."""
        return read_signature(self.draw, skip=2).settings


def picture(
    kind: str,
    *,
    name: str = "",
    whole: Callable[..., Any] | None = None,
    later: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Picture]:
    """Declare a picture: `draw(result, finished, *, settings…) -> View`."""

    def declare(draw: Callable[..., Any]) -> Picture:
        return Picture(name or draw.__name__.strip("_"), kind, draw, whole, later)

    return declare


@dataclass(frozen=True, eq=False)
class Analysis:
    """A declared analysis. Everything but `pictures` and the titles comes from the function's signature."""

    name: str
    version: int
    title: str
    room: str
    function: Callable[..., Any]
    pictures: tuple[Picture, ...]
    uses: tuple[Callable[..., Any], ...]
    describe: Callable[[Mapping[str, Any], Mapping[str, str]], str] | None
    check: Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], None] | None
    ignores: Callable[[Mapping[str, Any]], Collection[str]] | None
    lines: Callable[..., Sequence[str]] | None
    notes: Callable[[Any, Mapping[str, Any]], Sequence[str]] | None
    save: Callable[..., Any] | None
    formats: tuple[str, ...]
    folder: bool
    example: Mapping[str, Any] | None
    hidden: bool
    aliases: tuple[str, ...] = ()
    out: str = ""
    opens: bool = False
    group: Group = "look"
    examples: tuple[str, ...] = ()
    follows: Mapping[str, float] = field(default_factory=dict)

    @functools.cached_property
    def signature(self) -> Signature:
        """The parameters."""
        return read_signature(self.function)

    @property
    def help(self) -> str:
        """The first paragraph of the docstring."""
        return inspect.cleandoc(self.function.__doc__ or "").split("\n\n")[0].replace("\n", " ")

    @property
    def module(self) -> str:
        """Where it is declared; workers import it."""
        return self.function.__module__

    def picture(self, name: str) -> Picture:
        """The picture of that name."""
        for one in self.pictures:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.pictures)
        raise SettingsError(f"{self.name} has no view {name[:60]!r}; it has {known}")

    def called(self, settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
        """What one run is called: `names` are what the user calls the inputs."""
        return self.describe(settings, names) if self.describe else self.title


_ANALYSES: dict[str, Analysis] = {}


def analysis(
    *,
    version: int,
    title: str = "",
    room: str = "",
    name: str = "",
    pictures: Sequence[Picture] = (),
    uses: Sequence[Callable[..., Any]] = (),
    describe: Callable[[Mapping[str, Any], Mapping[str, str]], str] | None = None,
    check: Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], None] | None = None,
    ignores: Callable[[Mapping[str, Any]], Collection[str]] | None = None,
    lines: Callable[..., Sequence[str]] | None = None,
    notes: Callable[[Any, Mapping[str, Any]], Sequence[str]] | None = None,
    save: Callable[..., Any] | None = None,
    formats: Sequence[str] = (),
    folder: bool = False,
    example: Mapping[str, Any] | None = None,
    hidden: bool = False,
    aliases: Sequence[str] = (),
    out: str = "",
    opens: bool = False,
    group: Group = "look",
    examples: Sequence[str] = (),
    follows: Mapping[str, float] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an analysis. Raise `version` whenever its result would change.

    title     what a form is headed with; room is the studio's room that shows it
    uses      other declared functions whose results it takes: a change of theirs is a change of this
    describe  (settings, names of inputs) → what one run is called
    check     (settings, inputs, settings of what is shown) → refuses what does not go together, before
              anything is computed; the last is empty but at the command line
    ignores   (settings) → the settings and inputs that mean nothing under these: no part of the question
    lines     (result, *, settings…) → what the command prints
    notes     (result, inputs) → what the command says beside it, where that is more than a map's summary
    save      (result, path, *, title, settings…) → the file; formats are the endings that it knows
    example   settings and samples of the finished example that the studio opens on; where its model is not
              here, the settings are the defaults
    hidden    a part of other analyses, with no face of its own
    aliases   other names of the command, which its list leaves out
    out       the file that the command writes where none is named
    opens     whether the command, where no file is named, writes a page aside and opens it
    group     where the list of commands has it
    examples  two calls of the command, which its help ends with; a test parses them
    follows   by what progress calls a part of the work: how long all that comes after it takes, as a multiple
              of it. The studio tells the time left by it where no job of the kind was done before
    """

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        called = name or function.__name__
        known = _ANALYSES.get(called)
        if known is not None and known.module not in ("__main__", function.__module__):
            raise SettingsError(
                f"there is already an analysis {called!r}, in {known.module}; name it otherwise"
            )
        declared = Analysis(
            called, version, title or called.replace("_", " ").capitalize(), room or called, function,
            tuple(pictures), tuple(uses), describe, check, ignores, lines, notes, save, tuple(formats),
            folder, example, hidden, tuple(aliases), out, opens, group, tuple(examples), follows or {},
        )  # fmt: skip
        _ANALYSES[called] = declared

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            from langscape.declarations.running import answer

            return answer(declared, args, kwargs)

        call.analysis = declared  # type: ignore[attr-defined]
        if _takes_model(function):
            call.__signature__ = _with_tokenizer(inspect.signature(function))  # type: ignore[attr-defined]
        return call

    return declare


def _takes_model(function: Callable[..., Any]) -> bool:
    return "model" in inspect.signature(function).parameters


def _with_tokenizer(signature: inspect.Signature) -> inspect.Signature:
    """A model that is an object may come without its tokenizer; it is then given beside it, by name."""
    given = inspect.Parameter("tokenizer", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    return signature.replace(parameters=[*signature.parameters.values(), given])


def analyses() -> dict[str, Analysis]:
    """Every declared analysis by name, those of langscape first."""
    load()
    return dict(_ANALYSES)


def registered() -> tuple[str, ...]:
    """The names of what is declared so far and has faces; nothing is imported for it."""
    return tuple(name for name, one in _ANALYSES.items() if not one.hidden)


def of_module(module: str) -> Analysis:
    """The analysis that a module of `langscape.analyses` declares; no other one is imported."""
    return declaration_of(getattr(importlib.import_module(f"langscape.analyses.{module}"), module))


def find_analysis(name: object) -> Analysis:
    """The analysis of that name."""
    known = analyses()
    if not isinstance(name, str) or name not in known:
        shown = ", ".join(one for one in known if not known[one].hidden)
        raise SettingsError(f"there is no analysis {str(name)[:60]!r}; there are {shown}")
    return known[name]


def load() -> None:
    """Import every public module of `langscape.analyses`: a file that is there is an analysis that is there.

    What they share is imported by them, or when it is needed.
    """
    for module in modules():
        importlib.import_module(f"langscape.analyses.{module}")


@functools.cache
def modules() -> tuple[str, ...]:
    """The names of the public modules in `langscape.analyses`; each has one analysis of its own name."""
    package = importlib.import_module("langscape.analyses")
    return tuple(sorted(one.name for one in pkgutil.iter_modules(package.__path__) if one.name[0] != "_"))


def declaration_of(function: Callable[..., Any]) -> Analysis:
    """The declaration of a function that `analysis` was put on."""
    declared = getattr(function, "analysis", None)
    if not isinstance(declared, Analysis):
        raise TypeError(f"{function!r} is no declared analysis")
    return declared


def read_signature(function: Callable[..., Any], skip: int = 0) -> Signature:
    """The parameters of a function by its annotations; `skip` leaves out the first ones."""
    hints = typing.get_type_hints(function, include_extras=True)
    settings: list[Parameter] = []
    inputs: list[InputParameter] = []
    execution: list[ExecutionParameter] = []
    for one in list(inspect.signature(function).parameters.values())[skip:]:
        annotation = next((extra for extra in get_args(hints[one.name])[1:]), None)
        required = one.default is inspect.Parameter.empty
        if isinstance(annotation, Input):
            inputs.append(InputParameter(one.name, required, annotation))
        elif isinstance(annotation, Setting):
            settings.append(_parameter(one, get_args(hints[one.name])[0], annotation))
        elif isinstance(annotation, Execution):
            execution.append(
                ExecutionParameter(one.name, one.default, get_args(hints[one.name])[0], annotation)
            )
        elif one.name not in ("progress", "title"):
            raise TypeError(f"{function.__qualname__}: parameter {one.name!r} has no Setting or Input")
    return Signature(tuple(settings), tuple(inputs), tuple(execution))


def _parameter(one: inspect.Parameter, annotation: Any, setting: Setting) -> Parameter:
    required = one.default is inspect.Parameter.empty
    default = None if required else one.default
    parts = [annotation]
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
    choices: tuple[Any, ...] = ()
    if all(get_origin(part) is Literal for part in parts):
        choices = tuple(value for part in parts for value in get_args(part))
        return Parameter(one.name, "choice", default, required, setting, choices)
    kind = parts[0]
    if kind is float and len(parts) == 1:
        if isinstance(default, int) and not isinstance(default, bool):
            default = float(default)
        return Parameter(one.name, "number", default, required, setting, whole=False)
    if kind is int and len(parts) == 2 and get_origin(parts[1]) is Literal:
        return Parameter(one.name, "integer", default, required, setting, get_args(parts[1]))
    known: dict[Any, Type] = {int: "integer", str: "text", bool: "flag"}
    if kind in known and len(parts) == 1:
        return Parameter(one.name, known[kind], default, required, setting)
    if get_origin(kind) in (list, Sequence):
        (inner,) = get_args(kind)
        return Parameter(one.name, "numbers" if inner is int else "words", default, required, setting)
    if get_origin(kind) in (dict, Mapping):
        return Parameter(one.name, "vectors", default, required, setting)
    raise TypeError(f"parameter {one.name!r} is annotated {annotation!r}, which no face can show")


def expected(one: Parameter) -> str:
    """What a value must be, in words."""
    if one.type == "choice":
        return f"one of {', '.join(str(value) for value in one.choices)}"
    if one.type == "flag":
        return "true or false"
    if one.type == "text" and one.annotation.pattern:
        return f"a name like {one.annotation.like}"
    if one.type == "text":
        return "text of 1 to 2,000 characters that can be seen"
    if one.type == "words":
        return "1 to 2,000 words"
    if one.type == "vectors":
        return "at most 100 names with numbers, as name:0.5,-1.2,0.3;other:1,2,3"
    what = {"integer": "a whole number", "number": "a number", "numbers": "whole numbers"}[one.type]
    low, high = one.annotation.ge, one.annotation.le
    if one.choices:
        what = f"{', '.join(str(value) for value in one.choices)}, or {what}"
    if low is not None and high is not None:
        return f"{what} from {low:g} to {high:g}"
    return what + (f" of at least {low:g}" if low is not None else "")
