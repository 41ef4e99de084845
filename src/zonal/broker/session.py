"""A client's session: what outlives its network connections (MQTT 5, section 4.1)."""

from __future__ import annotations

from collections import deque
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import mqtt5

from zonal.broker.geocontext import holds, middle_of
from zonal.broker.message import Encodings
from zonal.broker.outgoing import QUEUED, RELEASED, SENT, Outgoing, OutgoingJournal

if TYPE_CHECKING:
    from zonal.broker.access import User
    from zonal.broker.connection import Connection
    from zonal.broker.counters import BrokerCounters
    from zonal.broker.ledger import Ledger
    from zonal.broker.message import Message
    from zonal.broker.timers import Deadline
    from zonal.broker.watch import BorderWatch
    from zonal.broker.will import Will
    from zonal.geo import Area, Point
    from zonal.trust import Attestation

NOTHING: deque[Outgoing] = deque(maxlen=0)
"""The queue of all sessions that have none: an empty one takes 760 bytes."""


class Copy(NamedTuple):
    """What one client gets of a message: the highest QoS and all identifiers that apply."""

    session: ClientSession
    qos: int
    identifiers: tuple[int, ...]
    retain_as_published: bool


@dataclass(slots=True, eq=False, repr=False)
class ClientSubscription:
    """A topic filter with its options and, perhaps, a geofence."""

    session: ClientSession
    pattern: str
    """As the client wrote it, `$share/…` included."""
    filter: str
    _: KW_ONLY
    group: str | None = None
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    identifier: int | None = None
    area: Area | None = None
    """The consumer geofence that is matched; a circle without a centre follows the client."""
    asked: Area | None = None
    """The one that the client asked for: rules may leave less of it."""
    watch: BorderWatch | None = None
    """Where it wants events at the border of an area, not messages."""
    weight: int = 0
    """About how many bytes of memory it takes."""
    copy: Copy = field(init=False)
    """What its client gets when no other subscription of that client matches."""
    plain: bool = field(init=False)
    """Whether it neither shares with others nor depends on who publishes, or on rules."""
    guarded: bool = field(init=False)
    """Whether rules have a say in what it gets (`permission`)."""

    def __post_init__(self) -> None:
        identifiers = () if self.identifier is None else (self.identifier,)
        self.copy = Copy(self.session, self.qos, identifiers, self.retain_as_published)
        user = self.session.user
        self.guarded = user is not None and user.rules is not None
        alone = self.group is None and not self.no_local
        self.plain = alone and self.watch is None and not self.guarded

    @property
    def shared_as(self) -> str | None:
        """What all members of its group subscribe to, wherever they listen."""
        return None if self.group is None else f"$share/{self.group}/{self.filter}"

    def passes_geo(self, message: Message, now: float) -> bool:
        """Consumer and producer geo check, for a message that was retained."""
        here = self.session.location
        if self.area is not None and not holds(self.area, message.location, here):
            return False
        if message.geofence is None:
            return True
        is_inside = here is not None and message.geofence.contains(here)
        return is_inside and message.lets_in(self.session.attestation, now)


