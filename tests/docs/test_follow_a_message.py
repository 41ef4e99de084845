"""The page that follows a message names functions that exist, and no way is long."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "follow-a-message.md").read_text(encoding="utf-8")
HOP = re.compile(r"^(\d+)\. `([\w.]+)` (.+)$", re.MULTILINE)
MOST_HOPS = 8


def ways() -> dict[str, list[list[str]]]:
    """The lists of hops under each heading; a list begins at number 1."""
    found: dict[str, list[list[str]]] = {}
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        lists = found.setdefault(section.splitlines()[0], [])
        for number, name, _ in HOP.findall(section):
            if number == "1":
                lists.append([])
            lists[-1].append(name)
            assert int(number) == len(lists[-1]), f"{name} is numbered {number}"
    return found


def resolve(name: str) -> object:
    """The function, class or method behind `package.module.Class.method`."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise  # something that the module needs is missing, not the module
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def test_all_four_ways_are_there() -> None:
    assert [title.split(".")[0] for title in ways()] == ["1", "2", "3", "4"]
    assert all(lists and all(lists) for lists in ways().values())


@pytest.mark.parametrize("title", ways())
def test_a_way_has_at_most_eight_hops(title: str) -> None:
    assert [hops for hops in ways()[title] if len(hops) > MOST_HOPS] == []


def test_every_numbered_line_is_a_hop_with_a_sentence() -> None:
    numbered = re.findall(r"^\d+\. .*$", PAGE, re.MULTILINE)
    assert len(numbered) == len(HOP.findall(PAGE))
    assert all(sentence.endswith(".") for _, _, sentence in HOP.findall(PAGE))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(zonal\.[\w.]+)`", PAGE))))
def test_every_name_exists(name: str) -> None:
    found = resolve(name)
    assert callable(found)
    assert not isinstance(found, type), "a hop is a function or a method"
