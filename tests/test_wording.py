"""The wording of documents, messages, docstrings and comments.

Phrases that read as if translated stay out of all of them. `python tests/test_wording.py [PATH ...]` prints the lines
that have one. `tests/golden/messages.txt` has all messages of the package and all texts of its help, so that each
change of a wording is a line to review: `python tests/test_wording.py --write`.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
MESSAGES = TOP / "tests" / "golden" / "messages.txt"
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs", "examples")
CODE = ("ds_format",)
#: Documents and rooms that are still to be rewritten; one that is done leaves this list.
UNFINISHED: tuple[str, ...] = ()

#: What is out, and what to say in its place.
PHRASES = {
    r"\b(is|are|was|were|be) told\b": "is reported, prints, names",
    r"\btold of\b": "is reported, prints, names",
    r"\btells? (of|what|who)\b": "reports, prints, names",
    r"\bst(ands?|ood) (in|below|above|there|under|beside|before|behind|first|last|at|on)\b": "is",
    r"\bwhole or (absent|not at all)\b": "atomic, atomically",
    r"\banew\b": "again",
    r"\bonce more\b": "again",
    r"\bof (a|one|several|another|this|that) kinds?\b": "(drop it)",
    r"\b(is|are|was|were) wanted\b": "on demand, on first access, requested",
    r"\b(nobody|somebody|whoever)\b": "you, another process, a user",
    r"\bhas no more than\b": "has at most",
    r"\ball else\b": "everything else",
    r"\b(all|all \w+|everything|none) but\b": "except",
    r"\bnothing but\b": "only",
    r"\b(least|greatest) values?\b": "minimum, maximum",
    r"\b(those|the same) words\b": "the same command",
    r"\b(is|are) (believed|noted)\b": "is used, is stored",
    r"\bl(ay|ies?|ying) beside\b": "next to",
    r"\bwhat is lost\b": "the information that is lost",
    r"\bprograms of others\b": "other programs",
    r"\b(honestly|of course|simply)\b": "(drop it)",
    r"\breports? of (a )?stations?\b": "station report",
    r"\blooked through\b": "searched",
    r"\b(is|was|are) said\b": "is reported, is documented",
    r"\bthe system\b(?! call)": "the operating system",
    r"(?<=[;:,] )what (?=\w)": "name the thing",
}
#: Sentences do not begin with these words; questions and headings may.
OPENINGS = re.compile(r"(?:^|(?<=[.:] ))(?:Of (?=\w)|Whoever\b|What (?![^.]*\?))")
PATTERN = re.compile("|".join(PHRASES), re.IGNORECASE)

#: Lines whose wording is not ours: messages of ds-format 5.0.2 that recorded runs hold, names of other programs.
EXCEPTIONS: frozenset[str] = frozenset()


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of text that people read: outside of code blocks; comments and strings of programs."""
    text = path.read_text()
    if path.suffix in {".md", ".rst"}:
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            if not fenced and not line.startswith("#"):
                yield number, line
    elif path.suffix in {".py", ".pyi"}:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}:
                for number, line in enumerate(token.string.splitlines(), token.start[0]):
                    yield number, line.strip().lstrip("#rf\"' ")
    else:
        inside = False
        for number, line in enumerate(text.splitlines(), 1):
            quotes = line.count('"""')
            if inside or quotes:
                yield number, line.strip().strip('"')
            elif "#" in line:
                yield number, line.partition("#")[2].strip()
            inside ^= quotes % 2 == 1


def files(tops: tuple[str, ...]) -> Iterator[Path]:
    """Documents and modules below `tops`, without those that are generated."""
    for top in tops:
        path = TOP / top
        below = path.rglob("*") if path.is_dir() else [path]
        for file in sorted(below):
            generated = {"generated", "gallery", "_build"} & {*file.parts}
            if file.exists() and file.suffix in {".md", ".rst", ".py", ".pyi", ".pyx", ".pxd"} and not generated:
                yield file


def faults(path: Path) -> Iterator[str]:
    """Lines of `path` with a phrase that is out: number, phrase, line."""
    for number, line in prose(path):
        if line.strip() in EXCEPTIONS:
            continue
        for match in [*PATTERN.finditer(line), *OPENINGS.finditer(line)]:
            yield f"{path.relative_to(TOP)}:{number}: {match[0]!r}: {line.strip()}"


def is_finished(path: Path) -> bool:
    """Whether a file is not on the list of those to be rewritten."""
    return not any(path.is_relative_to(TOP / name) for name in UNFINISHED)


@pytest.mark.parametrize("top", [*DOCUMENTS, *CODE])
def test_phrases(top: str):
    assert [fault for path in files((top,)) if is_finished(path) for fault in faults(path)] == []


def test_what_is_finished_leaves_the_list():
    for name in UNFINISHED:
        assert [fault for path in files((name,)) for fault in faults(path)], name


#: A string is a message if it has two words, or a word and a value.
WORDS = re.compile(r"[^\W_]{2}\W* +\S|\S +[^\W_]{2}|[^\W_]{2}: ?\{\}")
#: What a kernel has: docstrings and comments, which are skipped, and strings.
TOKENS = re.compile(r'"""[\s\S]*?"""|#.*|(\brb?|\bb)?(?:f?"((?:[^"\\\n]|\\.)*)"\s*)+')


def strings(path: Path) -> Iterator[str]:
    """Strings of a module, except docstrings, with `{}` for each value in them."""
    if path.suffix == ".pyx":
        for match in TOKENS.finditer(path.read_text()):
            if match[2] is not None and not match[1]:
                parts = re.findall(TOKENS.pattern.replace(r"\s*)+", ")"), match[0])
                yield re.sub(r"\{[^{}]*\}", "{}", "".join(text for _, text in parts))
        return
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            waiting += [part for part in node.values if not isinstance(part, ast.Constant)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            waiting += ast.iter_child_nodes(node)


def messages() -> str:
    """All messages of the package, one in each line, in the order of the alphabet."""
    found = {text for path in files(CODE) if path.suffix in {".py", ".pyx"} for text in strings(path)}
    return "".join(f"{text!r}\n" for text in sorted(found) if WORDS.search(text))


def test_messages():
    assert messages() == MESSAGES.read_text(), "after a look at the change: python tests/test_wording.py --write"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    MESSAGES.write_text(messages())
elif __name__ == "__main__":
    for name in sys.argv[1:] or (*DOCUMENTS, *CODE):
        for path in files((str(Path(name).resolve().relative_to(TOP)),)):
            for fault in faults(path):
                print(fault)
