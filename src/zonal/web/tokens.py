"""Tokens: who has one is a user, with the rights that stand beside it and those of the rules.

```toml
[station]
sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
write = ["city/air/**"]
area = "milano.geojson"

[map]
sha256 = "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
read = ["city/**"]
events = ["city/**"]
fenced = true
```

The file has the hashes of tokens, never themselves.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tomllib
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import GeometryError, WebError
from zonal.geo import Area, area_from_geojson, area_from_wkt
from zonal.trust import Action, Rule, Rules, Who
from zonal.web.grants import WebGrant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FLAGS = ("fenced", "metrics", "admin")
_LONGEST = 512
"""Characters of a token; longer ones are not looked at."""


RIGHTS = {"read": Action.QUERY, "events": Action.SUBSCRIBE, "write": Action.PUBLISH}
"""Queries, event streams, messages."""


def grant_for(token: str | bytes, name: str, area: Area | None = None, **rights: Any) -> WebGrant:
    """What whoever has this token may do.

    Args:
        token: itself as text, or its SHA-256.
        name: the user.
        area: where what it reads, hears and writes has to be from.
        rights: key expressions by the names of `RIGHTS`, and flags of `WebGrant`; without any
            expression, the rules of the deployment decide alone.
    """
    topics = {right: tuple(rights.pop(right, ())) for right in RIGHTS}
    own = tuple(
        Rule(
            name=f"token {name}",
            who=Who(names=frozenset({name})),
            allows=True,
            actions=frozenset({RIGHTS[right]}),
            topics=given,
            area=area,
        )
        for right, given in topics.items()
        if given
    )
    digest = _digest(token.encode()) if isinstance(token, str) else token
    return WebGrant(name, (Rules(own),) if own else (), **rights, sha256=digest)


class Tokens:
    """The grants of a server, by the hashes of their tokens."""

    def __init__(self, grants: Iterable[WebGrant]) -> None:
        self._grants = {grant.sha256: grant for grant in grants}

    def __len__(self) -> int:
        return len(self._grants)

    def __contains__(self, grant: WebGrant) -> bool:
        return self._grants.get(grant.sha256) is grant

    def replaced(self, grants: Iterable[WebGrant]) -> Tokens:
        """Others; those that are the same as before stay the same objects."""
        before = self._grants
        kept = {grant.sha256: before.get(grant.sha256, grant) for grant in grants}
        return Tokens(
            kept[grant.sha256] if kept[grant.sha256].equals(grant) else grant for grant in grants
        )

    def grant(self, token: bytes) -> WebGrant | None:
        """What a token grants; None for one that is not known.

        A hash is looked up, so the time that this takes tells nothing about tokens.
        """
        if not 0 < len(token) <= _LONGEST:
            return None
        digest = _digest(token)
        found = self._grants.get(digest)
        return found if found and hmac.compare_digest(found.sha256, digest) else None


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def read_tokens(path: Path) -> tuple[WebGrant, ...]:
    """What the tokens of a file grant; a `WebError` says what is wrong with it."""
    tables = _tables(path)
    if not tables:
        raise WebError(f"no token in {path}; `zonal token {path} NAME --read KEY` makes one")
    return tuple(_grant(path, name, table) for name, table in tables.items())


def add_token(path: Path, name: str, rights: dict[str, Any]) -> str:
    """A new token, random and of 256 bits, whose hash and rights are added to the file."""
    if not _NAME.fullmatch(name):
        raise WebError(f"{name!r} is no name of a token: letters, digits, _ and -, at most 64")
    if name in (_tables(path) if path.exists() else {}):
        raise WebError(f"{path} has a token {name!r} already; remove its table first")
    token = secrets.token_urlsafe(32)
    table = {"sha256": _digest(token.encode()).hex(), **rights}
    _grant(path, name, table)  # refuses what could not be read
    lines = [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "a") as file:
        file.write("\n".join(lines) + "\n\n")
    return token


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)  # of texts, lists and flags the same


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise WebError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WebError(f"{path} is no TOML: {error}; `zonal token` writes such files") from error


def _grant(path: Path, name: str, table: Any) -> WebGrant:
    known = {"sha256", "area", *RIGHTS, *_FLAGS}
    if not isinstance(table, dict) or (strange := sorted(set(table) - known)):
        what = f"{strange[0]!r} is none" if isinstance(table, dict) else "it is no table"
        raise WebError(f"{path}: a token has {', '.join(sorted(known))}; of [{name}] {what}")
    digest = table.get("sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise WebError(f"{path}: [{name}] needs sha256, 64 hexadecimal digits")
    rights: dict[str, Any] = {
        right: _expressions(path, name, right, table.get(right, [])) for right in RIGHTS
    }
    flags = {flag: table.get(flag, False) for flag in _FLAGS}
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise WebError(f"{path}: [{name}] {flag} is true or false, not {value!r}")
    area = None if "area" not in table else _area(path, name, table["area"])
    return grant_for(bytes.fromhex(digest), name, area, **rights, **flags)


def _expressions(path: Path, name: str, right: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise WebError(f"{path}: [{name}] {right} is a list of key expressions")
    for each in given:
        try:
            zenoh.KeyExpr(each)
        except zenoh.ZError as error:
            raise WebError(f"{path}: [{name}] {right}: {each!r} is no key expression") from error
    return tuple(given)


def _area(path: Path, name: str, given: Any) -> Area:
    try:
        if str(given).lower().endswith((".geojson", ".json")):
            return area_from_geojson((path.parent / given).read_text())
        return area_from_wkt(given)
    except (GeometryError, OSError, TypeError, UnicodeDecodeError) as error:
        right = "well-known text, or the name of a GeoJSON file"
        raise WebError(f"{path}: [{name}] area is {right}: {error}") from error
