"""`zonal mesh node` and `zonal mesh gateway`, as processes."""

import socket
import subprocess
import sys
import threading

import zonal
from meshes import QUICK, nodes_in_a_line
from network import client, eventually, router_row
from zonal.geo import Point

DUOMO = Point(45.4642, 9.1900)
TOPIC = "city/noise"


def test_node_command_talks_to_its_neighbour() -> None:
    def free_port() -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    one, two = free_port(), free_port()

    def start(me: int, port: int, other: int, there: int, *more: str) -> subprocess.Popen[str]:
        arguments = ["node", "--id", str(me), "--port", str(port), "--seconds", "60"]
        arguments += ["--peer", f"{other}=127.0.0.1:{there}", *more]
        code = f"from zonal.cli.mesh import app; app({arguments!r})"
        return subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    listener = start(1, one, 2, two, "--subscribe", "5")
    speaker = start(2, two, 1, one, "--publish", "5")
    try:
        assert "listens on" in listener.stdout.readline()
        assert "listens on" in speaker.stdout.readline()
        done = threading.Event()

        def keep_saying() -> None:  # until the two have found each other
            while not done.wait(0.5):
                speaker.stdin.write("hello\n")
                speaker.stdin.flush()

        thread = threading.Thread(target=keep_saying)
        thread.start()
        try:
            assert listener.stdout.readline() == "5 from 2: hello\n"
        finally:
            done.set()
            thread.join()
    finally:
        for process in (listener, speaker):
            process.kill()
            process.communicate()


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
