"""A process that receives and does not read: started by a test, which asks what waits in it.

`python slow_consumer.py <endpoint> <topic> <kind> <overflow> <capacity> <bytes>`; the kind is
`callback`, `iterator` or `queryable`, the bytes are what may wait (a quarter of it before it is
read). Each line of input is answered with one of JSON: `rss` in bytes, and counters.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import zonal
from zonal.geo import Circle, Point
from zonal.runtime import arrivals, mailbox
from zonal.session import Overflow, Queryable, Session, Subscriber, edge
from zonal.session.lane import Lane

PAGE = os.sysconf("SC_PAGE_SIZE")
AREA = Circle(Point(45.4642, 9.19), radius_m=2000)


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def declare(session: Session, topic: str, kind: str, overflow: Overflow, capacity: int) -> Any:
    """What receives; nobody reads."""
    if kind == "queryable":
        return session.declare_queryable(topic, capacity=capacity)
    handler = None if kind == "iterator" else lambda _: threading.Event().wait()
    return session.declare_subscriber(
        topic, handler, area=AREA, overflow=overflow, capacity=capacity
    )


def told_of(receiver: Subscriber | Queryable, session: Session) -> dict[str, int]:
    """What waits, and what does not any more."""
    told = {"rss": resident(), "held_up": session._receiving.arrivals.held_up}
    told["lanes"] = sum(
        isinstance(way, Lane)
        for each in session._receiving._edges.values()
        for way in each._declarations._declared.values()
    )
    if isinstance(receiver, Queryable):
        waiting = len(receiver._mailbox)
        return told | {
            "received": receiver.received,
            "overflowed": receiver.overflowed,
            "waiting": waiting,
        }
    counters = receiver.counters
    return told | {
        "received": counters.received,
        "overflowed": counters.overflowed,
        "waiting": counters.waiting,
    }


def main() -> None:
    """Receive until the input ends."""
    endpoint, topic, kind, overflow, capacity, most_bytes = sys.argv[1:]
    mailbox.DEFAULT_CAPACITY_BYTES = int(most_bytes)
    arrivals.CAPACITY_BYTES = int(most_bytes) // 4
    edge._MANY, edge._BUSY = 2, 1  # on a busy machine a flood is a trickle, and shall have a lane
    session = zonal.open(zonal.config("client", connect=[endpoint]))
    receiver = declare(session, topic, kind, Overflow(overflow), int(capacity))
    for _ in sys.stdin:
        print(json.dumps(told_of(receiver, session)), flush=True)
    os._exit(0)  # what is stuck stays so


if __name__ == "__main__":
    main()
