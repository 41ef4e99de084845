from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal_lab.capture import EXPERIMENT
from zonal_lab.capture.page import measured
from zonal_lab.capture.plan import CASES, CapturePlan
from zonal_lab.capture.raw_socket import tcp_payload
from zonal_lab.capture.trial import FRAMES, CaptureTrial, frame_table
from zonal_lab.experiment import Outcome, Results, run_trial


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


def test_the_page_shows_what_was_measured(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("capture", CapturePlan(messages=10))
    for case in CASES:
        results.add(case, Outcome({"heard": 10}, {FRAMES: frame_table([(141, 75)] * 10)}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| Zenoh, plain | 1.00 | 141.0 | 75.0 | 11.0 | +0.0 |" in page


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_a_place_costs_bytes_and_every_message_is_heard(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert run_trial("capture", CaptureTrial(CapturePlan(messages=20)), results) == []
    found = {record.name: record.figures["heard"] for record in results.records()}
    assert set(found) == {case.name for case in CASES}
    sizes = {case.name: measured(results, case, 20).tcp_bytes for case in CASES}
    for name in ("zenoh", "s2", "mgrs", "bloom", "json"):
        assert found[name] == 20
    assert sizes["zenoh"] < sizes["s2"] < sizes["zenoh"] + 80
    assert sizes["mqtt-0"] > 64
