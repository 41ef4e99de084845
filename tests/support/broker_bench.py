"""A broker on a bench: clients are byte streams, and time passes when the test says so."""

from __future__ import annotations

from typing import Any, TypeVar

import mqtt5

from zonal.broker.access import RemoteEnd
from zonal.broker.connection import Stage
from zonal.broker.core import Broker
from zonal.broker.settings import Settings
from zonal.errors import MqttError

P = TypeVar("P")
QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)


# The codec refuses to make bad filters and topics, so these signs stand for wildcards until the
# packet is written.
HIDE = str.maketrans({"#": "~", "+": "^"})


def show(data: bytes) -> bytes:
    return data.replace(b"~", b"#").replace(b"^", b"+")


class Bench:
    """A broker, its clients and its clock."""

    def __init__(self, settings: Settings | None = None, **options: Any) -> None:
        self.now = 1_000_000.0
        self.settings = settings or Settings(sys_interval=0)
        self.broker = Broker(self.settings, now=self.now, **options)

    def client(self, peer: RemoteEnd | None = None) -> Client:
        return Client(self, peer or RemoteEnd())

    def connected(self, client_id: str = "", **options: Any) -> Client:
        client = self.client()
        client.connect(client_id, **options)
        return client

    def flush(self) -> None:
        while self.broker.proving:
            waiting, self.broker.proving = self.broker.proving, []
            for connection in waiting:
                packet = connection.connect
                assert packet is not None
                user = self.broker.access.check(packet.username, packet.password, connection.peer)
                given = packet.username is not None or packet.password is not None
                refusal = MqttError(0x86 if given else 0x87, "who?")
                self.broker.proved(connection, user or refusal, self.now)
                self.broker.receive(connection, b"", self.now)
        for connection in self.broker.flush():
            client = connection.rim
            assert isinstance(client, Client)
            client.inbox += connection.take()
            if connection.stage is Stage.CLOSED:
                client.hang_up()

    def wait(self, seconds: float) -> None:
        """Time passes, in steps as small as the server's."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.1)
            self.broker.tick(self.now)
            self.flush()


class Client:
    """The other end of a connection: sends packets or bytes, reads packets."""

    def __init__(self, bench: Bench, peer: RemoteEnd) -> None:
        self.bench = bench
        self.inbox = b""
        self.is_closed = False
        self.connection = bench.broker.open(peer, bench.now)
        self.connection.rim = self
        self._packet_id = 0

    def send(self, *packets: Any) -> None:
        self.send_bytes(b"".join(packet.write() for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        self.bench.broker.receive(self.connection, data, self.bench.now)
        self.bench.flush()

    def hang_up(self) -> None:
        """The network connection ends, from either side."""
        if not self.is_closed:
            self.is_closed = True
            self.bench.broker.lost(self.connection, self.bench.now)
            self.bench.flush()

    def packets(self) -> list[Any]:
        """Everything that has arrived."""
        found = []
        while self.inbox:
            packet, size = mqtt5.read(memoryview(self.inbox))
            found.append(packet)
            self.inbox = self.inbox[size:]
        return found

    def one(self, kind: type[P]) -> P:
        """The one packet that has arrived, of this kind."""
        packets = self.packets()
        assert len(packets) == 1, packets
        assert isinstance(packets[0], kind), packets
        return packets[0]

    def messages(self) -> list[mqtt5.PublishPacket]:
        return [p for p in self.packets() if isinstance(p, mqtt5.PublishPacket)]

    def payloads(self) -> list[bytes]:
        return [message.payload for message in self.messages()]

    def connect(self, client_id: str = "", *, clean: bool = True, expiry: int = 0,
                **options: Any) -> mqtt5.ConnAckPacket:  # fmt: skip
        self.send(
            mqtt5.ConnectPacket(
                client_id, clean_start=clean, session_expiry_interval=expiry, **options
            )
        )
        packet = self.take(mqtt5.ConnAckPacket)
        assert int(packet.reason_code) == 0, packet
        return packet

    def next_id(self) -> int:
        self._packet_id += 1
        return self._packet_id

    def subscribe(self, pattern: str, qos: int = 0, *, identifier: int | None = None,
                  properties: list[tuple[str, str]] | None = None,
                  retain_as_published: bool = False,
                  **options: Any) -> mqtt5.SubAckPacket:  # fmt: skip
        """Subscribes, and leaves what follows the SUBACK in the inbox."""
        topic_filter = mqtt5.TopicFilter(
            pattern.translate(HIDE),
            max_qos=QOS[qos],
            retain_as_published=retain_as_published,
            **options,
        )
        packet = mqtt5.SubscribePacket(
            self.next_id(), [topic_filter], subscription_id=identifier, user_properties=properties
        )
        self.send_bytes(show(packet.write()))
        return self.take(mqtt5.SubAckPacket)

    def unsubscribe(self, *patterns: str) -> mqtt5.UnsubAckPacket:
        self.send(mqtt5.UnsubscribePacket(self.next_id(), list(patterns)))
        return self.take(mqtt5.UnsubAckPacket)

    def take(self, kind: type[P]) -> P:
        """The first packet that has arrived, of this kind."""
        packet, size = mqtt5.read(memoryview(self.inbox))
        self.inbox = self.inbox[size:]
        assert isinstance(packet, kind), packet
        return packet

    def publish(self, topic: str, payload: bytes = b"", qos: int = 0, *,
                packet_id: int | None = None, properties: list[tuple[str, str]] | None = None,
                **options: Any) -> int | None:  # fmt: skip
        if qos and packet_id is None:
            packet_id = self.next_id()
        self.send(
            mqtt5.PublishPacket(
                topic, payload, qos=QOS[qos], packet_id=packet_id, user_properties=properties,
                **options,
            )
        )  # fmt: skip
        return packet_id

    def refused_with(self) -> int:
        """The reason code of the DISCONNECT (or failing CONNACK) that closed the connection."""
        packet = self.packets()[-1]
        assert isinstance(packet, mqtt5.DisconnectPacket | mqtt5.ConnAckPacket), packet
        assert self.is_closed
        return int(packet.reason_code)
