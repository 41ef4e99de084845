"""Who may do what: tokens, and origins and host names against other people's web pages."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from zonal.errors import WebError
from zonal.trust import Movements
from zonal.web.grants import ANYBODY, WebGrant
from zonal.web.problem import Problem
from zonal.web.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from zonal.geo import Area, Point
    from zonal.trust import Rules
    from zonal.web.options import WebOptions

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class WebAccess:
    """Checks the headers of a request.

    A browser sends requests for any page that it shows, also to this machine. So a local server
    answers only to local names (a foreign name that points here is a rebinding attack), and
    writing is refused to pages of another origin.
    """

    def __init__(self, options: WebOptions) -> None:
        self._tokens = Tokens(())
        self._anonymous: WebGrant | None = ANYBODY
        self._movements = Movements()
        self.use(options.tokens, options.rules)
        self._read_only = options.read_only
        self._local = options.is_local
        self._origins = frozenset(options.cors_origins)
        self._names = (
            _LOCAL_NAMES | {options.host, *options.hosts}
            if options.is_local
            else frozenset(options.hosts)
        )

    def use(self, tokens: Iterable[WebGrant], rules: Rules | None) -> None:
        """Take other tokens and rules from now on; once there were some, nobody goes without."""
        shared = () if rules is None else (rules,)
        grants = [replace(grant, rules=(*grant.rules, *shared)) for grant in tokens]
        if nothing := [grant.name for grant in grants if not (grant.rules or grant.metrics)]:
            raise WebError(f"the token of {nothing[0]} grants nothing: it has no rights, nor rules")
        self._tokens = self._tokens.replaced(grants)
        if rules is not None:
            self._movements.kinds = rules.positions
            anonymous = WebGrant(None, shared) if rules.knows_anonymous else None
            before = self._anonymous
            if not (before and anonymous and before.equals(anonymous)):
                self._anonymous = anonymous
        elif grants or self._anonymous is not ANYBODY:
            self._anonymous = None

    @property
    def needs_token(self) -> bool:
        """Whether every request for data needs a token."""
        return self._anonymous is None

    def knows(self, grant: WebGrant) -> bool:
        """Whether a grant holds still."""
        return grant in self._tokens or grant is self._anonymous

    def may_write(self, grant: WebGrant) -> bool:
        """Whether somebody may write anything at all."""
        may = not self._read_only and (self._local or grant is not ANYBODY)
        return may and grant.may_write()

    def check_message(
        self, grant: WebGrant, key: str, location: Point | None, fence: Area | None
    ) -> float | None:
        """Refuse what a user may not publish; how finely its place may be told, in metres."""
        precision_m = grant.check_message(key, location, fence)
        if location is not None and self._movements.kinds:
            judged = self._movements.judge(grant.name, key, location, time.monotonic())
            if judged.refused:
                raise Problem(403, f"{key} cannot be there: {judged.reason}")
        return precision_m

    def grant(self, headers: Mapping[bytes, bytes]) -> WebGrant:
        """What the sender of a request may do; without a token, where they are set, nothing."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if self._anonymous is not None and (not scheme or self._anonymous is ANYBODY):
            return self._anonymous
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

    def check_write(self, headers: Mapping[bytes, bytes], grant: WebGrant) -> None:
        """Refuse writing where nobody may, and to pages of other origins."""
        if self._read_only:
            raise Problem(403, "this server is read-only")
        self._check_origin(headers)
        if grant is ANYBODY and not self._local:
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
