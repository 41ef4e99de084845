"""Three stock routers in a row, shared by the tests of a module's run, and clients at both ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from network import client, eventually, router_row
from zonal.session import Router, Session


@pytest.fixture(scope="session")
def routers() -> Iterator[list[Router]]:
    with router_row(3) as row:
        yield row


@pytest.fixture
def near(routers: list[Router]) -> Iterator[Session]:
    """A client of the first router, without a position."""
    with client(routers[0]) as session:
        yield session


@pytest.fixture
def far(routers: list[Router]) -> Iterator[Session]:
    """A client of the last router, without a position."""
    with client(routers[-1]) as session:
        yield session


@pytest.fixture
def far_client(routers: list[Router]) -> Iterator[Callable[..., Session]]:
    """Opens clients of the last router, with options; closes them afterwards."""
    opened: list[Session] = []

    def open_client(**options: Any) -> Session:
        opened.append(client(routers[-1], **options))
        return opened[-1]

    yield open_client
    for session in opened:
        session.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, so that tests do not hear each other."""
    return f"test/{abs(hash(request.node.nodeid)):x}"


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())  # what another test left behind is that test's fault
    yield
    eventually(
        lambda: (
            not [
                thread
                for thread in threading.enumerate()
                if thread.name.startswith("zonal-") and thread not in before
            ]
        ),
        timeout=10,
        what="all threads of closed sessions end",
    )
