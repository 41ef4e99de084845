"""A publisher in a node, paced: `python -m zonal_lab.location.roles.publisher`."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import Card, EndRole, Node, serve
from zonal_lab.location.message import MEASURED, PROBE, READY_KEY, Message
from zonal_lab.location.pacing import send_paced
from zonal_lab.location.techniques import technique
from zonal_lab.systems import node_config

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer
    from zonal_lab.location.techniques import Place, Send, Whereabouts


class PublisherRole(EndRole):
    """Publishes numbered messages with one technique, from where it is."""

    def __init__(self) -> None:
        super().__init__()
        self._send: Send | None = None
        self._id = self._places = 0
        self._set_out_ns: int | None = None

    def orders(self) -> dict[str, Answer]:
        """Open, probe, publish."""
        return {
            "open": self._open,
            "probe": self._probe,
            "publish": self._publish,
        }

    def _open(
        self,
        id: int,  # noqa: A002 - the order's word
        name: str,
        connect: str,
        places: list[Place],
        walk: dict[str, Any] | None,
    ) -> dict[str, Any]:
        self._id, self._set_out_ns = id, None
        self._technique = technique(name)
        whereabouts = None if walk is None else self._whereabouts(**walk)
        self._end = self._technique.open(node_config("client", connect=[connect]), whereabouts)
        self._places = len(places)
        stays = [(lat, lon) for lat, lon in places]
        self._send = self._technique.outlet(self._end, whereabouts or stays)
        return {}

    def _whereabouts(self, at: Place, to: Place, speed_m_s: float) -> Whereabouts:
        """Where it is on its way, on which it sets out as it begins to publish."""
        me = Node(self._id, "publisher", Card(), at=at, to=to, speed_m_s=speed_m_s)

        def place() -> Place:
            begun = self._set_out_ns
            return me.where(0.0 if begun is None else (time.monotonic_ns() - begun) / 1e9)

        return place

    def _probe(self) -> dict[str, Any]:
        """A message from every place and a plain one, to learn whether all routes stand."""
        assert self._send is not None
        probe = Message(self._id, PROBE, 0, time.monotonic_ns()).pack()
        for number in range(self._places):
            self._send(probe, number)
        self._technique.plain(self._end).put(READY_KEY, probe)
        return {}

    def _publish(self, rate_hz: float, start_ns: int, seconds: float) -> dict[str, Any]:
        send, me = self._send, self._id
        assert send is not None
        self._set_out_ns = start_ns

        def send_one(number: int, now_ns: int) -> None:
            send(Message(me, MEASURED, number, now_ns).pack(), number)

        pace = send_paced(send_one, rate_hz=rate_hz, start_ns=start_ns, seconds=seconds)
        return asdict(pace)


if __name__ == "__main__":
    serve(PublisherRole())
