"""One declaration, all faces: names, defaults, limits and help agree, and a question is computed once."""

import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import get_args

import pytest
from tests.commands import at_home_in, run
from tests.models.folders import TEXT, bert_folder

import langscape
from langscape.cli.commands import analysis_command, command_name, command_of, option_name
from langscape.declarations import analyses, analysis
from langscape.declarations.declaration import _ANALYSES
from langscape.declarations.running import name_call
from langscape.declarations.validation import model_of
from langscape.store import Store
from langscape.studio.forms import OFFERED, GivenInput, form_of, recipe_of

PUBLIC = {name: one for name, one in analyses().items() if not one.hidden}


@pytest.mark.parametrize("name", PUBLIC)
def test_function_command_form_and_schema_say_the_same(name):
    declared = PUBLIC[name]
    command = analysis_command(command_name(name))
    made = inspect.signature(command_of(declared)).parameters
    options = {key: one.default for key, one in made.items()}
    assert {one.name for one in command.params} >= set(options) - {"help"}
    form = {one["name"]: one for one in form_of(OFFERED[name])["settings"]}
    schema = model_of(declared).model_json_schema()["properties"]
    plain = inspect.signature(declared.function).parameters
    for one in declared.signature.settings:
        option, shown = options[one.name], form[one.name]
        assert option.help == shown["help"] == one.annotation.help
        assert (
            shown["default"]
            == one.default
            == (None if one.required else _as_float(one, plain[one.name].default))
        )
        assert (option.default is ...) == shown["required"] == one.required
        assert (shown["low"], shown["high"]) == (one.annotation.ge, one.annotation.le)
        if one.type in ("integer", "number") and not one.annotation.argument and not one.choices:
            assert (option.min, option.max) == (one.annotation.ge, one.annotation.le)
            assert one.required or option.default == one.default
        if one.type == "choice":
            assert list(get_args(made[one.name].annotation)) == [str(value) for value in one.choices]
            assert [each["value"] for each in shown["choices"]] == list(one.choices)
        assert schema[one.name]["title"] == one.annotation.label
        assert schema[one.name].get("default") == one.default
    kinds = {one["name"]: one["kind"] for one in form_of(OFFERED[name])["inputs"]}
    for one in declared.signature.inputs:
        assert options[one.name].help == one.annotation.help
        assert kinds[one.name] == one.annotation.kind
    assert declared.help
    assert command.help == declared.help


def _as_float(one, default):
    return float(default) if one.type == "number" and default is not None else default


def test_every_public_name_is_listed_typed_and_declared():
    source = Path(langscape.__file__).read_text()
    for name in langscape._ANALYSES:
        assert name in langscape.__all__
        assert f"from langscape.analyses.{name} import {name} as {name}" in source
        function = getattr(langscape, name)
        assert function.analysis.function.__name__ == name
        assert ">>> " in (inspect.getdoc(function) or ""), f"{name} has no example"
        assert function.analysis.formats, f"{name} writes nothing"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    bert_folder(tmp_path / "tiny")
    (tmp_path / "text.txt").write_text(TEXT)
    at_home_in(tmp_path, monkeypatch)
    return tmp_path


MADE_UP = '''
from typing import Annotated

from langscape.data import Items, Map, Progress
from langscape.declarations import Setting, analysis
from langscape.declarations.settings import Text

Times = Annotated[int, Setting("Times", "How often each word is counted.", ge=1, le=9)]


@analysis(version=1, formats=(".csv",))
def word_counts(text: Text = None, *, times: Times = 1, progress: Progress | None = None) -> Map:
    """Count the words of a text."""
    words = sorted(set(text.split()))
    rows = [[float(i), float(text.split().count(w) * times)] for i, w in enumerate(words)]
    return Map(rows, Items(words))
'''


