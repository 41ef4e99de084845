"""Errors of the REST interface as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import http
import json

import zenoh

from zonal.errors import ClosedError, NetworkError, WebError, ZonalError


class Problem(WebError):  # noqa: N818  (the word of RFC 9457)
    """A request that cannot be served: the status, and what is wrong and what would be right."""

    def __init__(
        self, status: int, detail: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers

    def body(self, instance: str) -> bytes:
        """The JSON document; `instance` is the path that was asked for."""
        document = {
            "type": "about:blank",
            "title": http.HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
        }
        return json.dumps(document, ensure_ascii=False).encode()


def problem_of(error: Exception) -> Problem | None:
    """The problem that an error means for the client; None for errors of our own making."""
    match error:
        case Problem():
            return error
        case ClosedError():
            return Problem(503, "the server is shutting down")
        case NetworkError():
            return Problem(503, str(error))
        case ZonalError():
            return Problem(400, str(error))
        case zenoh.ZError():
            # Zenoh's messages end in the place in its source code.
            return Problem(400, str(error).split(" at ")[0])
    return None