@dataclass(slots=True, eq=False, repr=False)
class ClientSession:
    """Subscriptions, the messages under way both ways, and a will."""

    client_id: str
    user_name: str | None
    """Whose session it is; nobody else may continue it."""
    counters: BrokerCounters
    journal: OutgoingJournal
    ledger: Ledger
    connection: Connection | None = None
    user: User | None = None
    durable: bool = False
    """Whether the store keeps it: it does for sessions that outlive their connection."""
    expiry: int = 0
    expires_at: float | None = None
    subscriptions: dict[str, ClientSubscription] = field(default_factory=dict)
    """By pattern."""
    queue: deque[Outgoing] = field(default_factory=lambda: NOTHING)
    inflight: dict[int, Outgoing] = field(default_factory=dict)
    """Sent and not yet acknowledged, by packet identifier."""
    incoming: dict[int, int] = field(default_factory=dict)
    """Reason codes of QoS 2 messages received and not yet released, by packet identifier."""
    location: Point | None = None
    attestation: Attestation | None = None
    precision_m: float | None = None
    """How finely its location is told to others; None: as it is known."""
    will: Will | None = None
    will_at: float | None = None
    end_deadline: Deadline | None = None
    will_deadline: Deadline | None = None
    held: int = 0
    """Bytes of its messages, waiting and under way, and of its subscriptions."""
    _resend: deque[Outgoing] = field(default_factory=lambda: NOTHING)
    _next_packet_id: int = 0
    _next_number: int = 0

    @property
    def told_location(self) -> Point | None:
        """Its location, as finely as others may know it."""
        return None if self.location is None else middle_of(self.location, self.precision_m)

    def deliver(self, encodings: Encodings, qos: int, retain: bool, identifiers: tuple[int, ...],
                share: str | None = None) -> None:  # fmt: skip
        """Hands the session a message: sent now, kept for later, or dropped and counted."""
        connection = self.connection
        if qos == 0:
            if connection is None:
                if not self.ledger.queues_qos_0:
                    return
            elif connection.writable and connection.publish(encodings, 0, retain, identifiers):
                self.counters.sent += 1
                return
            else:
                self.counters.dropped += 1
                return
        entry = Outgoing(encodings.message, qos, retain, identifiers, share)
        if not self._hold(entry.message):
            self.counters.dropped += 1
        elif connection is not None and connection.quota and connection.writable and not self.queue:
            self._send(connection, entry, encodings)
        else:
            self._keep(entry)
            self._enqueue(entry)

    def begin(self, entry: Outgoing, weight: int) -> int:
        """Counts a QoS 1 message of so many bytes in all as sent, and gives its packet identifier.

        0 where it has to wait, is kept in the store or differs from others' copies: `deliver` it.
        Sessions share the entry: without a store nothing in it is a session's own. The caller
        enters the message into the ledger.
        """
        connection = self.connection
        held = self.held + weight
        if (
            connection is None
            or self.durable
            or self.queue
            or not connection.quota
            or not connection.writable
            or not connection.verbatim
            or weight > connection.maximum_packet
            or held > self.ledger.limits.session_bytes
        ):
            return 0
        self.held = held
        packet_id = self._next_packet_id % 65535 + 1
        if packet_id in self.inflight:
            packet_id = self._free_packet_id()
        self._next_packet_id = packet_id
        self.inflight[packet_id] = entry
        connection.quota -= 1
        return packet_id

    def _hold(self, message: Message) -> bool:
        """Makes room for a message; False where there is none."""
        ledger, size = self.ledger, message.size
        while not (
            len(self.queue) < ledger.limits.maximum_queued
            and self.held + size <= ledger.limits.session_bytes
            and ledger.has_room(message, durable=self.durable)
        ):
            if not ledger.oldest_first or not self.queue:
                return False
            self._forget(self.queue.popleft())
            self.counters.dropped += 1
        self.held += size
        ledger.hold(message)
        return True

    def _enqueue(self, entry: Outgoing) -> None:
        if self.queue is NOTHING:
            self.queue = deque()
        self.queue.append(entry)

    def _keep(self, entry: Outgoing) -> None:
        if self.durable:
            self._next_number += 1
            entry.number = self._next_number
            self.journal.keep(self.client_id, entry)

    def _send(self, connection: Connection, entry: Outgoing, encodings: Encodings) -> None:
        if entry.qos == 0:  # it had waited for its client
            sent = connection.publish(encodings, 0, entry.retain, entry.identifiers)
            self.counters.sent += sent
            self.counters.dropped += not sent
            self._forget(entry)
            return
        packet_id = self._free_packet_id()
        if not connection.publish(encodings, entry.qos, entry.retain, entry.identifiers, packet_id):
            self._forget(entry)
            self.counters.dropped += 1
            return
        entry.packet_id = packet_id
        entry.state = SENT
        self.inflight[packet_id] = entry
        connection.quota -= 1
        self.counters.sent += 1
        if self.durable:
            if entry.number:
                self.journal.mark(self.client_id, entry)
            else:
                self._keep(entry)

    def _forget(self, entry: Outgoing) -> None:
        self.held -= entry.message.size
        self.ledger.let_go(entry.message)
        if entry.number:
            self.journal.forget(self.client_id, entry)
            entry.number = 0

    def outstanding(self) -> list[Outgoing]:
        """Everything not yet delivered, in order."""
        return [*self.inflight.values(), *self.queue]

    def unkeep(self) -> None:
        """Has the store forget what is not yet delivered."""
        for entry in self.outstanding():
            if entry.number:
                self.journal.forget(self.client_id, entry)
                entry.number = 0

    def hand_off(self) -> None:
        """Holds nothing any more, though the store still has it: another broker goes on."""
        for entry in self.outstanding():
            if entry.number:
                entry.message.references -= 1
                entry.number = 0
        self.clear()

    def clear(self) -> None:
        """The session is over: it holds nothing any more."""
        for entry in self.outstanding():
            self._forget(entry)
        for pattern in list(self.subscriptions):
            self.unsubscribe(pattern)
        self.inflight.clear()
        self.queue.clear()

    def subscribe(self, subscription: ClientSubscription) -> ClientSubscription | None:
        """Takes a subscription, and returns the one of the same pattern that it replaces."""
        old = self.unsubscribe(subscription.pattern)
        self.subscriptions[subscription.pattern] = subscription
        self.held += subscription.weight
        self.ledger.subscriptions += subscription.weight
        return old

    def unsubscribe(self, pattern: str) -> ClientSubscription | None:
        """Gives a subscription up, and returns it."""
        old = self.subscriptions.pop(pattern, None)
        if old is not None:
            self.held -= old.weight
            self.ledger.subscriptions -= old.weight
        return old

    def _free_packet_id(self) -> int:
        packet_id = self._next_packet_id
        while True:
            packet_id = packet_id % 65535 + 1
            if packet_id not in self.inflight:
                self._next_packet_id = packet_id
                return packet_id

    def pump(self, now: float) -> None:
        """Sends what waits, as far as the client's receive maximum and the transport allow."""
        connection = self.connection
        if connection is None:
            return
        while self._resend and connection.quota:
            self._send_again(connection, self._resend.popleft(), now)
        while self.queue and connection.quota and connection.writable:
            entry = self.queue.popleft()
            if entry.message.expired(now):
                self._forget(entry)
                self.counters.expired += 1
            else:
                self._send(connection, entry, Encodings(entry.message, now))

    def resume(self, now: float) -> None:
        """Continues on a new connection: what was under way is sent again, in order (4.4)."""
        self._resend = deque(self.inflight.values()) if self.inflight else NOTHING
        self.pump(now)

    def _send_again(self, connection: Connection, entry: Outgoing, now: float) -> None:
        if self.inflight.get(entry.packet_id) is not entry:
            return
        connection.quota -= 1
        if entry.state == RELEASED:
            connection.acknowledge(mqtt5.PubRelPacket, entry.packet_id)
            return
        encodings = Encodings(entry.message, now)
        sent = connection.publish(
            encodings, entry.qos, entry.retain, entry.identifiers, entry.packet_id, duplicate=True
        )
        if not sent:  # as if it were complete (MQTT-3.1.2-25): nobody will acknowledge it
            connection.quota += 1
            del self.inflight[entry.packet_id]
            self._forget(entry)
            self.counters.dropped += 1

    def acknowledged(self, packet_id: int, now: float) -> None:
        """A delivery is complete (PUBACK, PUBCOMP) or refused (PUBREC with an error)."""
        entry = self.inflight.pop(packet_id)
        self._forget(entry)
        if self.connection is not None:
            self.connection.quota += 1
        if self.queue or self._resend:
            self.pump(now)

    def acknowledged_in(self, data: bytes, position: int, now: float) -> int:
        """The PUBACKs in a row at a place in a client's bytes; where others begin.

        They are plain ones, without a reason code, of deliveries of QoS 1 under way.
        """
        inflight, let_go, start = self.inflight, self.ledger.let_go, position
        last = len(data) - 4
        while position <= last and data[position] == 0x40 and data[position + 1] == 2:
            packet_id = data[position + 2] << 8 | data[position + 3]
            entry = inflight.get(packet_id)
            if entry is None or entry.qos != 1:
                break
            del inflight[packet_id]
            if entry.number:
                self._forget(entry)
            else:
                self.held -= entry.message.size
                let_go(entry.message)
            position += 4
        if position != start:
            if self.connection is not None:
                self.connection.quota += (position - start) >> 2
            if self.queue or self._resend:
                self.pump(now)
        return position

    def released(self, packet_id: int) -> None:
        """The client has the QoS 2 message (PUBREC): only its identifier matters from here on."""
        entry = self.inflight[packet_id]
        if entry.state != RELEASED:
            entry.state = RELEASED
            if entry.number:
                self.journal.mark(self.client_id, entry)

    def restore(self, entry: Outgoing) -> None:
        """Takes back an entry that the store kept."""
        self.held += entry.message.size
        self.ledger.hold(entry.message)
        self._next_number = max(self._next_number, entry.number)
        if entry.state == QUEUED:
            self._enqueue(entry)
        else:
            self.inflight[entry.packet_id] = entry
            self._next_packet_id = max(self._next_packet_id, entry.packet_id)
