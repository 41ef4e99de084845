from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal_lab.emulation.lane import ETHERNET_HEADER_BYTES, Lane, OpenGate, RateGate, TraceGate
from zonal_lab.emulation.trace import Trace, made_up_lte, read_trace, trace_file, write_trace
from zonal_lab.errors import TraceError

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000


def frame(size: int, mark: int = 0) -> bytes:
    return mark.to_bytes(4) + bytes(size + ETHERNET_HEADER_BYTES - 4)


def trace(*times: int) -> Trace:
    return Trace("test", np.array(times, dtype=np.int64))


def departures(gate_trace: Trace, packets: list[tuple[int, int]]) -> list[int]:
    gate = TraceGate(gate_trace)
    return [gate.departure_ns(size, at * MS) // MS for at, size in packets]


def test_a_packet_waits_for_the_next_opportunity() -> None:
    assert departures(trace(2, 5, 9), [(0, 100), (3, 100), (9, 100)]) == [2, 5, 9]


def test_waiting_packets_share_an_opportunity() -> None:
    assert departures(trace(2, 5, 9), [(0, 700), (1, 800), (1, 1)]) == [2, 2, 5]


def test_the_rest_of_an_opportunity_is_lost_when_nobody_waits() -> None:
    assert departures(trace(2, 5, 9), [(0, 700), (3, 100)]) == [2, 5]


def test_a_large_packet_takes_several_opportunities() -> None:
    assert departures(trace(2, 5, 9), [(0, 3001)]) == [9]


def test_the_trace_starts_again_after_its_last_line() -> None:
    assert departures(trace(2, 5, 9), [(8, 1500), (8, 1500), (20, 10)]) == [9, 11, 20]


@examples(60)
@given(
    times=st.lists(st.integers(0, 50), min_size=1, max_size=40),
    packets=st.lists(st.tuples(st.integers(0, 200), st.integers(20, 1500)), max_size=60),
)
def test_no_window_carries_more_than_its_opportunities(
    times: list[int], packets: list[tuple[int, int]]
) -> None:
    slots = trace(*sorted(times), 60)
    packets = sorted(packets)
    left = departures(slots, packets)
    assert left == sorted(left)
    assert all(out >= at for out, (at, _) in zip(left, packets, strict=True))
    for end in range(max(left, default=0) + 1):
        carried = sum(size for out, (_, size) in zip(left, packets, strict=True) if out <= end)
        full, rest = divmod(end, 60)
        offered = full * len(slots.opportunities_ms) + int(
            np.searchsorted(slots.opportunities_ms, rest, side="right")
        )
        assert carried <= offered * 1500


def test_a_rate_spaces_packets() -> None:
    lane = Lane(RateGate(8))  # 1 byte a microsecond
    for number in range(3):
        lane.push(frame(1000, number), 0)
    assert [len(lane.due(at)) for at in (999_999, MS, 2 * MS, 3 * MS)] == [0, 1, 1, 1]


def test_delay_keeps_order_and_time() -> None:
    lane = Lane(OpenGate(), delay_ms=30)
    lane.push(frame(10, 1), 0)
    lane.push(frame(10, 2), 5 * MS)
    assert lane.next_ns == 30 * MS
    assert lane.due(29 * MS) == []
    assert lane.due(40 * MS) == [frame(10, 1), frame(10, 2)]
    assert lane.next_ns is None


def test_loss_is_the_asked_share_and_repeats_with_the_seed() -> None:
    def lost(seed: int) -> int:
        lane = Lane(OpenGate(), loss=0.1, seed=seed)
        for _ in range(20_000):
            lane.push(frame(10), 0)
        assert lane.lost + len(lane.due(0)) == 20_000
        return lane.lost

    assert lost(1) == lost(1)
    assert lost(1) != lost(2)
    assert 1800 < lost(1) < 2200


def test_a_full_queue_drops_the_newest() -> None:
    lane = Lane(RateGate(8), queue_frames=2)
    for number in range(3):
        lane.push(frame(10, number), 0)
    assert lane.overflowed == 1
    assert lane.due(MS) == [frame(10, 0), frame(10, 1)]


def test_restart_releases_what_waits_and_plays_again() -> None:
    lane = Lane(TraceGate(trace(500, 1000)))
    lane.push(frame(10, 1), 0)
    lane.restart(100 * MS)
    assert lane.due(100 * MS) == [frame(10, 1)]
    lane.push(frame(10, 2), 101 * MS)
    assert lane.next_ns == 600 * MS


@pytest.mark.parametrize("lines", ["", "3\n2\n", "x\n", "-1\n3\n", "0\n"])
def test_bad_traces_are_refused(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "bad"
    path.write_text(lines)
    with pytest.raises(TraceError):
        read_trace(path)


def test_a_trace_survives_its_file(tmp_path: Path) -> None:
    write_trace(trace(0, 0, 7), tmp_path / "t")
    assert read_trace(tmp_path / "t").opportunities_ms.tolist() == [0, 0, 7]
    assert trace_file("t", tmp_path, tmp_path) == tmp_path / "t"
    with pytest.raises(TraceError, match="has no trace missing"):
        trace_file("missing", tmp_path, tmp_path)


def test_the_made_up_trace_resembles_the_real_one() -> None:
    made = made_up_lte()
    gaps = np.diff(made.opportunities_ms)
    assert 9 < made.mean_mbit < 17
    assert gaps.max() > 200
    assert made_up_lte().opportunities_ms.tolist() == made.opportunities_ms.tolist()
