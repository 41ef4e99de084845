"""Who may do what: tokens, and origins and host names against other people's web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from zonal.web.grants import ANYBODY
from zonal.web.problem import Problem
from zonal.web.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from zonal.web.grants import WebGrant
    from zonal.web.options import WebOptions

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class WebAccess:
    """Checks the headers of a request.

    A browser sends requests for any page that it shows, also to this machine. So a local server
    answers only to local names (a foreign name that points here is a rebinding attack), and
    writing is refused to pages of another origin.
    """

    def __init__(self, options: WebOptions) -> None:
        self._tokens = Tokens(options.tokens)
        self.needs_token = bool(options.tokens)
        """Whether every request for data needs a token."""
        self._read_only = options.read_only
        self._local = options.is_local
        self._origins = frozenset(options.cors_origins)
        self._names = (
            _LOCAL_NAMES | {options.host, *options.hosts}
            if options.is_local
            else frozenset(options.hosts)
        )

    def use(self, grants: Iterable[WebGrant]) -> None:
        """Take other tokens from now on; once there were some, there is no way without."""
        self._tokens = Tokens(grants)
        self.needs_token |= bool(self._tokens)

    def knows(self, grant: WebGrant) -> bool:
        """Whether a grant holds still."""
        return grant in self._tokens if self.needs_token else grant is ANYBODY

    def may_write(self, grant: WebGrant) -> bool:
        """Whether somebody may write anything at all."""
        return not self._read_only and bool(grant.write) and (self._local or self.needs_token)

    def grant(self, headers: Mapping[bytes, bytes]) -> WebGrant:
        """What the sender of a request may do; without a token, where they are set, nothing."""
        if not self.needs_token:
            return ANYBODY
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        grant = self._tokens.grant(token.strip()) if scheme.lower() == b"bearer" else None
        if grant is None:
            known = "is not known" if scheme else "is missing: Authorization: Bearer <token>"
            raise Problem(
                401, f"the token {known}", ((b"www-authenticate", b'Bearer realm="zonal"'),)
            )
        return grant

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse requests that were meant for another name."""
        if not self._names:
            return
        name = _parts(f"//{headers.get(b'host', b'').decode('latin-1')}").hostname or ""
        if name not in self._names:
            raise Problem(421, f"this server does not answer to the name {name!r}")

    def check_write(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse writing where nobody may, and to pages of other origins."""
        if self._read_only:
            raise Problem(403, "this server is read-only")
        self._check_origin(headers)
        if not (self._local or self.needs_token):
            raise Problem(403, "writing over the network needs tokens; this server has none")

    def _check_origin(self, headers: Mapping[bytes, bytes]) -> None:
        origin = headers.get(b"origin")
        if origin is None:
            return  # no browser, or a request that a page cannot send
        text = origin.decode("latin-1")
        host = headers.get(b"host", b"").decode("latin-1")
        if _parts(text).netloc != host and text not in self._origins:
            raise Problem(403, f"pages of {text} may not write here")


def _parts(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise Problem(400, f"{address!r} is no address") from error
