"""How others' servers are asked: a local one counts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from zonal.errors import FeedError
from zonal.feeds import FeedSource
from zonal.feeds.polite import LONGEST_WAIT_S, PoliteSource

ROWS = b"id,lat,lon\na,45.5,9.25\n"


class Answers:
    """A server that answers by a list, the last answer again and again; keeps what was asked."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append({name.lower(): value for name, value in self.headers.items()})
                more = len(outer.answers) > 1
                status, headers, body = outer.answers.pop(0) if more else outer.answers[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/data.csv"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def serve() -> Iterator[object]:
    opened: list[Answers] = []

    def start(*answers: tuple[int, dict[str, str], bytes]) -> Answers:
        opened.append(Answers(*answers))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_what_was_sent_before_is_not_asked_for_again(serve: object) -> None:
    tags = {"etag": '"1"', "last-modified": "Mon, 16 Nov 2026 12:00:00 GMT"}
    server = serve((200, tags, ROWS), (304, {}, b""))  # type: ignore[operator]
    with httpx.Client() as client:
        source = PoliteSource(client, server.url, 15, headers={"x-api-key": "k"})
        assert source.poll() == (ROWS, 15, "")
        assert source.poll() == (None, 15, "")
    first, second = server.asked
    assert "if-none-match" not in first
    assert second["if-none-match"] == '"1"'
    assert second["if-modified-since"] == tags["last-modified"]
    assert second["x-api-key"] == "k"
    assert second["user-agent"].startswith("zonal/")


def test_after_failures_it_waits_longer_and_as_long_as_it_is_told(serve: object) -> None:
    server = serve((503, {}, b""), (500, {}, b""), (429, {"retry-after": "400"}, b""))  # type: ignore[operator]
    with httpx.Client() as client:
        source = PoliteSource(client, server.url, 10, chance=lambda: 1.0)
        assert [source.poll().wait_s for _ in range(3)] == [20, 40, 400]
        for _ in range(20):
            last = source.poll()
        assert last.wait_s == LONGEST_WAIT_S
        assert "429" in last.said
        server.answers = [(200, {}, ROWS)]
        assert source.poll().wait_s == 10


def test_a_server_that_is_not_there_is_waited_for() -> None:
    with httpx.Client() as client:
        polled = PoliteSource(client, "http://127.0.0.1:1/x", 10, chance=lambda: 0.0).poll()
    assert polled.data is None
    assert polled.wait_s == 10
    assert polled.said


@pytest.mark.parametrize("status", [401, 404])
def test_what_waiting_does_not_mend_ends_the_feed(serve: object, status: int) -> None:
    server = serve((status, {}, b""))  # type: ignore[operator]
    with pytest.raises(FeedError, match=f"answers {status}"):
        list(FeedSource("csv", server.url).observations(threading.Event()))


def test_an_address_is_asked_again_until_it_is_stopped(serve: object) -> None:
    more = ROWS + b"b,45.6,9.3\n"
    server = serve((200, {}, ROWS), (200, {}, b"broken"), (200, {}, more))  # type: ignore[operator]
    stop, told, names = threading.Event(), [], []
    for seen in FeedSource("csv", server.url, 0.01).observations(stop, told.append):
        names.append(seen.name)
        if len(names) == 3:
            stop.set()
    assert names == ["a", "a", "b"]
    assert "hold no place" in told[0]


def test_once_is_once(serve: object) -> None:
    server = serve((200, {}, ROWS))  # type: ignore[operator]
    seen = list(FeedSource("csv", server.url, once=True).observations(threading.Event()))
    assert [each.name for each in seen] == ["a"]
    assert len(server.asked) == 1


def test_once_without_an_answer_is_an_error() -> None:
    with pytest.raises(FeedError, match="refused"):
        list(FeedSource("csv", "http://127.0.0.1:1/", once=True).observations(threading.Event()))


def test_data_that_cannot_be_read_at_first_is_told_at_once(serve: object) -> None:
    server = serve((200, {}, b"<html>"))  # type: ignore[operator]
    with pytest.raises(FeedError, match="no JSON"):
        list(FeedSource("openaq", server.url).observations(threading.Event()))
