"""Measures bytes per message between two emulated hosts, and writes them into a page."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.broker import set_password
from zonal_lab.emulation.network import EmulatedNetwork
from zonal_lab.emulation.topology import Card, Node, Topology
from zonal_lab.errors import EmulationError
from zonal_lab.experiment.pages import table, write_page
from zonal_lab.latency.hosts import BROKER_PORT, MOSQUITTO_PORT, ZENOH_PORT
from zonal_lab.latency.mqtt_end import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KINDS = {
    "zenoh": "Zenoh, plain",
    "s2": "zonal session, s2",
    "mgrs": "zonal session, mgrs",
    "bloom": "zonal session, bloom",
    "json": "zonal session, json",
    "mqtt-0": "MQTT 3.1.1, QoS 0",
    "mqtt-1": "MQTT 3.1.1, QoS 1",
    "mqtt-2": "MQTT 3.1.1, QoS 2",
    "broker-0": "MQTT 5 with a geofence, QoS 0",
    "broker-1": "MQTT 5 with a geofence, QoS 1",
}
_PATIENCE_S = 40.0
_BROKER = "from zonal.cli.broker import app; app()"


@dataclass(frozen=True)
class OnTheWire:
    """What the sender's card carried for one message on average."""

    kind: str
    payload: int
    messages: int
    heard: int
    frames: float
    frame_bytes: float
    tcp_bytes: float


def measure(
    count: int = 200, size: int = 64, tell: Callable[[str], None] = lambda _: None
) -> list[OnTheWire]:
    """Every kind, one after the other, on one pair of hosts."""
    nodes = (Node(1, "router", Card()), Node(2, "router", Card(), (1,)))
    with (
        tempfile.TemporaryDirectory() as folder,
        EmulatedNetwork(Topology("wire", nodes)) as network,
    ):
        _start_brokers(network, Path(folder))
        return [_measured(network, kind, count, size, tell) for kind in KINDS]


def _start_brokers(network: EmulatedNetwork, folder: Path) -> None:
    host = network.topology.nodes[1]
    settings = folder / "mosquitto.conf"
    settings.write_text(f"listener {MOSQUITTO_PORT} 0.0.0.0\nallow_anonymous true\n")
    network.start(host, ["mosquitto", "-c", str(settings)])
    set_password(folder / "passwords", USER, PASSWORD.encode())
    options = ["--host", host.address, "--port", str(BROKER_PORT), "--sys-interval", "0"]
    options += ["--passwords", str(folder / "passwords")]
    network.start(host, [sys.executable, "-c", _BROKER, *options])


def _measured(
    network: EmulatedNetwork, kind: str, count: int, size: int, tell: Callable[[str], None]
) -> OnTheWire:
    tell(kind)
    here, there = network.topology.nodes
    sender, receiver = (
        network.start(node, [sys.executable, "-m", "zonal_lab.capture.role"])
        for node in (here, there)
    )
    endpoint = f"tcp/{there.address}:{ZENOH_PORT}"
    mqtt = kind.startswith(("mqtt", "broker"))
    if not mqtt:
        receiver.ask({"do": "listen", "kind": kind, "listen": endpoint}, _PATIENCE_S)
    port = BROKER_PORT if kind.startswith("broker") else MOSQUITTO_PORT
    broker = (there.address, port)
    order = {"do": "open", "kind": kind, "connect": endpoint, "broker": broker}
    sender.ask(order, _PATIENCE_S)
    before = 0
    if not mqtt:
        # Nothing leaves a publisher before it has learned of a subscriber.
        deadline = time.monotonic() + _PATIENCE_S
        while not before:
            if time.monotonic() > deadline:
                raise EmulationError(f"{kind}: the subscriber hears nothing")
            sender.ask({"do": "send", "count": 1, "size": size}, _PATIENCE_S)
            before = int(receiver.ask({"do": "heard"}, _PATIENCE_S)["heard"])
    found = sender.ask({"do": "send", "count": count, "size": size}, _PATIENCE_S)
    heard = 0 if mqtt else int(receiver.ask({"do": "heard"}, _PATIENCE_S)["heard"]) - before
    for worker in (sender, receiver):
        with contextlib.suppress(EmulationError):
            worker.ask({"do": "close"}, 10)
        worker.end()
    return OnTheWire(
        kind,
        size,
        count,
        heard,
        found["frames"] / count,
        found["frame_bytes"] / count,
        found["payload_bytes"] / count,
    )


def write_wire_report(rows: list[OnTheWire], folder: Path, name: str = "wire") -> Path:
    """The table of bytes per message."""
    return write_page(_page(rows), folder, name, rows)


def _page(rows: list[OnTheWire]) -> Iterator[str]:
    yield "# Bytes per message on the wire"
    yield ""
    yield (
        f"{rows[0].messages} messages of {rows[0].payload} bytes on the topic `city/airquality`, "
        "4 ms apart, so that no two share a frame, over TCP; a raw socket on the sender's card "
        "counts what leaves it: whole frames with a TCP payload (Ethernet, IP and TCP headers "
        "included, acknowledgements of TCP not), and the TCP payload alone. For MQTT the "
        "acknowledgements that the sender itself owes at QoS 2 are in it. Keep-alives that fall "
        "into the time are, too, and the one declaration of a key that lets Zenoh send a number "
        "instead of it afterwards."
    )
    yield ""
    plain = next((row.tcp_bytes for row in rows if row.kind == "zenoh"), 0.0)
    yield from table(
        ("", "frames", "bytes with headers", "TCP payload", "beyond the payload", "to Zenoh's"),
        (
            (
                KINDS[row.kind],
                f"{row.frames:.2f}",
                f"{row.frame_bytes:.1f}",
                f"{row.tcp_bytes:.1f}",
                f"{row.tcp_bytes - row.payload:.1f}",
                f"{row.tcp_bytes - plain:+.1f}",
            )
            for row in rows
        ),
    )
