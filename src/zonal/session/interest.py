"""What a session declares to the network for the subscribers of one topic, and who gets what.

Declarations belong to the topic, not to a subscriber: subscribers share cells, and every sample
that arrives is read once, checked exactly, and handed to those who want it. New keys are declared
before old ones are undeclared; while both stand, a sample may arrive under both, so messages are
then told apart by their identity.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Protocol

import zenoh

from zonal.errors import AttachmentError
from zonal.geo import Point
from zonal.index import InterestCover
from zonal.keys.s2 import KEY_LEVEL, path_of_cell
from zonal.session.audience import Audience
from zonal.session.geo_context import POINT_BYTES
from zonal.session.sample import Sample, context_of
from zonal.session.shorthand import Shorthands

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Area
    from zonal.session.geo_context import GeoContext

logger = logging.getLogger(__name__)

CHANNEL_CAPACITY = 8_192
"""Samples that may wait, in Zenoh's own memory, for the reading thread of a key."""

_BATCH = 256
_REMEMBERED = 65_536


class Listener(Protocol):
    """A subscriber as its topic's interest sees it."""

    def __hash__(self) -> int: ...

    @property
    def area(self) -> Area | None:
        """The exact area now; None: the whole network."""

    @property
    def hears_fenced(self) -> bool:
        """Whether it wants messages with a geofence wherever it is itself."""

    def area_to_declare(self) -> Area | None:
        """The area (with its margin) to be declared as cells; None: no cells are needed."""

    def expressions(self) -> frozenset[str]:
        """The other key expressions under which the network must deliver to it."""

    def accepts(self, context: GeoContext | None) -> bool:
        """The exact checks at the edge."""

    def deliver(self, samples: list[Sample]) -> None:
        """Take samples that passed."""


