"""The rules of docs/rules.md are read, and decide what the page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zonal.cli.rules import app
from zonal.geo import Box, Circle, Point
from zonal.trust import Rules, read_rules

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "rules.md").read_text(encoding="utf-8")
DUOMO, BERLIN = Point(45.4642, 9.19), Point(52.52, 13.405)
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("zonal rules") and ">" not in line
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "rules.toml").write_text(toml)
    milano = Box(45.38, 9.04, 45.54, 9.28).to_geojson()
    (tmp_path / "milano.geojson").write_text(json.dumps(milano))
    return tmp_path


@pytest.fixture
def rules(folder: Path) -> Rules:
    return read_rules(folder / "rules.toml")


def test_the_rules_decide_what_they_are_called(rules: Rules) -> None:
    near = Circle(DUOMO, radius_m=1000)
    assert rules.may_hear("alice", "city/air", near).allowed
    assert rules.may_hear("carol", "city/#").narrowed
    assert not rules.may_hear("dave", "city/air").allowed
    assert rules.may_publish("dave", "cars/dave/1", DUOMO).precision_m == 200
    assert not rules.may_publish("dave", "cars/alice/1", DUOMO).allowed
    assert rules.may_publish("mayor", "city/news", None, near, position=DUOMO).allowed
    assert not rules.may_publish("mayor", "city/news", None, near, position=BERLIN).allowed
    assert not rules.may_publish("mayor", "city/news", position=DUOMO).allowed
    assert not rules.may_receive("alice", "city/doors/1", DUOMO).allowed
    assert rules.may_receive("alice", "city/doors/1", Point(45.5, 9.2)).allowed
    assert rules.may_receive(None, "city/x/air", BERLIN).precision_m == 2000
    assert not rules.may_hear(None, "city/doors/1").allowed


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_commands_work(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, command[2:])
    assert done.exit_code in {0, 1}, done.output
    assert done.output.startswith(("rules.toml is right", "allowed by", "refused"))
    assert done.exit_code == done.output.startswith("refused")


def test_a_mosquitto_operator_finds_every_key(rules: Rules) -> None:
    written = set(re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", PAGE, re.MULTILINE))
    keys = {key for pair in written for key in pair if key}
    assert keys >= {"name", "who", "allow", "deny", "topics", "area", "from", "to", "precision_m"}
    assert rules.positions
