"""A node that beacons, routes or waits for a message: `python -m zonal_lab.discovery.role`."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal_lab.emulation import EndRole, serve
from zonal_lab.systems import Zenohd

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

TOPIC = "lab/discovery"
AT = Point(45.4642, 9.1900)
_BEACON_S = 0.01


class DiscoveryRole(EndRole):
    """Any node: it publishes, passes on, or waits for its first message."""

    def __init__(self) -> None:
        super().__init__()
        self._beacon: threading.Thread | None = None

    def orders(self) -> dict[str, Answer]:
        """Route, beacon, discover."""
        return {
            "route": self._route,
            "beacon": self._start_beacon,
            "discover": self._discover,
        }

    def _route(self, config: dict[str, Any], program: str | None) -> dict[str, Any]:
        if program is not None:
            self._end = Zenohd(program, config)
        else:
            self._end = zenoh.open(zenoh.Config.from_json5(json.dumps(config)))
        return {}

    def _start_beacon(self, config: dict[str, Any]) -> dict[str, Any]:
        session = zonal.open(
            zenoh.Config.from_json5(json.dumps(config)), position=AT, insecure=True
        )
        publisher = session.declare_publisher(TOPIC, location=AT)
        self._end = session

        def publish() -> None:
            while self._end is session:
                publisher.put(b"here")
                time.sleep(_BEACON_S)

        self._beacon = threading.Thread(target=publish, daemon=True)
        self._beacon.start()
        return {}

    def _discover(self, config: dict[str, Any], patience_s: float) -> dict[str, Any]:
        """From nothing to the first message: open, declare an area, wait."""
        begun = time.monotonic()
        session = zonal.open(
            zenoh.Config.from_json5(json.dumps(config)), position=AT, insecure=True
        )
        opened = time.monotonic()
        subscriber = session.declare_subscriber(TOPIC, area=Circle(AT, radius_m=2000))
        sample = subscriber.recv(patience_s)
        heard = time.monotonic()
        self._end = session
        first = None if sample is None else (heard - begun) * 1000
        return {"open_ms": (opened - begun) * 1000, "first_ms": first}

    def close(self) -> dict[str, Any]:
        """Close the session; a beacon stops first, since its session is no longer held."""
        end, self._end = self._end, None
        if self._beacon is not None:
            self._beacon.join(5)
            self._beacon = None
        if end is not None:
            end.close()
        return {}


if __name__ == "__main__":
    serve(DiscoveryRole())
