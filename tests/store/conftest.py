"""A router of the module's own, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from network import client, router_row
from postgres import postgres_server, programs
from zonal.session import Router, Session
from zonal.store import open_table


@pytest.fixture(scope="session")
def router() -> Iterator[Router]:
    with router_row(1) as (only,):
        yield only


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    pytest.importorskip("psycopg")
    if programs() is None:
        pytest.skip("PostgreSQL with PostGIS is not installed")
    with postgres_server() as address:
        yield address


@pytest.fixture
def database(server: str) -> str:
    """A database with nothing in it."""
    table = open_table(server)
    table.forget(2**63 - 1, deleted=False)
    table.close()
    return server


@pytest.fixture
def open_client(router: Router) -> Iterator[Callable[..., Session]]:
    """Opens clients, with options; closes them afterwards."""
    opened: list[Session] = []

    def open_one(**options: Any) -> Session:
        opened.append(client(router, **options))
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


@pytest.fixture
def near(open_client: Callable[..., Session]) -> Session:
    return open_client()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, so that tests do not hear each other."""
    return f"test/{abs(hash(request.node.nodeid)):x}"
