"""What a store keeps of a thing: its newest message, with its place and time stamp."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import zenoh

from zonal.geo import MAX_LEVEL, Cell, Point, area_from_bytes, cell_ids_of
from zonal.keys import encoding_of_expression, location_of, topic_of
from zonal.session import Source, stamp_from_parts, stamp_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.keys import Place
    from zonal.session import Query, Sample

_TOP, _ALL = 1 << 63, 1 << 64


class By(enum.Enum):
    """What a thing is, where many speak under one key."""

    KEY = "key"
    SOURCE = "source"
    """Key and the session that sent it."""
    PLACE = "place"
    """Key and place."""


class StoredThing(NamedTuple):
    """A row of the store; the order is that of the columns."""

    key: str
    part: str
    """Which one of those under this key: a source or a cell; empty where the key is enough."""
    latitude: float | None
    longitude: float | None
    cell: int | None
    """The S2 cell of the place (signed 64 bits): a leaf's, or a larger one where it is blurred."""
    ntp64: int
    clock: str
    deleted: bool
    payload: bytes
    content_encoding: str
    location_encoding: str
    geofence: bytes | None
    attachment: bytes | None
    source: str | None
    sequence: int | None

    @property
    def stamp(self) -> tuple[int, str]:
        """What tells newer from older."""
        return self.ntp64, self.clock

    @property
    def place(self) -> Place | None:
        """Where it is: a point, the cell of a blurred place, or None."""
        if self.cell is None or self.latitude is None or self.longitude is None:
            return None
        cell = Cell(unsigned(self.cell))
        return cell if cell.level < MAX_LEVEL else Point(self.latitude, self.longitude)

    def reply_to(self, query: Query) -> None:
        """Answer a question with the message, under its own key, as from its own source."""
        stamp, source = stamp_from_parts(self.ntp64, self.clock), None
        if self.source is not None:
            source = Source(self.source, self.sequence or 0)
        if self.deleted:
            encoding = self.location_encoding
            query.reply_del(
                self.key, location=self.place, encoding=encoding, timestamp=stamp, source=source
            )
            return
        query.reply(
            self.key,
            self.payload,
            location=self.place,
            geofence=None if self.geofence is None else area_from_bytes(self.geofence),
            encoding=self.location_encoding,
            content_encoding=self.content_encoding,
            attachment=self.attachment,
            timestamp=stamp,
            source=source,
        )


def thing_of(sample: Sample, by: By, stamp: zenoh.Timestamp, cell: int | None) -> StoredThing:
    """What is kept of a message with this time stamp, whose place is in this cell of a table."""
    ntp64, clock = stamp_parts(stamp)
    location, fence, source = sample.location, sample.geofence, sample.source
    part = ""
    if by is By.SOURCE:
        part = "" if source is None else source.id
    elif by is By.PLACE:
        part = "" if cell is None else f"{unsigned(cell):016x}"
    key = str(sample.zenoh.key_expr)
    expression = location_of(key)
    return StoredThing(
        topic_of(key),
        part,
        None if location is None else location.lat,
        None if location is None else location.lon,
        cell,
        ntp64,
        clock,
        sample.kind == zenoh.SampleKind.DELETE,
        sample.payload.to_bytes(),
        str(sample.content_encoding),
        encoding_of_expression(expression).name if expression else "s2",
        None if fence is None else fence.to_bytes(),
        sample.attachment,
        None if source is None else source.id,
        None if source is None else source.sequence,
    )


def cell_numbers(places: Sequence[Place | None]) -> list[int | None]:
    """The numbers of places' cells in a table, whose numbers are signed."""
    points = [place for place in places if isinstance(place, Point)]
    leaves = cell_ids_of([each.lat for each in points], [each.lon for each in points])
    numbers = iter(leaves.view(np.int64).tolist())
    return [
        next(numbers) if isinstance(place, Point) else None if place is None else signed(place.id)
        for place in places
    ]


def signed(number: int) -> int:
    """An unsigned number of 64 bits as a signed one."""
    return number - _ALL if number >= _TOP else number


def unsigned(number: int) -> int:
    """And back."""
    return number + _ALL if number < 0 else number
