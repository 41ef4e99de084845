"""Devices that keep their side of QoS 1 and 2 whatever the broker does, and remember everything."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import mqtt5

QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)


class Device:
    """Connects to its session, again and again, until told to stop."""

    def __init__(self, client_id: str, port: int) -> None:
        self.client_id = client_id
        self.port = port
        self.connections = 0
        self.sessions_lost = 0
        self.stopping = False
        self._writer: asyncio.StreamWriter | None = None

    async def run(self) -> None:
        while not self.stopping:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._connection()
            await asyncio.sleep(0.02)

    def stop(self) -> None:
        self.stopping = True
        if self._writer is not None:
            self._writer.close()

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writer = writer
        try:
            self.send(mqtt5.ConnectPacket(self.client_id, session_expiry_interval=3600))
            buffer = b""
            while data := await reader.read(65536):
                buffer += data
                while buffer:
                    try:
                        packet, size = mqtt5.read(memoryview(buffer))
                    except IndexError:
                        break
                    buffer = buffer[size:]
                    if isinstance(packet, mqtt5.ConnAckPacket):
                        self.connected(packet)
                    else:
                        self.received(packet)
                await writer.drain()
        finally:
            self._writer = None
            writer.close()

    def send(self, packet: Any) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(packet.write())

    def connected(self, packet: mqtt5.ConnAckPacket) -> None:
        assert int(packet.reason_code) == 0
        self.connections += 1
        if self.connections > 1 and not packet.session_present:
            self.sessions_lost += 1

    def received(self, packet: Any) -> None:
        raise NotImplementedError


class Sender(Device):
    """Publishes numbered messages of QoS 1 and 2 in turn, with a window of unacknowledged ones."""

    def __init__(self, client_id: str, port: int, window: int = 20) -> None:
        super().__init__(client_id, port)
        self.window = window
        self.producing = True
        self.pending: dict[int, tuple[int, int, bool]] = {}
        """Number, QoS and whether PUBREC came, by packet identifier, oldest first."""
        self.completed: dict[int, set[int]] = {1: set(), 2: set()}
        self._number = 0
        self._packet_id = 0

    def connected(self, packet: mqtt5.ConnAckPacket) -> None:
        super().connected(packet)
        for packet_id, (number, qos, released) in self.pending.items():
            if released:
                self.send(mqtt5.PubRelPacket(packet_id))
            else:
                self._publish(packet_id, number, qos, duplicate=True)
        self._fill()

    def _fill(self) -> None:
        while self.producing and len(self.pending) < self.window:
            self._number += 1
            self._packet_id = self._packet_id % 65535 + 1
            qos = 1 + self._number % 2
            self.pending[self._packet_id] = (self._number, qos, False)
            self._publish(self._packet_id, self._number, qos, duplicate=False)

    def _publish(self, packet_id: int, number: int, qos: int, *, duplicate: bool) -> None:
        self.send(
            mqtt5.PublishPacket(
                f"crash/{qos}", f"{self.client_id} {number}".encode(), qos=QOS[qos],
                packet_id=packet_id, duplicate=duplicate,
            )
        )  # fmt: skip

    def received(self, packet: Any) -> None:
        if isinstance(packet, mqtt5.PubRecPacket) and int(packet.reason_code) < 0x80:
            number, qos, _ = self.pending[packet.packet_id]
            self.pending[packet.packet_id] = (number, qos, True)
            self.send(mqtt5.PubRelPacket(packet.packet_id))
        elif isinstance(packet, mqtt5.PubAckPacket | mqtt5.PubCompPacket):
            assert int(packet.reason_code) < 0x80 or isinstance(packet, mqtt5.PubCompPacket)
            entry = self.pending.pop(packet.packet_id, None)
            if entry is not None:
                self.completed[entry[1]].add(entry[0])
            self._fill()


class Receiver(Device):
    """Subscribes with QoS 2 and keeps every message it accepts, in order."""

    def __init__(self, client_id: str, port: int) -> None:
        super().__init__(client_id, port)
        self.accepted: dict[int, list[bytes]] = {1: [], 2: []}
        self.ready = asyncio.Event()
        self._held: set[int] = set()

    def connected(self, packet: mqtt5.ConnAckPacket) -> None:
        super().connected(packet)
        if not packet.session_present:
            topic_filter = mqtt5.TopicFilter("crash/#", max_qos=QOS[2])
            self.send(mqtt5.SubscribePacket(1, [topic_filter]))

    def received(self, packet: Any) -> None:
        match packet:
            case mqtt5.SubAckPacket():
                self.ready.set()
            case mqtt5.PublishPacket(packet_id=int() as packet_id):
                self._accept(packet, packet_id)
            case mqtt5.PubRelPacket():
                self._held.discard(packet.packet_id)
                self.send(mqtt5.PubCompPacket(packet.packet_id))

    def _accept(self, packet: mqtt5.PublishPacket, packet_id: int) -> None:
        if int(packet.qos) == 1:
            self.accepted[1].append(packet.payload)
            self.send(mqtt5.PubAckPacket(packet_id))
            return
        if packet_id not in self._held:
            self._held.add(packet_id)
            self.accepted[2].append(packet.payload)
        self.send(mqtt5.PubRecPacket(packet_id))
