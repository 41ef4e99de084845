"""`zonal watch` and its webhooks, as a user runs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from command_line import line_with, run_zonal, running_zonal
from network import client, eventually, router_row
from zonal.border import FenceEvent, moment
from zonal.cli.watch import _zones
from zonal.cli.webhook import Webhook
from zonal.errors import CommandError
from zonal.geo import Point
from zonal.session import Router


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with router_row(1) as (only,):
        yield only


class Hook:
    """A server that takes events, or answers with the statuses it is told first."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.taken: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with hook.lock:
                    status = hook.statuses.pop(0) if hook.statuses else 204
                    if status < 300:
                        hook.taken.append(body)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


def event(thing: str, number: int) -> FenceEvent:
    return FenceEvent("enter", thing, "zone", moment(number))


def test_events_are_posted_again_until_they_are_taken_in_order_of_a_thing(hook: Hook) -> None:
    hook.statuses = [500, 503, 429]
    with Webhook(hook.url) as webhook:
        for number in range(20):
            for thing in ("a", "b", "c"):
                webhook.post(event(thing, number))
        eventually(lambda: len(hook.taken) == 60)
        assert webhook.repeated == 3
    for thing in ("a", "b", "c"):
        times = [each["at"] for each in hook.taken if each["thing"] == thing]
        assert len(times) == 20
        assert times == sorted(times)


def test_what_is_refused_is_left_out(hook: Hook) -> None:
    hook.statuses = [400]
    with Webhook(hook.url) as webhook:
        webhook.post(event("a", 1))
        webhook.post(event("a", 2))
        eventually(lambda: len(hook.taken) == 1)
    assert (webhook.refused, webhook.posted) == (1, 1)


def test_nobody_waits_for_ever_for_one_who_does_not_answer() -> None:
    with Webhook("http://127.0.0.1:1/") as webhook:
        webhook.post(event("a", 1))
        eventually(lambda: webhook.repeated >= 1)
        webhook.close(within_s=0.1)
    assert webhook.posted == 0


def test_the_command_prints_and_posts_events(router: Router, hook: Hook, tmp_path: Path) -> None:
    square = [[[9, 45], [9.1, 45], [9.1, 45.1], [9, 45.1], [9, 45]]]
    feature = {
        "type": "Feature",
        "properties": {"NIL": "Duomo"},
        "geometry": {"type": "Polygon", "coordinates": square},
    }
    zones = tmp_path / "nil.geojson"
    zones.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    arguments = ("--zones", str(zones), "--name", "NIL", "--post", hook.url, "-n", "2", "--json")
    with (
        running_zonal("watch", "bus/*", *arguments, "-e", router.endpoints[0]) as process,
        client(router) as session,
    ):
        line_with("watching 1 zones, 0 things", process, process.stderr)
        with session.zenoh.declare_publisher("bus/7/@s2/**") as publisher:
            eventually(lambda: publisher.matching_status.matching)
        session.put("bus/7", "x", location=Point(45.05, 9.05))
        session.put("bus/7", "x", location=Point(45.05, 9.101))
        assert process.stdout is not None
        events = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert [each["event"] for each in events] == ["enter", "leave"]
        assert {each["zone"] for each in events} == {"Duomo"}
        eventually(lambda: hook.taken == events)


def test_wrong_options_are_told(router: Router) -> None:
    result = run_zonal(
        "watch", "bus/*", "--area", "circle:45,9,1km", "--on", "arrive", "-e", router.endpoints[0]
    )
    assert result.returncode == 1
    assert "arrive" in result.stderr
    with pytest.raises(CommandError, match="either --area or --zones"):
        _zones(None, None, None)
    with pytest.raises(CommandError, match="cannot read"):
        _zones(None, Path("/nowhere.geojson"), None)
    with pytest.raises(CommandError, match="http"):
        Webhook("ftp://example.org")
