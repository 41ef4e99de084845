"""Each property on each packet of a client: where it belongs, once, and nowhere else (2.2.2)."""

from __future__ import annotations

import pytest

from broker_bench import Bench, Client
from broker_packets import connect, framed, publish, subscribe, text

VALUES = {
    0x01: b"\x01",  # payload format indicator
    0x02: b"\0\0\0\x3c",  # message expiry interval
    0x03: text(b"a/b"),  # content type
    0x08: text(b"reply"),  # response topic
    0x09: b"\0\1x",  # correlation data
    0x0B: b"\x05",  # subscription identifier
    0x11: b"\0\0\0\x0a",  # session expiry interval
    0x12: text(b"id"),  # assigned client identifier
    0x13: b"\0\x3c",  # server keep-alive
    0x15: text(b"m"),  # authentication method
    0x16: b"\0\1x",  # authentication data
    0x17: b"\x01",  # request problem information
    0x18: b"\0\0\0\x05",  # will delay interval
    0x19: b"\x01",  # request response information
    0x1A: text(b"r"),  # response information
    0x1C: text(b"s"),  # server reference
    0x1F: text(b"why"),  # reason string
    0x21: b"\0\x0a",  # receive maximum
    0x22: b"\0\x05",  # topic alias maximum
    0x23: b"\0\1",  # topic alias
    0x24: b"\x01",  # maximum QoS
    0x25: b"\x01",  # retain available
    0x26: text(b"k") + text(b"v"),  # user property
    0x27: b"\0\0\x10\0",  # maximum packet size
    0x28: b"\x01",  # wildcard subscription available
    0x29: b"\x01",  # subscription identifiers available
    0x2A: b"\x01",  # shared subscription available
}
USER_PROPERTY, SUBSCRIPTION_IDENTIFIER = 0x26, 0x0B


def will(properties: bytes) -> bytes:
    return connect(2 | 4, rest=bytes((len(properties),)) + properties + text(b"w") + text(b"p"))


def acknowledgement(first: int) -> object:
    return lambda properties: framed(first, b"\0\1\0" + bytes((len(properties),)) + properties)


PACKETS = {
    "CONNECT": (lambda p: connect(properties=p), {0x11, 0x17, 0x19, 0x21, 0x22, 0x26, 0x27}),
    "will": (will, {0x01, 0x02, 0x03, 0x08, 0x09, 0x18, 0x26}),
    "PUBLISH": (
        lambda p: publish(properties=p), {0x01, 0x02, 0x03, 0x08, 0x09, 0x23, 0x26},
    ),
    "PUBACK": (acknowledgement(0x40), {0x1F, 0x26}),
    "PUBREC": (acknowledgement(0x50), {0x1F, 0x26}),
    "PUBREL": (acknowledgement(0x62), {0x1F, 0x26}),
    "PUBCOMP": (acknowledgement(0x70), {0x1F, 0x26}),
    "SUBSCRIBE": (lambda p: subscribe(properties=p), {0x0B, 0x26}),
    "UNSUBSCRIBE": (
        lambda p: framed(0xA2, b"\0\1" + bytes((len(p),)) + p + text(b"t")), {0x26},
    ),
    "DISCONNECT": (
        lambda p: framed(0xE0, b"\x04" + bytes((len(p),)) + p), {0x11, 0x1F, 0x26},
    ),
}  # fmt: skip
ELSEWHERE = {
    ("CONNECT", 0x15): 0x8C,  # enhanced authentication is not offered
    ("CONNECT", 0x16): 0x82,  # data without a method
    ("PUBLISH", 0x0B): 0x82,  # only a server sends it (3.3.4)
    ("DISCONNECT", 0x1C): 0x82,  # only a server sends it (3.14.2.2.5)
}
PAIRS = [(name, kind) for name in PACKETS for kind in VALUES]


def sent(name: str, properties: bytes) -> Client:
    client = Bench().client()
    if name not in {"CONNECT", "will"}:
        client.connect("c", expiry=60)
    make, _ = PACKETS[name]
    client.send_bytes(make(properties))  # type: ignore[operator]
    return client


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_a_property_is_taken_where_it_belongs_and_refused_elsewhere(name: str, kind: int) -> None:
    client = sent(name, bytes((kind,)) + VALUES[kind])
    if kind in PACKETS[name][1]:
        assert client.is_closed == (name == "DISCONNECT")
        assert not client.packets() or name != "DISCONNECT"
    else:
        assert client.refused_with() == ELSEWHERE.get((name, kind), 0x81)


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n, k in PAIRS if k in PACKETS[n][1]])
def test_only_user_properties_may_be_repeated(name: str, kind: int) -> None:
    client = sent(name, 2 * (bytes((kind,)) + VALUES[kind]))
    if kind == USER_PROPERTY:
        assert client.is_closed == (name == "DISCONNECT")
    else:
        assert client.refused_with() == 0x82


@pytest.mark.parametrize("name", PACKETS)
@pytest.mark.parametrize("kind", [0x00, 0x04, 0x14, 0x2B, 0x7F])
def test_an_unknown_property_is_malformed(name: str, kind: int) -> None:
    assert sent(name, bytes((kind, 0, 0))).refused_with() == 0x81


@pytest.mark.parametrize("name", PACKETS)
def test_properties_cut_short_are_malformed(name: str) -> None:
    assert sent(name, b"\x26\0\1k\0\5v").refused_with() == 0x81


@pytest.mark.parametrize("name", PACKETS)
def test_a_property_identifier_longer_than_needed_is_malformed(name: str) -> None:
    assert sent(name, b"\xa6\0" + VALUES[USER_PROPERTY]).refused_with() == 0x81
