from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal_lab.capture.measure import KINDS, OnTheWire, measure, write_wire_report
from zonal_lab.capture.raw_socket import tcp_payload
from zonal_lab.discovery.measure import WAYS, Met, write_meeting_report
from zonal_lab.discovery.measure import measure as measure_meetings


def frame(payload: bytes, *, options: int = 0, ip_options: int = 0, protocol: int = 6) -> bytes:
    """An Ethernet frame with IPv4 and TCP around a payload, padded as cards pad short ones."""
    tcp = bytes(12) + bytes([(5 + options) << 4]) + bytes(7 + 4 * options)
    total = 20 + 4 * ip_options + len(tcp) + len(payload)
    ip = struct.pack("!BBH", 0x45 + ip_options, 0, total) + bytes(5) + bytes([protocol])
    ip += bytes(10 + 4 * ip_options)
    return (bytes(12) + struct.pack("!H", 0x0800) + ip + tcp + payload).ljust(60, b"\0")


@given(st.binary(max_size=1400), st.integers(0, 10), st.integers(0, 10))
def test_the_payload_is_counted_without_headers_and_padding(
    payload: bytes, options: int, ip_options: int
) -> None:
    found = tcp_payload(frame(payload, options=options, ip_options=ip_options))
    assert found == len(payload)


def test_what_is_not_tcp_counts_for_nothing() -> None:
    assert tcp_payload(frame(b"x" * 50, protocol=17)) == 0
    assert tcp_payload(b"\xff" * 14) == 0
    assert tcp_payload(bytes(12) + struct.pack("!H", 0x0806) + bytes(46)) == 0


def test_nodes_are_told_only_of_nodes_that_are_there() -> None:
    for way in WAYS:
        assert len(way.modes) == len(way.told)
        addresses = [f"10.0.0.{number}" for number in range(len(way.modes))]
        for number in range(len(way.modes)):
            config = way.config(number, addresses)
            own = f"tcp/{addresses[number]}:7447"
            assert own not in config["connect"]["endpoints"]
            assert ("listen" in config) == (way.modes[number] != "client")
        # Who scouts by nothing must be told, or it would never meet anybody.
        if way.scouting == "told":
            assert way.told[-1]


def test_the_pages_show_what_was_measured(tmp_path: Path) -> None:
    rows = [OnTheWire(kind, 64, 10, 10, 1.0, 141.0, 75.0) for kind in KINDS]
    assert (
        "| Zenoh, plain | 1.00 | 141.0 | 75.0 | 11.0 | +0.0 |"
        in write_wire_report(rows, tmp_path).read_text()
    )
    met = [Met("clique", "multicast", [10.0, 20.0], [30.0, None])]
    page = write_meeting_report(met, tmp_path).read_text()
    assert "| clique | multicast | 15 | 30 | 30 | 1 |" in page


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_a_place_costs_bytes_and_every_message_is_heard() -> None:
    rows = {row.kind: row for row in measure(count=20)}
    assert set(rows) == set(KINDS)
    for kind in ("zenoh", "s2", "mgrs", "bloom", "json"):
        assert rows[kind].heard == 20
    assert rows["zenoh"].tcp_bytes < rows["s2"].tcp_bytes < rows["zenoh"].tcp_bytes + 80
    assert rows["mqtt-0"].tcp_bytes > 64


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_every_topology_delivers_but_peers_that_are_not_linked() -> None:
    met = measure_meetings(rounds=1)
    for way, row in zip(WAYS, met, strict=True):
        assert (row.first_ms == [None]) == way.silent, way
