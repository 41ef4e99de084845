"""What strangers send to a recorder, and what is in the log then, harms neither log nor lake."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import zenoh

import zonal
from network import eventually, wait_for_answerer, wait_until_declared
from pipeline_rows import START
from zonal import Point
from zonal.keys import encoding_named, location_of, message_keys
from zonal.pipeline import (
    Field,
    History,
    HistoryService,
    Lake,
    Log,
    LogWriter,
    PayloadDeclaration,
    Recorder,
    RecorderPlan,
    Selection,
    TopicSchema,
)
from zonal.pipeline.jobs import Pipeline, PipelinePlan, SilverPlan, WindowPlan, read_table
from zonal.session import GeoContext

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

MILANO = Point(45.4642, 9.19)
BLOCK = zenoh.CongestionControl.BLOCK
NAMES = (
    "../../../evil", "date=1970-01-01/region=x", "_delta_log/00000000000000000000.json",
    "%2e%2e/evil", "a\0b", "a\nb", "'; DROP TABLE silver; --", "\u202eevil", "k" * 30_000,
    "C:\\evil", "~", ".hidden", "𝄞" * 500,
)  # fmt: skip
PAYLOADS = (
    b"[" * 100_000, b'{"pm10":' * 5_000, b'{"pm10": 1e999}', b'{"pm10": NaN}', b"\xff\xfe\x00",
    b'{"pm10": "\\ud800"}', b'{"pm10": 1, "pm10": -5}', b"\0" * 1_000, b'{"pm10": 1e308}',
    b'{"station": "' + b"x" * 1_000_000 + b'", "pm10": 1}', b"", b'{"pm10": {"$gt": 0}}',
    b'{"pm10": 123456789012345678901234567890}',
)  # fmt: skip


def files_outside(folder: Path, *known: Path) -> list[Path]:
    """The files of a test that are in none of these folders."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(path.is_relative_to(each) for each in known)
    ]


