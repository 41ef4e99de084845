"""What a technique counts."""

from __future__ import annotations

import zonal
from network import eventually, wait_until_declared
from zonal_lab.location.techniques import _ZonalInlet


def test_a_copy_of_a_message_came_once() -> None:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        config = zonal.config("client", connect=list(router.endpoints))
        with zonal.open(config) as here, zonal.open(config) as there:
            subscriber = here.declare_subscriber("t", recovery=zonal.Recovery())
            wait_until_declared(there, subscriber)
            stamp = there.zenoh.new_timestamp()
            for payload in (b"one", b"one", b"two"):
                there.zenoh.put("t", payload, timestamp=stamp)
            eventually(lambda: subscriber.counters.received == 3)
            eventually(lambda: subscriber.counters.duplicates == 1)
            assert _ZonalInlet(subscriber).received() == 2
