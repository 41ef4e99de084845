"""A broker starts on whatever its store holds, and sets aside what it cannot understand."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench
from property_examples import examples
from zonal.broker.message import Message
from zonal.broker.recovery import recover
from zonal.broker.settings import Settings
from zonal.broker.sql_journal import KEYS
from zonal.broker.store import StoredJournal

TABLES = list(KEYS)


def opened(folder: Path) -> tuple[Bench, StoredJournal]:
    store = StoredJournal(folder)
    bench = Bench(Settings(sys_interval=0), journal=store)
    recover(bench.broker, store, bench.now)
    bench.flush()
    return bench, store


def filled(folder: Path) -> None:
    """Two sessions with everything that a store can hold."""
    bench, store = opened(folder)
    for name in ("one", "two"):
        will = mqtt5.Will("gone", payload=b"bye", will_delay_interval=60)
        client = bench.connected(
            name, expiry=1000, will=will, user_properties=[("location", "45.5,9.5")]
        )
        area = [("geofence", "CIRCLE (9.5 45.5, 1000)")]
        client.subscribe(f"{name}/#", 2, identifier=3)
        client.subscribe(f"near/{name}", 1, properties=area)
        client.publish("x", b"", 2, packet_id=9)
    writer = bench.connected("writer", user_properties=[("location", "45.5,9.5")])
    for name in ("one", "two"):
        writer.publish(f"{name}/a", b"queued", 1)
        writer.publish(f"{name}/kept", b"kept", 2, retain=True)
    store.commit()
    store._database.close()


def test_a_will_that_follows_its_client_is_refused() -> None:
    bench = Bench()
    client = bench.client()
    will = mqtt5.Will("gone", user_properties=[("around", "500m")])
    client.send(mqtt5.ConnectPacket("c", session_expiry_interval=60, will=will))
    assert client.refused_with() == 0x83


def test_a_store_with_a_will_that_follows_its_client_is_read(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    bench.connected("c", expiry=1000)
    will = mqtt5.Will("gone", user_properties=[("around", "500m")])
    data = mqtt5.ConnectPacket("", will=will).write()
    store._change("UPDATE session SET will = ?", data)
    place = [("location", "45.5,9.5")]
    bench.connected("located", expiry=1000, user_properties=place).subscribe("#")
    store.close()
    bench, store = opened(tmp_path)
    assert set(bench.broker.sessions) == {"c", "located"}
    store.close()


def test_a_queued_message_with_an_unreadable_place_from_another_broker(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    client = bench.connected("c", expiry=1000)
    client.subscribe("#", 1)
    client.hang_up()
    message = Message("t", b"x", 1)
    message.user_properties = [("location", "garbage")]
    bench.broker.distributor.deliver(message, bench.now)
    store.close()
    bench, store = opened(tmp_path)
    (got,) = bench.connected("c", clean=False, expiry=1000).messages()
    assert (got.payload, got.user_properties) == (b"x", [("location", "garbage")])
    store.close()


def test_messages_keep_their_places_whatever_their_properties_say(tmp_path: Path) -> None:
    filled(tmp_path)
    bench, store = opened(tmp_path)
    (first, *_) = bench.broker.sessions["one"].inflight.values()
    assert first.message.location is not None
    assert first.message.location.lat == 45.5
    store.close()


@pytest.mark.parametrize("table", TABLES)
def test_what_cannot_be_understood_is_set_aside_and_the_rest_counts(
    table: str, tmp_path: Path
) -> None:
    filled(tmp_path)
    database = sqlite3.connect(tmp_path / "broker.sqlite")
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    spoilt = next(name for name in ("area", "packet", "latitude", "message", "code", "qos")
                  if name in columns)  # fmt: skip
    where = {"retained": "topic = 'one/kept'", "message": "key = 1"}.get(table, "client_id = 'one'")
    database.execute(f"UPDATE {table} SET {spoilt} = 'nonsense' WHERE {where}")
    if table == "incoming":
        database.execute("INSERT INTO incoming VALUES ('nobody', 1, 0)")
    database.commit()
    database.close()
    bench, store = opened(tmp_path)
    aside = store._database.execute("SELECT kind, contents, reason FROM aside").fetchall()
    assert table in {kind for kind, _, _ in aside}
    assert all(json.loads(contents) and reason for _, contents, reason in aside)
    two = bench.connected("two", clean=False, expiry=1000)
    assert [m.payload for m in two.messages()] == [b"queued", b"kept"]
    two.publish("two/new", b"new", 1)
    assert b"new" in two.payloads()
    store.close()
    again, store = opened(tmp_path)
    assert store._database.execute("SELECT count(*) FROM aside").fetchone() == (len(aside),)
    assert "two" in again.broker.sessions
    store.close()


VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.binary(max_size=12),
)  # fmt: skip


def test_any_row_of_any_table(tmp_path: Path) -> None:
    filled(tmp_path)
    original = (tmp_path / "broker.sqlite").read_bytes()

    @examples(60)
    @given(st.sampled_from(TABLES), st.lists(VALUES, min_size=10, max_size=10))
    def holds(table: str, values: list[object]) -> None:
        for path in tmp_path.iterdir():
            path.unlink()
        path = tmp_path / "broker.sqlite"
        path.write_bytes(original)
        database = sqlite3.connect(path)
        names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        for name, value in zip(names, values, strict=False):
            if name not in KEYS[table]:
                database.execute(f"UPDATE {table} SET {name} = ?", (value,))
        database.commit()
        database.close()
        bench, store = opened(tmp_path)
        bench.connected("new", expiry=10).subscribe("#", 1)
        bench.wait(0.2)
        for name in ("one", "two"):
            client = bench.client()
            client.send(mqtt5.ConnectPacket(name, session_expiry_interval=9))
            client.hang_up()
        store.close()

    holds()


def test_a_store_of_the_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    filled(tmp_path)
    database = sqlite3.connect(tmp_path / "broker.sqlite")
    for table in ("message", "retained"):
        database.execute(f"ALTER TABLE {table} DROP COLUMN places")
    database.execute("DROP TABLE aside")
    database.execute("PRAGMA user_version = 1")
    database.close()
    bench, store = opened(tmp_path)
    kept = bench.broker.retained.get("one/kept")
    assert kept is not None
    assert kept.location is not None
    assert len(bench.connected("two", clean=False, expiry=1000).messages()) == 2
    store.close()
