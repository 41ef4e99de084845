"""Those who speak MQTT 5: the geo broker, and phones that know nothing of Zenoh."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import threading
from typing import TYPE_CHECKING, Any, Self

from zonal.errors import WebError
from zonal.web.demo import topics
from zonal.web.demo.crowd import JSON, heard_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.web.demo.city import Walker
    from zonal.web.demo.crowd import StoryClock

logger = logging.getLogger(__name__)

DEFAULT_PORT = 1883
_STEP_S = 2.0
_START_S = 20.0


def missing() -> str | None:
    """Why there is no broker here; None if there is one."""
    try:
        importlib.import_module("zonal.broker").Service  # noqa: B018  (is it there?)
        importlib.import_module("aiomqtt")
    except (ImportError, AttributeError) as error:
        return f"no MQTT broker or client here ({error})"
    return None


class MqttSide:
    """A broker and its clients on an event loop of their own."""

    def __init__(
        self, walkers: Sequence[Walker], clock: StoryClock, connect: Sequence[str]
    ) -> None:
        self._walkers = walkers
        self._clock = clock
        self._connect = tuple(connect)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._ended = asyncio.Event()
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
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(15)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:  # noqa: BLE001  (told to whoever waits for the start)
            self._error = error
            logger.warning("the MQTT side ended: %s", error)
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            service = await self._broker(stack)
            self.port = service.ports["mqtt"]
            self._ready.set()
            phones = [asyncio.create_task(self._phone(walker)) for walker in self._walkers]
            await self._ended.wait()
            for phone in phones:
                phone.cancel()
            await asyncio.gather(*phones, return_exceptions=True)

    async def _broker(self, stack: contextlib.AsyncExitStack) -> Any:
        """On MQTT's own port, or on a free one where that is taken."""
        broker = importlib.import_module("zonal.broker")
        for port in (DEFAULT_PORT, 0):
            options = broker.Options(port=port, connect=self._connect)
            try:
                return await stack.enter_async_context(broker.Service(options))
            except (OSError, WebError, ValueError, RuntimeError) as error:
                if port == 0:
                    raise
                logger.info("port %d: %s; taking a free one", port, error)
        raise AssertionError("unreachable")

    async def _phone(self, walker: Walker) -> None:
        aiomqtt = importlib.import_module("aiomqtt")
        client = aiomqtt.Client(
            "127.0.0.1",
            self.port,
            identifier=walker.id,
            protocol=aiomqtt.ProtocolVersion.V5,
            properties=_properties("CONNECT", self._where(walker)),
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

    async def _step(self, client: Any, walker: Walker) -> None:
        where = self._where(walker)
        message = json.dumps({"id": walker.id, "kind": "phone", "speaks": "MQTT"})
        await client.publish("$zonal/location", where)
        await client.publish(topics.PHONES, message, properties=_properties("PUBLISH", where))

    async def _listen(self, client: Any, walker: Walker) -> None:
        async for message in client.messages:
            answer = heard_message(walker.id, bytes(message.payload))
            properties = _properties("PUBLISH", self._where(walker))
            await client.publish(topics.HEARD, answer, qos=1, properties=properties)

    def _where(self, walker: Walker) -> str:
        place = walker.place(self._clock())
        return f"{place.lat:.6f},{place.lon:.6f}"


def _properties(packet: str, location: str) -> Any:
    properties = importlib.import_module("paho.mqtt.properties").Properties
    types = importlib.import_module("paho.mqtt.packettypes").PacketTypes
    made = properties(getattr(types, packet))
    made.UserProperty = ("location", location)
    if packet == "PUBLISH":
        made.ContentType = JSON
    return made
