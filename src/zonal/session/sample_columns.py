"""Many samples at once, and what was read of them: a list for each thing, made when it is wanted.

Reading one thing of many samples takes a fraction of the time that reading all things of each does,
and whoever comes later finds what was read.
"""

from __future__ import annotations

from functools import cached_property
from itertools import repeat
from operator import attrgetter, countOf
from typing import TYPE_CHECKING, Any, Self, overload

from zonal.keys import is_exact
from zonal.runtime import Folded
from zonal.session.geo_context import numbers_in, source_of
from zonal.session.sample import Sample, name_of, origin_in, origin_of
from zonal.session.weight import ITSELF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import EllipsisType

    import zenoh

    from zonal.keys import Place
    from zonal.session.geo_context import GeoContext

_ZENOH, _PLACE, _CONTEXT = attrgetter("zenoh"), attrgetter("place"), attrgetter("_context")
_KEY, _STAMP = attrgetter("key_expr"), attrgetter("timestamp")
_ATTACHMENT, _PAYLOAD = attrgetter("attachment"), attrgetter("payload")
_ENCODING, _CONTENT_ENCODING = attrgetter("encoding"), attrgetter("content_encoding")


class SampleColumns(Folded[Sample]):
    """Samples in columns.

    Args:
        raws: Zenoh's samples.
        places: where each was published; may be told later.
        contexts: their geo-contexts; `...` where there is nothing but a place and a source.
    """

    def __init__(
        self,
        raws: list[zenoh.Sample],
        places: Sequence[Place | None] = (),
        contexts: list[GeoContext | EllipsisType | None] | None = None,
    ) -> None:
        self.raws = raws
        self.places = places
        self.contexts = contexts or [...] * len(raws)

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> SampleColumns:
        """Those of any samples."""
        if isinstance(samples, SampleColumns):
            return samples
        columns = cls(
            list(map(_ZENOH, samples)), list(map(_PLACE, samples)), list(map(_CONTEXT, samples))
        )
        # Of a message that was opened these are not Zenoh's.
        columns.payloads = [payload.to_bytes() for payload in map(_PAYLOAD, samples)]
        columns.encodings = list(map(_CONTENT_ENCODING, samples))
        return columns

    def __len__(self) -> int:
        return len(self.raws)

    def __iter__(self) -> Iterator[Sample]:
        return map(Sample, self.raws, map(_PAYLOAD, self.raws), self.places, self.contexts)

    @overload
    def __getitem__(self, at: int) -> Sample: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    def __getitem__(self, at: int | slice) -> Sample | Self:
        if isinstance(at, slice):
            return self._chosen(lambda column: column[at])
        raw = self.raws[at]
        return Sample(raw, raw.payload, self.places[at], self.contexts[at])

    def at(self, rows: Sequence[int]) -> Self:
        """Some of the samples."""
        return self._chosen(lambda column: [column[row] for row in rows])

    def _chosen(self, choose: Callable[[list[Any]], list[Any]]) -> Self:
        """Some of them, with all that was read of them."""
        chosen = type(self).__new__(type(self))
        vars(chosen).update({name: choose(column) for name, column in vars(self).items()})
        return chosen

    @property
    def weight(self) -> int:
        """The same as `bytes_of` each of them."""
        payloads = vars(self).get("payloads") or map(_PAYLOAD, self.raws)
        attachments = vars(self).get("attachments") or map(_ATTACHMENT, self.raws)
        size = ITSELF * len(self) + sum(map(len, self.keys)) + sum(map(len, payloads))
        return size + sum(map(len, filter(None, attachments)))

    # What is read of them

    @property
    def common_key(self) -> str | None:
        """The key that all have; None where they have several."""
        first = self.raws[0].key_expr
        if countOf(map(_KEY, self.raws), first) < len(self):
            return None
        key = str(first)
        self.keys = [key] * len(self)
        return key

    @cached_property
    def keys(self) -> list[str]:
        """Their keys, with the location."""
        return list(map(str, map(_KEY, self.raws)))

    @cached_property
    def attachments(self) -> list[bytes | None]:
        """What is attached: a geo-context, or the user's own."""
        return [None if one is None else one.to_bytes() for one in map(_ATTACHMENT, self.raws)]

    @property
    def said(self) -> list[str | bytes]:
        """The attachment of each; its key where it has none."""
        return [
            key if attachment is None else attachment
            for key, attachment in zip(self.keys, self.attachments, strict=True)
        ]

    def common_ending(self, sizes: Mapping[int, int]) -> bytes | None:
        """The last bytes of all attachments, so many as the first byte says; None: they differ."""
        found = [attachment for attachment in self.attachments if attachment]
        if len(found) < len(self) or found[0][0] not in sizes:
            return None
        head, ending = found[0][:1], found[0][-sizes[found[0][0]] :]
        starts = map(bytes.startswith, found, repeat(head))
        ends = map(bytes.endswith, found, repeat(ending))
        return ending if all(starts) and all(ends) else None

    @cached_property
    def payloads(self) -> list[bytes]:
        """The users' own bytes."""
        return [payload.to_bytes() for payload in map(_PAYLOAD, self.raws)]

    @cached_property
    def encodings(self) -> list[zenoh.Encoding]:
        """What the payloads are."""
        return list(map(_ENCODING, self.raws))

    @cached_property
    def stamps(self) -> list[zenoh.Timestamp | None]:
        """Zenoh's time stamps."""
        return list(map(_STAMP, self.raws))

    @cached_property
    def times(self) -> list[int | None]:
        """When each was stamped: Zenoh's 64 bits, see `stamp_parts`."""
        return [
            None if stamp is None else int(str(stamp.get_time_as_ntp64())) for stamp in self.stamps
        ]

    @cached_property
    def clocks(self) -> list[str | None]:
        """The clock that each was stamped by: the id of a session or a router."""
        clocks = [None if stamp is None else stamp.get_id() for stamp in self.stamps]
        if clocks[:1] != [None] and clocks.count(clocks[0]) == len(clocks):
            return [str(clocks[0])] * len(clocks)
        return [None if clock is None else str(clock) for clock in clocks]

    def sources(self) -> tuple[list[str | None], list[int | None]]:
        """Who sent each, and its number there; see `Sample.source`."""
        found = self._sources_by_one_clock()
        if found is not None:
            return found
        each = [self._source(row) or (None, None) for row in range(len(self))]
        return [name for name, _ in each], [number for _, number in each]

    def _sources_by_one_clock(self) -> tuple[list[str | None], list[int | None]] | None:
        """Most that come together are of one session, which counts them; None: these are not."""
        clocks, attachments = set(self.clocks), [each for each in self.attachments if each]
        clock = clocks.pop() if len(clocks) == 1 else None
        if clock is None or len(attachments) < len(self) or self.contexts.count(...) < len(self):
            return None
        if any(map(is_exact, set(self.keys))):
            return None
        origin = origin_of(clock)
        numbers = numbers_in(attachments, origin)
        return None if numbers is None else ([name_of(origin)] * len(self), [*numbers])

    def _source(self, row: int) -> tuple[str, int] | None:
        time, clock, key = self.times[row], self.clocks[row], self.keys[row]
        if self.contexts[row] is not ... or time is None or clock is None:
            return self[row].source
        if is_exact(key):
            return name_of(origin_in(key)), time
        attachment = self.attachments[row]
        assert attachment is not None  # there the point is that is not in the key
        origin, sequence = source_of(attachment, origin_of(clock))
        return self[row].source if origin is None else (name_of(origin), sequence)
