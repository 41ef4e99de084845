"""A store through a real router: what it keeps, what it answers, what survives."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zenoh

from command_line import line_with, run_zonal, running_zonal
from network import eventually, plain_client, wait_until_answered
from zonal import Memory, Store
from zonal.errors import StoreError
from zonal.geo import Box, Circle, Everywhere, Point, cell_of, destination
from zonal.session import Router, Session

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)
WEST, EAST = Box(45.0, 8.0, 46.0, 9.2), Box(45.0, 9.2, 46.0, 10.0)
OpenClient = Callable[..., Session]


def answers(session: Session, key: str, **options: Any) -> dict[str, str] | None:
    """What is known under a key: payloads by key; None where a thing was answered twice."""
    found = [(reply.key, reply.payload.to_string()) for reply in session.get(key, **options)]
    return dict(found) if len(dict(found)) == len(found) else None


def holds(session: Session, key: str, expected: dict[str, str], **options: Any) -> None:
    eventually(lambda: answers(session, key, **options) == expected, what=f"{expected} under {key}")


def ready(session: Session, *stores: Store) -> None:
    """Until the stores hear and answer this session."""
    for store in stores:
        wait_until_answered(session, store)
        for subscriber in store._subscribers:
            for key in subscriber.declared_keys:
                with session.zenoh.declare_publisher(key) as publisher:
                    eventually(lambda p=publisher: p.matching_status.matching)


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_the_newest_value_is_answered_in_all_encodings(
    open_client: OpenClient, topic: str, encoding: str
) -> None:
    with Store(open_client(), f"{topic}/**") as store:
        session = open_client(encoding=encoding)
        ready(session, store)
        session.put(f"{topic}/a", "old", location=MONZA)
        session.put(f"{topic}/a", "new", location=DUOMO)
        session.put(f"{topic}/b", "there", location=MONZA)
        around = Circle(DUOMO, radius_m=2000)
        holds(session, f"{topic}/**", {f"{topic}/a": "new"}, area=around)
        holds(session, f"{topic}/a", {f"{topic}/a": "new"}, area=Everywhere())
        holds(session, f"{topic}/*", {f"{topic}/a": "new", f"{topic}/b": "there"})
        (reply,) = session.get(f"{topic}/a")
        assert reply.location == DUOMO
        assert reply.source is not None
        assert reply.source.id == f"{session._parts.origin.id:016x}"
        assert f"@{encoding}" in str(reply.zenoh.key_expr)


def test_what_has_no_place_is_kept_and_answered_to_plain_clients(
    near: Session, open_client: OpenClient, router: Router, topic: str
) -> None:
    with Store(open_client(), f"{topic}/**") as store, plain_client(router) as plain:
        ready(near, store)
        plain.put(f"{topic}/plain", "nowhere")
        near.put(f"{topic}/placed", "here", location=DUOMO)
        holds(near, f"{topic}/**", {f"{topic}/plain": "nowhere", f"{topic}/placed": "here"})
        assert answers(near, f"{topic}/**", area=Everywhere()) == {f"{topic}/placed": "here"}
        assert answers(near, f"{topic}/**?_time=[now(-1h)..]") == {}
        got = {str(r.ok.key_expr): r.ok.payload.to_string() for r in plain.get(f"{topic}/**")}
        assert got == {f"{topic}/plain": "nowhere", f"{topic}/placed": "here"}


def test_blurred_and_fenced_values_keep_their_places(
    near: Session, open_client: OpenClient, topic: str
) -> None:
    with Store(open_client(), f"{topic}/**") as store:
        ready(near, store)
        near.put(f"{topic}/blurred", "about here", location=DUOMO, precision_m=5000)
        fence = Circle(DUOMO, radius_m=1000)
        near.put(f"{topic}/fenced", "for few", location=MONZA, geofence=fence)
        holds(near, f"{topic}/**", {f"{topic}/blurred": "about here"})
        (reply,) = near.get(f"{topic}/**", area=Circle(DUOMO, radius_m=10))
        assert reply.place == cell_of(DUOMO, reply.place.level)  # type: ignore[union-attr]
        inside = open_client(position=DUOMO)
        expected = {f"{topic}/blurred": "about here", f"{topic}/fenced": "for few"}
        holds(inside, f"{topic}/**", expected)


def test_deleted_things_are_gone_and_stay_so(
    near: Session, open_client: OpenClient, topic: str
) -> None:
    with Store(open_client(), f"{topic}/**") as store:
        ready(near, store)
        before = near.zenoh.new_timestamp()
        for name in ("a", "b/1", "b/2"):
            near.put(f"{topic}/{name}", name, location=DUOMO)
        holds(near, f"{topic}/**", {f"{topic}/{name}": name for name in ("a", "b/1", "b/2")})
        near.delete(f"{topic}/a", location=MONZA)
        near.zenoh.delete(f"{topic}/b/*")
        holds(near, f"{topic}/**", {})
        near.put(f"{topic}/a", "late", location=DUOMO, timestamp=before)
        near.put(f"{topic}/c", "c", location=DUOMO)
        holds(near, f"{topic}/**", {f"{topic}/c": "c"})


def test_values_expire(near: Session, open_client: OpenClient, topic: str) -> None:
    with Store(open_client(), f"{topic}/**", ttl_s=1.0) as store:
        ready(near, store)
        near.put(f"{topic}/a", "a", location=DUOMO)
        start = time.time()
        holds(near, f"{topic}/a", {f"{topic}/a": "a"})
        holds(near, f"{topic}/a", {})
        assert time.time() - start >= 0.9
        eventually(lambda: len(store) == 0)


@pytest.mark.parametrize(("by", "count"), [("key", 1), ("source", 2), ("place", 3)])
def test_what_a_thing_is(open_client: OpenClient, topic: str, by: str, count: int) -> None:
    with Store(open_client(), topic, by=by) as store:
        here, there = open_client(), open_client()
        ready(here, store)
        here.put(topic, "1", location=DUOMO)
        here.put(topic, "2", location=MONZA)
        there.put(topic, "3", location=destination(DUOMO, 0, 100))
        eventually(lambda: store.counters.kept >= count and "3" in _payloads(here, topic))
        assert len(_payloads(here, topic)) == count


def _payloads(session: Session, topic: str) -> list[str]:
    return [reply.payload.to_string() for reply in session.get(topic)]


@pytest.fixture(params=["folder", "database"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store keeps its things: nothing is in there."""
    if request.param == "folder":
        return str(tmp_path)
    return str(request.getfixturevalue("database"))


