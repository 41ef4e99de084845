"""MQTT clients with a place, and brokers that are joined by routers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Self

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import zonal
from zonal.broker import Options, Service, Settings

_links = itertools.count()


@contextlib.asynccontextmanager
async def brokers(
    routers: list[zonal.Router], at: tuple[int, ...] = (0, 2), secret: Path | None = None
) -> AsyncIterator[list[Service]]:
    async with contextlib.AsyncExitStack() as stack:
        services = []
        for place in at:
            options = Options(
                port=0, connect=(routers[place].endpoints[0],), federation_secret=secret,
                settings=Settings(sys_interval=0),
            )  # fmt: skip
            services.append(await stack.enter_async_context(Service(options)))
        yield services


def user_properties(kind: int, pairs: list[tuple[str, str]]) -> Properties | None:
    if not pairs:
        return None
    properties = Properties(kind)
    properties.UserProperty = pairs
    return properties


class Phone:
    """An MQTT client with a place."""

    def __init__(
        self, service: Service, name: str, place: str | None = None, *,
        properties: list[tuple[str, str]] | None = None, **login: str,
    ) -> None:  # fmt: skip
        pairs = properties or ([("location", place)] if place else [])
        self.client = aiomqtt.Client(
            "127.0.0.1", service.ports["mqtt"], identifier=name,
            protocol=aiomqtt.ProtocolVersion.V5,
            properties=user_properties(PacketTypes.CONNECT, pairs), **login,
        )  # fmt: skip
        self.heard: list[aiomqtt.Message] = []
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._listening is not None
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening
        with contextlib.suppress(aiomqtt.MqttError):
            await self.client.__aexit__(None, None, None)

    async def _listen(self) -> None:
        with contextlib.suppress(aiomqtt.MqttError):
            async for message in self.client.messages:
                self.heard.append(message)

    async def subscribe(self, pattern: str, qos: int = 1, **places: str) -> None:
        await self.client.subscribe(
            pattern, qos=qos,
            properties=user_properties(PacketTypes.SUBSCRIBE, list(places.items())),
        )  # fmt: skip

    async def publish(
        self, topic: str, payload: str, qos: int = 1, *, retain: bool = False, **places: str
    ) -> None:
        await self.client.publish(
            topic, payload, qos=qos, retain=retain,
            properties=user_properties(PacketTypes.PUBLISH, list(places.items())),
        )  # fmt: skip

    def payloads(self) -> list[str]:
        return [bytes(m.payload).decode() for m in self.heard]  # type: ignore[arg-type]


async def until(condition: Callable[[], Any], seconds: float = 15) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - conditions are counts, there is no event
            await asyncio.sleep(0.01)


async def linked(sender: Phone, receiver: Phone, topic: str, **places: str) -> None:
    """Publishes until the first message got through: declarations travel on their own time."""
    number = next(_links)  # what others were sent before, or in a group, says nothing of this way
    first, last = f"link {number}", f"linked {number}"
    async with asyncio.timeout(15):
        while first not in receiver.payloads():
            await sender.publish(topic, first, **places)
            await asyncio.sleep(0.05)
    # Whatever was sent before the first got through has arrived when this one has.
    await sender.publish(topic, last, **places)
    await until(lambda: last in receiver.payloads())
    receiver.heard.clear()
