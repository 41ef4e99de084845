"""Checking credentials without letting those who guess hold up those who know."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from zonal.broker import reason_codes
from zonal.broker.connection import Connection, Stage
from zonal.broker.throttle import Throttle, neighbourhood
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.access import User

logger = logging.getLogger(__name__)

THREADS = max(1, min(4, (os.cpu_count() or 1) // 2))
NICENESS = 10
"""Of these threads, beyond the broker's own: a check of a password takes some 50 ms of a core."""
WAITING = 100
"""Connections whose credentials wait to be checked; more are told that the server is busy."""


class Logins:
    """A few threads that check credentials, and a bounded row before them.

    Whoever comes from an address without wrong passwords is checked before those who come from one
    with some. Addresses and names with too many are refused unseen, a while. Those whose password
    was right before never come here: `Access.recall` knows them.

    Args:
        throttle: counts wrong passwords.
        clock: seconds since the epoch.
        decided: is told who a connection's client is, or why it is refused.
    """

    def __init__(
        self, throttle: Throttle, clock: Callable[[], float],
        decided: Callable[[Connection, User | MqttError], None],
    ) -> None:  # fmt: skip
        self._clock = clock
        self._decided = decided
        self._throttle = throttle
        self._row: list[tuple[float, int, Connection]] = []
        self._count = 0
        self._running = 0
        self._pool = ThreadPoolExecutor(
            THREADS, thread_name_prefix="credentials", initializer=_give_way
        )

    def close(self) -> None:
        """Checks nothing any more."""
        self._row.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def check(self, connection: Connection) -> None:
        """Has a connection's credentials checked, and then decides."""
        if self._is_refused(connection):
            return
        if len(self._row) >= WAITING:
            reason = "too many credentials wait to be checked"
            self._decided(connection, MqttError(reason_codes.SERVER_BUSY, reason))
            return
        self._count += 1
        wrong = self._throttle.wrong(("address", _who(connection)[0]), self._clock())
        heapq.heappush(self._row, (wrong, self._count, connection))
        self._next()

    def _is_refused(self, connection: Connection) -> bool:
        if self._throttle.allows(*_who(connection), self._clock()):
            return False
        reason = "too many wrong passwords came from this address or for this user"
        self._decided(connection, MqttError(reason_codes.CONNECTION_RATE_EXCEEDED, reason))
        return True

    def _next(self) -> None:
        while self._row and self._running < THREADS:
            _, _, connection = heapq.heappop(self._row)
            packet = connection.connect
            gone = connection.stage is not Stage.PROVING or packet is None
            if gone or self._is_refused(connection):
                continue
            assert packet is not None
            self._running += 1
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(
                self._pool, connection.entrance.access.check,
                packet.username, packet.password, connection.peer,
            )  # fmt: skip
            future.add_done_callback(lambda checked, c=connection: self._done(c, checked))  # type: ignore[misc]

    def _done(self, connection: Connection, checked: asyncio.Future[User | None]) -> None:
        self._running -= 1
        if checked.cancelled():
            return
        error = checked.exception()
        if error is not None:
            logger.error("credentials could not be checked", exc_info=error)
        user = checked.result() if error is None else None
        if user is not None:
            self._decided(connection, user)
        else:
            self._decided(connection, self._refusal(connection))
        self._next()

    def _refusal(self, connection: Connection) -> MqttError:
        packet = connection.connect
        if packet is None or (packet.username is None and packet.password is None):
            return MqttError(reason_codes.NOT_AUTHORIZED, "who are you?")
        self._throttle.count(*_who(connection), self._clock())
        return MqttError(reason_codes.BAD_CREDENTIALS, "user name or password is wrong")


def _give_way() -> None:
    """Has the operating system prefer the threads that handle messages to this one."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            me = threading.get_native_id()
            own = os.getpriority(os.PRIO_PROCESS, me)
            os.setpriority(os.PRIO_PROCESS, me, min(19, own + NICENESS))


def _who(connection: Connection) -> tuple[str, str]:
    packet = connection.connect
    name = packet.username if packet is not None else None
    return neighbourhood(connection.peer.address), name or ""
