"""The examples in docs/subscription-index.md run and print what they say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "subscription-index.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_there_are_examples() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_prints_what_it_says(block: str) -> None:
    lines, names, checked = block.splitlines(), dict[str, object](), 0
    for statement in ast.parse(block).body:
        code = ast.unparse(statement)
        following = lines[statement.end_lineno : (statement.end_lineno or 0) + 1]
        if isinstance(statement, ast.Expr) and following and following[0].startswith("# "):
            assert repr(eval(code, names)) == following[0].removeprefix("# ")
            checked += 1
        else:
            exec(code, names)
    assert checked
