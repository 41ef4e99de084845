"""One client's socket: TCP, TLS or WebSocket."""

from __future__ import annotations

import asyncio
import logging
import os
from enum import Flag, auto
from time import perf_counter
from typing import TYPE_CHECKING, cast

from zonal.broker import reason_codes
from zonal.broker.access import RemoteEnd
from zonal.broker.connection import Connection, Stage
from zonal.broker.turns import TURN
from zonal.broker.websocket import WebSocket

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker
    from zonal.broker.entrance import Entrance
    from zonal.broker.turns import Turns

logger = logging.getLogger(__name__)

LAST_WORDS = 5.0
"""Seconds a closed connection has to take its last bytes."""
LINGER = 1.0
"""Seconds in which a client whose connection is closed may still read why."""
MOST_IGNORED = 1024 * 1024
"""Bytes of it that are ignored meanwhile."""
SMALLEST_SLICE, SLICE, LARGEST_SLICE = 1024, 16 * 1024, 64 * 1024
"""Bytes of a client that are looked at before the time is: fewer where they took long."""
CHORES, SPARED, SHORTEST_REST = 20, 0.05, 0.001
"""While others are heard, work that serves nobody but the client itself may take one part in
`CHORES` of the time, after the first `SPARED` seconds; the client rests in between."""


class Hold(Flag):
    """Why a client is not read."""

    NOTHING = 0
    TURN = auto()
    """It has sent more than it could have processed so far."""
    PROVING = auto()
    """Its credentials are checked."""
    STUFFED = auto()
    """It does not read the answers it gets."""
    RESTING = auto()
    """It was faster than it may be, or its address broke the protocol too often."""


