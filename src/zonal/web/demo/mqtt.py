"""Those who speak MQTT 5: the geo broker, and phones that know nothing of Zenoh."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Self

from aiomqtt import Client, ProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from zonal.broker import Options, Service
from zonal.errors import WebError
from zonal.web.demo import topics
from zonal.web.demo.crowd import JSON, heard_message
from zonal.web.demo.machine import LOCALHOST, port_or_any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal.web.demo.city import Walker
    from zonal.web.demo.crowd import StoryClock

logger = logging.getLogger(__name__)

DEFAULT_PORT = 1883
_STEP_S = 2.0
_START_S = 20.0


class MqttSide:
    """A broker and its clients on an event loop of their own."""

    def __init__(
        self, walkers: Sequence[Walker], clock: StoryClock, connect: Sequence[str]
    ) -> None:
        self._walkers = walkers
        self._clock = clock
        self._connect = tuple(connect)
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="demo-mqtt", daemon=True)
        self.port = 0

    def start(self) -> Self:
        """Start, and wait until the broker listens."""
        self._thread.start()
        self._ready.wait(_START_S)
        if self._error is not None or not self.port:
            raise WebError(f"the MQTT broker did not start: {self._error}") from self._error
        return self

    def close(self) -> None:
        """Disconnect the clients and stop the broker."""
        with contextlib.suppress(RuntimeError):  # it may have ended by itself
            self._stop()
        self._thread.join(15)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001  (told to whoever waits for the start)
            self._error = error
            logger.warning("the MQTT side ended: %s", error)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        ended = asyncio.Event()
        self._stop = partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set)
        options = Options(port=port_or_any(DEFAULT_PORT), connect=self._connect)
        async with Service(options) as service:
            self.port = service.ports["mqtt"]
            self._ready.set()
            phones = [asyncio.create_task(self._phone(walker)) for walker in self._walkers]
            await ended.wait()
            for phone in phones:
                phone.cancel()
            await asyncio.gather(*phones, return_exceptions=True)

    async def _phone(self, walker: Walker) -> None:
        client = Client(
            LOCALHOST,
            self.port,
            identifier=walker.id,
            protocol=ProtocolVersion.V5,
            properties=_properties(PacketTypes.CONNECT, self._where(walker)),
        )
        async with client:
            for key in (topics.ALERTS, topics.NOTICES):
                await client.subscribe(key, qos=1)
            listening = asyncio.create_task(self._listen(client, walker))
            try:
                while True:
                    await self._step(client, walker)
                    await asyncio.sleep(_STEP_S)
            finally:
                listening.cancel()

    async def _step(self, client: Client, walker: Walker) -> None:
        where = self._where(walker)
        message = json.dumps({"id": walker.id, "kind": "phone", "speaks": "MQTT"})
        await client.publish("$zonal/location", where)
        await client.publish(topics.PHONES, message, properties=_message(where))

    async def _listen(self, client: Client, walker: Walker) -> None:
        async for message in client.messages:
            answer = json.dumps(heard_message(walker.id, bytes(message.payload)))
            where = _message(self._where(walker))
            await client.publish(topics.HEARD, answer, qos=1, properties=where)

    def _where(self, walker: Walker) -> str:
        place = walker.place(self._clock())
        return f"{place.lat:.6f},{place.lon:.6f}"


def _properties(packet: int, location: str) -> Properties:
    made = Properties(packet)  # type: ignore[no-untyped-call]
    made.UserProperty = ("location", location)
    return made


def _message(location: str) -> Properties:
    made = _properties(PacketTypes.PUBLISH, location)
    made.ContentType = JSON
    return made
