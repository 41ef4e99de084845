"""Either end of a captured exchange: `python -m zonal_lab.capture.role`."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal_lab.capture.raw_socket import Capture
from zonal_lab.emulation.network import CARD
from zonal_lab.emulation.role import EndRole, node_config, serve
from zonal_lab.latency.mqtt_end import MqttEnd
from zonal_lab.latency.stacks import stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation.role import Answer

TOPIC = "city/airquality"
AT = Point(45.4642, 9.1900)
REACH_M = 2000.0
_APART_S = 0.004


class WireRole(EndRole):
    """Listens, or sends messages one by one while its card is watched."""

    def __init__(self) -> None:
        super().__init__()
        self._close_session: Callable[[], None] = lambda: None
        self._put: Callable[[bytes], Any] = lambda _: None
        self._heard = 0

    def orders(self) -> dict[str, Answer]:
        """What it is told to do."""
        return {
            "listen": self._listen,
            "open": self._open,
            "send": self._send,
            "heard": lambda: {"heard": self._heard},
        }

    def _hear(self, _: Any) -> None:
        self._heard += 1

    def _listen(self, kind: str, listen: str) -> dict[str, Any]:
        self._heard = 0
        config = node_config("peer", listen=[listen])
        if kind == "zenoh":
            plain = zenoh.open(config)
            plain.declare_subscriber(TOPIC, self._hear)
            self._close_session = plain.close
        else:
            session = zonal.open(config, position=AT, encoding=kind)
            area = Circle(AT, radius_m=REACH_M)
            session.declare_subscriber(TOPIC, self._hear, area=area)
            self._close_session = session.close
        return {}

    def _open(self, kind: str, connect: str, broker: tuple[str, int]) -> dict[str, Any]:
        if kind.startswith(("mqtt", "broker")):
            end = MqttEnd(
                stack(kind), {"broker": broker}, self._hear, TOPIC, "nothing", AT, REACH_M
            )
            self._put, self._close_session = end.send, end.close
            return {}
        config = node_config("peer", connect=[connect])
        if kind == "zenoh":
            plain = zenoh.open(config)
            self._put, self._close_session = plain.declare_publisher(TOPIC).put, plain.close
        else:
            session = zonal.open(config, position=AT, encoding=kind)
            self._put = session.declare_publisher(TOPIC, location=AT).put
            self._close_session = session.close
        return {}

    def _send(self, count: int, size: int) -> dict[str, Any]:
        """Send so far apart that no two messages share a frame."""
        capture = Capture(CARD)
        for _ in range(count):
            self._put(bytes(size))
            time.sleep(_APART_S)
        return asdict(capture.stop())

    def close(self) -> dict[str, Any]:
        """Close the session or the connection to a broker."""
        self._close_session()
        self._close_session = lambda: None
        return {}


if __name__ == "__main__":
    serve(WireRole())
