"""Passwords, rules and certificates change while a broker runs: who is revoked goes at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import mqtt5
import pytest

from broker_process import BrokerProcess
from broker_wire import Wire
from certificates import Authority
from network import eventually
from zonal.broker import Options, Service, set_password

SECRET = "tRh5-the-old-one"


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    for user in ("anna", "bruno", "carla"):
        set_password(path, user, SECRET.encode())
    return path


def write(path: Path, text: str) -> None:
    path.write_text(text)


def remove(passwords: Path, user: str) -> None:
    left = [line for line in passwords.read_text().splitlines() if not line.startswith(f"{user}:")]
    write(passwords, "\n".join(left) + "\n")


async def until(ask: Callable[[], Awaitable[int]], right: Callable[[int], bool]) -> None:
    """Ask until the answer is right."""
    async with asyncio.timeout(30):
        while not right(await ask()):  # noqa: ASYNC110 - what is asked tells of no event
            await asyncio.sleep(0.01)


async def enter(port: int, user: str, password: str = SECRET) -> tuple[Wire, int]:
    wire = await Wire.open(port)
    packet = mqtt5.ConnectPacket(
        f"phone-{user}", clean_start=True, username=user, password=password.encode()
    )
    wire.writer.write(packet.write())
    answer = await wire.packet()
    assert isinstance(answer, mqtt5.ConnAckPacket)
    return wire, int(answer.reason_code)


async def test_a_revoked_user_is_disconnected_and_does_not_come_back(passwords: Path) -> None:
    async with Service(Options(port=0, passwords=passwords)) as service:
        port = service.ports["mqtt"]
        wires = {user: (await enter(port, user))[0] for user in ("anna", "bruno", "carla")}
        set_password(passwords, "bruno", b"another")
        remove(passwords, "carla")
        service.reloads.ask()
        for user in ("bruno", "carla"):
            told = await wires[user].packet()
            assert isinstance(told, mqtt5.DisconnectPacket)
            assert int(told.reason_code) == 0x87
            assert (await enter(port, user))[1] in {0x86, 0x87}
        assert (await enter(port, "bruno", "another"))[1] == 0
        wires["anna"].writer.write(mqtt5.PingReqPacket().write())
        assert isinstance(await wires["anna"].packet(), mqtt5.PingRespPacket)


async def test_a_wrong_file_changes_nothing(
    passwords: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Service(Options(port=0, passwords=passwords)) as service:
        anna, _ = await enter(service.ports["mqtt"], "anna")
        write(passwords, "anna:nonsense\n")
        service.reloads.ask()
        await asyncio.to_thread(eventually, lambda: "line 1: expected" in caplog.text)
        anna.writer.write(mqtt5.PingReqPacket().write())
        assert isinstance(await anna.packet(), mqtt5.PingRespPacket)
        assert (await enter(service.ports["mqtt"], "bruno"))[1] == 0


async def test_rules_hold_from_when_they_are_written(passwords: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    all_of = '[[rule]]\nwho = "*"\nallow = ["publish", "subscribe"]\ntopics = "{}"\n'
    write(rules, all_of.format("a/#"))
    async with Service(Options(port=0, passwords=passwords, rules=rules)) as service:
        anna, _ = await enter(service.ports["mqtt"], "anna")

        async def published(topic: str) -> int:
            packet = mqtt5.PublishPacket(topic, b"x", qos=mqtt5.QoS.AT_LEAST_ONCE, packet_id=1)
            anna.writer.write(packet.write())
            answer = await anna.packet()
            assert isinstance(answer, mqtt5.PubAckPacket)
            return int(answer.reason_code)

        assert await published("b/1") == 0x87
        write(rules, all_of.format("b/#"))
        service.reloads.ask()
        await until(lambda: published("b/1"), lambda code: code == 0)
        assert await published("a/1") == 0x87


async def serial_shown(port: int, folder: Path) -> int:
    """The serial number of the certificate that a server shows."""
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    _, writer = await asyncio.open_connection("localhost", port, ssl=context)
    shown = writer.get_extra_info("peercert")
    writer.close()
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        await writer.wait_closed()
    return int(shown["serialNumber"], 16)


async def test_who_connects_later_sees_the_new_certificate(passwords: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    options = Options(port=None, tls_port=0, passwords=passwords, certificate=certificate, key=key)
    async with Service(options) as service:
        port = service.ports["mqtts"]
        before = await serial_shown(port, tmp_path)
        authority.issue("server")
        service.reloads.ask()
        await until(lambda: serial_shown(port, tmp_path), lambda serial: serial != before)


async def test_whoever_comes_while_certificates_change_is_let_in(
    passwords: Path, tmp_path: Path
) -> None:
    certificate, key = Authority(tmp_path).issue("server")
    options = Options(port=None, tls_port=0, passwords=passwords, certificate=certificate, key=key)
    async with Service(options) as service:
        port, renewed = service.ports["mqtts"], asyncio.Event()

        async def come_again_and_again() -> int:
            come = 0
            while not renewed.is_set():
                await serial_shown(port, tmp_path)
                come += 1
            return come

        coming = [asyncio.create_task(come_again_and_again()) for _ in range(4)]
        for _ in range(50):
            service.reloads.ask()
            await serial_shown(port, tmp_path)
        renewed.set()
        assert min(await asyncio.gather(*coming)) > 0


async def test_an_authority_that_is_taken_out_is_trusted_no_more(tmp_path: Path) -> None:
    one, two = (Authority(tmp_path, name) for name in ("one", "two"))
    certificate, key = one.issue("server")
    trusted = tmp_path / "clients.pem"
    trusted.write_bytes(one.certificate.read_bytes() + two.certificate.read_bytes())
    options = Options(port=None, tls_port=0, certificate=certificate, key=key, client_ca=trusted)
    contexts = {}
    for name, authority in (("one", one), ("two", two)):
        contexts[name] = ssl.create_default_context(cafile=str(one.certificate))
        contexts[name].load_cert_chain(*authority.issue(f"client-{name}"))
    async with Service(options) as service:

        async def come(name: str) -> Wire | None:
            try:
                wire = await Wire.open(service.ports["mqtts"], tls=contexts[name])
                wire.writer.write(mqtt5.ConnectPacket(name, clean_start=True).write())
                answer = await wire.packet()
            except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
                return None
            return wire if isinstance(answer, mqtt5.ConnAckPacket) else None

        stays, goes = await come("one"), await come("two")
        assert stays is not None
        assert goes is not None
        trusted.write_bytes(one.certificate.read_bytes())
        service.reloads.ask()
        for wire in (stays, goes):  # both have to show their certificates again
            assert isinstance(await wire.packet(), mqtt5.DisconnectPacket)
        assert await come("one") is not None
        assert await come("two") is None


def test_a_broker_reads_anew_on_sighup_and_its_json_log_tells_no_password(
    passwords: Path,
) -> None:
    options = ("--passwords", str(passwords), "--log-format", "json", "--log-level", "debug")
    with BrokerProcess(*options) as process:

        async def visit() -> None:
            await enter(process.port, "anna")
            assert (await enter(process.port, "anna", "a-wrong-guess"))[1] == 0x86

        asyncio.run(visit())
        process.process.send_signal(signal.SIGHUP)
        eventually(lambda: '"reloaded"' in process.output)
    records = [json.loads(line) for line in process.output.splitlines()[1:]]
    events = {record.get("event") for record in records}
    assert {"came", "refused", "reloaded"} <= events
    refused = next(record for record in records if record.get("event") == "refused")
    assert refused["user"] == "anna"
    assert refused["address"].startswith("127.0.0.1")
    assert refused["level"] == "warning"
    assert SECRET not in process.output
    assert "a-wrong-guess" not in process.output
