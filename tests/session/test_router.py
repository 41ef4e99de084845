"""A router that reads users anew in its place, and knows who comes."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest

import zonal
from command_line import line_with, running_zonal
from network import AT_ONCE, LOOPBACK, eventually
from zonal import Security


def opened(router: zonal.Router, user: str) -> zonal.Session:
    security = Security(user=user, password="secret")
    return zonal.open(zonal.config("client", connect=router.endpoints, security=security))


def routers(session: zonal.Session) -> int:
    return len(list(session.zenoh.info.routers_zid()))


def test_a_revoked_user_is_out_and_the_others_come_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "zonal.session")
    users = tmp_path / "users"
    users.write_text("anna:secret\nbruno:secret\n")
    with zonal.Router([LOOPBACK], security=Security(users=users), settings=AT_ONCE) as router:
        router.watch_visits()
        with opened(router, "anna") as anna, opened(router, "bruno") as bruno:
            eventually(lambda: router.kinds["client"] == 2)
            heard = anna.declare_subscriber("t")
            before = router.endpoints
            users.write_text("bruno\n")
            with pytest.raises(zonal.ConfigurationError, match="line 1"):
                router.reload()
            assert routers(bruno) == 1
            users.write_text("anna:secret\ncarla:secret\n")
            router.reload()
            assert router.endpoints == before
            eventually(lambda: routers(anna) == 1)
            with opened(router, "carla") as carla:
                eventually(lambda: carla.put("t", "again") or heard.recv(timeout=0.2))
            assert routers(bruno) == 0
            with pytest.raises(zonal.NetworkError, match="user or password is wrong"):
                opened(router, "bruno")
        eventually(lambda: router.kinds["client"] == 0)
        assert router.visits.came >= 4
    assert "connected from tcp/127.0.0.1" in caplog.text
    assert "secret" not in caplog.text


def test_the_command_tells_who_came_was_refused_and_what_it_counts(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("anna:secret\n")
    options = ("--users", str(users), "--log-format", "json", "--json", "--metrics", "0")
    with running_zonal("router", "-l", LOOPBACK, *options, cwd=tmp_path) as process:

        def told(event: str) -> dict[str, str]:
            line = line_with(f'"event": "{event}"', process, process.stderr)
            assert "secret" not in line
            record: dict[str, str] = json.loads(line)
            return record

        figures = f"http://{told('serves figures')['address']}/metrics"
        endpoints = json.loads(line_with("endpoints", process, process.stdout))["endpoints"]

        def enter(user: str) -> None:
            security = Security(user=user, password="secret")
            zonal.open(zonal.config("client", connect=endpoints, security=security)).close()

        enter("anna")
        assert told("came")["address"].startswith("tcp/127.0.0.1:")
        with pytest.raises(zonal.NetworkError):
            enter("bruno")
        refused = told("refused")
        assert refused["reason"] == "user or password is wrong"
        assert refused["address"].startswith("tcp/127.0.0.1:")
        with urllib.request.urlopen(figures, timeout=10) as answer:
            page = answer.read().decode()
        assert 'zonal_router_sessions{kind="client"} 0\n' in page
        assert "zonal_router_connections_total 1\n" in page
        assert "zonal_router_connections_refused_total 0\n" not in page
        users.write_text("bruno:secret\n")
        process.send_signal(signal.SIGHUP)
        told("reloaded")
        enter("bruno")
        with pytest.raises(zonal.NetworkError):
            enter("anna")
