"""The face of the package: names that scripts written for ds-format 5.0.2 use, and the mode."""

from __future__ import annotations

import concurrent.futures
import importlib
import importlib.metadata
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ds_format as ds
from ds_format.base import modes

SIGNATURES = """
apply(d, func, dims=None, newdims=None, vars=None, with_sel=False)
attr(d, attr, *value, var=None)
attrs(d, var=None, *value)
copy(d)
dim(d, dim, full=False)
dims(d, var=None, *value, full=False, size=False)
escape(name)
find(d, what, name, var=None)
findall(d, what, name, var=None)
from_netcdf(filename, variables=None, sel=None, full=False, jd=False)
get_attrs(d, var=None, *value)
get_dims(d, var=None, full=False, size=False)
get_meta(d, var=None, *value, create=False)
get_vars(d, full=False)
group_by(d, dim, group, func)
index(dirname, variables=None, warnings, **kwargs)
merge(dd, dim, new=None, variables=None, jd=True)
meta(d, var=None, *value, create=False)
read(filename, variables=None, sel=None, range_=None, at=None, between=None, full=False, jd=False)
readdir(dirname, variables=None, merge=None, warnings, recursive=False, parallel=False, executor=None, njobs=None)
rename(d, old, new)
rename_attr(d, old, new, var=None)
rename_attr_m(d, mapping, var=None)
rename_dim(d, old, new)
rename_dim_m(d, mapping)
rename_m(d, mapping)
require(d, what, name, var=None, full=False)
rm(d, var)
rm_attr(d, attr, var=None)
select(d, sel=None, range_=None, at=None, between=None)
size(d, var)
split(d, dims)
time(d, var, *value)
time_dt(time)
to_netcdf(filename, d, time_units, calendar)
type(d, var, *value)
unescape(name)
validate(d)
var(d, var, *value)
vars(d, full=False)
with_mode(mode)
write(filename, d)
"""
"""Those of ds-format 5.0.2; a bare name of an option has a default that does not matter."""


@pytest.mark.parametrize("line", SIGNATURES.split("\n")[1:-1])
def test_signatures_are_those_of_the_reference(line: str) -> None:
    name, _, rest = line.partition("(")
    found = {p.name: p for p in inspect.signature(getattr(ds, name)).parameters.values()}
    for position, word in enumerate(rest.removesuffix(")").split(", ")):
        told, _, default = word.partition("=")
        parameter = found[told.lstrip("*")]
        if default:
            assert repr(parameter.default) == default
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            assert list(found).index(parameter.name) == position


def test_all_names_can_be_had() -> None:
    for name in ds.__all__:
        assert getattr(ds, name) is not None
    assert {*ds.__all__} <= {*dir(ds)}
    with pytest.raises(AttributeError, match="nonsense"):
        ds.nonsense  # noqa: B018


def test_modules_that_other_programs_use() -> None:
    assert ds.op.merge is ds.merge
    assert ds.op.vars is ds.vars is ds.get_vars
    assert ds.drivers.netcdf.JD_UNITS == "days since -4713-11-24 12:00 UTC"
    assert ds.drivers.netcdf.JD_CALENDAR == "proleptic_gregorian"
    with pytest.raises(AttributeError, match="nonsense"):
        ds.drivers.nonsense  # noqa: B018


def test_commands_are_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ds.write(tmp_path / "x.ds", {"x": [1, 2], "y": 5})
    ds.cmd.ls(str(tmp_path / "x.ds"))
    ds.cmd.CMDS["type"]("x", str(tmp_path / "x.ds"), j=True)
    ds.cmd.type_("y", str(tmp_path / "x.ds"))
    assert capsys.readouterr().out == 'x\ny\n"int64"\nint64\n'
    assert {*ds.cmd.CMDS} >= {"attrs", "cat", "dim", "dims", "ls", "merge", "meta", "rename", "rename_dim", "rm"}
    with pytest.raises(AttributeError, match="nonsense"):
        ds.cmd.nonsense  # noqa: B018
    assert importlib.import_module("ds_format.cmd") is ds.cmd
    assert ds.cmd.UsageError is ds.misc.UsageError
    with pytest.raises(ds.cmd.UsageError, match="found 3 arguments, expected VAR INPUT"):
        ds.cmd.size("x", "y", "z")


def test_no_name_has_no_key() -> None:
    assert ds.escape(None) is None
    assert ds.unescape(None) is None
    assert (ds.escape(".x"), ds.unescape("\\.x"), ds.escape("x")) == ("\\.x", ".x", "x")


@pytest.fixture
def mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode of the process is soft, and is so again afterwards."""
    monkeypatch.setattr(modes, "_process", ["soft"])


@pytest.mark.usefixtures("mode")
def test_the_mode_is_an_attribute_of_the_package() -> None:
    assert ds.mode == "soft"
    ds.mode = "strict"
    assert ds.mode == modes.get() == "strict"
    with ds.with_mode("soft"):
        assert ds.mode == "soft"
        ds.mode = "moderate"
        assert ds.mode == "moderate"
    assert ds.mode == "strict"
    ds.mode = "nonsense"
    assert ds.mode == "soft"


@pytest.mark.usefixtures("mode")
def test_a_block_with_a_mode_does_not_disturb_other_threads() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with ds.with_mode("strict"):
            assert pool.submit(modes.get).result() == "soft"
        ds.mode = "moderate"
        assert pool.submit(modes.get).result() == "moderate"
        with pytest.raises(ZeroDivisionError), ds.with_mode("strict"):
            1 / 0  # noqa: B018
        assert ds.mode == "moderate"


def test_the_citation_tells_this_version() -> None:
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [ds.__version__]


def test_importing_costs_nothing() -> None:
    code = "import sys, ds_format; ds_format.mode; sys.exit(any(name in sys.modules for name in ('numpy', 'netCDF4')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_description_stands_alone() -> None:
    """An index of packages shows README.md without the files that its relative links lead to."""
    text = str(importlib.metadata.metadata("ds-format-cython").json["description"])
    assert text.startswith("# ds_format"), "the package was installed without its description"
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []
    assert "](https://zarr.dev/)" in text and "docs/_static" not in text
