"""Publishing for clients: who sends from the same place again gets a declared publisher."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from zonal.keys import encoding_named
from zonal.runtime import Recent

if TYPE_CHECKING:
    from collections.abc import Hashable

    import zenoh

    from zonal.session import Publisher, Session
    from zonal.web.parameters import Parameters

KEPT = 512
"""Declared publishers; who was silent for longest goes first."""


class Publishing:
    """Puts under the same address share a publisher, from the second on.

    A declared publisher knows its route and sends a short key, and nothing at all while nobody
    wants it. What moves uses each address once, so nothing is declared for it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._publishers: OrderedDict[Hashable, Publisher] = OrderedDict()
        self._seen: Recent[Hashable] = Recent(4 * KEPT)

    def __len__(self) -> int:
        return len(self._publishers)

    def put(
        self,
        key: str,
        payload: bytes,
        parameters: Parameters,
        content_encoding: zenoh.Encoding | None,
        address: Hashable | None,
    ) -> None:
        """Publish; `address` is equal for puts that differ in their payload alone, or None."""
        publisher = self._publishers.get(address)
        if publisher is None:
            options = {"content_encoding": content_encoding, **options_of(parameters)}
            is_kept = address is not None and is_routed(parameters.one_encoding)
            if not (is_kept and self._seen.check(address)):
                self._session.put(key, payload, **options)
                return
            publisher = self._publishers[address] = self._session.declare_publisher(key, **options)
            if len(self._publishers) > KEPT:
                self._publishers.popitem(last=False)[1].undeclare()
        self._publishers.move_to_end(address)
        publisher.put(payload)


def options_of(parameters: Parameters) -> dict[str, Any]:
    """The session's keyword arguments for a message."""
    return {
        "location": parameters.location,
        "geofence": parameters.fence,
        "attested": parameters.attested,
        "encoding": parameters.one_encoding,
        "precision_m": parameters.precision_m,
    }


def is_routed(encoding: str | None) -> bool:
    """Whether routers match the encoding; else a put may have to look for announced areas first."""
    return encoding is None or not encoding_named(encoding).announces_areas
