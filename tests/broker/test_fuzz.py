"""Changed packets, many of them, to the machine without sockets: none may raise, none may hurt."""

from __future__ import annotations

import os
import random

import mqtt5
import pytest

from broker_bench import Bench, Client
from broker_packets import connect, framed, publish, subscribe, text
from zonal.broker import packet_fields

FENCE = text(b"geofence") + text(b"CIRCLE (9 45, 1000)")
SEEDS = [
    connect(), connect(0xC6, rest=b"\0" + text(b"w") + text(b"p") + text(b"u") + text(b"s")),
    connect(properties=b"\x11\0\0\0\x3c\x21\0\x05\x22\0\x05\x27\0\0\1\0"),
    publish(payload=b"x"), publish(0x32, packet_id=b"\0\1"), publish(0x34, packet_id=b"\0\2"),
    publish(0x31, properties=b"\x23\0\1", payload=b"r"), publish(topic=b"$zonal/location",
    payload=b"45,9"), publish(properties=b"\x26" + text(b"location") + text(b"45,9")),
    subscribe(), subscribe(properties=b"\x26" + FENCE), subscribe(filters=text(b"+/#") + b"\2"),
    subscribe(filters=text(b"$share/g/t") + b"\1"), framed(0xA2, b"\0\1\0" + text(b"t")),
    framed(0x40, b"\0\1"), framed(0x50, b"\0\1"), framed(0x62, b"\0\2"), framed(0x70, b"\0\1"),
    framed(0xF0, b"\x18\0"), b"\xc0\0", framed(0xE0, b"\4"), b"\xe0\0",
]  # fmt: skip


def changed(chance: random.Random) -> bytes:
    """One packet of which some bytes are others, too many or too few."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.choice((0, 0, 1, 1, 2, 5))):
        position = chance.randrange(len(data))
        kind = chance.randrange(4)
        if kind == 0:
            data[position] = chance.randrange(256)
        elif kind == 1:
            data[position] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data[position:position] = chance.randbytes(chance.randrange(1, 4))
        elif len(data) > 2:
            del data[position]
    return bytes(data)


def fuzz(count: int, seed: int) -> None:
    """So many changed packets, while a witness goes on."""
    chance = random.Random(seed)
    bench = Bench()
    witness = bench.connected("witness")
    witness.subscribe("only/witness")
    client: Client | None = None
    for number in range(count):
        if client is None or client.is_closed:
            client = bench.client()
            if chance.random() < 0.9:
                client.send_bytes(connect(client_id=b"c%d" % chance.randrange(20)))
        client.send_bytes(changed(chance))
        client.inbox = b""
        if client.connection.reader.buffered and chance.random() < 0.5:
            client.hang_up()  # else a length that was changed swallows all that follows
        if number % 5_000 == 0:
            bench.wait(0.1)
            witness.publish("only/witness", b"%d" % number, 1)
            payloads = [p.payload for p in witness.packets() if isinstance(p, mqtt5.PublishPacket)]
            assert payloads == [b"%d" % number]
    assert not witness.is_closed
    counters = bench.broker.counters
    assert min(counters.received, counters.subscribed, counters.violations) > count // 50


def test_changed_packets_hurt_nobody() -> None:
    fuzz(20_000, seed=1)


@pytest.mark.slow
def test_many_changed_packets_hurt_nobody() -> None:
    fuzz(int(os.environ.get("ZONAL_FUZZ", "500000")), seed=2)


def test_the_quick_look_at_a_subscribe_takes_nothing_that_the_long_one_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance, taken = random.Random(3), 0
    usual = packet_fields._is_usual_subscribe
    monkeypatch.setattr(packet_fields, "_is_usual_subscribe", lambda *_: False)
    for _ in range(20_000):
        data = changed(chance)
        start = chance.choice((2, 3))
        if usual(data, start + 2, len(data)):
            taken += 1
            packet_fields.check_subscribe(data, start, len(data))
    assert taken > 100
