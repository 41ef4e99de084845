"""Every example in the documentation runs as it is written."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from broker_process import BrokerProcess
from mosquitto_clients import Listening
from zonal.broker.credentials import read_passwords
from zonal.broker.location_rules import read_location_rules
from zonal.cli.broker import app
from zonal.trust import read_rules

PAGE = Path(__file__).parents[2] / "docs" / "broker.md"
BLOCK = re.compile(r"([^\n]*)\n\n```(\w+)\n(.*?)```", re.DOTALL)
mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto_pub") is None, reason="mosquitto-clients is not installed"
)


def blocks() -> list[tuple[str, str, str]]:
    """What stands before each block, its language and its text."""
    return BLOCK.findall(PAGE.read_text())


def conversations() -> list[tuple[str, str, str]]:
    """What terminal 1 runs, what terminal 2 runs, and what terminal 1 shows."""
    found, listening, talking = [], "", ""
    for before, _, text in blocks():
        if "Terminal 1 shows" in before:
            found.append((listening.strip(), talking, text))
        elif "Terminal 1" in before:
            listening = text
        elif "Terminal 2" in before:
            talking = text
    return found


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    with BrokerProcess() as process:
        yield process


def run(line: str, port: int) -> None:
    command, *arguments = shlex.split(line)
    subprocess.run([command, "-p", str(port), *arguments], check=True, timeout=20)


@mosquitto
@pytest.mark.parametrize("number", range(len(conversations())))
def test_conversations(broker: BrokerProcess, number: int) -> None:
    first, second, shown = conversations()[number]
    command, *arguments = shlex.split(first)
    assert command == "mosquitto_sub"
    listening = Listening(broker.port, *arguments)
    for line in second.strip().splitlines():
        run(line, broker.port)
    assert listening.finish() == shown.strip().splitlines()


def test_the_page_has_conversations() -> None:
    assert len(conversations()) >= 5


@mosquitto
def test_single_publications(broker: BrokerProcess) -> None:
    told = {line for _, talking, _ in conversations() for line in talking.splitlines()}
    lines = [
        line
        for _, language, text in blocks()
        if language == "sh"
        for line in text.splitlines()
        if line.startswith("mosquitto_pub") and line not in told
    ]
    assert lines
    for line in lines:
        run(line, broker.port)


def test_every_option_of_every_command_exists() -> None:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    commands = ([], ["passwd"], ["status"], ["kick"], ["bridge"])
    shown = "".join(runner.invoke(app, [*command, "--help"]).output for command in commands)
    used = {
        word
        for _, language, text in blocks()
        if language == "sh" and "zonal broker" in text
        for word in text.split()
        if word.startswith("--")
    }
    assert used
    assert {option for option in used if option not in shown} == set()


def test_the_rules_and_the_password_command_work(tmp_path: Path) -> None:
    toml, *_ = [text for _, language, text in blocks() if "[[rule]]" in text]
    rules = tmp_path / "rules.toml"
    rules.write_text(toml)
    assert read_rules(rules).users == {"alice"}
    users = tmp_path / "users"
    done = CliRunner().invoke(app, ["passwd", str(users), "alice"], input="secret\nsecret\n")
    assert done.exit_code == 0, done.output
    assert set(read_passwords(users)) == {"alice"}


def test_the_location_rules_work(tmp_path: Path) -> None:
    (toml,) = [text for _, language, text in blocks() if language == "toml" and "presets" in text]
    rules = tmp_path / "locations.toml"
    rules.write_text(toml)
    found = read_location_rules(rules)
    assert all(found.apply_to(topic) for topic in ("cars/1/gps", "boats/1", "owntracks/a/b"))
