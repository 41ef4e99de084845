"""Subscribers: an area, a bounded mailbox, exact checks at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from zonal.errors import ClosedError
from zonal.geo import Area, Circle, Everywhere, Point, cover
from zonal.keys import FENCE_CHUNK, Encoding, Role, join, refine
from zonal.keys.s2 import KEY_LEVEL, S2Encoding, path_of_cell
from zonal.runtime.mailbox import Mailbox, Overflow
from zonal.session.callback import Caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    import zenoh

    from zonal.runtime.lease import Lease
    from zonal.session.announcements import Announcements
    from zonal.session.geo_context import GeoContext
    from zonal.session.interest import Interest
    from zonal.session.position import Position
    from zonal.session.sample import Sample

_OWN_CELLS = 4
_OWN_MARGIN_M = 100.0


@dataclass(frozen=True, slots=True)
class Counters:
    """What happened to the messages of a subscriber.

    `received` counts at the session, before any check; subscribers of the same topic in one
    session share their declarations, so there it counts what reached the topic. With recovery,
    `recovered` were lost on their way and had on asking; `given_up` could not be had.
    """

    received: int
    delivered: int
    filtered_at_edge: int
    overflowed: int
    duplicates: int
    malformed: int
    waiting: int
    callback_errors: int
    recovered: int
    given_up: int


class Subscriber:
    """Receives the messages of a topic that come from an area (or from anywhere).

    Iterate over it (`for` or `async for`), or give a callback when declaring it; the callback
    runs in threads of this session's own, never in Zenoh's, one call at a time.
    """

    def __init__(
        self,
        topic: str,
        area: Area | None,
        *,
        interest: Interest,
        encodings: tuple[Encoding, ...],
        position: Position,
        announcements: Announcements,
        fenced: bool,
        margin_m: float | None,
        capacity: int,
        overflow: Overflow,
        role: Role = Role.SUBSCRIBER,
        on_close: Callable[[Subscriber], None],
    ) -> None:
        self.key = topic
        self._wanted = area
        self._interest = interest
        self._encodings = encodings
        self._position = position
        self._announcements = announcements
        self._fenced = fenced
        self._margin_m = margin_m
        self._role = role
        self._on_close = on_close
        self._closed = False
        self._caller: Caller | None = None
        self._accepted = 0
        self._mailbox: Mailbox[Sample] = Mailbox(capacity, overflow)
        self._tokens: dict[str, zenoh.LivelinessToken] = {}
        self._area: Area | None = None
        self._declared_center: Point | None = None
        self._expressions: frozenset[str] = frozenset()
        self._area_to_declare: Area | None = None
        self._is_placed = False
        self._place()
        self._announce()
        self._received_before = interest.received
        self._duplicates_before = interest.duplicates
        self._malformed_before = interest.malformed
        interest.add(self, position.last)

    # What the user sees

    @property
    def area(self) -> Area | None:
        """The area now; an ego-centric one where it is at the moment. None: the whole network."""
        return self._area

    @property
    def is_ego_centric(self) -> bool:
        """Whether the area follows the session's position."""
        return isinstance(self._wanted, Circle) and self._wanted.is_ego_centric

    @property
    def follows_position(self) -> bool:
        """Whether moving changes what it hears: its area, or the fences it is in."""
        return not self._closed and (self.is_ego_centric or not self._fenced)

    @property
    def counters(self) -> Counters:
        """What happened to the messages so far."""
        duplicates = self._interest.duplicates - self._duplicates_before
        malformed = self._interest.malformed - self._malformed_before
        received = self._interest.received - self._received_before
        return Counters(
            received=received,
            delivered=self._mailbox.taken + (self._caller.called_at_once if self._caller else 0),
            filtered_at_edge=received - duplicates - malformed - self._accepted,
            overflowed=self._mailbox.overflowed,
            duplicates=duplicates,
            malformed=malformed,
            waiting=len(self._mailbox),
            callback_errors=self._caller.errors if self._caller else 0,
            recovered=self._interest.recovered,
            given_up=self._interest.given_up,
        )

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network for this topic."""
        return self._interest.declared_keys

    def recv(self, timeout: float | None = None) -> Sample | None:
        """The next sample, waiting for it; None when `timeout` seconds are over."""
        return self._mailbox.take(timeout)

    def try_recv(self) -> Sample | None:
        """The next sample if there is one."""
        return self._mailbox.take(timeout=0)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._mailbox)

    def batches(self) -> Iterator[list[Sample]]:
        """All samples that are there at a time, until the end: for those who are in a hurry."""
        while True:
            try:
                yield self._mailbox.take_all()
            except ClosedError:
                return

    def __aiter__(self) -> AsyncIterator[Sample]:
        return aiter(self._mailbox)

    def undeclare(self) -> None:
        """Stop receiving; what already arrived can still be read."""
        if self._closed:
            return
        self._closed = True
        self._interest.remove(self)
        for token in self._tokens.values():
            token.undeclare()
        self._mailbox.close()
        if self._caller is not None:
            self._caller.end()
        self._on_close(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()

    # What the session does with it

    def call(self, callback: Callable[[Sample], Any]) -> None:
        """Hand every sample to a callback, one after another, in our threads, not Zenoh's."""
        self._caller = Caller(self.key, callback, self._mailbox)

    def move(self) -> None:
        """Follow the position: the exact area at once, the declarations when it left the margin."""
        if self._closed:
            return
        before = self._expressions
        self._place()
        if self._expressions != before:
            self._announce()
        self._interest.update(self, self._position.last)

    def _place(self) -> None:
        own = self._own_position()
        if isinstance(self._wanted, Circle) and self._wanted.is_ego_centric:
            assert own is not None
            area: Area | None = self._wanted.at(own)
        else:
            area = self._wanted
        if self._has_left_margin(own):
            self._expressions = frozenset(self._location_keys(area)) | self._fence_keys(own, area)
            self._declared_center = own
            self._is_placed = True
        self._area = area

    def _own_position(self) -> Point | None:
        if self.is_ego_centric:
            return self._position.current()
        return self._position.last if self._position.is_known else None

    def _has_left_margin(self, own: Point | None) -> bool:
        if not self._is_placed or (own is None) != (self._declared_center is None):
            return True
        if own is None or self._declared_center is None:
            return False
        return own.distance_m(self._declared_center) > self._margin()

    def _margin(self) -> float:
        """How far to move before declaring anew: by default a quarter of the radius."""
        if self._margin_m is not None:
            return self._margin_m
        if isinstance(self._wanted, Circle) and self._wanted.is_ego_centric:
            return self._wanted.radius_m / 4
        return _OWN_MARGIN_M

    def _location_keys(self, area: Area | None) -> Iterable[str]:
        if area is None:
            yield self.key
            area = Everywhere()
        if self.is_ego_centric and isinstance(area, Circle):
            area = Circle(area.center, radius_m=area.radius_m + self._margin())
        self._area_to_declare = None
        for encoding in self._encodings:
            if isinstance(encoding, S2Encoding):
                self._area_to_declare = area  # cells are shared with the topic's other subscribers
                continue
            for expression in encoding.area_expressions(area, self._role):
                yield join(self.key, expression)

    def _fence_keys(self, own: Point | None, area: Area | None) -> frozenset[str]:
        """Keys of fenced messages: all of them if asked for, else those around our own place."""
        if self._fenced:
            cells = ["**"]
        elif own is not None:
            around = Circle(own, radius_m=self._margin() + 1.0)
            cells = [
                f"{path_of_cell(cell)}/**"
                for cell in cover(around, _OWN_CELLS, max_level=KEY_LEVEL)
            ]
        else:
            return frozenset()
        return frozenset(
            join(location, f"{FENCE_CHUNK}/{cell}")
            for location in self._fence_locations(area)
            for cell in cells
        )

    def _fence_locations(self, area: Area | None) -> Iterable[str]:
        if area is None:
            yield self.key
        for encoding in self._encodings:
            if encoding.announces_areas:
                for expression in encoding.area_expressions(area or Everywhere(), self._role):
                    yield join(self.key, expression)
            else:
                yield f"{join(self.key, encoding.prefix)}/**"

    def _announce(self) -> None:
        """Let senders know the shapes that routers cannot match; new ones before old ones go."""
        wanted = {
            key
            for key in self._expressions
            for encoding in self._encodings
            if encoding.announces_areas
            and key.startswith(f"{self.key}/{encoding.prefix}/")
            and f"/{FENCE_CHUNK}/" not in key
        }
        for key in wanted - self._tokens.keys():
            self._tokens[key] = self._announcements.announce(key)
        for key in self._tokens.keys() - wanted:
            self._tokens.pop(key).undeclare()

    # What its topic's interest asks (see `interest.Listener`)

    @property
    def hears_fenced(self) -> bool:
        """Whether it asked for all fenced messages."""
        return self._fenced

    def area_to_declare(self) -> Area | None:
        """The area with its margin, where cells are the way to declare it."""
        return self._area_to_declare

    def expressions(self) -> frozenset[str]:
        """The key expressions under which the network must deliver, besides cells."""
        return self._expressions

    def accepts(self, context: GeoContext | None) -> bool:
        """The second and third check: our area holds the place, the fence holds our own place."""
        if context is None:
            return self._area is None
        area = self._area
        if area is not None and (context.place is None or not refine(area, context.place)):
            return False
        if context.fence is None or self._fenced:
            return True
        own = self._position.last
        return own is not None and context.fence.contains(own)

    def deliver(self, samples: list[Sample]) -> None:
        """Into the mailbox."""
        self._mailbox.put(self.accept(samples))

    def deliver_at_once(self, sample: Sample, read_meanwhile: Callable[[], object]) -> None:
        """To the callback in this thread, where that is possible."""
        self._accepted += 1
        if self._caller is None or not self._caller.call_now(sample, read_meanwhile):
            self._mailbox.put([sample])

    def accept(self, samples: list[Sample]) -> list[Sample]:
        """Count them."""
        self._accepted += len(samples)
        return samples

    def lend(self, lease: Lease[Sample]) -> bool:
        """To whoever iterates."""
        return self._mailbox.lend(lease)


class PullSubscriber(Subscriber):
    """Keeps the latest samples until they are asked for; older ones make room."""

    def pull(self) -> Sample | None:
        """The oldest sample that is kept, if there is one."""
        return self.try_recv()

    def pull_all(self) -> list[Sample]:
        """All samples that are kept, oldest first."""
        try:
            return self._mailbox.take_all(timeout=0)
        except ClosedError:
            return []
