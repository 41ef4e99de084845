"""Log and history in an object store: moto's S3 server, on loopback."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest

import zonal
from network import eventually, wait_until_declared
from pipeline_rows import START
from zonal.errors import LogError
from zonal.pipeline import History, Log, LogWriter, Recorder, RecorderPlan, Selection

Messages = Callable[..., pa.Table]


def test_a_log_in_a_bucket_keeps_offsets_and_is_asked_by_history(
    bucket: str, messages: Messages
) -> None:
    log = f"{bucket}/log"
    with LogWriter(log, recorder="a") as a, LogWriter(log, recorder="b") as b:
        a.append(messages(50))
        b.append(messages(10, source="other"))
        a.append(messages(50, first=50))
    assert Log(f"{bucket}/log").next_offset("a") == 100
    history = History(log=f"{bucket}/log")
    since = START + timedelta(seconds=60)
    assert history.table(Selection(since=since)).num_rows == 40
    assert (history.last_scan.files, history.last_scan.files_opened) == (3, 1)
    assert History(log=f"{bucket}/log", version=1).table(Selection()).num_rows == 50


def test_two_recorders_of_one_name_are_kept_apart(bucket: str, messages: Messages) -> None:
    with LogWriter(f"{bucket}/log") as one, LogWriter(f"{bucket}/log") as other:
        one.append(messages(5))
        with pytest.raises(LogError, match="give each its own name"):
            other.append(messages(3))
    assert Log(f"{bucket}/log").to_table().num_rows == 5


def test_messages_are_recorded_into_a_bucket(bucket: str) -> None:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        config = zonal.config("client", connect=[router.endpoints[0]])
        plan = RecorderPlan(flush_s=0.1)
        with (
            zonal.open(config) as publisher,
            zonal.open(config) as session,
            Recorder(session, f"{bucket}/log", ["t"], plan=plan) as recorder,
        ):
            wait_until_declared(publisher, recorder)
            for number in range(20):
                publisher.put("t", str(number).encode(), location=zonal.Point(45.4, 9.1))
            eventually(lambda: recorder.counters.written == 20)
    assert Log(f"{bucket}/log").to_table()["offset"].to_pylist() == list(range(20))
