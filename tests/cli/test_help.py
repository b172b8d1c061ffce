"""The help: every command and option is in it, and its examples are command lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from ds_format.cli import arguments, commands
from ds_format.cli import help as explain

if TYPE_CHECKING:
    from .conftest import Run

COMMANDS = [pytest.param(name, id=name) for name in commands.COMMANDS]


def test_general_help_lists_everything(ds: Run) -> None:
    status, out, err = ds("--help")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("ds: ")
    assert lines[1:3] == ["", "Usage: ds [CMD] [OPTIONS] [ARGS]"]
    assert lines[3].startswith("       ds ")
    for name, entry in commands.COMMANDS.items():
        assert f"  {name:10}  {entry.caption}" in lines
    for option in (*arguments.GENERAL, *arguments.READ, *arguments.WRITE):
        assert any(f"{line} ".startswith(f"  {option.label} ") for line in lines), option.label


@pytest.mark.parametrize("name", COMMANDS)
def test_help_on_a_command(name: str, ds: Run) -> None:
    status, out, err = ds("--help", name)
    assert (status, out, err) == ds(name, "--help") == ds(name, "--help", "a.ds", "-x")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[:2] == [f"{name}: {commands.COMMANDS[name].caption}", ""]
    assert lines[2].startswith("Usage: ds ")
    command = commands.load(name)
    for label in [*(label for label, _ in command.arguments), *(option.label for option in command.options)]:
        assert any(f"{line} ".startswith(f"  {label} ") for line in lines), label


def test_help_on_nothing_known_is_the_general_help(ds: Run) -> None:
    assert ds("--help", "nope") == ds("--help")


@pytest.mark.parametrize("name", ["", *commands.COMMANDS])
def test_lines_fit_a_terminal(name: str) -> None:
    page = explain.text(name)
    assert max(len(line) for line in page.splitlines()) <= 80
    assert page.endswith("\n")
    assert "\n\n\n" not in page


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_command_lines(name: str) -> None:
    command = commands.load(name)
    assert command.examples
    for _, line in command.examples:
        program, *words = shlex.split(line)
        request = commands.read(words)
        assert program == "ds"
        assert (request.command or commands.DEFAULT) == name
        request.check(command.known).check_flags()


def test_long_names_stand_on_lines_of_their_own() -> None:
    text = explain._columns([("a" * 30, "about"), ("b", "more")])
    assert text == f"  {'a' * 30}\n     about\n  b  more\n"
