from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

import zonal
from network import eventually, wait_for_answerer, wait_until_declared
from pipeline_rows import START, make_messages
from zonal.cli import app
from zonal.errors import DeclarationError, GeometryError, LakeError
from zonal.geo import Box, Polygon
from zonal.pipeline import (
    History,
    HistoryService,
    LogWriter,
    Recorder,
    RecorderPlan,
    Selection,
)
from zonal.pipeline.jobs import Pipeline, PipelinePlan

Messages = Callable[..., pa.Table]
AREA = Box(45.43, 9.15, 45.47, 9.2)


def offsets(history: History, **wanted: object) -> list[int]:
    return sorted(history.table(Selection(**wanted))["offset"].to_pylist())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def places(spark_holder: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 messages in the lake, 100 more only in the log."""
    folder = tmp_path_factory.mktemp("history")
    with LogWriter(folder / "log") as writer:
        for start in range(0, 300, 100):
            writer.append(make_messages(100, first=start))
    spark = spark_holder.session()
    Pipeline(spark, folder / "log", folder / "lake", PipelinePlan()).run(max_files=1)
    with LogWriter(folder / "log") as writer:
        writer.append(make_messages(100, first=300, topic="city/noise"))
    return folder


@pytest.fixture
def history(places: Path) -> History:
    return History(lake=places / "lake", log=places / "log")


def test_a_selection_takes_areas_as_users_have_them() -> None:
    assert Selection(area=AREA.to_wkt()) == Selection(area=Polygon(AREA.ring))  # type: ignore[arg-type]
    with pytest.raises(GeometryError):
        Selection(area="nowhere")  # type: ignore[arg-type]


def test_lake_and_unprocessed_log_answer_together_without_doubles(
    history: History, places: Path
) -> None:
    assert offsets(history) == list(range(400))
    assert offsets(History(lake=places / "lake")) == list(range(300))
    assert offsets(History(log=places / "log")) == list(range(400))


def test_time_prunes_files_and_place_filters_exactly(history: History, messages: Messages) -> None:
    since, until = START + timedelta(seconds=110), START + timedelta(seconds=180)
    assert offsets(history, since=since, until=until) == list(range(110, 181))
    assert history.last_scan.files_opened == 1
    rows = messages(400)
    inside = AREA.contains_many(rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
    expected = [offset for offset, there in enumerate(inside) if there]
    assert offsets(history, area=AREA) == expected
    assert offsets(history, area=Box(10, 10, 11, 11)) == []
    assert history.last_scan.rows == 0


def test_topics_are_key_expressions(history: History) -> None:
    assert offsets(history, topic="city/noise/**") == list(range(300, 400))


def test_a_limit_stops_early_and_a_dataframe_is_sorted(history: History) -> None:
    assert history.table(Selection(), limit=7).num_rows == 7
    frame = history.dataframe(Selection(topic="city/airquality"))
    assert frame["timestamp"].is_monotonic_increasing


def test_a_history_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="a lake, a log, or both"):
        History()
    with pytest.raises(LakeError, match="no lake"):
        History(lake=tmp_path)


@pytest.mark.parametrize("damage", ["truncated", "a page overwritten", "gone"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(make_messages(500, payload=[os.urandom(40) for _ in range(500)]))
    (hurt,) = tmp_path.glob("date=*/*.parquet")
    data = bytearray(hurt.read_bytes())
    middle = data.index(b"\x28\xb5\x2f\xfd")  # a compressed page (RFC 8878, 3.1.1)
    data[middle : middle + 8] = bytes(8)
    if damage == "gone":
        hurt.unlink()
    else:
        hurt.write_bytes(data if damage == "a page overwritten" else data[:-30])
    with pytest.raises(LakeError, match=f"{hurt.name} cannot be read"):
        History(log=tmp_path).table(Selection())


@pytest.fixture
def session(history: History) -> Iterator[zonal.Session]:
    """A client of a router at which another session answers from history."""
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        client = {"connect": [router.endpoints[0]]}
        with (
            zonal.open(zonal.config("client", **client)) as server,
            zonal.open(zonal.config("client", **client)) as asking,
            HistoryService(server, history, max_replies=350),
        ):
            for key in ("**", "**/@s2/**"):
                wait_for_answerer(asking.zenoh, key)
            yield asking


def span(since_s: int, until_s: int) -> str:
    times = [
        (START + timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ") for s in (since_s, until_s)
    ]
    return f"_time=[{times[0]}..{times[1]}]"


def test_a_get_with_time_and_area_is_answered_from_history(
    session: zonal.Session, history: History
) -> None:
    replies = list(session.get(f"city/**?{span(0, 199)}", area=AREA, timeout=20))
    selection = Selection(None, AREA, START, START + timedelta(seconds=199))
    expected = history.table(selection).to_pylist()
    assert len(expected) > 5
    found = {(r.location.lat, r.location.lon, r.payload.to_bytes()) for r in replies if r.location}
    assert found == {(row["latitude"], row["longitude"], row["payload"]) for row in expected}
    assert {str(r.timestamp).split("/")[0] for r in replies} == {
        str(row["ntp64"]) for row in expected
    }
    assert {r.key for r in replies} == {"city/airquality"}


def test_too_many_replies_are_cut_off_with_an_error(session: zonal.Session) -> None:
    replies = session.get("city/**?_time=[..]", timeout=20)
    assert len(list(replies)) == 350
    assert "stopped after 350 replies" in str(replies.failures[0])
    fewer = session.get("city/**?_time=[..];_limit=3", timeout=20)
    assert len(list(fewer)) == 3


def test_a_query_without_time_is_not_about_history_and_nonsense_is_refused(
    session: zonal.Session,
) -> None:
    assert list(session.get("city/**", timeout=5)) == []
    wrong = session.get("city/**?_time=yesterday", timeout=20)
    assert list(wrong) == []
    assert "no time range" in str(wrong.failures[0])


def test_a_store_and_a_history_answer_each_their_own_and_nothing_twice(tmp_path: Path) -> None:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router, contextlib.ExitStack() as stack:
        config = zonal.config("client", connect=router.endpoints)
        keeping, asking = (stack.enter_context(zonal.open(config)) for _ in range(2))
        recorder = Recorder(keeping, tmp_path, ["city/**"], plan=RecorderPlan(flush_s=0.05))
        stack.enter_context(recorder)
        stack.enter_context(zonal.Store(keeping, "city/**"))
        stack.enter_context(HistoryService(keeping, History(log=tmp_path)))
        wait_until_declared(asking, recorder)
        for key in ("city/**", "city/**/@s2/**"):
            wait_for_answerer(asking.zenoh, key)
        for number in range(5):
            asking.put("city/bus/7", str(number), location=zonal.Point(45.46, 9.19 + number / 1000))
        eventually(lambda: recorder.counters.written == 5)

        def asked(selector: str) -> list[str]:
            replies = asking.get(selector, timeout=20)
            told = [reply.text for reply in replies]
            assert replies.duplicates == 0, "each was answered by one of them"
            return sorted(told)

        eventually(lambda: asked("city/**") == ["4"])
        assert asked("city/**?_time=[now(-1h)..]") == list("01234")


def test_the_command_shows_the_past_as_it_was_known_at_a_version(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log") as writer:
        writer.append(make_messages(3))
        known = DeltaTable(tmp_path / "log").version()
        writer.append(make_messages(4, first=3))
    options = ["history", "city/**", "--log", str(tmp_path / "log")]
    options += ["--time", "[2026-11-15T00:00:00Z..2026-11-16T00:00:00Z]"]
    assert "7 messages" in CliRunner().invoke(app, options).output
    then = CliRunner().invoke(app, [*options, "--version", str(known)])
    assert "3 messages" in then.output
