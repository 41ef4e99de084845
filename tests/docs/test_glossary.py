"""Every word of the glossary stands once, and the module that it names exists."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| .+ \| `(zonal[\w.]*)` \|$", PAGE, re.MULTILINE)


def test_no_word_stands_twice() -> None:
    assert len(ROWS) > 40
    assert [word for word, count in Counter(word for word, _ in ROWS).items() if count > 1] == []


@pytest.mark.parametrize("module", sorted({module for _, module in ROWS}))
def test_every_module_exists(module: str) -> None:
    assert importlib.util.find_spec(module) is not None
