"""A bridge: a client of two brokers that carries messages from one to the other.

A message is acknowledged to the broker it came from when the other one has acknowledged it, and the
bridge's sessions outlive its connections: what is under way when a broker or the bridge fails comes
again. QoS 2 is carried as QoS 1.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import mqtt5

from zonal.broker import geocontext
from zonal.broker.packet_reader import read
from zonal.broker.topics import matches, valid_filter
from zonal.errors import BrokerError, ConfigurationError, GeometryError, ZonalError

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger("zonal.broker.bridge")

PORTS = {"mqtt": 1883, "mqtts": 8883}
UNDER_WAY = 200
"""Messages that a broker may send before earlier ones were carried over."""
KEEP_ALIVE = 30
EXPIRY = 7 * 24 * 3600
LONGEST_PAUSE = 30.0
NO_LOCAL_QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE)


class Carried(NamedTuple):
    """Which topics are carried where, and under which names, as in Mosquitto's configuration."""

    pattern: str
    direction: str = "both"
    qos: int = 0
    here: str = ""
    there: str = ""

    @classmethod
    def read(cls, text: str) -> Carried:
        """`pattern [in|out|both [qos [here/ [there/]]]]`; two quotes are an empty prefix."""
        parts = [part if part != '""' else "" for part in text.split()]
        rest = parts[1:] + ["both", "0", "", ""][max(0, len(parts) - 1) :]
        good = 1 <= len(parts) <= 5 and rest[0] in {"in", "out", "both"} and rest[1] in {"0", "1"}
        if not good or not valid_filter(rest[2] + parts[0], 128):
            raise ConfigurationError(
                f"{text!r} carries nothing; as in 'sensors/# in 1 here/ there/', "
                "the direction is in, out or both, the QoS 0 or 1"
            )
        return cls(parts[0], rest[0], int(rest[1]), rest[2], rest[3])


class Placed(NamedTuple):
    """Which topics' messages come from where, if they do not say so."""

    pattern: str
    location: str

    @classmethod
    def read(cls, text: str) -> Placed:
        """`filter=lat,lon`."""
        pattern, _, location = text.rpartition("=")
        try:
            geocontext.read_location(location)
        except GeometryError as error:
            raise ConfigurationError(f"{text!r}: {error}") from error
        if not valid_filter(pattern, 128):
            raise ConfigurationError(f"{text!r}: {pattern!r} is no topic filter")
        return cls(pattern, location)


@dataclass(eq=False)
class BridgeEnd:
    """One of the two brokers: a connection that is made again whenever it is lost."""

    url: str
    client_id: str
    inward: bool
    """Whether what comes from here goes in the direction `in`."""
    other: BridgeEnd | None = None
    writer: asyncio.StreamWriter | None = None
    waiting: dict[int, tuple[BridgeEnd, int]] = field(default_factory=dict)
    """Whom to acknowledge what, when this broker has acknowledged a message."""
    number: int = 0
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while it takes messages."""
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its broker has answered what it subscribes to."""

    def send(self, *packets: mqtt5.Packet) -> None:
        """Sends, unless the connection was lost."""
        if self.writer is not None:
            self.writer.write(b"".join(packet.write() for packet in packets))


