"""`ds sql`: query files by SQL, and print the result or write it to a file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from ..api.buffers import dumps
from ..api.writing import write
from ..base.text import aligned, hint, on_one_line
from ..drivers.base import LossWarning
from ..errors import UnsupportedError
from ..many.querying import dataset, sql
from ..tables.arrow import from_arrow
from ..tables.libraries import duckdb
from .arguments import READ, ArgumentError, Command, Option, Request, UsageError, names, word
from .pst import Text, in_type
from .select_ import STORED, WRITTEN, with_options, writing

OPTIONS = (
    Option(
        "columns",
        "Scalars and attributes that are columns, too: a name or { NAME... }. filename is the path of each file. All "
        "scalars by default.",
        "NAMES",
        names,
    ),
    Option("csv", "Print the result as CSV."),
    Option("dim", "The dimension of the rows. By default that of all variables.", "DIM", word(none=False)),
    Option("to", "Write the result to a file of any format, instead of printing it.", "OUTPUT", word(none=False)),
    *WRITTEN,
    *STORED,
)
EXCERPT = re.compile(r"\n\nLINE \d+:.*|\n\tCandidate functions:.*", re.DOTALL)
"""The end of a message of DuckDB that takes lines: a part of the query, or all functions of a name."""
TYPES = {"FLOAT": "float32"}
"""Types of DuckDB with fewer digits than floats of Python → types of ds."""


def run(request: Request) -> Iterator[Any]:
    """Yield the lines of a table; with `-j` an object for each row.

    Raises
    ------
    ArgumentError
        If DuckDB refuses the query, or an option has an invalid form.
    DsError, OSError
        If a file cannot be read, or the output cannot be written.
    UsageError
        If there is no query or no table, or a table is not in the query.
    """
    request = with_options(request, request.words, lambda name, value: False)
    if unused := sorted(option.name for option in READ if option.name in request.options):
        raise UsageError(f'the option "{unused[0]}" is for other commands: write it as a condition in the query')
    pairs = (pair for word in request.words if isinstance(word, dict) for pair in word.items())
    files = {name: names(name, value) for name, value in pairs}
    request = request._replace(words=[word for word in request.words if not isinstance(word, dict)])
    query, *more = request.names("QUERY...")
    if more:
        raise UsageError(f"found {more[0]} after QUERY: put patterns in quotes, and several files in braces")
    if not files:
        raise UsageError("NAME: FILES is missing: the name of a table in the query, and its files")
    for name in files:
        if name.casefold() not in query.replace('""', '"').casefold():
            known = [option.name for option in request.known_options.values() if option.value]
            raise UsageError(f'"{name}" is neither a table in the query nor an option{hint(name, known)}')
    refused = duckdb().Error
    dim, columns, output = (request.get(name) for name in ("dim", "columns", "to"))
    target = "table.csv" if output is None else output
    options = writing(request, target, other={"dim"}) if output is not None or request.flag("csv") else {}
    tables = {name: dataset(paths[0] if len(paths) == 1 else paths, dim, columns) for name, paths in files.items()}
    try:
        found = sql(query, **tables)
        if found is None:
            return
        if output is not None:
            write(output, from_arrow(found), **options)
        elif request.flag("csv"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LossWarning)  # a printed table is not to be read with its types
                text = dumps(from_arrow(found), format="csv", **{"times": "iso", **options})
            yield Text(text.decode().replace("\r\n", "\n").rstrip("\n"))  # lines end as those of other output
        else:
            kinds = [str(kind) for kind in found.types]
            rows = [[*map(_shown, row, kinds)] for row in found.fetchall()]
            yield from _objects(found.columns, rows) if request.flag("j") else _lines(found.columns, rows)
    except refused as error:
        for table in tables.values():
            if table.error is not None:
                raise table.error from None
        raise ArgumentError(EXCERPT.sub("", str(error))) from error


def _objects(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield an object for each row."""
    for name in columns:
        if columns.count(name) > 1:
            raise UnsupportedError(f'found two columns "{name}": rename one of them by `as`')
    return (dict(zip(columns, row, strict=True)) for row in rows)


def _lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[Text]:
    """Yield the lines of a table, whose first one has the names of the columns. Numbers are aligned on the right."""
    right = [i for i, values in enumerate(zip(*rows, strict=True)) if not any(isinstance(one, str) for one in values)]
    cells = [["" if value is None else on_one_line(str(value)) for value in row] for row in rows]
    return (Text("  ".join(row).rstrip()) for row in aligned([columns, *cells], right=right))


def _shown(value: Any, kind: str) -> Any:
    """Return a value of a type of DuckDB as JSON has it: dates as text, floats with the digits of their type."""
    if isinstance(value, list):
        return [_shown(each, kind.removesuffix("[]")) for each in value]
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | Decimal):
        return in_type(float(value) if isinstance(value, Decimal) else value, TYPES.get(kind))
    return str(value)


COMMANDS = {
    "sql": Command(
        usage=("ds sql [OPTIONS] [--] QUERY NAME: FILES...",),
        about="Queries files by SQL, and prints the result as a table. Each table is one file or many, whose rows "
        "follow each other. Its columns are the variables of one dimension, and all scalars. Only the columns that the "
        "query names are read, and a condition on scalars, attributes or the coordinate skips files. The query cannot "
        "read other files, or write any. Needs DuckDB and pyarrow: pip install 'ds-format-cython[tables]'.",
        arguments=(
            ("QUERY", "A query in the SQL of DuckDB."),
            ("NAME: FILES", "Name of a table in the query, and its files: a name, a pattern or { NAME... }."),
        ),
        options=OPTIONS,
        examples=(
            ("Means by station:", "ds sql 'select station, avg(temperature) from t group by 1' t: 'st/*.nc'"),
            (
                "Rows with strong wind, with an attribute of their files, to a file:",
                "ds sql 'from t where wind > 9' t: 'st/*.nc' columns: title to: x.ds",
            ),
        ),
        run=run,
    ),
}
