"""A bridge between two brokers, ours and Mosquitto's, with places added by rule."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import mqtt5
import pytest

from broker_wire import Wire, serving, until
from zonal.broker import Bridge, Carried, Placed
from zonal.errors import ConfigurationError

QOS_1 = mqtt5.QoS.AT_LEAST_ONCE
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"


@contextlib.asynccontextmanager
async def mosquitto(folder: Path, port: int = 0) -> AsyncIterator[int]:
    if not port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    file = folder / "mosquitto.conf"
    file.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    command = [MOSQUITTO, "-c", str(file)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220
        try:
            async with asyncio.timeout(30):
                while True:
                    with contextlib.suppress(OSError):
                        (await Wire.open(port)).writer.close()
                        break
                    await asyncio.sleep(0.02)
            yield port
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def bridged(here: int, there: int, *topics: str, place: str = "") -> AsyncIterator[Bridge]:
    bridge = Bridge(
        f"mqtt://127.0.0.1:{here}", f"mqtt://127.0.0.1:{there}", [Carried.read(t) for t in topics],
        [Placed.read(place)] if place else [],
    )  # fmt: skip
    running = asyncio.create_task(bridge.run())
    try:
        for end in (bridge.here, bridge.there):
            await asyncio.wait_for(end.ready.wait(), 20)
            await asyncio.wait_for(end.listening.wait(), 20)
        yield bridge
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def publish(wire: Wire, topic: str, payload: bytes, number: int = 1) -> None:
    packet = mqtt5.PublishPacket(topic, payload, qos=QOS_1, packet_id=number, content_type="c")
    wire.writer.write(packet.write())
    assert isinstance(await wire.packet(), mqtt5.PubAckPacket)


async def heard(wire: Wire) -> mqtt5.PublishPacket:
    packet = await wire.packet()
    assert isinstance(packet, mqtt5.PublishPacket), packet
    return packet


async def test_messages_pass_both_ways_with_places_and_prefixes(tmp_path: Path) -> None:
    """3.1.1/MQTT-7.0.0-1."""
    async with serving() as (_, here), mosquitto(tmp_path) as there:
        rules = ("air/# in 1 old/ city/", "cmd/# out 1", "talk/# both 1")
        async with bridged(here, there, *rules, place="old/air/#=45.4642,9.19"):
            ours = await Wire.connected(here, "ours", "#")
            theirs = await Wire.connected(there, "theirs", "#")
            writer = await Wire.connected(there, "w")
            await publish(writer, "city/air/duomo", b"21")
            assert (await heard(theirs)).topic == "city/air/duomo"
            message = await heard(ours)
            assert (message.topic, message.payload) == ("old/air/duomo", b"21")
            assert message.content_type == "c"
            assert message.user_properties == [("location", "45.4642,9.19")]
            local = await Wire.connected(here, "lw")
            await publish(local, "cmd/x", b"go")
            assert (await heard(ours)).topic == "cmd/x"
            message = await heard(theirs)
            assert (message.topic, message.user_properties) == ("cmd/x", [])
            await publish(local, "talk/a", b"1")
            await publish(writer, "talk/b", b"2")
            for wire in (ours, theirs):
                assert {(await heard(wire)).payload for _ in range(2)} == {b"1", b"2"}
            with pytest.raises(TimeoutError):  # nothing goes round
                async with asyncio.timeout(0.3):
                    await ours.reader.readexactly(1)


async def test_what_is_published_while_the_other_broker_is_away_arrives_later(
    tmp_path: Path,
) -> None:
    async with serving() as (server, here):
        async with mosquitto(tmp_path) as there, bridged(here, there, "t/# out 1") as bridge:
            local = await Wire.connected(here, "lw")
            port = there
            await publish(local, "t/1", b"1")
            sessions = server.broker.sessions
            await until(lambda: bridge.messages == 1 and not bridge.there.waiting)
            await until(lambda: not any(each.inflight for each in sessions.values()))
        await publish(local, "t/2", b"2")
        await publish(local, "t/3", b"3")
        async with mosquitto(tmp_path, port):
            theirs = await Wire.connected(port, "theirs", "#")
            async with bridged(here, port, "t/# out 1"):
                assert [(await heard(theirs)).payload for _ in range(2)] == [b"2", b"3"]


@pytest.mark.parametrize("text", ["", "a/#/b", "a up", "a in 2", "a in 1 b c d", "a in x"])
def test_what_carries_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        Carried.read(text)


def test_rules_are_read_as_mosquittos() -> None:
    assert Carried.read("a/#") == Carried("a/#", "both", 0, "", "")
    assert Carried.read('a in 1 "" there/') == Carried("a", "in", 1, "", "there/")


@pytest.mark.parametrize("text", ["", "a=b", "#x=45,9", "a=91,0"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        Placed.read(text)
