"""What a broker knows, and what packets and deadlines change in it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from zonal.broker import geocontext, reason_codes
from zonal.broker.access import OpenAccess
from zonal.broker.connection import Stage
from zonal.broker.counters import BrokerCounters
from zonal.broker.diary import Diary
from zonal.broker.distribution import Distributor
from zonal.broker.entrance import Entrance
from zonal.broker.geotopics import GeoTopics
from zonal.broker.journal import Journal
from zonal.broker.ledger import Ledger
from zonal.broker.matching import Matching
from zonal.broker.permission import check_publication, told
from zonal.broker.reason_codes import Refused
from zonal.broker.retained import Retained
from zonal.broker.session import ClientSession
from zonal.broker.settings import NEVER, Settings
from zonal.broker.throttle import BrokenConnections, Throttle
from zonal.broker.timers import Timers
from zonal.trust import Movements, token_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal.broker.access import Access, User
    from zonal.broker.connection import Connection
    from zonal.broker.geocontext import Context
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSubscription
    from zonal.geo import Point


logger = logging.getLogger(__name__)


class Claim(NamedTuple):
    """A client that was let in, whose session another broker may hold."""

    connection: Connection
    user: User
    proof: bytes | None


class BrokerState:
    """The sessions of all clients, and how they come to an end; handlers of packets work on it."""

    def __init__(
        self, settings: Settings | None, access: Access | None, journal: Journal | None, now: float
    ) -> None:
        self.settings = settings or Settings()
        self.entrances = [Entrance(access or OpenAccess(), self.settings.limits)]
        """Where clients come in; the first is that of all who name no other."""
        self.journal = journal or Journal()
        self.counters = BrokerCounters(started_at=now)
        self.ledger = Ledger(
            self.settings.limits,
            oldest_first=self.settings.drop_oldest,
            queues_qos_0=self.settings.queue_qos_0,
        )
        self.sessions: dict[str, ClientSession] = {}
        """By client identifier."""
        self.attached: dict[Connection, ClientSession] = {}
        """The sessions whose clients are connected, by connection."""
        self.retained = Retained(self.journal)
        self.matching = Matching()
        self.geotopics = GeoTopics(self.settings.zones)
        self.distributor = Distributor(
            self.matching, self.retained, self.settings.limits.maximum_levels
        )
        self.movements = Movements()
        self.judge_movements()
        self.timers = Timers()
        self.throttle = Throttle()
        self.broken = BrokenConnections()
        self.diary = Diary()
        self.outbox: list[Connection] = []
        """Connections that have bytes to write, or must close."""
        self.proving: list[Connection] = []
        """Connections whose credentials the rim has to check."""
        self.is_shared = False
        """Whether other brokers serve the same sessions: they must be claimed first."""
        self.claiming: list[Claim] = []
        """Clients whose sessions the rim has to claim."""
        self.on_retained_wanted: Callable[[ClientSubscription], None] | None = None
        """Called with every subscription that wants what is retained."""

    def context(self, properties: Sequence[tuple[str, str]], *, counted: bool = True) -> Context:
        """The geo-context in user properties; raises `GeometryError` for a bad one."""
        if not self.settings.geo or not properties:
            return geocontext.NOWHERE
        context = geocontext.read(
            properties, self.settings.limits.maximum_vertices, strict=self.settings.strict
        )
        if context.unread and counted:
            self.counters.unread_locations += 1
            logger.debug("passed on as an ordinary property: %s", context.unread)
        return context

    @property
    def access(self) -> Access:
        """Who is let in by the first entrance, and as whom sessions from the store go on."""
        return self.entrances[0].access

    def enter_by(self, entrance: Entrance) -> Entrance:
        """Has clients come in by one more entrance, and returns it."""
        self.entrances.append(entrance)
        self.judge_movements()
        return entrance

    @property
    def has_rules(self) -> bool:
        """Whether there are users who may not do everything."""
        return any(entrance.access.rules is not None for entrance in self.entrances)

    def judge_movements(self) -> None:
        """Has movements judged by what all rules say now."""
        known = [entrance.access.rules for entrance in self.entrances]
        each = {id(rules): rules.positions for rules in known if rules is not None}
        self.movements.kinds = [kind for kinds in each.values() for kind in kinds]

    def new_session(self, client_id: str, user_name: str | None) -> ClientSession:
        """A session of a client that has none, nor subscriptions or messages."""
        session = ClientSession(client_id, user_name, self.counters, self.journal, self.ledger)
        self.sessions[client_id] = session
        self.journal.begin(session)
        return session

    def drop(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """Closes a connection for a reason that the client is told; its will applies."""
        if connection in self.attached:
            self.diary.sent_away(connection, code, reason, now)
        elif connection.stage is not Stage.CLOSED:
            self.counters.connections_refused += 1
            self.diary.refused(connection, code, reason, now)
        connection.disconnect(code, reason)
        self.leave(connection, now)

    def leave(self, connection: Connection, now: float, *, keep_will: bool = True) -> None:
        """Parts a session from its connection, and decides what becomes of it and its will."""
        session = self.attached.pop(connection, None)
        if session is None:
            return
        self.timers.cancel(connection.deadline)
        session.connection = None
        if not keep_will:
            session.will = None
        if session.expiry == 0:
            self.end(session, now)
            return
        self._outlive(session, now)

    def _outlive(self, session: ClientSession, now: float) -> None:
        """A session goes on without a connection: its will and its own end are due some time."""
        self._schedule_will(session, now)
        if session.expiry != NEVER:
            session.expires_at = now + session.expiry
            self._schedule_end(session)
        self.journal.session(session)

    def continued(self, session: ClientSession) -> None:
        """A client is back: neither the session's end nor its old will is due any more."""
        session.expires_at = session.will_at = session.will = None
        self.timers.cancel(session.end_deadline)
        self.timers.cancel(session.will_deadline)

    def _schedule_will(self, session: ClientSession, now: float) -> None:
        if session.will is None:
            return
        if session.will.delay == 0:
            self._publish_will(session, now)
            return
        self._send_will_at(session, now + min(session.will.delay, session.expiry))

    def _send_will_at(self, session: ClientSession, due: float) -> None:
        session.will_at = due

        def send(now: float) -> None:
            self._publish_will(session, now)
            self.journal.session(session)

        session.will_deadline = self.timers.at(due, send)

    def _schedule_end(self, session: ClientSession) -> None:
        if session.expires_at is not None:
            session.end_deadline = self.timers.at(
                session.expires_at, lambda now: self._expire(session, now)
            )

    def _expire(self, session: ClientSession, now: float) -> None:
        self.counters.sessions_expired += 1
        self.end(session, now)

    def resume_deadlines(self, session: ClientSession, now: float, *, was_connected: bool) -> None:
        """A session came back from the store without its client: time runs on for it."""
        if was_connected:
            self._outlive(session, now)
            return
        if session.will_at is not None:
            self._send_will_at(session, session.will_at)
        self._schedule_end(session)

    def _publish_will(self, session: ClientSession, now: float) -> None:
        """Sends a session's will, once."""
        will, session.will, session.will_at = session.will, None, None
        if will is None:
            return
        message = will.message(session.client_id, session.told_location, now)
        try:
            place = will.context.location or session.location
            precision_m = check_publication(session, will.topic, place, message.geofence)
        except Refused as refused:
            self.diary.denied(session.client_id, "will", refused.code, str(refused), now)
            return
        if precision_m is not None and message.location is not None:
            message = told(message, precision_m)
        if message.retain and not self.has_room_to_retain(message):
            self.counters.unretained += 1
            message.retain = False
        self.distributor.publish(message, now)

    def end(self, session: ClientSession, now: float) -> None:
        """A session is over: its will is sent, its subscriptions and messages are gone."""
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        self.matching.leave(session)
        session.expires_at = None
        self.timers.cancel(session.end_deadline)
        self.timers.cancel(session.will_deadline)
        self._publish_will(session, now)
        self.movements.forget(session.user_name, session.client_id)
        outstanding = session.outstanding()
        self._erase(session)
        self.distributor.hand_over(session, outstanding, now)
        session.clear()

    def has_room_to_retain(self, message: Message) -> bool:
        """Whether a message may become its topic's retained one; clearing always works."""
        return not message.payload or (
            self.retained.has_room(message, self.settings.limits) and not self.ledger.store_is_full
        )

    def give_away(self, client_id: str, now: float) -> None:
        """A client's session goes on at another broker: here it is gone, in the store it is not."""
        session = self.sessions.get(client_id)
        if session is None:
            return
        if session.connection is not None:
            reason = "the client connected to another broker"
            self.drop(session.connection, reason_codes.SESSION_TAKEN_OVER, reason, now)
        if self.sessions.get(client_id) is not session:
            return  # it was over with its connection
        del self.sessions[client_id]
        self.matching.leave(session)
        self.timers.cancel(session.end_deadline)
        self.timers.cancel(session.will_deadline)
        session.hand_off()

    def set_durable(self, session: ClientSession, *, durable: bool) -> None:
        """Has the store keep a session from now on, or no longer."""
        if durable and not session.durable:
            session.durable = True
            self.journal.session(session)
            for subscription in session.subscriptions.values():
                self.journal.subscribe(subscription)
        elif not durable:
            self._erase(session)
            session.durable = False

    def _erase(self, session: ClientSession) -> None:
        """Takes a session out of the store."""
        session.unkeep()
        self.journal.end(session)

    def move(self, session: ClientSession, location: Point, now: float) -> str:
        """A client said where it is; why that is refused, or nothing."""
        judged = self.movements.judge(session.user_name, session.client_id, location, now)
        if not judged.plausible:
            self.counters.implausible += 1
            self.diary.implausible(session.client_id, session.user_name, judged.reason, now)
            if judged.refused:
                return f"you cannot be there: {judged.reason}"
        self.counters.located += 1
        self.matching.locate(session, location)
        self.journal.session(session)
        return ""

    def present(
        self, session: ClientSession, properties: Sequence[tuple[str, str]], now: float
    ) -> None:
        """Takes the attested position that a client presents, if it does.

        `AttestationError` where it is no good: it must name the user who logged in, else the
        client. A client that never said where it is is from now on in the middle of the cell.
        """
        text = next((text for name, text in properties if name == geocontext.ATTESTATION), None)
        if text is None or self.settings.issuers is None:
            return
        subject = session.user_name or session.client_id
        found = self.settings.issuers.verify(token_from_text(text), now=now, subject=subject)
        session.attestation = found
        if session.location is None:
            self.matching.locate(session, found.cell.center)

    def watch(self, connection: Connection, now: float) -> None:
        """Starts the keep-alive clock: one and a half times the interval (3.1.2.10)."""
        self.timers.cancel(connection.deadline)
        allowance = connection.keep_alive * 1.5
        if allowance <= 0:
            return

        def check(now: float) -> None:
            due = connection.last_seen + allowance
            if now >= due:
                self.drop(connection, reason_codes.KEEP_ALIVE_TIMEOUT, "keep-alive expired", now)
            else:
                connection.deadline = self.timers.at(due, check)

        connection.deadline = self.timers.at(now + allowance, check)
