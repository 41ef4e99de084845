"""Questions about an area: asked once, or again and again by a querier."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import ClosedError, TopicError
from zonal.geo import Area, Everywhere
from zonal.keys import Encoding, check_topic, query_keys
from zonal.session.content import as_payload
from zonal.session.geo_context import GeoContext
from zonal.session.given import check_seconds
from zonal.session.refusal import reason_of, refusals
from zonal.session.replies import Replies
from zonal.session.sample import AdminSample
from zonal.session.undeclaring import Declared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.session.parts import SessionParts

DEFAULT_TIMEOUT_S = 10.0
"""How long replies are waited for, unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class GetOptions:
    """What is asked about, and how: of all queryables unless a target says otherwise."""

    area: Area | None
    encodings: tuple[Encoding, ...]
    timeout: float = DEFAULT_TIMEOUT_S
    target: zenoh.QueryTarget | None = None
    priority: zenoh.Priority | None = None

    def __post_init__(self) -> None:
        check_seconds(self.timeout)

    def of_get(self) -> dict[str, Any]:
        """Zenoh's keyword arguments for a get."""
        given: dict[str, Any] = {
            "timeout": self.timeout,
            "target": zenoh.QueryTarget.ALL if self.target is None else self.target,
            "accept_replies": zenoh.ReplyKeyExpr.ANY,
            "consolidation": zenoh.ConsolidationMode.NONE,
        }
        return given if self.priority is None else {**given, "priority": self.priority}


def ask(
    parts: SessionParts,
    selector: zenoh.Selector | str,
    options: GetOptions,
    payload: Any,
    attachment: bytes | None,
) -> Replies:
    """Ask under every key that the area needs; each queryable answers only once."""
    key, parameters = _taken_apart(selector)
    if payload is not None:
        payload, _ = as_payload(payload, None)
    with refusals(parts.zenoh, f"get {key!r}"):
        if is_admin(key):
            return _ask_admin(parts, key, parameters, options, payload, attachment)
        return _ask_places(parts, check_topic(key), parameters, options, payload, attachment)


def is_admin(key: str) -> bool:
    """Whether a key is in Zenoh's admin space, where routers and sessions tell of themselves."""
    return key == "@" or key.startswith("@/")


def _taken_apart(selector: zenoh.Selector | str) -> tuple[str, str]:
    """The key and the parameters."""
    if isinstance(selector, zenoh.Selector):
        return str(selector.key_expr), str(selector.parameters)
    key, _, parameters = str(selector).partition("?")
    return key, parameters


def _ask_admin(
    parts: SessionParts,
    key: str,
    parameters: str,
    options: GetOptions,
    payload: Any,
    attachment: bytes | None,
) -> Replies:
    """A plain get: nothing in the admin space has a place."""
    if options.area is not None:
        raise TopicError(f"the admin space has no places: ask for {key!r} without an area")
    try:
        asked = zenoh.Selector(key, parameters)
    except zenoh.ZError as error:
        raise TopicError(f"{key!r} is no key expression: {reason_of(error)}") from error
    replies = Replies(f"get {key!r}", 1, None, parts, AdminSample.of)
    given = {**options.of_get(), "accept_replies": zenoh.ReplyKeyExpr.MATCHING_QUERY}
    parts.zenoh.get(asked, replies.handler(), payload=payload, attachment=attachment, **given)
    return replies


def _ask_places(
    parts: SessionParts,
    topic: str,
    parameters: str,
    options: GetOptions,
    payload: Any,
    attachment: bytes | None,
) -> Replies:
    area = parts.area(options.area)

    def announced(encoding: Encoding) -> Iterable[str]:
        return parts.announcements.intersecting(topic, encoding, area or Everywhere())

    keys = query_keys(topic, area, options.encodings, announced)
    # Queryables answer a question once, by its number: nobody can use one up that is random.
    context = GeoContext(secrets.randbits(64), 0, None, None, area, True, attachment)
    replies = Replies(f"get {topic!r}", len(keys), area, parts)
    data = context.to_bytes()
    for key in keys:
        parts.zenoh.get(
            f"{key}?{parameters}" if parameters else key,
            replies.handler(),
            payload=payload,
            attachment=data,
            **options.of_get(),
        )
    return replies


class Querier(Declared):
    """A query that is asked again and again, each time around the position where it follows it."""

    def __init__(self, topic: str, parts: SessionParts, options: GetOptions) -> None:
        self.key = check_topic(topic)
        self._parts = parts
        self._options = options

    @property
    def area(self) -> Area | None:
        """What is asked about; None: the whole network."""
        return self._options.area

    def get(
        self,
        *,
        parameters: str | None = None,
        payload: Any = None,
        attachment: bytes | None = None,
    ) -> Replies:
        """Ask, with these parameters (`_time=[now(-1h)..]`, …)."""
        if self._closed:
            raise ClosedError(f"the querier of {self.key!r} is closed")
        selector = f"{self.key}?{parameters}" if parameters else self.key
        return ask(self._parts, selector, self._options, payload, attachment)

    def undeclare(self) -> None:
        """Ask no more."""
        self._closed = True

    def __repr__(self) -> str:
        return f"Querier(key={self.key!r}, area={self.area}{', closed' * self._closed})"
