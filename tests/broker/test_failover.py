"""A broker is killed: the others go on, its clients go elsewhere, a standby takes its sessions."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import zonal
from broker_process import BrokerProcess


def lasting() -> Properties:
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    return properties


def client(port: int, name: str, *, clean: bool = True) -> aiomqtt.Client:
    return aiomqtt.Client(
        "127.0.0.1", port, identifier=name, protocol=aiomqtt.ProtocolVersion.V5,
        clean_start=clean, properties=lasting(),
    )  # fmt: skip


async def until(attempt: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not attempt():  # noqa: ASYNC110 - conditions of other processes
            await asyncio.sleep(0.02)


async def hear(reader: aiomqtt.Client, writer: aiomqtt.Client, topic: str, text: str) -> None:
    """Publishes until a message arrives."""
    async with asyncio.timeout(20):
        arrived = asyncio.create_task(anext(aiter(reader.messages)))
        while not arrived.done():
            await writer.publish(topic, text, qos=1)
            await asyncio.wait({arrived}, timeout=0.1)
        assert arrived.result().payload == text.encode()


async def drained(reader: aiomqtt.Client) -> None:
    """Reads what still waits."""
    with contextlib.suppress(TimeoutError):
        while True:
            await asyncio.wait_for(anext(aiter(reader.messages)), 0.3)


async def test_after_kill_9_the_others_go_on_and_its_clients_move() -> None:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        joined = ["--connect", router.endpoints[0]]
        with (
            BrokerProcess(*joined) as one,
            BrokerProcess(*joined) as two,
            BrokerProcess(*joined) as three,
        ):
            async with client(one.port, "w") as writer, client(two.port, "r") as reader:
                await reader.subscribe("t", qos=1)
                await hear(reader, writer, "t", "before")
                async with client(three.port, "moving") as lost:
                    await lost.subscribe("u", qos=1)
                    three.kill()
                    with contextlib.suppress(aiomqtt.MqttError):
                        await asyncio.wait_for(anext(aiter(lost.messages)), 10)
                await drained(reader)
                await hear(reader, writer, "t", "after")
                async with client(two.port, "moving", clean=False) as again:
                    await again.subscribe("u", qos=1)
                    await hear(again, writer, "u", "found")


async def test_a_standby_takes_the_sessions_over(tmp_path: Path) -> None:
    with BrokerProcess("--data", str(tmp_path)) as first:
        async with client(first.port, "s") as subscriber:
            await subscriber.subscribe("t", qos=1)
        async with client(first.port, "w") as writer:
            await writer.publish("t", "kept", qos=1)
        second = BrokerProcess("--data", str(tmp_path), "--standby", port=first.port)
        starting = threading.Thread(target=second.start)
        starting.start()
        try:
            assert second.ports == {}
            first.kill()
            await until(lambda: second.ports)
            async with client(second.port, "s", clean=False) as subscriber:
                message = await asyncio.wait_for(anext(aiter(subscriber.messages)), 10)
                assert message.payload == b"kept"
        finally:
            starting.join(20)
            second.stop()
