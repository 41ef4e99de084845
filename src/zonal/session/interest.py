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
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from zonal.errors import AttachmentError
from zonal.geo import Point
from zonal.index import InterestCover
from zonal.keys import is_exact
from zonal.keys.s2 import KEY_LEVEL, path_of_cell
from zonal.session.audience import Audience
from zonal.session.declaration import Declaration
from zonal.session.geo_context import POINT_BYTES
from zonal.session.sample import Sample, context_of
from zonal.session.shorthand import Shorthands

if TYPE_CHECKING:
    from collections.abc import Callable

    import zenoh

    from zonal.geo import Area
    from zonal.runtime.lease import Lease
    from zonal.session.geo_context import GeoContext
    from zonal.session.recovery import Recoverer

logger = logging.getLogger(__name__)

_KEY_OF = attrgetter("key_expr")
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

    def deliver_at_once(self, sample: Sample, read_meanwhile: Callable[[], object]) -> None:
        """Take one that came alone; whoever is called back with it may take its time."""

    def accept(self, samples: list[Sample]) -> list[Sample]:
        """Count samples that passed and that its reader got without a delivery."""

    def lend(self, lease: Lease[Sample]) -> bool:
        """Let its reader read a channel directly; whether somebody reads."""


_Entry: TypeAlias = tuple[Point, tuple[Listener, ...]]


class Interest:
    """The declarations of one topic and the listeners behind them."""

    def __init__(
        self,
        topic: str,
        declare: Callable[[str, zenoh.handlers.FifoChannel[zenoh.Sample]], Any],
        *,
        may_repeat: bool = False,
        shorthands: bool = True,
        recoverer: Callable[[Callable[[list[zenoh.Sample]], None]], Recoverer] | None = None,
    ) -> None:
        self._topic = topic
        self._declare = declare
        self._always_unique = may_repeat
        self._shorthands = Shorthands(declare) if shorthands else None
        self._recoverer = None if recoverer is None else recoverer(self._hand_over)
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._audience = Audience()
        self._cover = InterestCover(max_level=KEY_LEVEL)
        self._covered: dict[Listener, Area] = {}
        self._expressions: Counter[str] = Counter()
        self._expressions_of: dict[Listener, frozenset[str]] = {}
        self._declared: dict[str, Declaration] = {}
        self._retired: list[Declaration] = []
        self._cell_names: set[str] = set()
        self._retiring = 0
        # Places by key, or by key and what the attachment adds, with those who want messages from
        # there; only valid while no listener comes, goes or moves.
        self._known: dict[str | tuple[str, bytes], _Entry] = {}
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
            self._declared[key] = Declaration(key, self)
        self._retired = [declaration for declaration in self._retired if declaration.is_reading]
        for key in sorted(old):
            self._retired.append(self._declared.pop(key))
            self._retired[-1].undeclare()
        if old and self._shorthands is not None:
            self._shorthands.keep(needed)
        if old and self._recoverer is not None:
            self._recoverer.keep(needed)

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
        if self._recoverer is not None:
            self._recoverer.close()

    @property
    def recovered(self) -> int:
        """How many messages were lost on their way, and had when they were asked for."""
        return 0 if self._recoverer is None else self._recoverer.recovered

    @property
    def given_up(self) -> int:
        """How many could not be had any more."""
        return 0 if self._recoverer is None else self._recoverer.given_up

    def declare(self, key: str, channel: zenoh.handlers.FifoChannel[zenoh.Sample]) -> Any:
        """Declare one key to Zenoh."""
        subscriber = self._declare(key, channel)
        return subscriber if self._recoverer is None else self._recoverer.listen(key, subscriber)

    def retired(self) -> None:
        """The last sample of an undeclared key was read."""
        with self._lock:
            self._retiring -= 1

    @property
    def only_listener(self) -> Listener | None:
        """The one who gets all samples as they come, if there is just one."""
        with self._lock:
            if len(self._audience) != 1 or self._always_unique or self._retiring:
                return None
            if self._recoverer is not None:  # it puts them into order first
                return None
            return self._audience.only

    def process(
        self, batch: list[zenoh.Sample], read_meanwhile: Callable[[], object] | None = None
    ) -> None:
        """Read, check and hand over the samples of one key.

        `read_meanwhile` reads the key's next ones in the place of this thread, if a callback
        takes long; without it no callback is called here.
        """
        if self._recoverer is not None:
            self._recoverer.hear(batch)
            return
        wanted = self._sorted(batch)
        if read_meanwhile is not None and len(wanted) == 1:
            ((listener, samples),) = wanted.items()
            if len(samples) == 1:
                listener.deliver_at_once(samples[0], read_meanwhile)
                return
        for listener, samples in wanted.items():
            listener.deliver(samples)

    def _hand_over(self, batch: list[zenoh.Sample]) -> None:
        """Samples that are in order."""
        for listener, samples in self._sorted(batch).items():
            listener.deliver(samples)

    def process_for(self, reader: Listener, batch: list[zenoh.Sample]) -> list[Sample]:
        """The same; what is for the reader is returned."""
        wanted = self._sorted(batch)
        samples = wanted.pop(reader, [])
        for listener, others in wanted.items():
            listener.deliver(others)
        return reader.accept(samples)

    def _sorted(self, batch: list[zenoh.Sample]) -> dict[Listener, list[Sample]]:
        wanted: dict[Listener, list[Sample]] = {}
        with self._lock:
            self.received += len(batch)
            if self._always_unique or self._retiring:
                for raw in batch:
                    self._sort(raw, wanted, unique=True)
            else:
                self._sort_quickly(batch, wanted)
        if wanted and self._shorthands is not None:
            # One of a batch is enough to notice the keys that fill it.
            self._shorthands.heard(str(batch[0].key_expr), len(batch))
        return wanted

    def _sort_quickly(
        self, batch: list[zenoh.Sample], wanted: dict[Listener, list[Sample]]
    ) -> None:
        """Most messages come again and again from the same place to the same listeners."""
        keys = list(map(_KEY_OF, batch))
        if keys.count(keys[0]) == len(keys):  # all from one place: reading one key will do
            entry = self._known.get(str(keys[0]))
            if entry is not None:
                samples = list(map(Sample, batch, repeat(entry[0])))
                for listener in entry[1]:
                    wanted[listener] = samples
                return
        entries = map(self._known.get, map(str, keys))
        for raw, of_key in zip(batch, entries, strict=True):
            entry = of_key or self._known_with_attachment(raw)
            if entry is None:
                self._sort(raw, wanted, unique=False)
                continue
            sample = Sample(raw, entry[0])
            for listener in entry[1]:
                if listener in wanted:
                    wanted[listener].append(sample)
                else:
                    wanted[listener] = [sample]

    def _known_with_attachment(self, raw: zenoh.Sample) -> _Entry | None:
        attachment = raw.attachment
        if attachment is None:
            return None
        data = attachment.to_bytes()
        size = POINT_BYTES.get(data[0]) if data else None
        return None if size is None else self._known.get((str(raw.key_expr), data[-size:]))

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
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        key = str(raw.key_expr)
        if is_exact(key):
            self._known[key] = (place, listeners)
            return
        assert raw.attachment is not None
        data = raw.attachment.to_bytes()
        size = POINT_BYTES.get(data[0])
        if size is not None:
            self._known[key, data[-size:]] = (place, listeners)

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
