"""Either end of a captured exchange: `python -m zonal_lab.capture.role`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal_lab.capture.plan import CaptureCase
from zonal_lab.capture.raw_socket import Capture
from zonal_lab.emulation import CARD, EndRole, serve
from zonal_lab.systems import MqttEnd, node_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation import Answer

TOPIC = "city/airquality"
AT = Point(45.4642, 9.1900)
REACH_M = 2000.0
_APART_S = 0.004


class CaptureRole(EndRole):
    """Hears, or sends messages one by one while its card is watched."""

    def __init__(self) -> None:
        super().__init__()
        self._put: Callable[[bytes], Any] = lambda _: None
        self._heard = 0

    def orders(self) -> dict[str, Answer]:
        """Hear, open, send, tell how much was heard."""
        return {
            "hear": self._begin_hearing,
            "open": self._open,
            "send": self._send,
            "heard": lambda: {"heard": self._heard},
        }

    def _hear(self, _: Any) -> None:
        self._heard += 1

    def _begin_hearing(self, case: dict[str, Any], way: dict[str, Any]) -> dict[str, Any]:
        self._heard = 0
        encoding = CaptureCase(**case).encoding
        config = node_config(**way)
        if encoding is None:
            self._end = zenoh.open(config)
            self._end.declare_subscriber(TOPIC, self._hear)
        else:
            self._end = zonal.open(config, position=AT, encoding=encoding, insecure=True)
            area = Circle(AT, radius_m=REACH_M)
            self._end.declare_subscriber(TOPIC, self._hear, area=area)
        return {}

    def _open(
        self, case: dict[str, Any], way: dict[str, Any], broker: tuple[str, int]
    ) -> dict[str, Any]:
        chosen = CaptureCase(**case)
        if chosen.qos is not None:
            self._end = MqttEnd(
                (broker[0], broker[1]),
                self._hear,
                TOPIC,
                "nothing",
                AT,
                REACH_M,
                qos=chosen.qos,
                geo=chosen.geo,
            )
            self._put = self._end.send
            return {}
        config = node_config(**way)
        if chosen.encoding is None:
            self._end = zenoh.open(config)
            self._put = self._end.declare_publisher(TOPIC).put
        else:
            self._end = zonal.open(config, position=AT, encoding=chosen.encoding, insecure=True)
            self._put = self._end.declare_publisher(TOPIC, location=AT).put
        return {}

    def _send(self, count: int, size: int) -> dict[str, Any]:
        """Send one message after the other, `_APART_S` apart; what left the card meanwhile."""
        capture = Capture(CARD)
        for _ in range(count):
            self._put(bytes(size))
            time.sleep(_APART_S)
        return {"frames": capture.stop()}


if __name__ == "__main__":
    serve(CaptureRole())