def test_whatever_strangers_send_is_recorded_or_counted_and_the_others_are_complete(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log, draw = tmp_path / "inner" / "log", random.Random(19)
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with (
            zonal.open(config) as session,
            zonal.open(config) as honest,
            zenoh.open(config) as stranger,
            Recorder(session, log, ["city/**"], plan=RecorderPlan(flush_s=0.05)) as recorder,
        ):
            wait_until_declared(honest, recorder)
            heard: list[zenoh.Sample] = []
            stranger.declare_subscriber("city/air/@s2/**", heard.append)

            def overheard() -> list[zenoh.Sample]:
                honest.put("city/air", "first", location=MILANO)
                return heard

            sample = eventually(overheard)[0]
            (key,) = message_keys("city/air", MILANO, None, encoding_named("s2"))
            claimed = GeoContext(honest._parts.origin.id, 0, MILANO)
            for number in range(300):  # numbers of the honest one, in advance and again
                fake = claimed._replace(sequence=number).to_bytes(location_of(key))
                stranger.put(key, "fake", attachment=fake)
                stranger.put(
                    key, "fake", attachment=draw.randbytes(number), timestamp=sample.timestamp
                )
            for seconds in (0, 1, 2**31 - 1, 2**31, 2**32 - 1):
                stamp = zenoh.Timestamp(zenoh.NTP64(seconds, 0), b"\x01")
                stranger.put("city/air", "fake", timestamp=stamp)
                stranger.delete("city/air", timestamp=stamp)
            for name in NAMES:
                stranger.put(f"city/{name}".replace("$", ""), "fake", encoding="text/plain;\0;")
            for wild in ("city/**", "city/*/x", "city/a$*"):
                stranger.put(wild, "fake")
                stranger.delete(wild)
            for payload in PAYLOADS:
                stranger.put("city/air", payload, encoding="application/json")
            for number in range(100):  # a busy link drops what does not want to wait for it
                honest.put("city/air", f"right {number}", location=MILANO, congestion_control=BLOCK)

            def rights() -> list[bytes]:
                told = recorder.counters
                if told.written + told.doubles + told.malformed < told.received:
                    return []
                rows = Log(log).to_table().to_pylist()
                return [row["payload"] for row in rows if row["payload"].startswith(b"right")]

            right = [f"right {number}".encode() for number in range(100)]
            eventually(lambda: rights() == right, timeout=60)
            assert recorder.counters.write_errors == 0
            assert recorder.counters.overflowed == 0
        past = History(log=log)
        found = past.table(Selection("city/**")).num_rows
        assert found == recorder.counters.written
        with (
            zonal.open(config) as serving,
            zonal.open(config) as asking,
            HistoryService(serving, past, max_replies=100_000),
        ):
            wait_for_answerer(asking.zenoh, "**")
            replies = asking.get("city/**?_time=[..]", timeout=60)
            told = [reply.payload.to_bytes() for reply in replies]
            assert sum(each.startswith(b"right") for each in told) == 100
            assert replies.failures == []
            many = "9" * 5000
            wrong = (
                "[..];_limit={}",
                "[{}..]",
                "[now({}s)..]",
                "[now(-99999999d)..]",
                "[2026..{}]",
            )
            for time in wrong:
                selector = f"city/air?_time={time.format(many)}"
                assert list(asking.get(selector, timeout=20)) == []
    assert "Traceback" not in caplog.text
    assert files_outside(tmp_path, log) == []
    assert {re.sub(r"\d", "0", path.name) for path in log.iterdir()} == {
        "_delta_log",
        "date=0000-00-00",
    }


def test_large_messages_wait_outside_while_the_log_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, sent, size = threading.Event(), 400, 50_000
    append = LogWriter.append

    def slowly(self: LogWriter, rows: pa.Table) -> range:
        may_write.wait(30)
        return append(self, rows)

    monkeypatch.setattr(LogWriter, "append", slowly)
    plan = RecorderPlan(flush_s=0.05, commit_bytes=10 * size, buffer_bytes=20 * size, mailbox=10)
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with (
            zonal.open(config) as session,
            zonal.open(config) as sender,
            Recorder(session, tmp_path, ["flood"], plan=plan) as recorder,
        ):
            wait_until_declared(sender, recorder)

            def flood() -> None:
                for _ in range(sent):
                    sender.put("flood", bytes(size), congestion_control=BLOCK)

            flooding = threading.Thread(target=flood)
            flooding.start()
            try:
                eventually(lambda: recorder._bytes >= plan.buffer_bytes)
                kept = recorder._rows.rows + recorder._writing
                assert kept < 100, "the others wait in the mailbox and with their sender"
            finally:
                may_write.set()
                flooding.join()
            eventually(lambda: recorder.counters.written == sent)


def test_the_lake_takes_hostile_rows_for_what_they_are(
    spark: SparkSession, tmp_path: Path, messages: Callable[..., pa.Table]
) -> None:
    log, lake = tmp_path / "inner" / "log", tmp_path / "inner" / "lake"
    days = [START - timedelta(days=40 * number) for number in range(20)]
    with LogWriter(log) as writer:
        writer.append(messages(len(PAYLOADS), payload=list(PAYLOADS)))
        for number, name in enumerate(NAMES):
            writer.append(messages(1, first=100 + number, topic=f"city/{name}"))
        writer.append(messages(len(days), first=200, timestamp=days))
        honest = messages(50, first=300)
        writer.append(honest)
    declared = PayloadDeclaration(
        (TopicSchema("city/airquality", (Field("pm10", "double", required=True),)),)
    )
    plan = PipelinePlan(SilverPlan(declared), WindowPlan(("pm10",)))
    Pipeline(spark, log, lake, plan).run()
    silver = read_table(spark, Lake(lake), "silver").collect()
    quarantine = read_table(spark, Lake(lake), "quarantine").collect()
    assert len(silver) + len(quarantine) == len(PAYLOADS) + len(NAMES) + len(days) + 50
    last = len(PAYLOADS) + len(NAMES) + len(days)
    assert {row["offset"] for row in silver} >= set(range(last, last + 50))
    assert sum("before its reception" in row.reason for row in quarantine) == len(days) - 1
    assert files_outside(tmp_path, log, lake) == []
    folders = {path.name for path in (lake / "silver").rglob("*") if path.is_dir()}
    odd = [
        n
        for n in folders
        if not re.fullmatch(r"_delta_log|_staged_commits|date=[\d-]{10}|region=[0-9a-f]+", n)
    ]
    assert odd == []
    assert len([name for name in folders if name.startswith("date=")]) == 1
