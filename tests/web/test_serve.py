from __future__ import annotations

import json
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from certificates import Authority
from command_line import line_with, run_zonal, running_zonal
from network import eventually, router_row
from zonal.web.tokens import add_token


@contextmanager
def serving(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`zonal serve` with these options; its address."""
    with running_zonal("serve", "--port", "0", *options) as running:
        yield line_with("map ", running, running.stdout).split()[1], running


def test_serve_connects_to_a_router_and_stops_cleanly(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    made = run_zonal("token", str(tokens), "anna", "--write", "a/*", "--read", "a/**")
    anna = {"authorization": f"Bearer {made.stdout.strip()}"}
    with (
        router_row(1) as (router,),
        serving(
            "--connect", router.endpoints[0], "--topic", "a/*", "--topic", "b",
            "--center", "48.2,16.37", "--zoom", "11", "--token-file", str(tokens), "--meter",
        ) as (url, running),
    ):  # fmt: skip
        with httpx.Client(base_url=url, timeout=30) as http:
            assert http.put("/a/b", content=b"x").status_code == 401
            assert http.put("/a/b", content=b"x", headers=anna).status_code == 200
            assert http.get("/-/view").status_code == 401
            view = http.get("/-/view", headers=anna).json()
            assert view["meter"] is True
        assert view["topics"] == ["a/*", "b"]
        assert view["center"] == [48.2, 16.37]
        assert view["needs_token"]
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
        assert running.returncode == 0, errors
        assert "Traceback" not in errors


def test_tokens_and_certificates_are_read_anew(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("web")
    tokens = tmp_path / "tokens.toml"
    anna, bruno = (
        add_token(tokens, name, {"read": ["**"], "events": ["**"]}) for name in ("anna", "bruno")
    )
    with (
        router_row(1) as (router,),
        serving(
            "--connect", router.endpoints[0], "--token-file", str(tokens), "--certificate",
            str(certificate), "--key", str(key), "--log-format", "json", "--log-level", "debug",
        ) as (url, running),
    ):  # fmt: skip
        port = int(url.rpartition(":")[2])
        trusted = ssl.create_default_context(cafile=authority.certificate)

        def status(token: str) -> int:
            given = {"authorization": f"Bearer {token}"}
            address = f"https://localhost:{port}/a/*"
            return httpx.get(address, headers=given, verify=trusted).status_code

        def shown() -> str:
            return ssl.get_server_certificate(("localhost", port))

        def told(event: str) -> dict[str, str]:
            line = line_with(f'"event": "{event}"', running, running.stderr)
            assert anna not in line
            record: dict[str, str] = json.loads(line)
            return record

        assert status(anna) == status(bruno) == 200
        events = {"authorization": f"Bearer {anna}", "accept": "text/event-stream"}
        with httpx.stream("GET", f"https://localhost:{port}/a/*", headers=events, verify=trusted):
            assert told("came")["user"] == "anna"
        assert told("left")["address"] == "127.0.0.1"
        before = shown()
        authority.issue("web")
        tokens.write_text(tokens.read_text().partition("[bruno]")[0])
        running.send_signal(signal.SIGHUP)
        told("reloaded")
        eventually(lambda: status(bruno) == 401)
        assert status(anna) == 200
        eventually(lambda: shown() != before)
        refused = told("refused")
        assert refused["reason"] == "the token is not known"
        assert refused["address"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--center", "north"], "latitude,longitude"),
        (["--certificate", "/nowhere.pem"], "both a certificate and its key"),
        (["--token-file", "/nowhere.toml"], "cannot be read"),
        (["--layer", "/nowhere.geojson"], "no such file"),
    ],
)
def test_bad_options_are_refused(options: list[str], says: str) -> None:
    done = run_zonal("serve", *options)
    assert done.returncode != 0
    assert says in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
