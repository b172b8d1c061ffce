"""JSON Schemas of zds.json and manifest.json, as files next to this one, and the check of a file against them.

Other programs can use the files with any validator of JSON Schema. `wrong_values` supports only the keywords that these
files contain.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_KINDS: dict[str, tuple[type, str]] = {
    "object": (dict, "an object"),
    "string": (str, "a string"),
    "boolean": (bool, "true or false"),
    "integer": (int, "an integer"),
}


def json_schema(name: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a file of a store.

    Parameters
    ----------
    name : str
        `zds.json` or `manifest.json`.

    Raises
    ------
    ValueError
        If there is no such file.

    Examples
    --------
    >>> from ds_format.zds import json_schema
    >>> sorted(json_schema("manifest.json")["properties"])
    ['collection', 'created_at', 'doc_count', 'schema_count', 'strict', 'version']
    """
    if name not in {"zds.json", "manifest.json"}:
        raise ValueError(f"name: found {name!r:.100}, expected 'zds.json' or 'manifest.json'")
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        schema: Schema = json.load(file)
    return schema


def wrong_values(value: Any, schema: Schema) -> Iterator[tuple[str, str]]:
    """Iterate over the dotted path of each value that breaks a schema, and its fault.

    Examples
    --------
    >>> from ds_format.zds.json_schemas import json_schema, wrong_values
    >>> list(wrong_values({"doc_count": "3", "version": "7"}, json_schema("manifest.json")))
    [('version', "found '7', expected '0.1.0' or the like"), ('doc_count', "found '3', expected an integer")]
    """
    return _wrong(value, schema, "", schema.get("$defs", {}))


def _wrong(value: Any, schema: Schema, path: str, defined: Schema) -> Iterator[tuple[str, str]]:
    if "$ref" in schema:
        schema = defined[schema["$ref"].rpartition("/")[2]]
    kind, words = _KINDS[schema["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        yield path, f"found {value!r:.100}, expected {words}"
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{path}.{key}" if path else key, "not found"
        for key in [*(key for key in properties if key in value), *(key for key in value if key not in properties)]:
            inner = properties.get(key, others)
            if inner is not None:
                yield from _wrong(value[key], inner, f"{path}.{key}" if path else key, defined)
    elif isinstance(value, str):
        if not re.search(schema.get("pattern", ""), value):
            yield path, f"found {value!r:.100}, expected {schema['examples'][0]!r} or the like"
    elif value < schema.get("minimum", value):
        yield path, f"found {value}, expected {schema['minimum']} or more"
