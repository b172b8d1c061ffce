"""A survey: compares all readers of COUNT random files, or of some files.

    python -m tests.one_answer FIRST COUNT
    python -m tests.one_answer PATH...

Prints how many comparisons and disagreements there are, by class, and examples of those that no document allows.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

from . import files, readers
from .allowed import which
from .comparing import Comparisons, Disagreement, short
from .library import Content

MAX_EXAMPLES = 4


def main(words: list[str]) -> int:
    """See above."""
    begin = time.monotonic()
    is_random = words[0].isdigit()
    names = [str(int(words[0]) + i) for i in range(int(words[1]))] if is_random else words
    counts: Counter[str] = Counter()
    listed: Counter[str] = Counter()
    classes: dict[tuple[str, ...], list[tuple[str, Disagreement, Content | None]]] = defaultdict(list)
    for name in names:
        compared, content = survey(name)
        counts["files"] += 1
        counts["variables"] += len(content.variables) if content else 0
        counts["comparisons"] += compared.count
        for one in compared.found:
            row = which(one, content)
            if row is None:
                classes[one.reader, one.other, one.aspect].append((name, one, content))
            else:
                listed[f"{row.page}: {row.sentence}"] += 1
    for key, found in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(len(found), *key, sep=" | ")
        examples = {(name, one.key): (name, one, content) for name, one, content in found}
        for name, one, content in [*examples.values()][:MAX_EXAMPLES]:
            print(f"      {name} {one.key} {one.options} :: {short(one.found)} :: {short(one.expected)}")
            stored = content.variables.get(one.key) if content else None
            if stored is not None:
                print(f"          {stored.kind} {stored.dtype} {stored.dims} {short(stored.attributes)}")
    print(dict(counts), {"unlisted": sum(map(len, classes.values()))}, f"{time.monotonic() - begin:.0f} s")
    for sentence, n in listed.most_common():
        print(f"{n:6} {sentence}")
    return bool(classes)


def survey(name: str) -> tuple[Comparisons, Content | None]:
    """Compare all readers of a file, or of a random one."""
    compared = Comparisons()
    with tempfile.TemporaryDirectory() as folder:
        path, seed = Path(name), 0
        if name.isdigit():
            path, seed = Path(folder, "x.nc"), int(name)
            files.write(path, Random(seed))
        content: Any = readers.compare(path, Path(folder), Random(seed), compared)
    return compared, content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
