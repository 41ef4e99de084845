"""One end of an echo: sends bytes to the other end and hands on what comes back.

Every end uses its library as its manual shows, with a callback, as the programs of Barón 2024 do
(appendix E). Zenoh calls it on its receiving thread, paho on its network thread, our session on a
thread of the subscriber's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal_lab.latency.stacks import stack
from zonal_lab.systems import MqttEnd, guarantees, node_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.latency.stacks import Stack

# The ends stand a few hundred metres apart, and each wants what happens within two kilometres.
NEAR, FAR = Point(45.4642, 9.1900), Point(45.4668, 9.1905)
REACH_M = 2000.0
TOPICS = ("lab/latency/out", "lab/latency/back")


class End(Protocol):
    """What both ends can do."""

    def send(self, payload: bytes) -> None:
        """Send to the other end."""

    def close(self) -> None:
        """Leave the network."""


def open_end(name: str, where: dict[str, Any], hear: Callable[[bytes], None], *, near: bool) -> End:
    """Open one end of a stack; `where` says how it reaches the network."""
    chosen = stack(name)
    to, back = TOPICS if near else TOPICS[::-1]
    at = NEAR if near else FAR
    if chosen.family in {"mqtt", "broker"}:
        host, port = where["broker"]
        geo = chosen.family == "broker"
        return MqttEnd((host, port), hear, to, back, at, REACH_M, qos=chosen.qos, geo=geo)
    config = node_config(
        where["mode"], listen=where["listen"], connect=where["connect"], tls=where["tls"]
    )
    if chosen.family == "session":
        return SessionEnd(chosen, config, hear, to, back, at)
    return ZenohEnd(chosen, config, hear, to, back)


def _guarantees(chosen: Stack) -> dict[str, Any]:
    """What Barón 2024 compares: {best effort, drop} and {reliable, block}."""
    return guarantees(reliable=chosen.reliable, block=chosen.reliable)


class ZenohEnd:
    """Plain Zenoh."""

    def __init__(
        self,
        chosen: Stack,
        config: zenoh.Config,
        hear: Callable[[bytes], None],
        to: str,
        back: str,
    ) -> None:
        self._session = zenoh.open(config)
        self._publisher = self._session.declare_publisher(to, **_guarantees(chosen))
        self._session.declare_subscriber(back, lambda sample: hear(sample.payload.to_bytes()))

    def send(self, payload: bytes) -> None:
        """One put."""
        self._publisher.put(payload)

    def close(self) -> None:
        """Close the session."""
        self._session.close()


class SessionEnd:
    """Our location-aware session: a place on every message, an area on every subscription."""

    def __init__(
        self,
        chosen: Stack,
        config: zenoh.Config,
        hear: Callable[[bytes], None],
        to: str,
        back: str,
        at: Point,
    ) -> None:
        self._session = zonal.open(config, position=at, insecure=True)
        self._publisher = self._session.declare_publisher(to, location=at, **_guarantees(chosen))
        self._session.declare_subscriber(
            back,
            lambda sample: hear(sample.payload.to_bytes()),
            area=Circle(at, radius_m=REACH_M),
        )

    def send(self, payload: bytes) -> None:
        """One put."""
        self._publisher.put(payload)

    def close(self) -> None:
        """Close the session."""
        self._session.close()
