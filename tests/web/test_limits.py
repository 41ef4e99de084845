"""What one client may take: bytes, time, connections, streams and requests, over real sockets."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events import EventReader
from network import eventually, wait_for_match
from served import Web, WebWith
from zonal.session import Query
from zonal.web import WebLimits, grant_for
from zonal.web.problem import Problem
from zonal.web.visitors import Visitors, address_of, cost_of

STREAM = "GET /{} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n"


@contextlib.contextmanager
def dialled(web: Web, source: str = "127.0.0.1") -> Iterator[socket.socket]:
    with socket.create_connection(
        ("127.0.0.1", web.server.port), timeout=20, source_address=(source, 0)
    ) as connection:
        yield connection


def answer_to(web: Web, request: bytes) -> bytes:
    """What is said until the connection ends."""
    parts = []
    with dialled(web) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(request)
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


# Bytes


@pytest.mark.parametrize("start", ["/", "/@/"])
def test_a_key_of_thousands_of_chunks_is_refused_before_the_session_sees_it(
    web: Web, start: str
) -> None:
    web.http.get("/a?timeout=0.1")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for key in ("a/" * 20_000 + "a", "x" * 40_000, "a/" * 200 + "a"):
        for method in ("GET", "PUT", "DELETE"):
            assert web.http.request(method, start + key).status_code == 414
        with EventReader(web.url + start + key) as reader:
            assert reader.response.status == 414
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 100_000, "kilobytes"


def test_a_long_selector_is_refused(web: Web) -> None:
    for parameter in ("selector", "_time"):
        answer = web.http.get(f"/a?{parameter}={'x' * 5_000}")
        assert answer.status_code == 413


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET /a HTTP/1.1\r\nhost: x\r\n" + b"x: " + b"y" * 200_000, 431),
        (b"GET /" + b"y" * 200_000, 431),
        (b"GET /a HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 200 + b"\r\n", 431),
        (b"GET /a HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 99_000 + b"\r\n\r\n", 431),
        (b"\x16\x03\x01 this is TLS", 400),
        (b"GET /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
         400),
        (b"GET /a HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ],
)  # fmt: skip
def test_heads_that_are_too_long_or_no_http_end_the_connection(
    web: Web, request_: bytes, expected: int
) -> None:
    answer = answer_to(web, request_)
    assert status(answer) in (expected, 0)  # a reset may overtake the answer
    if answer:
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == expected
    assert web.http.get("/health").status_code == 200


def test_a_body_and_what_stands_around_its_chunks_are_bounded(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(body_bytes=1_000, head_bytes=2_000))
    head = b"PUT /a HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
    assert status(answer_to(web, head + b"3e9\r\n" + b"x" * 1_001 + b"\r\n0\r\n\r\n")) == 413
    for rest in (b"1;" + b"e" * 500_000, b"0\r\n" + b"x: y\r\n" * 50_000, b"1\r\nx\r\n" * 200_000):
        assert status(answer_to(web, head + rest)) in (0, 413, 431)
    assert web.http.put("/a", content=b"x" * 1_000).status_code == 200


def test_requests_that_are_not_waited_for_are_few(web: Web) -> None:
    flood = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 5_000
    answer = answer_to(web, flood)
    assert answer.count(b"HTTP/1.1 200") < 5_000
    assert web.http.get("/health").status_code == 200


# Time


def test_slow_heads_and_bodies_are_ended(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(head_seconds=0.4, body_seconds=0.8))
    beginnings = (
        b"", b"\r\n", b"GET", b"GET /a HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ",
        b"PUT /a HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n1",
        b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\nGET /he",
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(dialled(web)) for _ in beginnings]
        for connection, beginning in zip(opened, beginnings, strict=True):
            connection.sendall(beginning)
        ended = set()

        def drip() -> bool:
            for connection in opened:
                if connection in ended:
                    continue
                with contextlib.suppress(BlockingIOError):
                    try:
                        connection.setblocking(False)
                        if connection.recv(65_536) == b"":
                            ended.add(connection)
                    except ConnectionError:
                        ended.add(connection)
            return len(ended) == len(opened)

        eventually(drip)
    assert not web.server.application.connections


def test_handshakes_of_tls_that_do_not_end_are_ended(
    web_with: WebWith, certificate: tuple[Path, Path]
) -> None:
    limits = WebLimits(head_seconds=0.4, connections_per_address=4)
    web = web_with(limits=limits, certificate=certificate[0], key=certificate[1])
    trusted = ssl.create_default_context(cafile=certificate[0])
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(dialled(web)) for _ in range(4)]
        with dialled(web) as fifth:
            assert fifth.recv(1) == b"", "they are counted"
        for connection in silent:
            assert connection.recv(1) == b""

    def is_served() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{web.url}/health", verify=trusted).status_code == 200
        return False

    eventually(is_served)


def test_who_takes_nothing_of_an_answer_is_disconnected(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(stalled_seconds=0.5))
    with (
        web.sensor.declare_queryable(
            "big", lambda query: _answered(query, b"x" * 8_000_000)
        ),
        dialled(web) as connection,
    ):  # fmt: skip
        eventually(lambda: web.http.get("/big").status_code == 200)
        connection.sendall(b"GET /big HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        port = connection.getsockname()
        eventually(lambda: port in web.server.application.connections)
        eventually(lambda: port not in web.server.application.connections)


def _answered(query: object, payload: bytes) -> None:
    with query:  # type: ignore[attr-defined]
        query.reply("big", payload)  # type: ignore[attr-defined]


# How much of one address


def test_an_address_has_so_many_connections_and_others_have_theirs(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(connections_per_address=20))
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(dialled(web, "127.0.0.2"))
        eventually(lambda: len(web.server.application.connections) == 20)
        assert web.http.get("/health").status_code == 200
    eventually(lambda: len(web.server.application.connections) <= 1)
    with dialled(web, "127.0.0.2") as again:
        again.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert b"200" in again.recv(1_000)


def test_300_selections_of_one_address_leave_room_for_others(web: Web) -> None:
    statuses = []
    with contextlib.ExitStack() as stack:
        for number in range(300):
            greedy = stack.enter_context(dialled(web, "127.0.0.2"))
            greedy.sendall(STREAM.format(f"greedy/{number}").encode())
            statuses.append(status(greedy.recv(100)))
            if statuses[-1] != 200:
                greedy.close()
        assert statuses == [200] * 32 + [429] * 268
        for number in range(8):
            reader = stack.enter_context(EventReader(f"{web.url}/others/{number}"))
            assert reader.next().name == "ready"
    eventually(lambda: web.metric("zonal_feeds") == 0)


def test_streams_and_questions_of_an_address_are_bounded(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(streams_per_address=3, questions_per_address=2))
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            assert stack.enter_context(EventReader(f"{web.url}/a")).next().name == "ready"
        fourth = stack.enter_context(EventReader(f"{web.url}/a"))
        assert fourth.response.status == 429
        assert fourth.response.headers["retry-after"]
        unanswered: list[Query] = []
        stack.enter_context(web.sensor.declare_queryable("slow/*", unanswered.append))
        slow = [stack.enter_context(dialled(web)) for _ in range(3)]
        for number, each in enumerate(slow):
            text = f"GET /slow/{number}?timeout=1 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
            each.sendall(text.encode())
        assert [status(each.recv(4_000)) for each in slow].count(429) == 1
        for query in unanswered:
            query.drop()
    eventually(lambda: web.metric("zonal_streams") == 0)
    assert web.http.get("/health").status_code == 200


def asked(web: Web, path: str = "/health", **headers: str) -> int:
    """The status; 0 where the connection was not even taken."""
    try:
        return web.http.get(path, headers=headers).status_code
    except httpx.TransportError:
        return 0


def test_requests_of_an_address_have_a_rate(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(requests_per_second=5.0, burst_of_requests=10.0))
    statuses = [asked(web) for _ in range(30)]
    assert statuses[:9] == [200] * 9, "a connection costs a request"
    assert 429 in statuses
    assert 0 in statuses, "and is not taken while there is no allowance left"
    with dialled(web, "127.0.0.2") as other:
        other.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in other.recv(1_000)
    eventually(lambda: asked(web) == 200)


def test_behind_a_proxy_its_clients_are_counted(web_with: WebWith) -> None:
    limits = WebLimits(requests_per_second=0.1, burst_of_requests=2.0, connections_per_address=1)
    web = web_with(limits=limits, proxies=("127.0.0.1",))
    for client in ("198.51.100.1", "spoofed, 198.51.100.2"):
        headers = {"x-forwarded-for": client}
        statuses = [web.http.get("/health", headers=headers).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
    with contextlib.ExitStack() as stack:
        for _ in range(5):  # the proxy itself may connect as often as it likes
            connection = stack.enter_context(dialled(web))
            connection.sendall(b"GET /health HTTP/1.1\r\nx-forwarded-for: 1.2.3.4\r\n\r\n")
            assert connection.recv(100)


# Slow readers


def test_a_thousand_slow_readers_cost_the_others_nothing(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(stalled_seconds=60.0), tokens=())
    payload = b"x" * 20_000
    with contextlib.ExitStack() as stack:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(1_000):
            slow = stack.enter_context(dialled(web, f"127.0.1.{number // 100 + 1}"))
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            slow.sendall(STREAM.format("flood").encode())
        eventually(lambda: web.metric("zonal_streams") == 1_000)
        wait_for_match(web.sensor.zenoh, "flood")
        reader = stack.enter_context(EventReader(f"{web.url}/quick"))
        reader.next_named("ready")

        def are_full() -> bool:
            for _ in range(100):
                web.sensor.put("flood", payload)
            return web.metric("zonal_stream_dropped_total") > 1_000

        eventually(are_full)
        times = []
        for _ in range(50):
            web.sensor.put("flood", payload)
            began = time.monotonic()
            assert web.http.put("/quick", content=b"1").status_code == 200
            reader.next_named("PUT")
            times.append(time.monotonic() - began)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert sorted(times)[-2] < 1.0, "only against collapse; the benchmark has the ratio"
    assert grown < 400_000, "kilobytes"


# Addresses


@given(st.ip_addresses())
def test_an_address_is_counted_as_itself_or_its_network(address: object) -> None:
    name = address_of(str(address))
    assert name == address_of(name.partition("/")[0])


def test_addresses_of_one_household_count_together() -> None:
    assert address_of("2001:db8::1") == address_of("2001:db8::ffff:1") != address_of("2001:db9::1")
    assert address_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert address_of("fe80::1%eth0") == address_of("fe80::2")
    assert len(address_of("x" * 1_000)) < 100


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(0, 2_000)), max_size=40))
def test_an_allowance_never_exceeds_rate_and_burst(steps: list[tuple[float, int]]) -> None:
    visitors = Visitors(WebLimits(requests_per_second=2.0, burst_of_requests=5.0))
    now = paid = 0.0
    for pause, length in steps:
        now += pause
        with contextlib.suppress(Problem):
            visitors.at("192.0.2.1", now).pay(cost_of(b"x" * length), now)
            paid += 1 + length / 256
        visitors.forget(now)
    assert paid <= 5.0 + 2.0 * now + 1e-6


def test_who_is_idle_is_forgotten() -> None:
    visitors = Visitors(WebLimits())
    for number in range(1_000):
        visitors.at(f"192.0.2.{number}", 0.0).pay(1.0, 0.0)
    visitors.forget(100.0)
    assert len(visitors) == 0


def test_tokens_are_no_way_around(web_with: WebWith) -> None:
    grant = grant_for("secret", "anna", read=("**",))
    limits = WebLimits(requests_per_second=1.0, burst_of_requests=3.0)
    web = web_with(limits=limits, tokens=(grant,))
    statuses = {asked(web, "/a", authorization="Bearer no") for _ in range(8)}
    assert {401, 429} <= statuses <= {0, 401, 429}
