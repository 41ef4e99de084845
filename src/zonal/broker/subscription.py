"""One subscription of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from zonal.broker.session import ClientSession
    from zonal.geo import Area


class Copy(NamedTuple):
    """What one client gets of a message: the highest QoS and all identifiers that apply."""

    session: ClientSession
    qos: int
    identifiers: tuple[int, ...]
    retain_as_published: bool


class ClientSubscription:
    """A topic filter with its options and, perhaps, a geofence."""

    __slots__ = (
        "area", "copy", "filter", "group", "identifier", "no_local", "pattern", "plain", "qos",
        "retain_as_published", "session",
    )  # fmt: skip

    def __init__(
        self,
        session: ClientSession,
        pattern: str,
        topic_filter: str,
        *,
        group: str | None = None,
        qos: int = 0,
        no_local: bool = False,
        retain_as_published: bool = False,
        identifier: int | None = None,
        area: Area | None = None,
    ) -> None:
        self.session = session
        self.pattern = pattern
        """As the client wrote it, `$share/…` included."""
        self.filter = topic_filter
        self.group = group
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.identifier = identifier
        self.area = area
        """The consumer geofence; a circle without a centre follows the client."""
        self.copy = Copy(
            session, qos, () if identifier is None else (identifier,), retain_as_published
        )
        """What its client gets when no other subscription of that client matches."""
        self.plain = group is None and not no_local
        """Whether it neither shares with others nor depends on who publishes."""