class ClientLink(asyncio.Protocol):
    """One TCP or TLS connection.

    Args:
        broker: the machine.
        entrance: what holds for it.
        turns: when its bytes are processed.
        clock: seconds since the epoch.
        links: where it is entered while it is there.
    """

    def __init__(
        self, broker: Broker, entrance: Entrance, turns: Turns, clock: Callable[[], float],
        links: set[ClientLink],
    ) -> None:  # fmt: skip
        self._broker = broker
        self._entrance = entrance
        self._turns = turns
        self._clock = clock
        self._links = links
        self._transport: asyncio.Transport
        self._descriptor: int | None = None
        self.connection: Connection
        self._closing = False
        self._ignored = 0
        self._has_spoken = False
        self._holds = Hold.NOTHING
        self._rest = b""
        self._at = 0
        self._more = False
        self._slice = SLICE
        self._chores_until = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._entrance.limits.backlog)
        if transport.get_extra_info("ssl_object") is None:
            self._descriptor = transport.get_extra_info("socket").fileno()
        peer = peer_of(self._transport)
        self.connection = self._broker.open(peer, self._clock(), self._entrance)
        self.connection.rim = self
        self._links.add(self)
        pause = self._broker.broken.pause(peer.address, self._clock())
        if pause > 0 and self._turns.hears_somebody():
            self._rest_for(pause)

    def connection_lost(self, _: Exception | None) -> None:
        """The client is gone."""
        self._rest = b""
        self._links.discard(self)
        self._turns.forget(self)
        self._broker.lost(self.connection, self._clock())
        self._turns.schedule()

    # What the client sends.

    def data_received(self, data: bytes) -> None:
        """Bytes from the client: processed at once, or in turns where they are many."""
        if self._closing:
            self._ignored += len(data)
            if self._ignored > MOST_IGNORED:
                self.abort()
            return
        if (
            self._holds
            or (len(data) > SMALLEST_SLICE and len(data) > self._slice_size)
            or (self._chores_until > 0.0 and self._does_chores)
        ):
            self._rest, self._at = self._rest[self._at :] + data, 0
            self.hold(Hold.TURN)
            return
        self._turns.begin(self)
        self._take(data)

    def work(self) -> bool:
        """Processes some of what waits; whether more can be processed at once."""
        if self._holds & ~Hold.TURN or self.connection.stage is Stage.CLOSED:
            self._holds &= ~Hold.TURN  # whoever lifts the other hold lines up again
            return False
        began = perf_counter()
        if self._take(b"" if self._more else self._next_slice()):
            return True
        seconds = perf_counter() - began
        if seconds > TURN:
            self._slice = max(SMALLEST_SLICE, self._slice // 2)
        elif seconds < TURN / 2:
            self._slice = min(LARGEST_SLICE, self._slice * 2)
        if self._rest and not self._holds & ~Hold.TURN:
            return True
        self.release(Hold.TURN)
        return False

    @property
    def _does_chores(self) -> bool:
        """Whether it has to do with itself alone so much that it waits for its turns."""
        return self._chores_until > perf_counter() + CHORES * SPARED / 2

    @property
    def _slice_size(self) -> int:
        # Rates are looked at after each slice.
        return SMALLEST_SLICE if self.connection.allowances else self._slice

    def _next_slice(self) -> bytes:
        start = self._at
        self._at += self._slice_size
        data = self._rest[start : self._at]
        if self._at >= len(self._rest):
            self._rest, self._at = b"", 0
        return data

    def _take(self, data: bytes) -> bool:
        """Processes bytes; whether the client has used its turn up and has more to say."""
        counters, connection = self._broker.counters, self.connection
        sent, quota, began = counters.sent, connection.quota, perf_counter()
        try:
            wait = self._receive(data)
        except Exception:
            logger.exception("a connection is closed after an internal error")
            self._broker.drop(
                self.connection, reason_codes.UNSPECIFIED, "internal error", self._clock()
            )
            wait = None
        self._turns.taken(len(data))
        self._more = wait is not None
        rest = wait or 0.0
        if counters.sent == sent and connection.quota == quota:
            # The bytes were neither messages that somebody gets nor acknowledgements.
            rest = max(rest, self._rest_after(began))
        if rest > 0:
            self._rest_for(rest)
            return False
        if wait is None:
            return False
        self.hold(Hold.TURN)
        return True

    def _rest_for(self, seconds: float) -> None:
        self.hold(Hold.RESTING)
        asyncio.get_running_loop().call_later(seconds, self.release, Hold.RESTING)

    def _rest_after(self, began: float) -> float:
        """How long the client rests after work that served nobody else; 0 while it is little."""
        if not self._turns.expects_others(self):
            self._chores_until = 0.0
            return 0.0
        now = perf_counter()
        self._chores_until = max(self._chores_until, began) + CHORES * (now - began)
        rest = self._chores_until - now - CHORES * SPARED
        return rest if rest >= SHORTEST_REST else 0.0

    def _receive(self, data: bytes) -> float | None:
        return self._broker.receive(self.connection, data, self._clock(), self._turns.spent)

    def hold(self, why: Hold) -> None:
        """Reads nothing for now."""
        if self._closing:
            return
        if not self._holds and not self._transport.is_closing():
            self._transport.pause_reading()
        if why is Hold.TURN and not self._holds & Hold.TURN:
            self._turns.line_up(self)
        self._holds |= why

    def release(self, why: Hold) -> None:
        """One reason less not to read; what waited is processed first."""
        if self._closing:
            return
        before, self._holds = self._holds, self._holds & ~why
        if self._holds or not before & why or self._transport.is_closing():
            return
        if why is Hold.TURN:
            self._transport.resume_reading()
        else:
            self._holds = Hold.TURN
            self._turns.line_up(self)

    # What is sent to the client.

    def pause_writing(self) -> None:
        """The client does not read as fast as it is written to."""
        self.connection.writable = False

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._broker.writable(self.connection, self._clock())
        self.release(Hold.STUFFED)
        self._turns.schedule()

    def write(self, data: bytes) -> None:
        """MQTT bytes to the client; they are lost if it has just gone.

        Where nothing waits before them they go to the socket at once; what it does not take, and
        whatever it has to complain of, is the transport's. A transport that is not closing has
        its descriptor open.
        """
        self._has_spoken = True
        transport = self._transport
        if transport.is_closing():
            return
        if self._descriptor is not None and not transport.get_write_buffer_size():
            try:
                taken = os.write(self._descriptor, data)
            except OSError:
                taken = 0
            if taken == len(data):
                return
            data = data[taken:]
        transport.write(data)
        if not self.connection.writable:
            limits = self._entrance.limits
            if transport.get_write_buffer_size() > limits.backlog + limits.unread_answers:
                self.hold(Hold.STUFFED)

    @property
    def unsent(self) -> int:
        """Bytes that the client has not taken yet."""
        return self._transport.get_write_buffer_size()

    @property
    def buffered(self) -> int:
        """Bytes held for this connection: unsent, unprocessed, or of an unfinished packet."""
        return self.unsent + len(self._rest) - self._at + self.connection.reader.buffered

    def close(self) -> None:
        """Closes when the client has read the last bytes and closed, or has had time to.

        Closing a socket that has unread bytes makes the other end lose what it has not read yet:
        so our side alone is closed first, and what the client still sends is read and ignored.
        """
        if self._closing:
            return
        self._closing = True
        self._rest, self._at = b"", 0
        if self._transport.is_closing():
            return
        if not self._has_spoken:
            self._transport.close()
            return
        try:
            if self._transport.can_write_eof():
                self._transport.write_eof()
        except OSError:  # it is gone already
            self.abort()
            return
        if self._holds:
            self._holds = Hold.NOTHING
            self._transport.resume_reading()
        loop = asyncio.get_running_loop()
        loop.call_later(LINGER, self._transport.close)
        loop.call_later(LAST_WORDS, self.abort)

    def abort(self) -> None:
        """Closes at once."""
        self._transport.abort()


class WebSocketLink(ClientLink):
    """One WebSocket connection: MQTT bytes in binary frames (MQTT 5, section 6)."""

    def __init__(
        self, broker: Broker, entrance: Entrance, turns: Turns, clock: Callable[[], float],
        links: set[ClientLink], allows: Callable[[str], bool],
    ) -> None:  # fmt: skip
        super().__init__(broker, entrance, turns, clock, links)
        self._socket = WebSocket(entrance.limits.connect_packet_size, allows)

    def _receive(self, data: bytes) -> float | None:
        """Frames from the client; before its CONNECT is accepted, only small ones."""
        wait = None if data else super()._receive(b"")
        for payload in self._socket.receive(data) if data else ():
            wait = super()._receive(payload)
            self._socket.limit(self.connection.reader.limit)
        self._drain()
        return wait

    def write(self, data: bytes) -> None:
        """MQTT bytes to the client, in one frame."""
        self._socket.send(data)
        self._drain()

    def close(self) -> None:
        """Sends WebSocket's own closing frame first."""
        if not self._closing:
            self._socket.close()
            self._drain()
        super().close()

    def _drain(self) -> None:
        data = self._socket.outgoing()
        if data:
            super().write(data)
        if self._socket.finished:
            super().close()


def peer_of(transport: asyncio.Transport) -> RemoteEnd:
    """Who is at the other end."""
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert")
    name = None
    if certificate:
        parts = (part for group in certificate.get("subject", ()) for part in group)
        name = next((value for key, value in parts if key == "commonName"), None)
    return RemoteEnd(str(address[0]) if address else "", name)