def test_what_it_answered_is_there_after_kill_9(
    near: Session, router: Router, topic: str, data: str
) -> None:
    arguments = ("store", f"{topic}/**", "--data", data, "-e", router.endpoints[0])
    expected = {f"{topic}/{number}": f"value {number}" for number in range(200)}
    with running_zonal(*arguments) as process:
        line_with("keeping 0 things", process, process.stderr)
        eventually(lambda: near.zenoh.declare_querier(f"{topic}/x").matching_status.matching)
        for key, value in expected.items():
            near.put(key, value, location=DUOMO)
        holds(near, f"{topic}/*", expected)
    with running_zonal(*arguments) as process:
        line_with("keeping 200 things", process, process.stderr)
        holds(near, f"{topic}/*", expected, area=Circle(DUOMO, radius_m=1))
        nearest = [reply.key for reply in near.get(f"{topic}/*", nearest=3, to=DUOMO)]
        assert nearest == sorted(expected)[:3]


def test_sql_people_read_what_was_sent(
    near: Session, open_client: OpenClient, topic: str, database: str
) -> None:
    import psycopg

    with Store(open_client(), f"{topic}/**", data=database) as store:
        ready(near, store)
        near.put(f"{topic}/54", {"seats": 7}, location=DUOMO)
        near.put(f"{topic}/61", {"seats": 30}, location=MONZA)
        near.put(f"{topic}/90", {"seats": 1}, location=DUOMO)
        near.delete(f"{topic}/90", location=DUOMO)
        holds(near, f"{topic}/*", {f"{topic}/54": '{"seats": 7}', f"{topic}/61": '{"seats": 30}'})
        with psycopg.connect(database) as connection:
            question = (
                "SELECT key, (text::json->>'seats')::int FROM newest WHERE key LIKE %s "
                "AND ST_DWithin(place, ST_MakePoint(9.19, 45.4642)::geography, 2000) "
                "AND time > now() - interval '1 hour'"
            )
            assert connection.execute(question, (f"{topic}/%",)).fetchall() == [(f"{topic}/54", 7)]


def test_a_store_goes_on_when_its_database_is_back(
    near: Session, open_client: OpenClient, topic: str, database: str
) -> None:
    import psycopg

    with Store(open_client(), f"{topic}/**", data=database) as store:
        ready(near, store)
        near.put(f"{topic}/1", "before", location=DUOMO)
        holds(near, f"{topic}/*", {f"{topic}/1": "before"})
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        near.put(f"{topic}/2", "after", location=DUOMO)
        holds(near, f"{topic}/*", {f"{topic}/1": "before", f"{topic}/2": "after"})


