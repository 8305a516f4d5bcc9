"""One road: a question, from whatever face, becomes a recipe, and its result comes from the store."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from langscape.data import Progress, Step
from langscape.declarations.declaration import Analysis, analyses, declaration_of
from langscape.declarations.inputs import is_live, open_input, sample_of, source_of
from langscape.declarations.validation import check_settings
from langscape.errors import DataError, SettingsError, TooLargeError, not_there
from langscape.store.current import CURRENT, current_store
from langscape.store.recipe import Recipe
from langscape.store.registry import StepCode, add_finder

if TYPE_CHECKING:
    from langscape.store.store import Store

R = TypeVar("R")

_EXECUTION: ContextVar[Mapping[str, Any]] = ContextVar("execution", default={})  # noqa: B039  never changed
_INSIDE: ContextVar[Analysis | None] = ContextVar("inside", default=None)


def answer(
    declared: Analysis,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    called: Callable[[str], str] = str,
) -> Any:
    """What a call of a declared function gives: the stored result, computed where it is not there yet.

    A call with an object that only this process holds (an opened model, an array) cannot be named, and is
    computed each time. `tokenizer` may stand beside any model.
    """
    signature = inspect.signature(declared.function)
    tokenizer = kwargs.pop("tokenizer", None) if "model" in signature.parameters else None
    given = dict(signature.bind(*args, **kwargs).arguments)
    if tokenizer is not None:
        from langscape.models import open_model

        given["model"] = open_model(
            given.get("model", signature.parameters["model"].default), tokenizer=tokenizer
        )
    progress = given.pop("progress", None)
    given |= _live_models(declared, given) | _kept_texts(declared, given)
    _check_uses(declared)
    execution = {one.name: given.pop(one.name, one.default) for one in declared.signature.execution}
    store = CURRENT.get()
    named = None
    if any(is_live(one.annotation.kind, given.get(one.name)) for one in declared.signature.inputs):
        names = {one.name for one in declared.signature.settings}
        settings = {name: value for name, value in given.items() if name in names}
        settings |= dict.fromkeys(_live_models(declared, given), "default")
        check_settings(declared.signature.settings, settings, declared.name, called=called)
    else:
        store = store or current_store()
        named = name_call(declared, given, store, called=called)
    with using(store), _with(_EXECUTION, {**_EXECUTION.get(), **execution}), _with(_INSIDE, None):
        if named is None or store is None:
            return _call(declared, given, progress)
        return store.run(named, progress)


def recipe_of(function: Callable[..., Any], **given: Any) -> Recipe:
    """The recipe of a call, to hand its result to another declared function without reading it."""
    declared = declaration_of(function)
    named = name_call(declared, given, current_store())
    if named is None:
        raise SettingsError(f"{declared.name} takes models and files by name here; open them by name")
    return named


def name_call(
    declared: Analysis, given: Mapping[str, Any], store: Store, *, called: Callable[[str], str] = str
) -> Recipe | None:
    """The recipe of a question: settings complete, inputs by what they hold. None where it has no name.

    Every face comes through here; `called` is what the face calls a setting in its messages.
    """
    names = {one.name for one in declared.signature.inputs}
    live = [
        one.name for one in declared.signature.settings if _is_live(one.annotation.names, given.get(one.name))
    ]
    checked = check_settings(
        declared.signature.settings,
        {name: "default" if name in live else value for name, value in given.items() if name not in names},
        declared.name,
        called=called,
    )
    if declared.check is not None:
        declared.check(checked, {name: given[name] for name in names if given.get(name) is not None}, {})
    if live:
        return None
    ignored = declared.ignores(checked) if declared.ignores is not None else ()
    settings: dict[str, Any] = {key: None if key in ignored else one for key, one in checked.items()}
    for one in declared.signature.settings:
        if one.annotation.names == "model" and settings[one.name] is not None:
            settings[one.name] = absolute_model(settings[one.name])
    check_numbers(declared, settings)
    sources = input_sources(declared, settings, given, store, ignored)
    return None if sources is None else Recipe(declared.name, settings, sources)


def input_sources(
    declared: Analysis,
    settings: Mapping[str, Any],
    given: Mapping[str, Any],
    store: Store,
    ignored: Collection[str] = (),
) -> dict[str, Any] | None:
    """The inputs of a recipe by name, samples where nothing was given; None where one has no name."""
    sources: dict[str, Any] = {}
    for one in declared.signature.inputs:
        if one.name in ignored:
            continue
        value: Any = given.get(one.name)
        if value is None or (one.annotation.many and isinstance(value, Sequence) and not len(value)):
            if one.annotation.sample is None:
                if one.required:
                    raise SettingsError(f"{declared.name} needs {one.name}; {one.annotation.help}")
                continue
            value = sample_of(one.annotation.sample, settings)
        several = one.annotation.many and isinstance(value, Sequence) and not isinstance(value, str)
        parts: Sequence[Any] = value if several else [value]  # type: ignore[assignment]
        for at, part in enumerate(parts):
            source = source_of(one.annotation.kind, part, store)
            if source is None:
                return None
            sources[one.name if at == 0 else f"{one.name} {at}"] = source
    return sources


def check_numbers(declared: Analysis, settings: Mapping[str, Any]) -> None:
    """Refuse layers and heads that the model does not have; its weights are not read for it."""
    wanted: list[tuple[str, int]] = []
    for one in declared.signature.settings:
        value = settings[one.name]
        if one.annotation.names in ("layer", "head", "hidden layer") and value is not None:
            numbers = value if isinstance(value, list) else [value]
            wanted += [(one.annotation.names, number) for number in numbers if number >= 0]
    if not wanted or not isinstance(settings.get("model"), str):
        return
    from langscape.models import model_size

    side = settings.get("side")
    size = model_size(settings["model"], side)
    if size is None:
        return
    counts = {"layer": size.layers, "head": size.heads, "hidden layer": size.layers + 1}
    for noun, number in wanted:
        if not 0 <= number < counts[noun]:
            raise not_there(noun, number, range(counts[noun]), Path(settings["model"]).name)


def absolute_model(model: str) -> str:
    """A folder by its whole path, so that the store knows it from anywhere."""
    from langscape.models.model_name import split_name

    name = split_name(model).name
    if name != model:  # what follows the @ stays
        return absolute_model(name) + model[len(name) :]
    path = Path(model).expanduser()
    is_folder = path.is_dir() and ("/" in model or (path / "config.json").exists())
    return str(path.resolve()) if is_folder else model


def opened(model: Any) -> Any:
    """The model of that name, kept open between the steps of one process; an opened one as it is."""
    if not isinstance(model, str):
        return model
    from langscape.models import model_revision

    return _opened(model, model_revision(model))


@lru_cache(maxsize=1)
def _opened(name: str, revision: str) -> Any:
    from langscape.models import open_model

    return open_model(name)


def each(
    function: Callable[..., R],
    calls: Iterable[Mapping[str, Any]],
    *,
    title: str,
    workers: int | None = 0,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Iterator[R]:
    """The results of one declared function for many calls, in their order; what was computed before is read.

    workers=0 computes here, one after the other; else in so many processes (one per core if None), or on a
    Dask cluster. Stopped half-way, it goes on where it stood.
    """
    declared, store, calls = declaration_of(function), current_store(), list(calls)
    if workers is None and cluster is None and any(_live_models(declared, call) for call in calls):
        workers = 0  # nobody asked for workers, and what this process holds is here alone
    if workers == 0 and cluster is None:
        tell = progress or _nobody
        for at, call in enumerate(calls):
            tell(Step(at, len(calls), title))
            yield function(**call)
        tell(Step(len(calls), len(calls), title))
        return
    recipes = []
    for call in calls:
        named = name_call(declared, call, store)
        if named is None:
            raise SettingsError(
                f"{title}: workers take models and files by name, not objects; open them by name"
            )
        recipes.append(named)
    from langscape.execution.sweep import Sweep

    keys = [f"{at:06d}" for at in range(len(recipes))]
    sweep = Sweep(dict(zip(keys, recipes, strict=True)), store=store, title=title)
    report = sweep.run(workers=workers, cluster=cluster, progress=progress)
    if report.failed:
        key, why = next(iter(report.failed.items()))
        raise DataError(
            f"{len(report.failed)} of {report.total} parts of {title} failed, the first: {why} ({key})"
        )
    yield from (result for _, result in sweep.results())


@contextlib.contextmanager
def workers_ready(
    function: Callable[..., Any], workers: int | None, cluster: str | None = None, *, prepare: str = ""
) -> Iterator[None]:
    """Workers that start now, for the first `each` of that function in this block.

    They load code, and call `prepare` ("module:function"), while this process does something else. Give the
    number of workers that `each` is given.
    """
    if workers == 0 or cluster is not None:
        yield
        return
    from langscape.execution.pool import WAITING, WaitingPool, cores

    pool = WaitingPool(current_store(), [declaration_of(function).module], workers or cores(), prepare)
    try:
        with _with(WAITING, pool):
            yield
    finally:
        pool.stop()


def is_stored(function: Callable[..., Any], **given: Any) -> bool:
    """Whether a declared function's result is in the store."""
    store = current_store()
    named = name_call(declaration_of(function), given, store)
    return named is not None and store.entry(store.name(named).digest) is not None