class Bridge:
    """Carries messages between two brokers until it is cancelled.

    Args:
        here: `mqtt://user:password@host:port` (or `mqtts`) of the one broker.
        there: the same of the other.
        carried: which topics.
        placed: which places are added.
        client_id: under which name it is known to both.
    """

    def __init__(
        self, here: str, there: str, carried: Sequence[Carried], placed: Sequence[Placed] = (),
        client_id: str = "zonal-bridge",
    ) -> None:  # fmt: skip
        self._carried = carried
        self._placed = placed
        self.here = BridgeEnd(here, client_id, inward=False)
        self.there = BridgeEnd(there, client_id, inward=True, other=self.here)
        self.here.other = self.there
        self.messages = 0
        """Messages that were carried."""

    async def run(self) -> None:
        """Connects to both, and goes on whatever happens to them."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep(self.here))
            tasks.create_task(self._keep(self.there))

    async def _keep(self, end: BridgeEnd) -> None:
        pause = 0.2
        while True:
            try:
                await self._serve(end)
                pause = 0.2
            except (OSError, ZonalError, asyncio.IncompleteReadError) as error:
                logger.warning("%s: %s", _shown(end.url), error or type(error).__name__)
            end.writer = None
            end.ready.clear()
            end.listening.clear()
            assert end.other is not None
            # What was under way comes again from the broker it came from, when that is asked to.
            if end.waiting and end.other.writer is not None:
                end.other.writer.close()
            end.waiting.clear()
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _serve(self, end: BridgeEnd) -> None:
        parts = urlsplit(end.url)
        if parts.scheme not in PORTS or parts.hostname is None:
            raise ConfigurationError(f"{_shown(end.url)} is no broker such as mqtt://host:1883")
        secure = ssl.create_default_context() if parts.scheme == "mqtts" else None
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or PORTS[parts.scheme], ssl=secure
        )
        try:
            end.writer = writer
            end.send(
                mqtt5.ConnectPacket(
                    end.client_id, keep_alive=KEEP_ALIVE, session_expiry_interval=EXPIRY,
                    receive_max=UNDER_WAY,
                    username=unquote(parts.username) if parts.username else None,
                    password=unquote(parts.password).encode() if parts.password else None,
                )
            )  # fmt: skip
            answer = await _next(reader)
            if not isinstance(answer, mqtt5.ConnAckPacket) or int(answer.reason_code) >= 0x80:
                raise BrokerError(f"refused: {answer}")
            self._subscribe(end)
            end.ready.set()
            logger.info("connected to %s", _shown(end.url))
            pinging = asyncio.create_task(_ping(end))
            try:
                while True:
                    await self._take(end, await _next(reader))
            finally:
                pinging.cancel()
        finally:
            writer.close()

    def _subscribe(self, end: BridgeEnd) -> None:
        wanted = "in" if end.inward else "out"
        filters = [
            mqtt5.TopicFilter(
                (each.there if end.inward else each.here) + each.pattern,
                max_qos=NO_LOCAL_QOS[each.qos], no_local=True, retain_as_published=True,
            )
            for each in self._carried
            if each.direction in {wanted, "both"}
        ]  # fmt: skip
        if filters:
            end.send(mqtt5.SubscribePacket(1, filters))
        else:
            end.listening.set()

    async def _take(self, end: BridgeEnd, packet: mqtt5.Packet) -> None:
        if isinstance(packet, mqtt5.PublishPacket):
            await self._carry(end, packet)
        elif isinstance(packet, mqtt5.PubAckPacket):
            source, packet_id = end.waiting.pop(packet.packet_id, (None, 0))
            if source is not None:
                source.send(mqtt5.PubAckPacket(packet_id))
        elif isinstance(packet, mqtt5.DisconnectPacket):
            raise BrokerError(f"disconnected: {packet.reason_code}")
        elif isinstance(packet, mqtt5.SubAckPacket):
            end.listening.set()
            for code in packet.reason_codes:
                if int(code) >= 0x80:
                    logger.error("%s: a subscription is refused: %s", _shown(end.url), code)

    async def _carry(self, end: BridgeEnd, packet: mqtt5.PublishPacket) -> None:
        """Publishes a message at the other broker; this one hears of it when it is there."""
        other = end.other
        assert other is not None
        await other.ready.wait()
        topic = self._renamed(end, packet.topic)
        reliable = packet.qos != mqtt5.QoS.AT_MOST_ONCE and packet.packet_id is not None
        if topic is None:
            if reliable and packet.packet_id is not None:
                end.send(mqtt5.PubAckPacket(packet.packet_id))
            return
        number = None
        if reliable and packet.packet_id is not None:
            other.number = number = other.number % 65535 + 1
            other.waiting[number] = (end, packet.packet_id)
        other.send(
            mqtt5.PublishPacket(
                topic, packet.payload,
                qos=mqtt5.QoS.AT_LEAST_ONCE if reliable else mqtt5.QoS.AT_MOST_ONCE,
                retain=packet.retain, packet_id=number,
                payload_format_indicator=packet.payload_format_indicator,
                message_expiry_interval=packet.message_expiry_interval,
                content_type=packet.content_type, response_topic=packet.response_topic,
                correlation_data=packet.correlation_data,
                user_properties=self._properties(packet, topic),
            )
        )  # fmt: skip
        self.messages += 1
        if other.writer is not None:
            with contextlib.suppress(ConnectionError):
                await other.writer.drain()

    def _renamed(self, end: BridgeEnd, topic: str) -> str | None:
        """The topic at the other broker, by the first rule that applies."""
        for each in self._carried:
            old, new = (each.there, each.here) if end.inward else (each.here, each.there)
            wanted = each.direction in {"both", "in" if end.inward else "out"}
            if wanted and topic.startswith(old) and matches(each.pattern, topic[len(old) :]):
                return new + topic[len(old) :]
        return None

    def _properties(self, packet: mqtt5.PublishPacket, topic: str) -> list[tuple[str, str]]:
        properties = list(packet.user_properties)
        if not any(name == geocontext.LOCATION for name, _ in properties):
            for each in self._placed:
                if matches(each.pattern, topic):
                    properties.append((geocontext.LOCATION, each.location))
                    break
        return properties


async def _next(reader: asyncio.StreamReader) -> mqtt5.Packet:
    head = await reader.readexactly(2)
    size, shift = head[1] & 0x7F, 7
    while head[-1] >= 0x80:
        head += await reader.readexactly(1)
        size |= (head[-1] & 0x7F) << shift
        shift += 7
    data = head + await reader.readexactly(size)
    return read(data, 0, len(data))


async def _ping(end: BridgeEnd) -> None:
    while True:
        await asyncio.sleep(KEEP_ALIVE / 2)
        end.send(mqtt5.PingReqPacket())


def _shown(url: str) -> str:
    """An address without its password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or PORTS.get(parts.scheme, '?')}"
