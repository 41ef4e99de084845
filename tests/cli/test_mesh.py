"""`zonal mesh`: nodes and a gateway as processes, and what is asked of them."""

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import zonal
from meshes import QUICK, nodes_in_a_line
from network import client, eventually, router_row
from zonal.cli import app
from zonal.geo import Point
from zonal.runtime import ChildProcess

DUOMO = Point(45.4642, 9.1900)
TOPIC = "city/noise"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[list[Path]]:
    """Two nodes by the command line that find each other on loopback: their sockets."""
    port = str(random.SystemRandom().randrange(20_000, 30_000))
    doors = [tmp_path / "one.sock", tmp_path / "two.sock"]
    started = []
    for door in doors:
        arguments = ["mesh", "node", "--interface", "lo", "--group-port", port]
        arguments += ["--socket", str(door), "--period", "0.2", "--position", "45.4642,9.19"]
        started.append(ChildProcess([sys.executable, "-m", "zonal", *arguments]))
    try:
        for door in doors:
            eventually(door.exists, 30)
        yield doors
    finally:
        for process in started:
            process.end()


def mesh_command(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["mesh", *arguments], input=given)


def in_process(*arguments: str) -> str:
    """What a command of the mesh prints, run by itself: it takes over signals."""
    command = [sys.executable, "-m", "zonal", "mesh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_topics_and_places_on_the_command_line(room: list[Path]) -> None:
    one, two = map(str, room)

    def numbers(socket: str) -> dict[str, int]:
        return json.loads(mesh_command("status", "--socket", socket, "--json").stdout)

    eventually(lambda: numbers(one)["length"] == 2, 30, "one ring")
    picture = mesh_command("status", "--socket", two).stdout
    assert "used" in picture
    assert "2: 2 nodes" in picture
    shown = in_process("status", "--watch", "--seconds", "0.5", "--socket", two)
    assert "mesh node" in shown
    assert "parent" in shown or "child" in shown
    watched = in_process("status", "--watch", "--seconds", "0.5", "--json", "--socket", two)
    assert {json.loads(line)["length"] for line in watched.splitlines()} == {2}
    heard: list[str] = []
    arguments = ["sub", "street/*/noise", "--area", "around:500m", "-n", "2", "--seconds", "30"]
    thread = threading.Thread(target=lambda: heard.append(in_process(*arguments, "--socket", two)))
    thread.start()
    eventually(lambda: "1 subscribed here" in mesh_command("status", "--socket", two).stdout, 30)
    eventually(lambda: numbers(one)["channels"] >= numbers(two)["wanted"] > 0, 30, "a way to two")
    place = ["--at", "45.4643,9.1901", "--socket", one]
    assert mesh_command("pub", "street/a/noise", "62 dB", *place).exit_code == 0
    far = ["--at", "48,11", "--socket", one]
    assert mesh_command("pub", "street/a/noise", "not here", *far).exit_code == 0
    assert mesh_command("pub", "street/b/noise", *place, given="70 dB\n").exit_code == 0
    thread.join(40)
    assert sorted(heard[0].splitlines()) == [
        "street/a/noise  45.46430, 9.19010  62 dB",
        "street/b/noise  45.46430, 9.19010  70 dB",
    ]


def test_errors_of_the_mesh_commands_are_one_clear_line(room: list[Path], tmp_path: Path) -> None:
    nobody = mesh_command("status", "--socket", str(tmp_path / "nobody.sock"))
    assert nobody.exit_code == 1
    assert "`zonal mesh node` starts one" in nobody.stderr
    wildcard = mesh_command("pub", "street/*", "x", "--socket", str(room[0]))
    assert wildcard.exit_code == 1
    assert "has a wildcard" in wildcard.stderr
    pattern = mesh_command("sub", "*b$*$*", "--socket", str(room[0]))
    assert "is no key expression" in pattern.stderr
    taken = mesh_command("node", "--interface", "lo", "--socket", str(room[0]))
    assert taken.exit_code == 1
    assert "already runs behind" in taken.stderr


def test_gateway_command() -> None:
    with nodes_in_a_line() as line, router_row(1) as (router,), client(router) as beyond:
        heard = beyond.declare_subscriber(TOPIC)
        host, port = line[0].address
        arguments = ["gateway", "--id", "9", "--topic", TOPIC, "--seconds", "60"]
        arguments += ["--period", str(QUICK.period), "--acknowledged"]  # as its neighbours
        arguments += ["--connect", router.endpoints[0], "--peer", f"0={host}:{port}"]
        code = f"from zonal.cli.mesh import app; app({arguments!r})"
        gate = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        try:
            place = gate.stdout.readline().split()[-1].rpartition(":")
            peers = {9: (place[0], int(place[2])), 1: line[1].address}
            line[0].set_peers(peers)

            def crossed() -> zonal.Sample | None:
                line[3].put(TOPIC, b"hello", location=DUOMO)
                return heard.recv(0.3)

            assert eventually(crossed, 40).payload.to_bytes() == b"hello"
        finally:
            gate.kill()
            gate.communicate()
