from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zenoh

import zonal
from network import eventually, wait_until_declared
from zonal.errors import LogError
from zonal.geo import Box, Circle, Point, Polygon
from zonal.keys import location_of
from zonal.pipeline import Log, LogWriter, Recorder, RecorderPlan, Retention, area_from_columns
from zonal.session import GeoContext, Overflow

QUICK = RecorderPlan(flush_s=0.05)
MILANO = Point(45.4642, 9.19)


def fill(ballast: Path) -> None:
    """Write until the disk is full."""
    handle = os.open(ballast, os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(handle, b"x" * 1024)
    except OSError:
        pass
    finally:
        os.close(handle)


@pytest.fixture
def endpoint() -> Iterator[str]:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        yield router.endpoints[0]


def connect(endpoint: str, **options: Any) -> zonal.Session:
    stamping = {"timestamping/enabled": True}
    return zonal.open(zonal.config("client", connect=[endpoint], settings=stamping), **options)


@contextmanager
def recording(
    endpoint: str,
    log: Path,
    topic: str,
    *,
    plan: RecorderPlan = QUICK,
    area: zonal.Area | None = None,
) -> Iterator[tuple[Recorder, zonal.Session]]:
    """A recorder, and another session at which it is known that it listens."""
    with (
        connect(endpoint) as publisher,
        connect(endpoint) as session,
        Recorder(session, log, [topic], area=area, plan=plan) as recorder,
    ):
        wait_until_declared(publisher, recorder)
        yield recorder, publisher


def test_every_column_of_a_message_is_recorded(endpoint: str, tmp_path: Path) -> None:
    fence = Circle(MILANO, radius_m=500)
    square = Polygon([(45.4, 9.1), (45.5, 9.1), (45.5, 9.2), (45.4, 9.1)])
    with recording(endpoint, tmp_path, "city/**") as (recorder, publisher):
        publisher.put(
            "city/air", b'{"pm10": 1}', location=MILANO, content_encoding="application/json"
        )
        publisher.put("city/alert", b"!", location=MILANO, geofence=fence)
        publisher.put("city/alert", b"?", location=MILANO, geofence=square)
        publisher.put("city/plain", b"no place")
        publisher.delete("city/air", location=MILANO)
        eventually(lambda: recorder.counters.written == 5)
        assert recorder.counters.overflowed == recorder.counters.malformed == 0
    rows = {(row["topic"], row["payload"]): row for row in Log(tmp_path).to_table().to_pylist()}
    air = rows["city/air", b'{"pm10": 1}']
    assert (air["latitude"], air["longitude"], air["encoding"], air["kind"]) == (
        45.4642,
        9.19,
        "application/json",
        "put",
    )
    assert air["cell"] is not None
    assert air["ntp64"] >> 32 == int(air["timestamp"].timestamp())
    assert abs((air["received"] - air["timestamp"]).total_seconds()) < 5
    alert = rows["city/alert", b"!"]
    assert area_from_columns(alert["geofence"], alert["geofence_radius_m"]) == fence
    other = rows["city/alert", b"?"]
    assert area_from_columns(other["geofence"], other["geofence_radius_m"]) == square
    plain = rows["city/plain", b"no place"]
    assert (plain["latitude"], plain["cell"], plain["geofence"]) == (None, None, None)
    assert rows["city/air", b""]["kind"] == "delete"
    sequences = [row["sequence"] for row in rows.values() if row["source"] == air["source"]]
    assert len(set(sequences)) == len(sequences) == 4


def test_only_the_area_is_recorded(endpoint: str, tmp_path: Path) -> None:
    area = Box(45.4, 9.1, 45.5, 9.2)
    with recording(endpoint, tmp_path, "t", area=area) as (recorder, publisher):
        publisher.put("t", b"out", location=Point(46, 9.15))
        publisher.put("t", b"in", location=Point(45.45, 9.15))
        eventually(lambda: recorder.counters.written == 1)
    assert Log(tmp_path).to_table()["payload"].to_pylist() == [b"in"]


def test_closing_makes_durable_what_arrived(endpoint: str, tmp_path: Path) -> None:
    plan = RecorderPlan(flush_s=600)
    with recording(endpoint, tmp_path, "t", plan=plan) as (recorder, publisher):
        for number in range(100):
            publisher.put("t", str(number).encode(), location=MILANO)
        eventually(lambda: recorder.counters.received == 100)
        assert recorder.counters.written == 0
    assert Log(tmp_path).next_offset() == 100


def test_a_slow_disk_overflows_into_a_counter_and_loses_nothing_older(
    endpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The disk refuses to take anything for a while: the buffer is bounded, the rest counted."""
    real = LogWriter.append
    full = True

    def append(self: LogWriter, messages: Any) -> Any:
        if full:
            raise OSError(28, "No space left on device")
        return real(self, messages)

    monkeypatch.setattr(LogWriter, "append", append)
    plan = RecorderPlan(
        flush_s=0.02, commit_rows=10, buffer_rows=20, mailbox=30, overflow=Overflow.DROP_NEWEST
    )
    with recording(endpoint, tmp_path, "t", plan=plan) as (recorder, publisher):
        try:
            publisher.put("t", b"first", location=MILANO)
            eventually(lambda: recorder.last_error is not None)
            for number in range(200):
                publisher.put("t", str(number).encode(), location=MILANO)
            eventually(lambda: recorder.counters.received == 201)
            eventually(lambda: recorder.counters.overflowed >= 100)
            assert recorder.counters.write_errors > 0
        finally:
            full = False
        eventually(lambda: recorder.counters.written + recorder.counters.overflowed == 201)
        counters = recorder.counters
        assert counters.waiting == 0
    assert "messages were dropped" in caplog.text
    payloads = Log(tmp_path).to_table()["payload"].to_pylist()
    assert payloads[0] == b"first"
    assert len(payloads) == counters.written


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own needs root")
def test_a_full_disk_keeps_the_log_whole_and_recording_goes_on_when_there_is_room(
    endpoint: str, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)], check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        ballast = disk / "ballast"
        with recording(endpoint, disk / "log", "t") as (recorder, publisher):
            publisher.put("t", b"before", location=MILANO)
            eventually(lambda: recorder.counters.written == 1)
            try:
                fill(ballast)
                publisher.put("t", os.urandom(9000), location=MILANO)
                eventually(lambda: recorder.last_error is not None)
                assert Log(disk / "log").next_offset() == 1
            finally:
                ballast.unlink()
            eventually(lambda: recorder.counters.written == 2)
            assert recorder.last_error is None
        assert Log(disk / "log").to_table()["offset"].to_pylist() == [0, 1]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_recorder_that_cannot_write_says_so_when_closed(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    plan = RecorderPlan(flush_s=0.05, buffer_rows=2)  # the others wait before it

    def record() -> None:
        with recording(endpoint, tmp_path, "t", plan=plan) as (recorder, publisher):
            for _ in range(10):
                publisher.put("t", b"x", location=MILANO)
            eventually(lambda: recorder.last_error is not None)
            eventually(lambda: recorder.counters.received == 10)

    monkeypatch.setattr(LogWriter, "append", append)
    with pytest.raises(LogError, match="10 messages could not be written"):
        record()
    LogWriter(tmp_path).close()  # the lock was let go


def test_retention_is_applied_while_recording(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zonal.pipeline.recorder._TIDY_EVERY_S", 0.05)
    plan = RecorderPlan(flush_s=0.02, retention=Retention(max_bytes=1))
    with recording(endpoint, tmp_path, "t", plan=plan) as (recorder, publisher):
        for number in range(3):
            publisher.put("t", b"x", location=MILANO)
            eventually(lambda n=number: recorder.counters.written == n + 1)
        eventually(lambda: recorder.counters.retired == 2)
    assert Log(tmp_path).to_table()["offset"].to_pylist() == [2]


def test_by_default_publishers_are_held_up_and_nothing_is_dropped(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log takes 100 messages at a time, slowly; the publisher sends as fast as it can."""
    real = LogWriter.append

    def append(self: LogWriter, messages: Any) -> Any:
        time.sleep(0.02)
        return real(self, messages)

    monkeypatch.setattr(LogWriter, "append", append)
    plan = RecorderPlan(flush_s=0.02, commit_rows=100, buffer_rows=100, mailbox=100)
    with recording(endpoint, tmp_path, "t", plan=plan) as (recorder, publisher):
        for number in range(3000):
            publisher.put(
                "t",
                str(number).encode(),
                location=MILANO,
                congestion_control=zenoh.CongestionControl.BLOCK,
            )
        eventually(lambda: recorder.counters.written == 3000)
        assert recorder.counters.overflowed == 0
    payloads = Log(tmp_path).to_table()["payload"].to_pylist()
    assert payloads == [str(number).encode() for number in range(3000)]


@pytest.mark.parametrize(
    "cached", [60_000, pytest.param(200_000, marks=[pytest.mark.slow, pytest.mark.timeout(400)])]
)
def test_a_long_backlog_that_a_publisher_still_holds_is_recorded(
    endpoint: str, tmp_path: Path, cached: int
) -> None:
    """Heartbeats and new messages are there long before the end of the backlog is."""
    with connect(endpoint) as session:
        memory = zonal.Memory(cache=cached + 100, heartbeat_s=0.1)
        publisher = session.declare_publisher("t/x", location=MILANO, memory=memory)
        for number in range(cached):
            publisher.put(str(number).encode())
        with connect(endpoint) as other, Recorder(other, tmp_path, ["t/**"]) as recorder:
            sent = cached
            deadline = time.monotonic() + 150
            while recorder.counters.written < sent and time.monotonic() < deadline:
                if sent < cached + 20:
                    publisher.put(str(sent).encode())
                    sent += 1
                time.sleep(0.25)
            assert recorder.counters.overflowed == 0
    payloads = Log(tmp_path).to_table()["payload"].to_pylist()
    assert sorted(int(payload) for payload in payloads) == list(range(sent))


_RECORD = """
import sys, zonal
from zonal.pipeline import Recorder, RecorderPlan
with zonal.open(zonal.config("client", connect=[sys.argv[1]])) as session:
    with Recorder(session, sys.argv[2], ["t/**"], plan=RecorderPlan(flush_s=0.05)):
        print("ready", flush=True)
        sys.stdin.read()
"""


def test_killed_again_and_again_nothing_of_a_publisher_with_memory_is_lost_or_doubled(
    endpoint: str, tmp_path: Path
) -> None:
    """The recorder dies by kill -9 while messages flow, and while there is none of it at all."""
    sent = 0
    with connect(endpoint) as session:
        memory = zonal.Memory(cache=10_000, heartbeat_s=0.1)
        publishers = [
            session.declare_publisher(
                f"t/{name}", location=Point(45.4 + name / 100, 9.1), memory=memory
            )
            for name in range(3)
        ]
        fenced = session.declare_publisher(
            "t/fenced", location=MILANO, geofence=Circle(MILANO, radius_m=3000), memory=memory
        )

        def publish(count: int) -> None:
            nonlocal sent
            for _ in range(count):
                (*publishers, fenced)[sent % 4].put(json.dumps(sent).encode())
                sent += 1

        for _ in range(3):
            publish(40)  # nobody records
            with subprocess.Popen(
                [sys.executable, "-c", _RECORD, endpoint, str(tmp_path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as process:
                assert process.stdout is not None
                try:
                    process.stdout.readline()
                    for _ in range(10):
                        publish(8)
                        time.sleep(0.005)  # a moment for the flow, so that the kill hits it
                finally:
                    process.send_signal(signal.SIGKILL)
        with (
            connect(endpoint) as other,
            Recorder(other, tmp_path, ["t/**"], plan=QUICK) as recorder,
        ):
            start = recorder.log.next_offset()
            eventually(lambda: start + recorder.counters.written >= sent)
            assert recorder.counters.doubles > 0  # the caches did send what was there already
    rows = Log(tmp_path).to_table()
    assert rows["offset"].to_pylist() == list(range(sent))
    assert sorted(int(payload) for payload in rows["payload"].to_pylist()) == list(range(sent))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_fourteen_kills_at_two_thousand_messages_a_second_lose_nothing(
    endpoint: str, tmp_path: Path
) -> None:
    """Each new recorder finds a backlog of thousands, while new messages go on."""
    sent, stop = 0, threading.Event()
    with connect(endpoint) as session:
        memory = zonal.Memory(cache=200_000, heartbeat_s=0.1)
        publisher = session.declare_publisher("t/x", location=MILANO, memory=memory)

        def publish() -> None:
            nonlocal sent
            while not stop.wait(0.01):
                for _ in range(20):
                    publisher.put(str(sent).encode())
                    sent += 1

        publishing = threading.Thread(target=publish)
        publishing.start()
        try:
            for _ in range(14):
                with subprocess.Popen(
                    [sys.executable, "-c", _RECORD, endpoint, str(tmp_path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                ) as process:
                    assert process.stdout is not None
                    process.stdout.readline()
                    time.sleep(1.5)  # into the recovery, or beyond it
                    process.send_signal(signal.SIGKILL)
        finally:
            stop.set()
            publishing.join()
        with connect(endpoint) as other, Recorder(other, tmp_path, ["t/**"]) as recorder:
            start = recorder.log.next_offset()
            eventually(lambda: start + recorder.counters.written >= sent, timeout=120)
    rows = Log(tmp_path).to_table()
    assert rows["offset"].to_pylist() == list(range(sent))
    assert sorted(int(payload) for payload in rows["payload"].to_pylist()) == list(range(sent))


def fakes_of(publisher: zonal.Session, enemy: zenoh.Session, heard: zenoh.Sample) -> None:
    """2,000 messages that claim the publisher's next numbers, in each way there is."""
    key = str(heard.key_expr)
    assert heard.attachment is not None
    stamp = heard.timestamp
    origin = int(str(publisher.zenoh.zid()), 16) & 0xFFFF_FFFF_FFFF_FFFF
    context = GeoContext.from_bytes(heard.attachment.to_bytes(), location_of(key), origin)
    assert context.origin == origin
    for ahead in range(1, 2001):
        claim = context._replace(sequence=context.sequence + ahead)
        stamped = ahead % 2 == 0
        enemy.put(
            key, b"fake", attachment=claim.to_bytes(location_of(key), stamped=stamped),
            timestamp=stamp if stamped else None,
        )  # fmt: skip


@pytest.mark.parametrize("restart", [False, True])
def test_a_strangers_claim_of_a_source_suppresses_none_of_its_messages(
    endpoint: str, tmp_path: Path, restart: bool
) -> None:
    plan = RecorderPlan(flush_s=0.05)
    with connect(endpoint) as other, connect(endpoint) as publisher:
        enemy = other.zenoh
        heard: list[zenoh.Sample] = []
        enemy.declare_subscriber("city/air/**", heard.append)
        enemy.declare_subscriber("city/air/@s2/**", heard.append)
        with recording(endpoint, tmp_path, "city/**", plan=plan) as (recorder, _):
            wait_until_declared(publisher, recorder)
            for n in range(5):
                publisher.put("city/air", str(n), location=MILANO)
            eventually(lambda: recorder.counters.written == 5 and heard)
            fakes_of(publisher, enemy, heard[-1])
            eventually(lambda: recorder.counters.written == 2005)
            if not restart:
                for n in range(5, 55):
                    publisher.put("city/air", str(n), location=MILANO)
                eventually(lambda: recorder.counters.written == 2055)
        if restart:
            with recording(endpoint, tmp_path, "city/**", plan=plan) as (recorder, _):
                wait_until_declared(publisher, recorder)
                for n in range(5, 55):
                    publisher.put("city/air", str(n), location=MILANO)
                eventually(lambda: recorder.counters.written == 50)
    rows = Log(tmp_path).to_table().to_pylist()
    assert [int(row["payload"]) for row in rows if row["payload"] != b"fake"] == list(range(55))
