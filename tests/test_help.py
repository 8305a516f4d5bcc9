"""What `--help` says: commands by what they are for, and every one ends with two examples that parse."""

import shlex

import pytest
import typer
from tests.commands import run

from langscape.cli.app import app
from langscape.cli.commands import GROUPS

TREE = typer.main.get_command(app)
CONTEXT = typer.Context(TREE, info_name="langscape")


def commands(group, context, path=()):
    """Every command with the words that call it."""
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        yield (*path, name), one
        if hasattr(one, "list_commands"):
            yield from commands(one, typer.Context(one, info_name=name, parent=context), (*path, name))


COMMANDS = dict(commands(TREE, CONTEXT))


def test_the_list_of_commands_is_grouped_and_names_each_once():
    text = run("--help").output
    places = [text.index(f"\n{heading}:\n") for heading in GROUPS.values()]
    assert places == sorted(places)
    listed = [
        line.split()[0] for line in text[places[0] :].splitlines() if line[:2] == "  " and line[2:3] != " "
    ]
    assert sorted(listed) == sorted(path[0] for path in COMMANDS if len(path) == 1)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_ends_with_two_examples(path):
    text = run(*path, "--help").output
    lines = [line.strip() for line in text[text.rindex("Examples:") :].splitlines()[1:] if line.strip()]
    assert 2 <= len(set(lines)) == len(lines) <= 3, lines
    assert any(f"langscape {' '.join(path)}" in line for line in lines)
    for line in lines:
        parse(line)


def parse(line):
    """Read a call as the command line does, without running it."""
    words = [word for word in shlex.split(line) if not word.startswith("LANGSCAPE_")]
    assert words.pop(0) == "langscape"
    one, context = TREE, CONTEXT
    while hasattr(one, "list_commands") and words:
        name = words.pop(0)
        one = one.get_command(context, name)
        assert one is not None, f"{line}: there is no command {name}"
    one.make_context(one.name, list(words), parent=CONTEXT, resilient_parsing=False)


def test_a_call_that_does_not_parse_is_found():
    with pytest.raises(Exception, match="no-such-option"):
        parse("langscape atlas default --no-such-option 3")
    with pytest.raises(Exception, match="less than or equal to 500"):
        parse("langscape atlas default --restarts 99999")


@pytest.mark.parametrize(
    ("words", "found"), [("langscape wor", "words"), ("langscape atlas --special ", "drop\nkeep")]
)
def test_the_shell_completes_commands_and_choices(words, found, monkeypatch, capsys):
    monkeypatch.setenv("_LANGSCAPE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit):
        app(prog_name="langscape")
    assert capsys.readouterr().out.strip() == found