def stored_file(
    function: Callable[..., Any], *, progress: Progress | None = None, **given: Any
) -> Path | None:
    """The file of a declared function's result, computed where it is not there, to read a part of it alone.

    None where the call has no name, and hence no file: it holds an object of this process.
    """
    declared, store = declaration_of(function), current_store()
    _check_uses(declared)
    named = name_call(declared, given, store)
    if named is None:
        return None
    with using(store), _with(_INSIDE, None):
        return store.make(store.name(named), progress).path


@contextlib.contextmanager
def using(store: Store | None) -> Iterator[None]:
    """Declared functions called in this block use that store."""
    with _with(CURRENT, store):
        yield


def _call(declared: Analysis, given: Mapping[str, Any], progress: Progress | None) -> Any:
    """Compute now, with what was given: objects as they are, names opened."""
    arguments = dict(given)
    settings = {one.name: arguments.get(one.name, one.default) for one in declared.signature.settings}
    for one in declared.signature.inputs:
        value = arguments.get(one.name)
        if value is None and one.annotation.sample is not None:
            value = sample_of(one.annotation.sample, settings)
        single = one.annotation.kind == "text" and not one.annotation.many
        if single and not isinstance(value, str | Path | None):
            raise SettingsError(f"the text is a {type(value).__name__}; give a str, or a Path to a text file")
        if isinstance(value, Path) or (
            isinstance(value, str) and one.annotation.kind not in ("text", "words")
        ):
            arguments[one.name] = open_input(one.annotation.kind, Path(value))
        elif one.annotation.many and isinstance(value, list | tuple):
            parts = [
                open_input(one.annotation.kind, part) if isinstance(part, Path) else part for part in value
            ]
            arguments[one.name] = parts
    return _compute(declared, arguments, progress)


