"""The edge: what arrived for one topic is read, checked exactly, and offered to those who want it.

Declarations belong to the topic, not to a subscriber: subscribers share cells, and every sample
that arrives is read once, on the session's reading thread.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from zonal.geo import Point
from zonal.keys import is_exact
from zonal.session.declarations import Mark
from zonal.session.geo_context import POINT_BYTES
from zonal.session.listeners import Listener, Listeners, gather, shared_out
from zonal.session.reading import Reading
from zonal.session.sample import Sample, mark_of, marks_of
from zonal.session.sample_columns import SampleColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import zenoh

    from zonal.session.announcements import Announcements
    from zonal.session.declarations import Declarations
    from zonal.session.interest import Interest
    from zonal.session.key_budget import KeyBudget
    from zonal.session.recovery import Recoverer
    from zonal.session.shorthand import Shorthands

_KNOWN_PLACES = 65_536
_TOGETHER = 4
"""From so many on, what comes together is read in columns."""
_WORTH_CELLS = 256
"""So many messages from beside the areas are worth more cells: a key that is declared costs routers
as much as some eight messages."""
_MANY, _BUSY = 64, 3
"""So many samples at a time, so often in a row, are worth a lane of their own."""

_Entry: TypeAlias = tuple[Point, tuple[Listener, ...]]
_Name: TypeAlias = str | tuple[str, bytes]


class Edge:
    """One topic in this session: its listeners, what is declared for them, what they get.

    Args:
        interest: gathers what the listeners want.
        declarations: made with what hands samples over to `process`.
        announcements: where areas are announced that routers cannot match.
        budget: what shares out keys; told how many there are, and asked for more.
        may_repeat: whether the same message may come again under the same key.
    """

    def __init__(
        self,
        interest: Interest,
        declarations: Callable[[Edge], Declarations],
        announcements: Announcements,
        budget: KeyBudget,
        *,
        may_be_refined: bool = True,
        may_repeat: bool = False,
        shorthands: Shorthands | None = None,
        recoverer: Callable[[Callable[[list[zenoh.Sample]], None]], Recoverer] | None = None,
    ) -> None:
        self._interest = interest
        self._announcements = announcements
        self._budget = budget
        self._may_repeat = may_repeat
        self._shorthands = shorthands
        self._recoverer = None if recoverer is None else recoverer(self._hand_over)
        self._declarations = declarations(self)
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._listeners = Listeners()
        self._tokens: dict[str, zenoh.LivelinessToken] = {}
        # Places by key, or by key and what the attachment adds, with those who want messages from
        # there; only valid while no listener comes, goes or moves.
        self._known: dict[_Name, _Entry] = {}
        self._reading = Reading()
        self._busy = 0
        self._is_closed = False
        self.received = 0
        self._beside = 0  # messages that came from beside all areas since these were covered
        self._worth_asking = _WORTH_CELLS if may_be_refined else math.inf

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared now."""
        return self._declarations.keys

    @property
    def is_empty(self) -> bool:
        """Whether nobody listens any more."""
        return not len(self._listeners)

    @property
    def malformed(self) -> int:
        """How many messages could not be read."""
        return self._reading.malformed

    @property
    def duplicates(self) -> int:
        """How many messages came again, and were left out."""
        return self._reading.duplicates

    @property
    def recovered(self) -> int:
        """How many messages were lost on their way, and had when they were asked for."""
        return 0 if self._recoverer is None else self._recoverer.recovered

    @property
    def given_up(self) -> int:
        """How many could not be had any more."""
        return 0 if self._recoverer is None else self._recoverer.given_up

    # Who listens

    def add(self, listener: Listener, own: Point | None) -> None:
        """Listen, and declare what is needed for it."""
        with self._changing:
            with self._lock:
                self._listeners.add(listener, own)
                self._known.clear()
            if self._interest.want(listener, listener.wish):
                self._declare()

    def update(self, listener: Listener, own: Point | None) -> None:
        """A listener moved: hand over by its new area, declare anew only what changed."""
        with self._changing:
            with self._lock:
                self._listeners.update(listener, own)
                self._known.clear()
            if self._interest.want(listener, listener.wish):
                self._declare()

    def remove(self, listener: Listener) -> None:
        """Stop listening, and undeclare what nobody else needs."""
        with self._changing:
            with self._lock:
                self._listeners.remove(listener)
                self._known.clear()
            if self._interest.drop(listener):
                self._declare()

    @property
    def cells_an_area(self) -> int:
        """How many cells each area may have."""
        return self._interest.cells_an_area

    def fit(self, cells_an_area: int) -> None:
        """Cover the areas anew, with so many cells each at the most, and declare that."""
        with self._changing:
            if not self._is_closed and self._interest.fit(cells_an_area):
                self._declare()
            self._beside = 0

    def _declare(self) -> None:
        """What the listeners want now; new keys first, then the old ones go."""
        keys, announced = self._interest.keys(), self._interest.announced
        for key in announced - self._tokens.keys():
            self._tokens[key] = self._announcements.announce(key)
        if self._declarations.adjust(keys):
            if self._shorthands is not None:
                self._shorthands.keep(keys)
            if self._recoverer is not None:
                self._recoverer.keep(keys)
        for key in self._tokens.keys() - announced:
            self._tokens.pop(key).undeclare()
        self._budget.note(self, self._interest.keys_of_areas)

    def hear_heartbeats(self, key: str) -> zenoh.Subscriber[None] | None:
        """With recovery, the heartbeats of a key's publishers; else nothing."""
        return None if self._recoverer is None else self._recoverer.hear_heartbeats(key)

    def close(self) -> None:
        """Undeclare everything."""
        with self._changing:
            self._is_closed = True
            self._budget.note(self, 0)
            for token in self._tokens.values():
                token.undeclare()
            self._tokens.clear()
            self._declarations.close()
        if self._shorthands is not None:
            self._shorthands.close()
        if self._recoverer is not None:
            self._recoverer.close()

    # What arrives; on the reading thread

    def process(self, batch: list[Any]) -> bool:
        """Read, check and hand over samples as they arrived; between them may stand marks.

        Whether they are dealt with, see `Listener.deliver`.
        """
        if len(batch) == 1 and self._process_alone(batch[0]):
            return True
        if self._declarations.is_changing:
            batch = self._without_marks(batch)
        self._busy = self._busy + 1 if len(batch) >= _MANY else 0
        if self._busy >= _BUSY:
            self._busy = 0
            self._declarations.hurry(batch[-1])
        if self._recoverer is not None:
            self._recoverer.hear(batch)
            return True
        wanted = self._sorted(batch)
        done = True
        for number, (listener, samples) in enumerate(wanted.items(), 1):
            done = listener.deliver(samples, at_once=number == len(wanted)) and done
        return done

    def _process_alone(self, raw: Any) -> bool:
        """The same for one that comes alone from a known place to one listener: the quickest way.

        False where it is another one.
        """
        if type(raw) is Mark or self._may_repeat:
            return False
        key = str(raw.key_expr)
        entry = self._known.get(key)
        if entry is None or len(entry[1]) != 1 or self._declarations.was_changing:
            return False
        self.received += 1
        shorthands = self._shorthands
        if shorthands is not None and key not in shorthands.declared:
            shorthands.heard(key)
        entry[1][0].deliver((Sample(raw, raw.payload, entry[0]),), at_once=True)
        return True

    def _without_marks(self, batch: list[Any]) -> list[zenoh.Sample]:
        """What stands behind the last mark; what stands before is handed over, marks are read."""
        marks = [each for each in batch if isinstance(each, Mark)]
        if marks:
            last = batch.index(marks[-1])
            before = [each for each in batch[:last] if not isinstance(each, Mark)]
            batch = batch[last + 1 :]
            if self._recoverer is not None:
                self._recoverer.hear(before)
            else:
                self._hand_over(before)
            for mark in marks:
                mark.read()
        return batch

    def _hand_over(self, batch: list[zenoh.Sample]) -> None:
        """Samples that recovery has put into order."""
        for listener, samples in self._sorted(batch).items():
            listener.deliver(samples)

    def _sorted(self, batch: list[zenoh.Sample]) -> Mapping[Listener, Sequence[Sample]]:
        wanted: Mapping[Listener, Sequence[Sample]] = {}
        if not batch:
            return wanted
        with self._lock:
            self.received += len(batch)
            once = self._may_repeat or self._declarations.is_changing
            found = self._sorted_together(batch, once=once)
            wanted = self._sorted_one_by_one(batch, once=once) if found is None else found
        if self._beside >= self._worth_asking:
            self._beside = 0
            self._budget.ask(self)
        if wanted and self._shorthands is not None:
            # One of a batch is enough to notice the keys that fill it.
            self._shorthands.heard(str(batch[0].key_expr), len(batch))
        return wanted

    def _sorted_together(
        self, batch: list[zenoh.Sample], *, once: bool
    ) -> Mapping[Listener, Sequence[Sample]] | None:
        """The same for many from known places, as most are: read in columns; None: these are not.

        `once`: whether any may have come before.
        """
        columns = SampleColumns(batch)
        if len(batch) < _TOGETHER or (once and not all(columns.stamps)):
            return None
        common = self._common_entry(columns)
        if common is not None and not once:
            columns.places = [common[0]] * len(columns)
            self._beside += 0 if common[1] else len(columns)
            return dict.fromkeys(common[1], columns)
        entries = self._entries(columns) if common is None else [common] * len(columns)
        if entries is None:
            return None
        columns.places = [place for place, _ in entries]
        listeners = [each for _, each in entries]
        if once:
            marks = list(marks_of(columns.stamps, columns.said, columns.payloads))
            copies = self._reading.were_read(marks)
            if any(copies):
                rows = [row for row, is_copy in enumerate(copies) if not is_copy]
                columns, listeners = columns.at(rows), [listeners[row] for row in rows]
        self._beside += listeners.count(())
        return shared_out(columns, listeners)

    def _common_entry(self, columns: SampleColumns) -> _Entry | None:
        """What is known of the one place that all samples come from, if they do."""
        key = columns.common_key
        if key is None:
            return None
        entry = self._known.get(key)
        if entry is None and not is_exact(key):
            point = columns.common_ending(POINT_BYTES)
            entry = None if point is None else self._known.get((key, point))
        return entry

    def _entries(self, columns: SampleColumns) -> list[_Entry] | None:
        """What is known of the places that samples come from; None where something is not."""
        found = [
            self._look_up(key, said)[1]
            for key, said in zip(columns.keys, columns.said, strict=True)
        ]
        entries = [entry for entry in found if entry is not None]
        return entries if len(entries) == len(found) else None

    def _sorted_one_by_one(
        self, batch: list[zenoh.Sample], *, once: bool
    ) -> dict[Listener, list[Sample]]:
        wanted: dict[Listener, list[Sample]] = {}
        for raw in batch:
            self._sort(raw, wanted, once=once)
        return wanted

    def _sort(self, raw: zenoh.Sample, wanted: dict[Listener, list[Sample]], *, once: bool) -> None:
        """One message; of a known place there is not much to read."""
        key, attachment = str(raw.key_expr), raw.attachment
        said = key if attachment is None else attachment.to_bytes()
        name, entry = self._look_up(key, said)
        stamp = raw.timestamp if once else None
        if entry is None or (once and stamp is None):
            self._read(raw, name, wanted, unique=once)
        elif stamp is None or not self._reading.was_read(mark_of(raw, stamp, said)):
            self._beside += not entry[1]
            gather(Sample(raw, raw.payload, entry[0]), entry[1], wanted)

    def _look_up(self, key: str, said: str | bytes) -> tuple[_Name | None, _Entry | None]:
        """By what a place is known, and what is known; None where a message says more.

        `said`: what is attached; the key where nothing is.
        """
        entry = self._known.get(key)
        if entry is not None or is_exact(key):
            return key, entry
        if isinstance(said, str) or not said or said[0] not in POINT_BYTES:
            return None, None
        name = (key, said[-POINT_BYTES[said[0]] :])
        return name, self._known.get(name)

    def _read(
        self,
        raw: zenoh.Sample,
        name: _Name | None,
        wanted: dict[Listener, list[Sample]],
        *,
        unique: bool,
    ) -> None:
        sample = self._reading.read(raw, unique=unique)
        if sample is None:
            return
        context, place = sample.context, sample.place
        listeners = tuple(self._listeners.of(context))
        self._beside += not listeners and context is not None and context.fence is None
        gather(sample, listeners, wanted)
        if (
            name is not None
            and isinstance(place, Point)
            and context is not None
            and context.is_plain
        ):
            if len(self._known) >= _KNOWN_PLACES:
                self._known.clear()
            self._known[name] = (place, listeners)
