"""A real router, a server on it, and a client that has nothing to do with either."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from network import client, router_row
from served import Web, WebWith
from zonal.web import WebOptions, WebServer


@pytest.fixture
def web_with() -> Iterator[WebWith]:
    """Starts a server with the given options; everything is closed at the end."""
    with ExitStack() as stack:

        def start(**options: Any) -> Web:
            (router,) = stack.enter_context(router_row(1))
            session = stack.enter_context(client(router))
            sensor = stack.enter_context(client(router))
            server = stack.enter_context(WebServer(session, WebOptions(port=0, **options)))
            http = stack.enter_context(httpx.Client(base_url=server.url, timeout=30.0))
            return Web(router, server, http, session, sensor)

        yield start


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return certificate, key


@pytest.fixture
def web(web_with: WebWith) -> Web:
    return web_with()