def _compute(declared: Analysis, arguments: Mapping[str, Any], progress: Progress | None) -> Any:
    known = inspect.signature(declared.function).parameters
    # in a worker process nobody has said how: it computes by itself
    execution = {"workers": 0, "cluster": None, **_EXECUTION.get()}
    how = {name: value for name, value in execution.items() if name in known}
    more: dict[str, Any] = {"progress": progress} if "progress" in known else {}
    with _with(_INSIDE, declared):
        try:
            return declared.function(**arguments, **how, **more)
        except TooLargeError as error:
            # what somebody cannot set here is no way out
            raise error.narrowed({one.name for one in declared.signature.settings}) from None


def _step(name: str) -> StepCode | None:
    """A declared analysis as a step of the store: this is where a recipe meets its function again."""
    declared = analyses().get(name)
    if declared is None:
        return None

    def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Any:
        arguments: dict[str, Any] = dict(settings)
        for one in declared.signature.inputs:
            paths = [inputs[key] for key in sorted(inputs, key=_number) if key.split(" ")[0] == one.name]
            if paths:
                found = [open_input(one.annotation.kind, path) for path in paths]
                arguments[one.name] = found if one.annotation.many else found[0]
            elif not one.required:
                arguments[one.name] = None
        return _compute(declared, arguments, progress)

    defaults = {one.name: one.default for one in declared.signature.settings}
    models = [one.name for one in declared.signature.settings if one.annotation.names == "model"]
    return StepCode(
        name, versions(declared), run, defaults, _revision(models) if models else None, declared.module
    )


def versions(declared: Analysis) -> Any:
    """The version of an analysis with those of all that it uses: a change below is a change above."""
    inner = {one.name: versions(one) for one in map(declaration_of, declared.uses)}
    return [declared.version, inner] if inner else declared.version


def _revision(models: list[str]) -> Callable[[Mapping[str, Any]], str]:
    def revision(settings: Mapping[str, Any]) -> str:
        from langscape.models import model_revision

        return " ".join(model_revision(settings[name]) for name in models if settings[name] is not None)

    return revision


def _check_uses(declared: Analysis) -> None:
    """Refuse a call inside of an analysis that does not name it: its version would not tell of changes."""
    outer = _INSIDE.get()
    if outer is not None and declared.function not in {_plain(one) for one in outer.uses}:
        raise TypeError(f"{outer.name} calls {declared.name}, which is not among its `uses`")


def _live_models(declared: Analysis, given: Mapping[str, Any]) -> dict[str, Any]:
    """The models among the settings that are objects instead of names, opened."""
    live = [
        one.name for one in declared.signature.settings if _is_live(one.annotation.names, given.get(one.name))
    ]
    if not live:
        return {}
    from langscape.models import open_model

    return {name: open_model(given[name]) for name in live}


def _kept_texts(declared: Analysis, given: Mapping[str, Any]) -> dict[str, Path]:
    """Texts that were given as a list or column, kept as a file that has a name and that workers find."""
    from langscape.sources.texts import listed_texts, write_texts

    kept: dict[str, Path] = {}
    for one in declared.signature.inputs:
        texts = listed_texts(given.get(one.name)) if one.annotation.listed else None
        if texts is not None:
            store = CURRENT.get() or current_store()
            with store.receiving() as file:
                write_texts(file, texts)
                kept[one.name] = store.kept(store.keep_file(file))
    return kept


def _is_live(names: str, value: Any) -> bool:
    """Whether a setting is an object instead of a name: an opened model."""
    return names == "model" and value is not None and not isinstance(value, str)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return declaration_of(function).function


def _number(name: str) -> tuple[str, int]:
    """Inputs "text 2" and "text 10" in the order in which they were given."""
    first, _, last = name.partition(" ")
    return first, int(last) if last.isdigit() else 0


@contextlib.contextmanager
def _with(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def _nobody(step: Step) -> None:
    """Nobody listens."""


add_finder(_step)
