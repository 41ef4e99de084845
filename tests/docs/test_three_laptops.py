"""The tutorial of the three laptops, command by command, with three nodes on loopback."""

from __future__ import annotations

import json
import random
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import line_with, run_zonal, running_zonal
from network import eventually
from zonal.runtime import ChildProcess

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "three-laptops.md"
NODE, SUB, PUB, STATUS = (
    shlex.split(line)
    for line in re.findall(r"^\$ zonal (mesh .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
)


class Laptop:
    """A node of the tutorial, which has loopback instead of a room, and beacons more often."""

    def __init__(self, socket: Path, port: str) -> None:
        self.own = ["--socket", str(socket)]
        words = [word for word in NODE if word != "--insecure"]
        room = ["--interface", "lo", "--group-port", port, "--period", "0.2"]
        self.process = ChildProcess([sys.executable, "-m", "zonal", *words, *room, *self.own])

    def nodes(self) -> int:
        """How many are on the ring, whose length is 2(n − 1)."""
        told = run_zonal(*STATUS, "--json", *self.own)
        return int(json.loads(told.stdout)["length"]) // 2 + 1 if told.returncode == 0 else 0


@pytest.fixture
def laptops(tmp_path: Path) -> Iterator[list[Laptop]]:
    port = str(random.SystemRandom().randrange(20_000, 30_000))
    opened = [Laptop(tmp_path / f"{number}.sock", port) for number in range(3)]
    yield opened
    for laptop in opened:
        laptop.process.end()


def test_three_laptops_make_a_mesh_that_closes_without_one(laptops: list[Laptop]) -> None:
    one, two, three = laptops
    eventually(lambda: one.nodes() == 3, 60)
    with running_zonal(*SUB, "--count", "1", *one.own) as listening:
        eventually(lambda: "1 subscribed here" in run_zonal(*STATUS, *one.own).stdout, 30)

        def heard() -> bool:
            assert run_zonal(*PUB, *two.own).returncode == 0
            return listening.poll() is not None

        eventually(heard, 60)
        assert line_with("room/door", listening, listening.stdout).endswith("open\n")
    three.process.end()
    eventually(lambda: one.nodes() == 2, 60)
