"""The conformance cases of the data files, against this broker."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import conformance
from broker_wire import serving

TOOL = Path(__file__).parents[2] / "tools" / "conformance.py"


async def test_every_case_passes() -> None:
    async with serving() as (_, port):
        found = await conformance.run_all("127.0.0.1", port)
    wrong = {case.name: problem for case, problem in found.items() if problem is not None}
    assert wrong == {}
    assert len(found) > 120


async def test_a_broker_that_does_otherwise_is_found_out() -> None:
    case = conformance.Case("no", (), ("a joins", "a > c000", "a < d1 #( )"), "")
    async with serving() as (_, port):
        assert await conformance.run(case, "127.0.0.1", port) == "a < d1 #( ): came d0 "


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("10 #( 'ab' %( 21 0001 ) \"x\" )", b"\x10\x09\0\2ab\x03\x21\0\1x"),
        ("30 #( '~/t' )", b"\x30\x06\0\4u1/t"),
    ],
)
def test_the_notation(text: str, data: bytes) -> None:
    assert conformance.parse(text, "u1", pattern=False) == data


def test_the_page_says_what_the_cases_and_tests_show() -> None:
    spec = importlib.util.spec_from_file_location("conformance_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text() == tool.page(), "run tools/conformance.py --write"
    assert "**open**" not in tool.page()
