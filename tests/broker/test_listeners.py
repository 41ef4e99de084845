"""Listeners of one broker, each with its own users, rules, limits and certificates."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import mqtt5
import pytest

from broker_wire import Wire, until
from certificates import Authority
from zonal.broker import Limits, Options, Service, Settings, set_password
from zonal.broker.listeners import MqttListener, read_listener
from zonal.errors import BrokerError

SECRET = b"tRh5-bruno"
RULES = '[[rule]]\nwho = "bruno"\nallow = "subscribe"\ntopics = ["{}"]\n'


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    set_password(path, "bruno", SECRET)
    return path


async def welcome(port: int, name: str, *, user: str | None = "bruno", clean: bool = True,
                  expiry: int = 0) -> tuple[Wire, mqtt5.ConnAckPacket]:  # fmt: skip
    wire = await Wire.open(port)
    wire.writer.write(
        mqtt5.ConnectPacket(
            name, clean_start=clean, session_expiry_interval=expiry, username=user,
            password=SECRET if user else None,
        ).write()
    )  # fmt: skip
    answer = await wire.packet()
    assert isinstance(answer, mqtt5.ConnAckPacket)
    return wire, answer


async def asked(wire: Wire, pattern: str, qos: int = 2) -> int:
    wanted = mqtt5.TopicFilter(pattern, max_qos=mqtt5.QoS(qos))
    wire.writer.write(mqtt5.SubscribePacket(1, [wanted]).write())
    answer = await wire.packet()
    assert isinstance(answer, mqtt5.SubAckPacket)
    return int(answer.reason_codes[0])


async def test_each_listener_has_its_own_users_and_limits(users: Path) -> None:
    outside = f"mqtt://127.0.0.1:0?passwords={users}&limit=maximum_qos=1&limit=receive_maximum=7"
    async with Service(Options(port=0, listeners=(outside,))) as service:
        inside, guarded = service.ports.values()
        _, anybody = await welcome(inside, "a", user=None)
        assert int(anybody.reason_code) == 0
        assert anybody.max_qos == mqtt5.QoS.EXACTLY_ONCE
        _, nobody = await welcome(guarded, "b", user=None)
        assert int(nobody.reason_code) == 0x87
        wire, bruno = await welcome(guarded, "c")
        assert (bruno.max_qos, bruno.receive_max) == (mqtt5.QoS.AT_LEAST_ONCE, 7)
        assert await asked(wire, "t") == 1


async def test_a_listener_is_full_while_another_is_not() -> None:
    few = "mqtt://127.0.0.1:0?limit=maximum_connections=1"
    async with Service(Options(port=0, listeners=(few,))) as service:
        inside, full = service.ports.values()
        first, _ = await welcome(full, "a", user=None)
        assert int((await welcome(full, "b", user=None))[1].reason_code) == 0x89
        assert int((await welcome(inside, "c", user=None))[1].reason_code) == 0
        first.writer.close()
        await until(lambda: service.broker.entrances[1].connections == 0)
        assert int((await welcome(full, "d", user=None))[1].reason_code) == 0


async def test_a_session_that_comes_by_another_listener_is_held_to_its_rules(
    tmp_path: Path, users: Path
) -> None:
    all_of_it, some = tmp_path / "all.toml", tmp_path / "some.toml"
    all_of_it.write_text(RULES.format("#"))
    some.write_text(RULES.format("public/#"))
    narrow = f"mqtt://127.0.0.1:0?rules={some}"
    options = Options(port=0, passwords=users, rules=all_of_it, listeners=(narrow,))
    async with Service(options) as service:
        wide, other = service.ports.values()
        wire, _ = await welcome(wide, "phone", expiry=60)
        for pattern in ("secret/#", "public/#"):
            assert await asked(wire, pattern) == 2
        _, answer = await welcome(other, "phone", clean=False, expiry=60)
        assert answer.session_present
        assert list(service.broker.sessions["phone"].subscriptions) == ["public/#"]


async def test_rules_of_one_listener_change_without_the_others(tmp_path: Path, users: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    for path in (first, second):
        path.write_text(RULES.format("#"))
    listener = f"mqtt://127.0.0.1:0?rules={second}"
    options = Options(port=0, passwords=users, rules=first, listeners=(listener,))
    async with Service(options) as service:
        ports = list(service.ports.values())
        wires = [
            (await welcome(port, name))[0] for name, port in zip(("a", "b"), ports, strict=True)
        ]
        for wire in wires:
            assert await asked(wire, "t") == 2
        second.write_text(RULES.format("other"))
        service.reloads.ask()
        sessions = service.broker.sessions
        await until(lambda: not sessions["b"].subscriptions)
        assert list(sessions["a"].subscriptions) == ["t"]


async def test_each_listener_shows_its_own_certificate(tmp_path: Path) -> None:
    authorities = []
    listeners = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        authorities.append(Authority(folder))
        certificate, key = authorities[-1].issue("server")
        listeners.append(f"mqtts://127.0.0.1:0?certificate={certificate}&key={key}")
    listeners[1] = listeners[1].replace("127.0.0.1", "localhost")  # another name for the test
    async with Service(Options(port=None, listeners=tuple(listeners))) as service:
        for port, authority in zip(service.ports.values(), authorities, strict=True):
            context = ssl.create_default_context(cafile=authority.certificate)
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            writer.close()


def test_what_a_listener_does_not_say_is_as_with_the_others() -> None:
    limits = Limits(maximum_qos=1, maximum_inflight=5)
    others = MqttListener(passwords=Path("users"), rules=Path("rules"), limits=limits)
    found = read_listener("ws://[::1]:80/?passwords=&limit=maximum-inflight=9", others)
    assert (found.name, found.kind, found.host, found.port) == ("ws://[::1]:80", "ws", "::1", 80)
    assert (found.passwords, found.rules) == (None, Path("rules"))
    assert found.limits == Limits(maximum_qos=1, maximum_inflight=9)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("mqtt://127.0.0.1:1?colour=red", "'colour' is not one of"),
        ("mqtt://127.0.0.1:1?limit=store_bytes=1", "no limit of a listener"),
        ("mqtts://127.0.0.1:1", "TLS needs a certificate"),
        ("mqtt://0.0.0.0:1?passwords=", "only loopback"),
        ("mqtt://127.0.0.1:1?client_ca=ca.pem", "need a TLS listener"),
    ],
)
def test_a_listener_that_cannot_be_is_refused(written: str, why: str) -> None:
    with pytest.raises(BrokerError, match=why):
        Service(Options(listeners=(written,), settings=Settings(), passwords=Path("users")))
