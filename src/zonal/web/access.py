"""Who may do what: tokens for writing, origins and host names against other people's web pages."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from zonal.web.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal.web.options import WebOptions

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class WebAccess:
    """Checks the headers of a request.

    A browser sends requests for any page that it shows, also to this machine. So a local server
    answers only to local names (a foreign name that points here is a rebinding attack), and
    writing is refused to pages of another origin.
    """

    def __init__(self, options: WebOptions) -> None:
        self._digests = [hashlib.sha256(token.encode()).digest() for token in options.tokens]
        self._read_only = options.read_only
        self._local = options.is_local
        self._origins = frozenset(options.cors_origins)
        self._names = (
            _LOCAL_NAMES | {options.host, *options.hosts}
            if options.is_local
            else frozenset(options.hosts)
        )

    @property
    def needs_token(self) -> bool:
        """Whether writing needs a token."""
        return bool(self._digests)

    @property
    def may_write(self) -> bool:
        """Whether anybody may write at all."""
        return not self._read_only and (self._local or bool(self._digests))

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse requests that were meant for another name."""
        if not self._names:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        name = urlsplit(f"//{host}").hostname or ""
        if name not in self._names:
            raise Problem(421, f"this server does not answer to the name {name!r}")

    def check_write(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse those who may not publish."""
        if self._read_only:
            raise Problem(403, "this server is read-only")
        self._check_origin(headers)
        if self._digests:
            self._check_token(headers)
        elif not self._local:
            raise Problem(403, "writing over the network needs tokens; this server has none")

    def _check_origin(self, headers: Mapping[bytes, bytes]) -> None:
        origin = headers.get(b"origin")
        if origin is None:
            return  # no browser, or a request that a page cannot send
        text = origin.decode("latin-1")
        host = headers.get(b"host", b"").decode("latin-1")
        if urlsplit(text).netloc != host and text not in self._origins:
            raise Problem(403, f"pages of {text} may not write here")

    def _check_token(self, headers: Mapping[bytes, bytes]) -> None:
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        digest = hashlib.sha256(token.strip()).digest()
        known = [hmac.compare_digest(digest, other) for other in self._digests]
        if scheme.lower() != b"bearer" or not any(known):
            raise Problem(
                401,
                "writing needs a token: Authorization: Bearer <token>",
                ((b"www-authenticate", b'Bearer realm="zonal"'),),
            )