class Interest:
    """The declarations of one topic and the listeners behind them."""

    def __init__(
        self,
        topic: str,
        declare: Callable[[str, zenoh.handlers.FifoChannel[zenoh.Sample]], Any],
        *,
        may_repeat: bool = False,
    ) -> None:
        self._topic = topic
        self._declare = declare
        self._always_unique = may_repeat
        # A subscriber with a memory would ask for the history of every key again.
        self._shorthands = None if may_repeat else Shorthands(declare)
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._audience = Audience()
        self._cover = InterestCover(max_level=KEY_LEVEL)
        self._covered: dict[Listener, Area] = {}
        self._expressions: Counter[str] = Counter()
        self._expressions_of: dict[Listener, frozenset[str]] = {}
        self._declared: dict[str, _Declaration] = {}
        self._retired: list[_Declaration] = []
        self._cell_names: set[str] = set()
        self._retiring = 0
        # Places by key and by what the attachment adds, with those who want messages from there;
        # only valid while no listener comes, goes or moves.
        self._known: dict[tuple[str, bytes], tuple[Point, tuple[Listener, ...]]] = {}
        self._seen: set[int] = set()
        self._seen_order: deque[int] = deque()
        self.received = 0
        self.malformed = 0
        self.duplicates = 0

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared now."""
        return tuple(self._declared)

    @property
    def is_empty(self) -> bool:
        """Whether nobody listens any more."""
        return not len(self._audience)

    def add(self, listener: Listener, own: Point | None) -> None:
        """Listen, and declare what is needed for it."""
        with self._changing:
            with self._lock:
                self._audience.add(listener, own)
                self._known.clear()
            self._want(listener)
            self._adjust()

    def update(self, listener: Listener, own: Point | None) -> None:
        """A listener moved: hand over by its new area, declare anew only what changed."""
        with self._changing:
            with self._lock:
                self._audience.update(listener, own)
                self._known.clear()
            if self._want(listener):
                self._adjust()

    def remove(self, listener: Listener) -> None:
        """Stop listening, and undeclare what nobody else needs."""
        with self._changing:
            with self._lock:
                self._audience.remove(listener)
                self._known.clear()
            self._expressions.subtract(self._expressions_of.pop(listener, ()))
            if self._covered.pop(listener, None) is not None:
                self._cover.remove(listener)
            self._adjust()

    def _want(self, listener: Listener) -> bool:
        """Take what a listener needs into account; whether that changed anything."""
        old, new = self._expressions_of.get(listener, frozenset()), listener.expressions()
        if old != new:
            self._expressions.update(new - old)
            self._expressions.subtract(old - new)
            self._expressions_of[listener] = new
        area, covered = listener.area_to_declare(), self._covered.get(listener)
        if area is not covered and area is not None:
            (self._cover.add if covered is None else self._cover.update)(listener, area)
            self._covered[listener] = area
        return old != new or area is not covered

    def _adjust(self) -> None:
        """Declare the difference: new keys first, then the old ones go."""
        if not self._cover.take_changes() and not self._expressions_changed():
            return
        needed = self._cell_keys() | self._plain_keys()
        new, old = needed - self._declared.keys(), self._declared.keys() - needed
        with self._lock:
            self._retiring += len(old)
        for key in sorted(new):
            self._declared[key] = _Declaration(key, self)
        self._retired = [declaration for declaration in self._retired if declaration.is_reading]
        for key in sorted(old):
            self._retired.append(self._declared.pop(key))
            self._retired[-1].undeclare()
        if old and self._shorthands is not None:
            self._shorthands.keep(needed)

    def _expressions_changed(self) -> bool:
        plain = {key for key in self._declared if key not in self._cell_names}
        return self._plain_keys() != plain

    def _plain_keys(self) -> set[str]:
        return {key for key, count in self._expressions.items() if count > 0}

    def _cell_keys(self) -> set[str]:
        cells = self._cover.cells
        if len(cells) == 6 and all(cell.level == 0 for cell in cells):
            names = {f"{self._topic}/@s2/**"}
        else:
            names = {f"{self._topic}/@s2/{path_of_cell(cell)}/**" for cell in cells}
        self._cell_names = names
        return names

    def close(self) -> None:
        """Undeclare everything and wait for the reading threads."""
        with self._changing:
            self._audience = Audience()
            declarations, self._declared = list(self._declared.values()), {}
            with self._lock:
                self._retiring += len(declarations)
            for declaration in declarations:
                declaration.undeclare()
        if self._shorthands is not None:
            self._shorthands.close()
        for declaration in (*declarations, *self._retired):
            declaration.join()

    def declare(self, key: str, channel: zenoh.handlers.FifoChannel[zenoh.Sample]) -> Any:
        """Declare one key to Zenoh."""
        return self._declare(key, channel)

    def retired(self) -> None:
        """The last sample of an undeclared key was read."""
        with self._lock:
            self._retiring -= 1

    def process(self, batch: list[zenoh.Sample]) -> None:
        """Read, check and hand over the samples of one key."""
        wanted: dict[Listener, list[Sample]] = {}
        with self._lock:
            self.received += len(batch)
            if self._always_unique or self._retiring:
                for raw in batch:
                    self._sort(raw, wanted, unique=True)
            else:
                self._sort_quickly(batch, wanted)
        for listener, samples in wanted.items():
            listener.deliver(samples)
        if wanted and self._shorthands is not None:
            # One of a batch is enough to notice the keys that fill it.
            self._shorthands.heard(str(batch[0].key_expr))

    def _sort_quickly(
        self, batch: list[zenoh.Sample], wanted: dict[Listener, list[Sample]]
    ) -> None:
        """Most messages come again and again from the same place to the same listeners."""
        known = self._known
        for raw in batch:
            attachment = raw.attachment
            if attachment is not None:
                data = attachment.to_bytes()
                size = POINT_BYTES.get(data[0]) if data else None
                if size is not None:
                    entry = known.get((str(raw.key_expr), data[-size:]))
                    if entry is not None:
                        sample = Sample(raw, entry[0], None, False)
                        for listener in entry[1]:
                            if listener in wanted:
                                wanted[listener].append(sample)
                            else:
                                wanted[listener] = [sample]
                        continue
            self._sort(raw, wanted, unique=False)

    def _sort(
        self, raw: zenoh.Sample, wanted: dict[Listener, list[Sample]], *, unique: bool
    ) -> None:
        try:
            context = context_of(raw)
        except AttachmentError as error:
            self.malformed += 1
            logger.warning("dropped a message: %s", error)
            return
        if context is not None and (unique or context.copies) and self._is_known(context):
            self.duplicates += 1
            return
        listeners = tuple(self._audience.of(context))
        place = None if context is None else context.place
        sample = Sample(raw, place, context)
        for listener in listeners:
            wanted.setdefault(listener, []).append(sample)
        if isinstance(place, Point) and context is not None and context.is_plain:
            self._remember(raw, place, listeners)

    def _remember(self, raw: zenoh.Sample, place: Point, listeners: tuple[Listener, ...]) -> None:
        assert raw.attachment is not None
        data = raw.attachment.to_bytes()
        size = POINT_BYTES.get(data[0])
        if size is not None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[str(raw.key_expr), data[-size:]] = (place, listeners)

    def _is_known(self, context: GeoContext) -> bool:
        identity = context.identity
        if identity is None:
            return False
        if identity in self._seen:
            return True
        self._seen.add(identity)
        self._seen_order.append(identity)
        if len(self._seen_order) > _REMEMBERED:
            self._seen.discard(self._seen_order.popleft())
        return False


class _Declaration:
    """One declared key: Zenoh's subscriber with a bounded channel, and the thread that reads it."""

    def __init__(self, key: str, interest: Interest) -> None:
        self._interest = interest
        self._subscriber = interest.declare(key, zenoh.handlers.FifoChannel(CHANNEL_CAPACITY))
        self._handler = self._subscriber.handler
        self._thread = threading.Thread(target=self._read, name=f"zonal-read {key}", daemon=True)
        self._thread.start()

    def undeclare(self) -> None:
        self._subscriber.undeclare()

    @property
    def is_reading(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _read(self) -> None:
        receive, receive_more = self._handler.recv, self._handler.try_recv
        open_ = True
        while open_:
            try:
                batch = [receive()]
            except zenoh.ZError:  # undeclared, and everything is read
                break
            try:
                while len(batch) < _BATCH and (sample := receive_more()) is not None:
                    batch.append(sample)
            except zenoh.ZError:
                open_ = False
            try:
                self._interest.process(batch)
            except Exception:  # a reader that dies would silence the subscriber
                logger.exception("failed to process %d samples", len(batch))
        self._interest.retired()
