"""Which word of a command line is what."""

from __future__ import annotations

from typing import Any

import pytest

from ds_format.cli import arguments, commands
from ds_format.cli.arguments import ArgumentError, Request, UsageError
from ds_format.cli.commands import COMMANDS, load
from ds_format.cli.pst import Bare

HERE = __file__
"""A file that exists."""


def split(line: str) -> tuple[str, list[Any], dict[str, Any]]:
    return commands.read(line.split())[:3]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ("", [], {})),
        ("a.ds", ("", ["a.ds"], {})),
        ("ls a.ds", ("ls", ["a.ds"], {})),
        (f"{HERE} ls", ("ls", [HERE], {})),
        ("a.ds ls", ("", ["a.ds", "ls"], {})),
        (f"{HERE} {HERE} ls", ("", [HERE, HERE, "ls"], {})),
        ("ls select a.ds", ("ls", ["select", "a.ds"], {})),
        ("-- ls a.ds", ("", ["ls", "a.ds"], {})),
        ("ls --json a.ds", ("ls", ["a.ds"], {"j": True})),
        ("{ ls a.ds }", ("ls", ["a.ds"], {})),
        ("{ ls a.ds } -- b.ds", ("ls", ["a.ds", "b.ds"], {})),
        ("ls -- -x { --", ("ls", ["-x", "{", "--"], {})),
        (
            "-lj ls a: { x 5 } v.ds --noindent",
            ("ls", ["v.ds"], {"l": True, "j": True, "a": ["x", 5], "noindent": True}),
        ),
        ("ls l: false a.ds", ("ls", ["a.ds"], {"l": False})),
        ("ls { a b } a.ds", ("ls", [["a", "b"], "a.ds"], {})),
        ("select time: 0 a b", ("select", [{"time": "0"}, "a", "b"], {})),
        ("sel: { x: 1 } select x: 2 a b -s", ("select", [{"x": "2"}, "a", "b"], {"sel": [{"x": 1}], "s": True})),
        ("select a b sel: {{ x: 1 }}", ("select", ["a", "b"], {"sel": {"x": 1}})),
        (
            "select -F x: 1 --skip-unsupported a b",
            ("select", [{"x": "1"}, "a", "b"], {"F": True, "skip-unsupported": True}),
        ),
        ("select x: true a b", ("select", [{"x": "true"}, "a", "b"], {})),
    ],
)
def test_words_are_sorted(line: str, expected: tuple[str, list[Any], dict[str, Any]]) -> None:
    assert split(line) == expected


def test_unknown_options_are_refused() -> None:
    known = (*arguments.READ, *load("ls").options)

    def check(*names: str) -> None:
        Request("ls", [], dict.fromkeys(names, True)).check(known)

    Request("ls", [], {"a": "units", "sel": {"time": 0}}).check(known)

    check("l", "j", "F", "version")
    with pytest.raises(UsageError, match=r'"skip-unsupported"$'):
        check("l", "skip-unsupported")
    with pytest.raises(UsageError, match=r'"a" needs a value: write `a: ATTRS`$'):
        check("a")
    with pytest.raises(UsageError, match=r'"noident": did you mean noindent\?'):
        check("noident")


def test_flags_have_no_values() -> None:
    def check(**options: Any) -> None:
        Request("ls", [], options).check(load("ls").options).check_flags()

    check(l=True, F=False, a="units", **{"print-completion": "bash"})
    with pytest.raises(UsageError, match=r'"l" takes no value, found 5$'):
        check(l=5)
    with pytest.raises(UsageError, match=r'"version" takes no value, found 2\.0\.1: .* use `layout`'):
        check(version="2.0.1")


@pytest.mark.parametrize("word", ["2020", "nan", "none", "true"])
def test_names_may_look_like_values(word: str) -> None:
    assert arguments.text(Bare(word), "file") == word
    assert type(arguments.text(Bare(word), "file")) is str


@pytest.mark.parametrize("word", [["a"], {"a": "b"}])
def test_arrays_and_objects_are_no_names(word: Any) -> None:
    with pytest.raises(ArgumentError, match="file: invalid type"):
        arguments.text(word, "file")


@pytest.mark.parametrize(("value", "names"), [(None, []), ("a", ["a"]), (["a", "b"], ["a", "b"]), ([], [])])
def test_names_of_an_option(value: Any, names: list[str]) -> None:
    assert arguments.names("a", value) == names


@pytest.mark.parametrize("value", [5, True, ["a", 5], [["a"]], {"a": "b"}])
def test_other_values_are_no_names(value: Any) -> None:
    with pytest.raises(ArgumentError, match="a: invalid type"):
        arguments.names("a", value)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_a_command_are_its_own(name: str) -> None:
    general = {option.name for option in (*arguments.GENERAL, *arguments.READ, *arguments.WRITE)}
    own = [option.name for option in load(name).options]
    assert len(own) == len(set(own))
    assert not general & set(own)
