"""Real routers on loopback, clients at either end, and waiting for conditions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import zenoh

import zonal
from zonal.session import Router, Session, Subscriber
from zonal.session.sample import Sample

LOOPBACK = "tcp/127.0.0.1:0"
AT_ONCE = {"scouting/delay": 0}
"""Settings of a router that starts without the half second in which others might be scouted."""


def eventually(condition: Callable[[], Any], timeout: float = 20.0, what: str = "") -> Any:
    """Wait until the condition holds; its value is returned.

    To ask takes a quarter of the time at most, so that what is waited for gets on.
    """
    deadline = time.monotonic() + timeout
    while True:
        began = time.monotonic()
        value = condition()
        if value:
            return value
        asked = time.monotonic()
        if asked > deadline:
            raise AssertionError(f"did not come true within {timeout} s: {what or condition}")
        time.sleep(min(max(0.005, 3 * (asked - began)), 0.25))


@contextmanager
def router_row(count: int, scheme: str = LOOPBACK) -> Iterator[list[Router]]:
    """Routers in a row, each connected to the one before."""
    routers: list[Router] = []
    try:
        for _ in range(count):
            connect = routers[-1].endpoints if routers else ()
            routers.append(Router([scheme], connect=connect, settings=AT_ONCE))
        for number, router in enumerate(routers):
            links = (number > 0) + (number < count - 1)
            eventually(lambda router=router, links=links: router.neighbours >= links)
        yield routers
    finally:
        for router in routers:
            router.close()


def client(router: Router, **options: Any) -> Session:
    """A location-aware client of a router."""
    return zonal.open(zonal.config("client", connect=router.endpoints), **options)


def plain_client(router: Router) -> zenoh.Session:
    """A client that has never heard of Zonal."""
    return zenoh.open(zonal.config("client", connect=router.endpoints))


def wait_for_match(session: zenoh.Session, key: str) -> None:
    """Wait until someone's subscription to this key is known here."""
    with session.declare_publisher(key) as publisher:
        eventually(lambda: publisher.matching_status.matching, what=f"a subscriber of {key}")


def wait_for_answerer(session: zenoh.Session, key: str) -> None:
    """Wait until someone's queryable of this key is known here."""
    with session.declare_querier(key) as querier:
        eventually(lambda: querier.matching_status.matching, what=f"a queryable of {key}")


class Declared(Protocol):
    """A subscriber, a queryable, or what has some."""

    @property
    def declared_keys(self) -> tuple[str, ...]: ...


def wait_until_declared(session: Session, *listeners: Declared) -> None:
    """Wait until all keys of subscribers are known at another session."""
    for listener in listeners:
        for key in listener.declared_keys:
            wait_for_match(session.zenoh, key)


def wait_until_answered(session: Session, *queryables: Declared) -> None:
    """Wait until all keys of queryables are known at another session."""
    for queryable in queryables:
        for key in queryable.declared_keys:
            wait_for_answerer(session.zenoh, key)


def collect(subscriber: Subscriber, count: int, timeout: float = 20.0) -> list[Sample]:
    """The next so many samples; fails if they do not come in time."""
    samples: list[Sample] = []
    deadline = time.monotonic() + timeout
    while len(samples) < count:
        sample = subscriber.recv(timeout=max(0.0, deadline - time.monotonic()))
        assert sample is not None, f"{len(samples)} of {count} samples came: {samples}"
        samples.append(sample)
    return samples


def texts(samples: list[Sample]) -> list[str]:
    return [sample.payload.to_string() for sample in samples]
