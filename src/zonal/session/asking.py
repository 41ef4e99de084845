"""The part of a session that asks and answers questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from zonal.errors import GeometryError
from zonal.geo import as_point
from zonal.session.given import area_given, check_handler
from zonal.session.nearest import Neighbours
from zonal.session.querier import DEFAULT_TIMEOUT_S, GetOptions, Querier, ask
from zonal.session.queryable import Queryable
from zonal.session.refusal import refusals
from zonal.session.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import zenoh

    from zonal.geo import Area, GivenArea, GivenPoint
    from zonal.session.parts import SessionParts
    from zonal.session.queryable import Query
    from zonal.session.replies import Replies
    from zonal.session.sample import Sample


class Asking:
    """Queries, queriers and queryables."""

    _parts: SessionParts

    def _check_open(self) -> None:
        raise NotImplementedError

    @overload
    def get(
        self,
        selector: zenoh.Selector | str,
        handler: Callable[[Sample], Any] | None = None,
        *,
        nearest: int,
        to: GivenPoint | None = None,
        within_m: float | None = None,
        encoding: str | Iterable[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        target: zenoh.QueryTarget | None = None,
        priority: zenoh.Priority | None = None,
        payload: Any = None,
        attachment: bytes | None = None,
    ) -> Neighbours: ...

    @overload
    def get(
        self,
        selector: zenoh.Selector | str,
        handler: Callable[[Sample], Any] | None = None,
        *,
        area: GivenArea | None = None,
        encoding: str | Iterable[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        target: zenoh.QueryTarget | None = None,
        priority: zenoh.Priority | None = None,
        payload: Any = None,
        attachment: bytes | None = None,
    ) -> Replies: ...

    def get(
        self,
        selector: zenoh.Selector | str,
        handler: Callable[[Sample], Any] | None = None,
        *,
        area: GivenArea | None = None,
        nearest: int | None = None,
        to: GivenPoint | None = None,
        within_m: float | None = None,
        encoding: str | Iterable[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        target: zenoh.QueryTarget | None = None,
        priority: zenoh.Priority | None = None,
        payload: Any = None,
        attachment: bytes | None = None,
    ) -> Replies | Neighbours:
        """Ask the queryables whose area intersects this one; iterate over the replies.

        Replies with a location outside the area are left out, and the same message from two
        queryables comes once. Zenoh's admin space (`@/**`) is asked as it is, without an area.
        With `nearest`, instead of an area: so many of the nearest to a place (without one: to our
        position), at most `within_m` away; each has its `distance_m`.
        """
        self._check_open()
        check_handler(handler)

        def question(about: Area | None, more: str = "") -> Replies:
            kinds = self._parts.encodings_for(about, encoding)
            options = GetOptions(about, kinds, timeout, target, priority)
            return ask(self._parts, _with(selector, more), options, payload, attachment)

        if nearest is None:
            if to is not None or within_m is not None:
                raise GeometryError("to= and within_m= belong to nearest=")
            replies: Replies | Neighbours = question(area_given(area))
        else:
            if area is not None:
                raise GeometryError("nearest= asks around a place: within_m= bounds it, not area=")
            place = self._parts.position.current() if to is None else as_point(to)
            name, threads = f"get {str(selector)!r}", self._parts.threads
            replies = Neighbours(question, nearest, place, within_m, name=name, threads=threads)
        if handler is not None:
            replies.call(handler)
        return replies

    def declare_querier(
        self,
        key: str,
        *,
        area: GivenArea | None = None,
        encoding: str | Iterable[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        target: zenoh.QueryTarget | None = None,
        priority: zenoh.Priority | None = None,
    ) -> Querier:
        """A query to ask again and again, around the position of the moment where it follows it."""
        self._check_open()
        wanted = area_given(area)
        kinds = self._parts.encodings_for(wanted, encoding)
        return Querier(key, self._parts, GetOptions(wanted, kinds, timeout, target, priority))

    def declare_queryable(
        self,
        key: str,
        handler: Callable[[Query], Any] | None = None,
        *,
        area: GivenArea | None = None,
        encoding: str | Iterable[str] | None = None,
        margin_m: float | None = None,
        complete: bool | None = None,
        capacity: int = 1024,
    ) -> Queryable:
        """Answer questions about a topic in an area (without one: about any area).

        A `Circle` without a centre follows the session's position (see `declare_subscriber`).
        """
        self._check_open()
        check_handler(handler)
        wanted, position = area_given(area), self._parts.position
        position.look(required=wanted is not None and wanted.is_ego_centric)
        kinds = self._parts.encodings_for(wanted, encoding)
        announced = any(kind.announces_areas for kind in kinds)
        with refusals(self._parts.zenoh, f"declare a queryable of {key!r}"):
            queryable = Queryable(
                key,
                Scope(wanted, position.last, fenced=True, margin_m=margin_m, announced=announced),
                self._parts,
                kinds,
                complete=complete,
                capacity=capacity,
            )
        if handler is not None:
            queryable.call(handler)
        return queryable


def _with(selector: zenoh.Selector | str, parameters: str) -> str:
    """The selector with more parameters behind its own."""
    if not parameters:
        return str(selector)
    return f"{selector}{';' if '?' in str(selector) else '?'}{parameters}"