def test_a_made_up_analysis_is_a_function_a_command_a_form_and_an_endpoint_without_another_line(folder):
    (folder / "made_up.py").write_text(MADE_UP)
    code = textwrap.dedent(
        """
        import sys; sys.path.insert(0, ".")
        import made_up
        from typer.testing import CliRunner
        from langscape.cli.app import app
        from langscape.studio.capabilities import capabilities
        from langscape.studio.forms import form_of, offered
        counted = made_up.word_counts("to be or not to be", times=2)
        print(counted.labels, counted.xy[:, 1].tolist())
        done = CliRunner().invoke(app, ["word-counts", "--text", "text.txt", "-o", "counts.csv"])
        print(done.exit_code, done.stdout.strip())
        told = capabilities({}, 1)["analyses"]
        print(form_of(offered("word_counts"))["settings"][0]["high"], told["word_counts"]["title"])
        print(CliRunner().invoke(app, ["word-counts", "--times", "12"]).exit_code)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "('be', 'not', 'or', 'to') [4.0, 2.0, 2.0, 4.0]",
        "0 counts.csv",
        "9 Word counts",
        "2",
    ], done.stderr
    assert (folder / "counts.csv").read_text().startswith("label,x,y")


ASKED = {
    "atlas": {"restarts": 1, "steps": 20},
    "head": {"layer": 1, "head": 2, "restarts": 1, "steps": 20},
    "hidden": {"layer": 1, "restarts": 1, "steps": 20, "perplexity": 3.0},
    "max_attention": {},
    "query_key": {"layer": 1, "head": 2, "steps": 50, "perplexity": 3.0},
    "query_key.beside": {"layer": 1, "head": 2, "steps": 50, "perplexity": 3.0},
    "query_key.constants": {"layer": 1, "head": 2, "steps": 50, "perplexity": 3.0},
    "query_key.grid": {"steps": 50, "perplexity": 3.0},
    "query_key.scale": {"percentile": 20.0},
}


@pytest.mark.parametrize("name", ASKED)
def test_a_text_as_string_path_or_upload_is_one_question_and_computed_once(folder, name):
    store = Store()
    model = str(folder / "tiny")
    function = getattr(langscape, name.replace(".", "_"))
    function(model, TEXT, **ASKED[name])
    count = sum(one.kind != "bytes" for one in store.entries())
    words = [part for key, value in ASKED[name].items() for part in (option_name(key), value)]
    run(name.replace("_", "-").replace(".", "-"), "./tiny", "--text", "text.txt", *words)
    if name != "max_attention":
        function(model, Path("text.txt"), seed=0, **ASKED[name])
    given = GivenInput("in-1", "text", "text.txt", store.keep(TEXT.encode()))
    recipe = recipe_of(OFFERED[name], {"model": model, **ASKED[name]}, {"text": given}, store)
    assert store.get(recipe) is not None
    assert sum(one.kind != "bytes" for one in store.entries()) == count
    assert set(recipe.settings) == {one.name for one in PUBLIC[name].signature.settings}


def test_a_change_of_what_an_analysis_uses_is_a_change_of_its_name(folder):
    store = Store()

    def declare(version):
        @analysis(version=version, name="test.inner", hidden=True)
        def inner(text: langscape.declarations.settings.Text = None) -> langscape.Map: ...

        @analysis(version=1, name="test.outer", hidden=True, uses=(inner,))
        def outer(text: langscape.declarations.settings.Text = None) -> langscape.Map: ...

        declared = outer.analysis
        return store.name(name_call(declared, {"text": "one text"}, store)).digest

    try:
        first = declare(1)
        assert first == declare(1)
        assert first != declare(2)
    finally:
        _ANALYSES.pop("test.inner", None)
        _ANALYSES.pop("test.outer", None)


def test_a_parameter_that_says_nothing_of_itself_is_refused():
    @analysis(version=1, name="test.silent", hidden=True)
    def silent(number: int = 3) -> langscape.Map: ...

    try:
        with pytest.raises(TypeError, match="'number' has no Setting"):
            command_of(silent.analysis)
    finally:
        _ANALYSES.pop("test.silent")
