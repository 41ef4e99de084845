"""Questions about an area: asked once, or again and again by a querier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import zenoh

from zonal.errors import ClosedError
from zonal.geo import Area, Everywhere
from zonal.keys import Encoding, check_topic, query_keys
from zonal.session.geo_context import GeoContext
from zonal.session.replies import Replies

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
    asked = zenoh.Selector(selector) if isinstance(selector, str) else selector
    topic = check_topic(str(asked.key_expr))
    area = parts.area(options.area)

    def announced(encoding: Encoding) -> Iterable[str]:
        return parts.announcements.intersecting(topic, encoding, area or Everywhere())

    keys = query_keys(topic, area, options.encodings, announced)
    context = GeoContext(
        parts.origin.id, parts.origin.next_sequence(), None, None, area, True, attachment
    )
    replies = Replies(f"get {topic!r}", len(keys), area, parts.threads)
    data, parameters = context.to_bytes(), str(asked.parameters)
    for key in keys:
        parts.zenoh.get(
            f"{key}?{parameters}" if parameters else key,
            replies.handler(),
            payload=payload,
            attachment=data,
            **options.of_get(),
        )
    return replies


class Querier:
    """A query that is asked again and again, each time around the position where it follows it."""

    def __init__(self, topic: str, parts: SessionParts, options: GetOptions) -> None:
        self.key = check_topic(topic)
        self._parts = parts
        self._options = options
        self._closed = False

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()
