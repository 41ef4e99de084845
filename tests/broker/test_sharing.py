"""Several brokers on one PostgreSQL database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import mqtt5
import psycopg
import pytest

from broker_bench import Bench
from broker_process import BrokerProcess
from broker_wire import Wire, until
from postgres import emptied, postgres_server
from zonal.broker import Options, Service
from zonal.broker.postgres import PostgresStore
from zonal.broker.recovery import recover
from zonal.errors import BrokerError

QOS_1 = mqtt5.QoS.AT_LEAST_ONCE


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture
def database(server: str) -> str:
    return emptied(server)


@pytest.fixture
async def pair(database: str) -> AsyncIterator[tuple[Service, Service]]:
    options = Options(port=0, database=database)
    async with Service(options) as one, Service(options) as two:
        yield one, two


async def joined(
    port: int, name: str, *, clean: bool = False, expiry: int = 600
) -> tuple[Wire, bool]:
    wire = await Wire.open(port)
    packet = mqtt5.ConnectPacket(name, clean_start=clean, session_expiry_interval=expiry)
    wire.writer.write(packet.write())
    answer = await wire.packet()
    assert isinstance(answer, mqtt5.ConnAckPacket), answer
    assert int(answer.reason_code) == 0
    return wire, answer.session_present


async def subscribed(wire: Wire, topic: str) -> None:
    filters = [mqtt5.TopicFilter(topic, max_qos=QOS_1)]
    wire.writer.write(mqtt5.SubscribePacket(1, filters).write())
    assert isinstance(await wire.packet(), mqtt5.SubAckPacket)


async def published(wire: Wire, topic: str, payload: bytes, number: int = 1) -> None:
    packet = mqtt5.PublishPacket(topic, payload, qos=QOS_1, packet_id=number)
    wire.writer.write(packet.write())
    assert isinstance(await wire.packet(), mqtt5.PubAckPacket)


async def received(wire: Wire) -> bytes:
    packet = await wire.packet()
    assert isinstance(packet, mqtt5.PublishPacket), packet
    assert packet.packet_id is not None
    wire.writer.write(mqtt5.PubAckPacket(packet.packet_id).write())
    return packet.payload


async def test_a_session_goes_on_with_its_queue_at_whichever_broker(
    pair: tuple[Service, Service],
) -> None:
    one, two = pair
    wire, present = await joined(one.ports["mqtt"], "c")
    assert not present
    await subscribed(wire, "t")
    wire.writer.write(mqtt5.DisconnectPacket().write())
    await wire.ended()
    writer, _ = await joined(one.ports["mqtt"], "w", clean=True, expiry=0)
    await published(writer, "t", b"waits")
    wire, present = await joined(two.ports["mqtt"], "c")
    assert present
    assert await received(wire) == b"waits"
    assert "c" not in one.broker.sessions
    other, _ = await joined(two.ports["mqtt"], "w2", clean=True, expiry=0)
    await published(other, "t", b"new")
    assert await received(wire) == b"new"
    wire.writer.close()
    await until(lambda: two.broker.sessions["c"].connection is None)
    wire, present = await joined(one.ports["mqtt"], "c")
    assert present
    assert "c" not in two.broker.sessions


async def test_a_client_that_comes_to_another_broker_is_sent_away_from_the_first(
    pair: tuple[Service, Service],
) -> None:
    one, two = pair
    first, _ = await joined(one.ports["mqtt"], "c")
    await subscribed(first, "t")
    second, present = await joined(two.ports["mqtt"], "c")
    packet = await first.packet()
    assert isinstance(packet, mqtt5.DisconnectPacket)
    assert int(packet.reason_code) == 0x8E
    assert present
    second.writer.write(b"\xc0\0")
    assert isinstance(await second.packet(), mqtt5.PingRespPacket)


async def test_a_session_that_is_not_kept_is_served_once_as_well(
    pair: tuple[Service, Service],
) -> None:
    one, two = pair
    first, _ = await joined(one.ports["mqtt"], "c", clean=True, expiry=0)
    _second, present = await joined(two.ports["mqtt"], "c", clean=True, expiry=0)
    assert not present
    assert isinstance(await first.packet(), mqtt5.DisconnectPacket)
    assert "c" not in one.broker.sessions


async def test_two_brokers_never_serve_one_session_at_once(pair: tuple[Service, Service]) -> None:
    one, two = pair
    ports = [one.ports["mqtt"], two.ports["mqtt"]]
    seen = []

    async def come(number: int) -> Wire:
        wire, _ = await joined(ports[number % 2], "same")
        return wire

    async def watch() -> None:
        while True:
            both = [s.broker.sessions.get("same") for s in (one, two)]
            seen.append(sum(s is not None and s.connection is not None for s in both))
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watch())
    wires = await asyncio.gather(*(come(number) for number in range(6)))
    watching.cancel()
    assert max(seen) == 1
    open_ = 0
    for wire in wires:
        wire.writer.write(b"\xc0\0")
        try:
            while not isinstance(packet := await wire.packet(), mqtt5.PingRespPacket):
                if isinstance(packet, mqtt5.DisconnectPacket):
                    break
            open_ += isinstance(packet, mqtt5.PingRespPacket)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
    assert open_ == 1


async def test_retained_messages_are_everybodys(pair: tuple[Service, Service]) -> None:
    one, two = pair
    writer, _ = await joined(one.ports["mqtt"], "w", clean=True, expiry=0)
    packet = mqtt5.PublishPacket("r", b"kept", qos=QOS_1, packet_id=1, retain=True)
    writer.writer.write(packet.write())
    await writer.packet()
    await until(lambda: two.broker.retained.get("r") is not None)
    writer.writer.write(mqtt5.PublishPacket("r", b"", retain=True).write())
    await until(lambda: two.broker.retained.get("r") is None)


async def test_losing_a_broker_loses_nothing_that_it_acknowledged(database: str) -> None:
    async with Service(Options(port=0, database=database)) as survivor:
        with BrokerProcess("--data", database) as doomed:
            wire, _ = await joined(doomed.port, "c")
            await subscribed(wire, "t")
            wire.writer.close()
            writer, _ = await joined(doomed.port, "w", clean=True, expiry=0)
            for number in range(1, 101):
                await published(writer, "t", b"%d" % number, number)
            doomed.kill()
        await until(lambda: "c" in survivor.broker.sessions)
        wire, present = await joined(survivor.ports["mqtt"], "c")
        assert present
        assert [await received(wire) for _ in range(100)] == [b"%d" % n for n in range(1, 101)]


async def test_a_broker_that_lost_its_database_stops(database: str) -> None:
    service = Service(Options(port=0, database=database))
    async with service:
        wire, _ = await joined(service.ports["mqtt"], "c")
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        await until(service.server.failed.done)
        assert await wire.ended() is not None
        with pytest.raises(BrokerError):
            service.server.failed.result()
        service.server.sharing = None
        service._opened.pop_all()


def test_a_database_that_is_not_there_is_named() -> None:
    with pytest.raises(BrokerError, match="cannot be used"):
        PostgresStore("postgresql://zonal@/x?host=/nowhere")


def test_what_cannot_be_read_is_set_aside(database: str) -> None:
    store = PostgresStore(database)
    bench = Bench(journal=store)
    for name in ("good", "bad"):
        client = bench.connected(name, expiry=100)
        client.subscribe("t", 1)
        client.hang_up()
    store.close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE zonal_broker.session SET expiry = -5 WHERE client_id = 'bad'")
    store = PostgresStore(database)
    bench = Bench(journal=store)
    (adopted,) = store.adopt()
    recover(bench.broker, store, bench.now, adopted.clients)
    assert set(bench.broker.sessions) == {"good"}
    store.close()


async def test_what_is_published_at_one_broker_reaches_the_clients_of_the_others(
    pair: tuple[Service, Service],
) -> None:
    one, two = pair
    reader, _ = await joined(two.ports["mqtt"], "r", clean=True, expiry=0)
    await subscribed(reader, "t/#")
    writer, _ = await joined(one.ports["mqtt"], "w", clean=True, expiry=0)
    await until(lambda: not one.server.sharing._is_alone)  # type: ignore[union-attr]
    for number in range(1, 21):
        await published(writer, f"t/{number}", b"%d" % number, number)
    assert [await received(reader) for _ in range(20)] == [b"%d" % n for n in range(1, 21)]


async def test_a_client_that_changes_brokers_all_the_time_gets_everything_once(
    pair: tuple[Service, Service],
) -> None:
    ports = [service.ports["mqtt"] for service in pair]
    reader, _ = await joined(ports[0], "r")
    await subscribed(reader, "t")
    reader.writer.close()
    writers = [(await joined(port, f"w{port}", clean=True, expiry=0))[0] for port in ports]
    await until(lambda: not any(s.server.sharing._is_alone for s in pair))  # type: ignore[union-attr]
    sent: list[bytes] = []

    async def write(wire: Wire, name: str) -> None:
        for number in range(1, 61):
            payload = f"{name} {number}".encode()
            packet = mqtt5.PublishPacket("t", payload, qos=mqtt5.QoS.EXACTLY_ONCE, packet_id=number)
            wire.writer.write(packet.write())
            await wire.packet()
            wire.writer.write(mqtt5.PubRelPacket(number).write())
            await wire.packet()
            sent.append(payload)
            await asyncio.sleep(0.01)

    writing = asyncio.gather(*(write(wire, f"w{n}") for n, wire in enumerate(writers)))
    got: list[bytes] = []
    turn = 0
    while not writing.done() or len(got) < len(sent):
        turn += 1
        wire, present = await joined(ports[turn % 2], "r")
        assert present
        try:
            async with asyncio.timeout(0.4 if not writing.done() else 2):
                while True:
                    got.append(await received(wire))
        except TimeoutError:
            pass
        wire.writer.write(mqtt5.DisconnectPacket().write())
        await wire.ended()
        assert turn < 60
    await writing
    assert sorted(got) == sorted(sent)


async def test_what_others_published_while_a_broker_died_is_not_lost(database: str) -> None:
    async with Service(Options(port=0, database=database)) as survivor:
        with BrokerProcess("--data", database) as doomed:
            wire, _ = await joined(doomed.port, "c")
            await subscribed(wire, "t")
            wire.writer.close()
            writer, _ = await joined(survivor.ports["mqtt"], "w", clean=True, expiry=0)
            await until(lambda: not survivor.server.sharing._is_alone)  # type: ignore[union-attr]
            for number in range(1, 31):
                await published(writer, "t", b"%d" % number, number)
                if number == 15:
                    doomed.kill()
        await until(lambda: "c" in survivor.broker.sessions)
        wire, _ = await joined(survivor.ports["mqtt"], "c")
        assert [await received(wire) for _ in range(30)] == [b"%d" % n for n in range(1, 31)]


async def test_a_group_with_members_at_both_brokers_gets_each_message_once(
    pair: tuple[Service, Service],
) -> None:
    members = [(await joined(s.ports["mqtt"], f"m{n}"))[0] for n, s in enumerate(pair)]
    for member in members:
        await subscribed(member, "$share/g/t")
    await until(lambda: all(s.broker.distributor.groups.elsewhere for s in pair))  # type: ignore[union-attr]
    writer, _ = await joined(pair[0].ports["mqtt"], "w", clean=True, expiry=0)
    sent = [b"%d" % n for n in range(1, 41)]
    for number, payload in enumerate(sent, 1):
        await published(writer, "t", payload, number)
    got: list[list[bytes]] = [[], []]

    async def listen(index: int) -> None:
        while True:
            got[index].append(await received(members[index]))

    listening = [asyncio.create_task(listen(index)) for index in range(2)]
    await until(lambda: sum(map(len, got)) >= len(sent))
    await asyncio.sleep(0.3)
    for task in listening:
        task.cancel()
    assert sorted(got[0] + got[1]) == sorted(sent)
    assert min(map(len, got)) > 5
