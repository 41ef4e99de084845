from __future__ import annotations

import ssl
from pathlib import Path

import httpx
import pytest

from served import Web, WebWith
from zonal.errors import WebError
from zonal.web import WebOptions, grant_for
from zonal.web.access import WebAccess
from zonal.web.grants import ANYBODY
from zonal.web.problem import Problem


def test_a_read_only_server_refuses_writing(web_with: WebWith) -> None:
    web = web_with(read_only=True)
    answer = web.http.post("/a", content=b"x")
    assert answer.status_code == 403
    assert "read-only" in answer.json()["detail"]


def test_pages_of_other_origins_may_not_write(web: Web) -> None:
    foreign = web.http.post("/a", content=b"x", headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert web.http.post("/a", content=b"x", headers={"origin": web.url}).status_code == 200


def test_a_local_server_answers_to_local_names_only(web: Web) -> None:
    for path in ("/a", "/", "/metrics"):
        answer = web.http.get(path, headers={"host": "rebound.example"})
        assert answer.status_code == 421
        assert "rebound.example" in answer.json()["detail"]
    assert web.http.get("/metrics", headers={"host": "localhost:1"}).status_code == 200


def test_without_tokens_writing_over_the_network_is_refused() -> None:
    access = WebAccess(WebOptions(host="192.0.2.1", insecure=True))
    assert not access.may_write(ANYBODY)
    with pytest.raises(Problem, match="needs tokens"):
        access.check_write({}, ANYBODY)
    access = WebAccess(
        WebOptions(host="192.0.2.1", tokens=(grant_for("t", "anna", write=("**",)),))
    )
    assert access.may_write(access.grant({b"authorization": b"Bearer t"}))


def test_cors_is_off_unless_configured(web_with: WebWith) -> None:
    closed = web_with()
    headers = {"origin": "https://app.example"}
    assert "access-control-allow-origin" not in closed.http.get("/metrics", headers=headers).headers
    web = web_with(cors_origins=("https://app.example",))
    answer = web.http.get("/a?timeout=0.1", headers=headers)
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    preflight = web.http.options("/a", headers={**headers, "access-control-request-method": "PUT"})
    assert preflight.status_code == 200
    assert web.http.put("/a", content=b"x", headers=headers).status_code == 200
    other = web.http.get("/metrics", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


def test_tls_by_certificate_files(web_with: WebWith, certificate: tuple[Path, Path]) -> None:
    web = web_with(certificate=certificate[0], key=certificate[1])
    assert web.url.startswith("https://")
    trusted = ssl.create_default_context(cafile=certificate[0])
    assert httpx.get(f"{web.url}/metrics", verify=trusted).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{web.url}/metrics")


def test_bad_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WebError, match="both a certificate and its key"):
        WebOptions(certificate=tmp_path)
    with pytest.raises(WebError, match="no such file"):
        WebOptions(certificate=tmp_path / "a", key=tmp_path / "b")


def test_a_port_that_is_taken_is_an_error_that_says_so(web: Web) -> None:
    from zonal.web import WebServer

    with pytest.raises(WebError, match=f"cannot listen on 127.0.0.1 port {web.server.port}"):
        WebServer(web.sensor, WebOptions(port=web.server.port))
