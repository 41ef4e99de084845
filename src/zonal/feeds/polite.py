"""Asking a server of others again and again without being a burden to it."""

from __future__ import annotations

import email.utils
import random
import time
from typing import TYPE_CHECKING, NamedTuple

import zonal
from zonal.errors import FeedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

LONGEST_WAIT_S = 900.0
LARGEST_BODY = 64 * 1024 * 1024
_TIMEOUT_S = 30.0


class Polled(NamedTuple):
    """One look at a server: what is new there (None: nothing), and when to look again."""

    data: bytes | None
    wait_s: float
    said: str = ""
    """Why there is nothing, if something went wrong."""


class PoliteSource:
    """An address that is asked at most every `interval_s` seconds.

    What it answered before is told to it (`etag`, `last-modified`), so that it need not send the
    same again. It is waited for longer as it says (`retry-after`), and twice as long after each
    failure, up to a quarter of an hour, with some chance so that many do not come back at once.
    """

    def __init__(
        self,
        client: httpx.Client,
        url: str,
        interval_s: float,
        *,
        headers: Mapping[str, str] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.url = url
        self.interval_s = interval_s
        self._client = client
        self._headers = {"user-agent": f"zonal/{zonal.__version__}", **(headers or {})}
        self._validators: dict[str, str] = {}
        self._failures = 0
        self._chance = chance

    def poll(self) -> Polled:
        """Ask once."""
        import httpx

        try:
            headers = {**self._headers, **self._validators}
            request = self._client.build_request("GET", self.url, headers=headers)
            request.extensions["timeout"] = httpx.Timeout(_TIMEOUT_S).as_dict()
            answer = self._client.send(request, stream=True, follow_redirects=True)
            try:
                return self._read(answer)
            finally:
                answer.close()
        except httpx.InvalidURL as error:
            raise FeedError(f"{self.url!r} is no address: {error}") from error
        except httpx.HTTPError as error:
            return self._failed(str(error) or type(error).__name__)

    def _read(self, answer: httpx.Response) -> Polled:
        if answer.status_code == 304:
            self._failures = 0
            return Polled(None, self.interval_s)
        if answer.status_code != 200:
            said = f"{answer.status_code} {answer.reason_phrase}"
            if answer.status_code in {400, 401, 403, 404, 410}:
                raise FeedError(f"{self.url} answers {said}")
            return self._failed(said, _seconds(answer.headers.get("retry-after")))
        data = bytearray()
        for part in answer.iter_bytes():
            data += part
            if len(data) > LARGEST_BODY:
                raise FeedError(f"{self.url} sends more than {LARGEST_BODY} bytes")
        self._failures = 0
        pairs = (("etag", "if-none-match"), ("last-modified", "if-modified-since"))
        self._validators = {
            ask: answer.headers[told] for told, ask in pairs if told in answer.headers
        }
        return Polled(bytes(data), self.interval_s)

    def _failed(self, said: str, asked_s: float = 0.0) -> Polled:
        self._failures += 1
        wait = min(LONGEST_WAIT_S, self.interval_s * 2.0**self._failures)
        wait *= 0.5 + self._chance() / 2
        return Polled(None, max(wait, self.interval_s, min(asked_s, LONGEST_WAIT_S)), said)


def _seconds(retry_after: str | None) -> float:
    """Seconds, or the time until a date (RFC 9110, 10.2.3)."""
    if retry_after is None:
        return 0.0
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return 0.0
