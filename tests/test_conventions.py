"""Which variables are coordinates: the same for all that show, draw and join datasets."""

from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.cli import info
from ds_format.model.conventions import coordinates, kind_of, rename_references
from ds_format.show import overview

META: dict[str, Any] = {
    "time": {".dims": ["time"]},
    "lat": {".dims": ["station"]},
    "height": {".dims": []},
    "x": {".dims": ["time", "station"], "coordinates": "lat absent"},
    "g/lat": {".dims": ["g/station"]},
    "g/x": {".dims": ["g/station"], "coordinates": "lat"},
    "y": {".dims": ["time"], "coordinates": 3},
    "\\.own": {".dims": [".own"]},
    ".": {"coordinates": "height"},
}
FOUND = {"time", "lat", "height", "g/lat", "\\.own"}


def test_coordinates_are_named_like_their_dimension_or_by_attributes() -> None:
    assert coordinates(META, {key: entry[".dims"] for key, entry in META.items() if key != "."}) == FOUND


def test_an_attribute_means_the_variable_of_its_group_where_there_is_one() -> None:
    alone = {key: META[key] for key in ("lat", "g/x")}
    assert coordinates(alone, {key: entry[".dims"] for key, entry in alone.items()}) == {"lat"}


def test_info_and_the_view_have_the_same_coordinates(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset: dict[str, Any] = {key: np.zeros((2,) * len(entry[".dims"])) for key, entry in META.items() if key != "."}
    ds.write("x.ds", {**dataset, ".": META})
    told = info.facts_of("x.ds")["variables"]
    assert {name for name, one in told.items() if one["coordinate"]} == {name.removeprefix("\\") for name in FOUND}
    assert {row.name for row in overview.overview_of(ds.read("x.ds")).coordinates} == FOUND


def test_names_in_groups_follow() -> None:
    meta = {"g/x": {"coordinates": "lat lon"}, "x": {"coordinates": "lat", "bounds": 5}, ".": {}}
    rename_references(meta, {"g/lat": "g/north", "lat": "south", "lon": "east"}, ["g/lat", "lat", "lon", "g/x", "x"])
    assert meta == {"g/x": {"coordinates": "north east"}, "x": {"coordinates": "south", "bounds": 5}, ".": {}}


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"units": "degrees_east"}, "longitude"),
        ({"standard_name": "longitude"}, "longitude"),
        ({"units": "Degree_East", "standard_name": "longitude"}, "longitude"),
        ({"units": "degrees_north"}, "latitude"),
        ({"standard_name": "latitude", "units": "degree"}, "latitude"),
        ({"units": "degree", "standard_name": "grid_longitude"}, ""),
        ({}, ""),
    ],
)
def test_units_or_the_standard_name_tell_longitude_and_latitude(entry: dict[str, Any], kind: str) -> None:
    assert kind_of(entry) == kind
