"""Subscribers: what the user holds of a subscription."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zonal.errors import ClosedError
from zonal.keys import Encoding, Role, refine
from zonal.runtime import Incoming, Mailbox, Overflow
from zonal.session.recovery import Recovery
from zonal.session.sample import Sample
from zonal.session.scope import MOVES_A_RADIUS, MOVES_OF_KEPT_CELLS, Scope
from zonal.session.undeclaring import DeclaredInArea
from zonal.session.weight import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from zonal.geo import Area
    from zonal.runtime import Arrivals, CallbackThreads
    from zonal.session.edge import Edge
    from zonal.session.geo_context import GeoContext
    from zonal.session.keyring import Keyring
    from zonal.session.past_messages import PastMessages
    from zonal.session.position import Position
    from zonal.session.wish import Wish


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

    @property
    def surplus(self) -> float | None:
        """`received` over what was not left out at the edge; None while that is nothing."""
        kept = self.received - self.filtered_at_edge
        return self.received / kept if kept else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberOptions:
    """What a subscriber asks for; see `Session.declare_subscriber`."""

    area: Area | None
    encodings: tuple[Encoding, ...]
    fenced: bool | None
    """Whether messages with a geofence are heard wherever it is; None: not said."""
    margin_m: float | None
    capacity: int
    overflow: Overflow = Overflow.DROP_OLDEST
    history: PastMessages | None = None
    recovery: Recovery | None = None
    role: Role = Role.SUBSCRIBER

    def __post_init__(self) -> None:
        if self.recovery is not None and not isinstance(self.recovery, Recovery):
            raise TypeError(f"recovery is a zonal.Recovery, not {self.recovery!r}")

    @property
    def is_ego_centric(self) -> bool:
        """Whether the area follows the session's position."""
        return self.area is not None and self.area.is_ego_centric

    def scope(self, position: Position) -> Scope:
        """Where it listens, for someone who is there."""
        announced = any(encoding.announces_areas for encoding in self.encodings)
        return Scope(
            self.area,
            position.last,
            fenced=bool(self.fenced),
            margin_m=self.margin_m,
            moves_a_radius=MOVES_A_RADIUS if announced else MOVES_OF_KEPT_CELLS,
            announced=announced,
            moves=position.moves,
            role=self.role,
        )


class Subscriber(DeclaredInArea, Incoming[Sample]):
    """Receives the messages of a topic that come from an area (or from anywhere).

    Iterate over it (`for` or `async for`), or give a callback when declaring it; the callback
    runs in threads of this session's own, never in Zenoh's, one call at a time.
    """

    def __init__(
        self,
        topic: str,
        scope: Scope,
        edge: Edge,
        position: Position,
        keyring: Keyring,
        *,
        capacity: int,
        overflow: Overflow,
        when_stuck: Callable[[], None],
        on_close: Callable[[Subscriber], None],
    ) -> None:
        self.key = topic
        self._scope = scope
        self._edge = edge
        self._position = position
        self._keyring = keyring
        self._on_close = on_close
        self.handler: Any = None
        """What the user gave along with the callback."""
        self._name = f"subscriber {topic!r}"
        super().__init__(Mailbox(capacity, overflow, name=self._name, weigh=_bytes_of))
        self._mailbox.when_stuck = self.when_stuck = when_stuck
        self._accepted = 0
        self._before = (edge.received, edge.duplicates, edge.malformed)
        edge.add(self, position.last)

    # What the user sees

    @property
    def counters(self) -> Counters:
        """What happened to the messages so far."""
        edge = self._edge
        counted = (edge.received, edge.duplicates, edge.malformed)
        received, duplicates, malformed = (
            now - before for now, before in zip(counted, self._before, strict=True)
        )
        at_once = 0 if self._callback is None else self._callback.called_at_once
        return Counters(
            received=received,
            delivered=self._mailbox.taken + at_once,
            filtered_at_edge=received - duplicates - malformed - self._accepted,
            overflowed=self._mailbox.overflowed,
            duplicates=duplicates,
            malformed=malformed,
            waiting=len(self._mailbox),
            callback_errors=self.callback_errors,
            recovered=edge.recovered,
            given_up=edge.given_up,
        )

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network for this topic."""
        return self._edge.declared_keys

    def batches(self) -> Iterator[Sequence[Sample]]:
        """Samples as they came together, until the end: for those who are in a hurry.

        `SampleColumns.of` reads them in columns.
        """
        while True:
            try:
                yield self._mailbox.take_batch()
            except ClosedError:
                return

    def undeclare(self) -> None:
        """Stop receiving; what already arrived can still be read."""
        if self._closed:
            return
        self._closed = True
        self._edge.remove(self)
        self._end()
        self._on_close(self)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._mailbox)} waiting"
        return f"{type(self).__name__}(key={self.key!r}, area={self.area}, {state})"

    # What the session does with it

    def call(
        self, function: Callable[[Sample], Any], threads: CallbackThreads, arrivals: Arrivals
    ) -> None:
        """Hand every sample to a callback, one after another, in our threads, not Zenoh's."""
        self._call_back(self._name, function, threads, arrivals)

    @property
    def follows_position(self) -> bool:
        """Whether moving changes what it hears: its area, or the fences it is in."""
        return not self._closed and self._scope.follows_position

    def move(self) -> None:
        """Follow the position."""
        if not self._closed:
            own = self._position.last
            self._scope.move(own, self.counters.filtered_at_edge)
            self._edge.update(self, own)

    # What the edge asks (see `listeners.Listener`)

    @property
    def hears_fenced(self) -> bool:
        """Whether it asked for all fenced messages."""
        return self._scope.fenced

    @property
    def wish(self) -> Wish | None:
        """What has to be declared for it."""
        return self._scope.wish

    def accepts(self, context: GeoContext | None) -> bool:
        """The second and third check: our area holds the place, the fence holds our own place."""
        area = self._scope.area
        if context is None:
            return area is None
        if area is not None and (context.place is None or not refine(area, context.place)):
            return False
        if context.fence is None or self._scope.fenced:
            return True
        return self._position.is_in(context.fence, attested=context.attested)

    def deliver(self, samples: Sequence[Sample], *, at_once: bool = False) -> bool:
        """To the callback, or into the mailbox; whether the callback was called."""
        self._accepted += len(samples)
        if self._keyring.is_used:
            samples = [self._keyring.opened(sample) for sample in samples]
        return self._bring(samples, at_once=at_once)


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


def _bytes_of(sample: Sample) -> int:
    return bytes_of(sample.zenoh)
