"""The readers in other languages of the folder `examples` read what this package reads."""

import re

from ..conftest import ROOT


def documented(language: str) -> tuple[str, str]:
    """Return the code of the page on other languages in one of them, and what it prints, as the page says."""
    text = (ROOT / "docs" / "other_languages.md").read_text()
    found = re.search(rf"^```{{code-block}} {language}\n(.*?)```\n\n```text\n(.*?)```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1], found[2]
