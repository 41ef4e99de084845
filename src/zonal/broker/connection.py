"""One client's network connection, without the network: bytes in, bytes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import mqtt5

from zonal.broker import reason_codes, version_311
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.access import RemoteEnd, User
    from zonal.broker.entrance import Entrance
    from zonal.broker.message import Encodings
    from zonal.broker.packet_reader import PacketReader
    from zonal.broker.rates import Allowance
    from zonal.broker.scram import ScramExchange
    from zonal.broker.timers import Deadline

UNLIMITED = 1 << 62


class Stage(Enum):
    """How far a connection has come."""

    NEW = "waits for CONNECT"
    PROVING = "waits for its credentials to be checked"
    EXCHANGING = "proves who it is by AUTH packets"
    OPEN = "has a session"
    CLOSED = "is to be closed once its last bytes are out"


@dataclass(slots=True, eq=False, repr=False)
class Connection:
    """What lasts as long as a network connection: version, quotas, topic aliases, keep-alive.

    Args:
        peer: who is at the other end.
        reader: what it has sent.
        outbox: where the connection enters itself when it has bytes to write or must close.
        entrance: where it came in: what holds for it.
    """

    peer: RemoteEnd
    reader: PacketReader
    outbox: list[Connection]
    entrance: Entrance
    stage: Stage = Stage.NEW
    version: int = 5
    client_id: str = ""
    user: User | None = None
    connect: mqtt5.ConnectPacket | None = None
    """The CONNECT, while its credentials are checked."""
    out: list[bytes] = field(default_factory=list)
    queued: bool = False
    """Whether it is in the outbox."""
    writable: bool = True
    """Whether the transport takes more; the rim sets it."""
    quota: int = 0
    """QoS 1 and 2 messages that the client's receive maximum still allows."""
    maximum_packet: int = UNLIMITED
    topic_alias_maximum: int = 0
    verbatim: int = 0
    """The version in which a PUBLISH can be sent on as it came; 0 where topics have aliases."""
    aliases_in: dict[int, str] = field(default_factory=dict)
    aliases_out: dict[str, int] = field(default_factory=dict)
    problem_information: bool = True
    keep_alive: int = 0
    last_seen: float = 0.0
    deadline: Deadline | None = None
    """When CONNECT must have come; later, when the keep-alive is looked at next."""
    has_method: bool = False
    """Whether CONNECT named an authentication method."""
    exchange: ScramExchange | None = None
    """The proof that is under way."""
    allowances: tuple[Allowance, ...] = ()
    """What is left of the rates that apply to it."""
    rim: object = None
    """Whatever the server keeps with a connection; the machine never looks at it."""

    def send(self, data: bytes) -> None:
        """Puts bytes into the outgoing order."""
        self.out.append(data)
        if not self.queued:
            self.queued = True
            self.outbox.append(self)

    def take(self) -> bytes:
        """All bytes that wait to be written."""
        self.queued = False
        out = self.out
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        return data

    def close(self) -> None:
        """Ends the connection after what was sent so far."""
        if self.stage is not Stage.CLOSED:
            self.stage = Stage.CLOSED
            if not self.queued:
                self.queued = True
                self.outbox.append(self)

    def disconnect(self, code: int, reason: str = "") -> None:
        """Tells the client why, as far as its version and state allow, and closes (4.13, 3.1.4)."""
        data = b""
        if self.stage is Stage.OPEN and self.version == 5:
            data = self._fitting(
                mqtt5.DisconnectPacket, reason, reason_code=mqtt5.DisconnectReasonCode(code)
            )
        elif self.stage is not Stage.OPEN and self.stage is not Stage.CLOSED:
            if self.reader.version == 4:
                data = version_311.refusal(code)
            elif self.reader.version == 5 or code == reason_codes.UNSUPPORTED_VERSION:
                data = self._fitting(
                    mqtt5.ConnAckPacket, reason, reason_code=mqtt5.ConnAckReasonCode(code)
                )
        if data and len(data) <= self.maximum_packet:
            self.send(data)
        self.close()

    def _fitting(
        self, kind: Callable[..., Any], reason: str | None, *fields: Any, **codes: Any
    ) -> bytes:
        """A packet with its reason, or without one that the client does not take (3.1.2.11.4)."""
        data: bytes = kind(*fields, reason_str=reason or None, **codes).write()
        if reason and len(data) > self.maximum_packet:
            data = kind(*fields, **codes).write()
        return data

    def _answer(self, data: bytes) -> None:
        """Sends what cannot be left out, or says that the client takes too little for it."""
        if len(data) > self.maximum_packet:
            raise MqttError(
                reason_codes.PACKET_TOO_LARGE,
                f"an answer of {len(data)} bytes exceeds the client's {self.maximum_packet}",
            )
        self.send(data)

    def acknowledge(self, kind: type[Acknowledgement], packet_id: int, code: int = 0,
                    reason: str | None = None) -> None:  # fmt: skip
        """Sends PUBACK, PUBREC, PUBREL or PUBCOMP."""
        first, codes = ACKNOWLEDGEMENTS[kind]
        text = reason if self.problem_information else None
        if (code == 0 and not text) or self.version == 4:
            self.send(first + packet_id.to_bytes(2, "big"))
            return
        self.send(self._fitting(kind, text, packet_id, reason_code=codes(code)))

    def acknowledge_subscribe(self, packet_id: int, codes: list[int], reason: str) -> None:
        """Sends SUBACK, with one code for each filter."""
        if self.version == 4:
            self.send(version_311.suback(packet_id, codes))
            return
        text = reason if self.problem_information else None
        if not text and len(codes) < 100:
            short = (0x90, len(codes) + 3, packet_id >> 8, packet_id & 0xFF, 0)
            self._answer(bytes((*short, *codes)))
            return
        known = [mqtt5.SubAckReasonCode(code) for code in codes]
        self._answer(self._fitting(mqtt5.SubAckPacket, text, packet_id, known))

    def acknowledge_unsubscribe(self, packet_id: int, codes: list[int]) -> None:
        """Sends UNSUBACK, with one code for each filter."""
        if self.version == 4:
            self.send(version_311.unsuback(packet_id))
            return
        known = [mqtt5.UnsubAckReasonCode(code) for code in codes]
        self._answer(mqtt5.UnsubAckPacket(packet_id, known).write())

    def publish(
        self, encodings: Encodings, qos: int, retain: bool, identifiers: tuple[int, ...],
        packet_id: int = 0, duplicate: bool = False,
    ) -> bool:  # fmt: skip
        """Sends a message; False where it is larger than the client takes (3.1.2.11.4)."""
        if self.topic_alias_maximum:
            data = self._aliased(encodings, qos, retain, identifiers, packet_id)
        else:
            head, tail = encodings.parts((self.version, qos, retain, identifiers))
            data = head + packet_id.to_bytes(2, "big") + tail if qos else head
        if len(data) > self.maximum_packet:
            return False
        if duplicate:
            data = bytes((data[0] | 0x08,)) + data[1:]
        self.send(data)
        return True

    def _aliased(self, encodings: Encodings, qos: int, retain: bool,
                 identifiers: tuple[int, ...], packet_id: int) -> bytes:  # fmt: skip
        """A PUBLISH that names its topic by an alias, or sets one while there are any left."""
        message, aliases = encodings.message, self.aliases_out
        alias = aliases.get(message.topic)
        fresh = alias is None and len(aliases) < self.topic_alias_maximum
        data = message.packet(
            encodings.now, qos, retain=retain, identifiers=identifiers, packet_id=packet_id,
            topic="" if alias else None, alias=len(aliases) + 1 if fresh else alias,
        ).write()  # fmt: skip
        if fresh and len(data) <= self.maximum_packet:
            aliases[message.topic] = len(aliases) + 1
        return data


Acknowledgement = mqtt5.PubAckPacket | mqtt5.PubRecPacket | mqtt5.PubRelPacket | mqtt5.PubCompPacket

ACKNOWLEDGEMENTS: dict[type, tuple[bytes, type]] = {
    mqtt5.PubAckPacket: (b"\x40\x02", mqtt5.PubAckReasonCode),
    mqtt5.PubRecPacket: (b"\x50\x02", mqtt5.PubRecReasonCode),
    mqtt5.PubRelPacket: (b"\x62\x02", mqtt5.PubRelReasonCode),
    mqtt5.PubCompPacket: (b"\x70\x02", mqtt5.PubCompReasonCode),
}