def test_what_strangers_send_takes_no_other_thing_away(
    near: Session, open_client: OpenClient, router: Router, topic: str, data: str
) -> None:
    key = f"{topic}/1"
    with (
        Store(open_client(), f"{topic}/**", data=data) as store,
        plain_client(router) as stranger,
    ):
        ready(near, store)
        for seconds in (2**31 - 1, 2**31 + 1, 2**32 - 1):  # routers leave those of DELETE alone
            stamp = zenoh.Timestamp(zenoh.NTP64(seconds, 0), b"\x01")
            stranger.put(key, "x", timestamp=stamp)
            stranger.delete(key, timestamp=stamp)
            stranger.delete(f"{topic}/**", timestamp=stamp)
        for name in ("a\0b", "k" * 60_000, "../../x", "'; DROP TABLE things; --", "\u202e"):
            stranger.put(f"{topic}/{name}", "x", encoding="text/plain;\0")
        eventually(lambda: store.counters.ahead == 6)
        near.put(key, "right", location=DUOMO)
        holds(near, key, {key: "right"})
        for question in ("_since=" + "9" * 5000, "_since=" + "9" * 19, "_nearest=1e9;_to=x"):
            assert list(near.get(f"{key}?{question}")) == []
        assert answers(near, key) == {key: "right"}


def test_two_stores_agree_and_a_client_gets_each_thing_once(
    near: Session, open_client: OpenClient, topic: str
) -> None:
    expected = {f"{topic}/{number}": str(number) for number in range(20)}
    with Store(open_client(), f"{topic}/**") as first:
        ready(near, first)
        for key, value in expected.items():
            near.put(key, value, location=DUOMO)
        near.delete(f"{topic}/0", location=DUOMO)
        del expected[f"{topic}/0"]
        holds(near, f"{topic}/**", expected)
        with Store(open_client(), f"{topic}/**") as second:  # it has heard none of them
            ready(near, second)
            eventually(lambda: len(second) == len(expected), what="it catches up")
            expected[f"{topic}/1"] = "newer"
            near.put(f"{topic}/1", "newer", location=MONZA)

            def same() -> bool:
                return set(first.find(f"{topic}/**")) == set(second.find(f"{topic}/**"))

            eventually(same, timeout=1.0)
            holds(near, f"{topic}/**", expected)
            replies = near.get(f"{topic}/**")
            assert len(list(replies)) == replies.duplicates == len(expected)


def test_a_thing_that_moves_is_answered_by_the_store_where_it_is(
    near: Session, open_client: OpenClient, topic: str
) -> None:
    key = f"{topic}/bus"
    with (
        Store(open_client(), f"{topic}/**", area=WEST) as west,
        Store(open_client(), f"{topic}/**", area=EAST) as east,
    ):
        ready(near, west, east)
        eventually(lambda: west._others.want_to_know and east._others.want_to_know)
        near.put(key, "in the west", location=DUOMO)
        holds(near, key, {key: "in the west"})
        near.put(key, "in the east", location=MONZA)
        holds(near, key, {key: "in the east"})
        assert (len(west), len(east)) == (0, 1)
        before = west.counters.asked
        assert answers(near, key, area=Circle(MONZA, radius_m=1000)) == {key: "in the east"}
        assert west.counters.asked == before  # a question reaches only those it is about
        near.put(key, "back", location=DUOMO)
        holds(near, key, {key: "back"})
        near.delete(key, location=MONZA)
        holds(near, key, {})


def test_a_store_that_was_away_learns_what_has_left_its_area(
    near: Session, open_client: OpenClient, topic: str, tmp_path: Path
) -> None:
    key = f"{topic}/bus"
    with Store(open_client(), f"{topic}/**", area=EAST) as east:
        with Store(open_client(), f"{topic}/**", area=WEST, data=tmp_path) as west:
            ready(near, west, east)
            near.put(key, "in the west", location=DUOMO)
            holds(near, key, {key: "in the west"})
        near.put(key, "in the east", location=MONZA)
        holds(near, key, {key: "in the east"})
        with Store(open_client(), f"{topic}/**", area=WEST, data=tmp_path) as west:
            ready(near, west)
            eventually(lambda: len(west) == 0)
            holds(near, key, {key: "in the east"})


def test_it_asks_publishers_with_a_memory_for_what_was_sent_before(
    near: Session, open_client: OpenClient, topic: str
) -> None:
    with near.declare_publisher(f"{topic}/a", location=DUOMO, memory=Memory(10)) as publisher:
        publisher.put("before there was a store")
        with Store(open_client(), f"{topic}/**"):
            holds(near, f"{topic}/**", {f"{topic}/a": "before there was a store"})


def test_wrong_settings_are_refused(near: Session, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="more than 0 seconds"):
        Store(near, ttl_s=-5)
    with pytest.raises(StoreError, match="told apart by one of key, source, place"):
        Store(near, by="colour")
    (tmp_path / "newest.sqlite").write_text("no database" * 200)
    with pytest.raises(StoreError, match="cannot keep things"):
        Store(near, data=tmp_path)


def test_the_command_says_where_things_are_kept(router: Router, tmp_path: Path) -> None:
    result = run_zonal("store", "--by", "colour", "-e", router.endpoints[0], cwd=tmp_path)
    assert result.returncode == 1
    assert "told apart" in result.stderr
