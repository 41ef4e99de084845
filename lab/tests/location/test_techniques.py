"""What a technique counts."""

from __future__ import annotations

import threading

import zonal
from network import eventually, wait_for_match
from zonal_lab.location.techniques import TOPIC, technique

HERE = (45.5, 9.5)
AREA = (45.0, 9.0, 46.0, 10.0)


def test_what_zenoh_hands_over_twice_while_keys_change_came_once() -> None:
    way = technique("s2")
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        config = zonal.config("client", connect=list(router.endpoints))
        with way.open(config) as here, way.open(config) as there:
            inlet = way.inlet(here, AREA)
            send, sent, stop = way.outlet(there, [HERE]), [0], threading.Event()
            wait_for_match(way.plain(there), f"{TOPIC}/@s2/**")

            def publish() -> None:
                while not stop.wait(0.0005):
                    send(b"message", sent[0])
                    sent[0] += 1

            def copies() -> int:
                """Somebody else in this session listens, each time to somewhere else."""
                radius_m = 500.0 * (1 + changes.pop())
                area = zonal.Circle(zonal.Point(*HERE), radius_m=radius_m)
                with here.declare_subscriber(TOPIC, area=area) as other:
                    return other.counters.duplicates

            publisher = threading.Thread(target=publish)
            publisher.start()
            changes = list(range(400))
            try:
                eventually(lambda: copies() > 0, timeout=60)
            finally:
                stop.set()
                publisher.join()
            eventually(lambda: inlet.received() == sent[0])
