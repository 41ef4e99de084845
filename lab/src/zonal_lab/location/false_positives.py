"""False positives of Bloom filters through a real router, after Visotto 2023, section 7.8.

A domain of 5 × 5 units with a resolution of half a unit has 100 fields; one publisher sends one
message per field; six subscribers expect 6, 6, 4, 4, 1 and 3 of them. Counted are the messages that
routers let through (by chunk), those whose filter matches (by bit, as in Visotto 2023), and
those that a location-aware session hands to its user (after the exact check).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import zenoh

import zonal
from zonal.geo import Grid, GridCell
from zonal.keys import encode_area, filters_match
from zonal_lab.emulation import wait_until

if TYPE_CHECKING:
    from zonal.session import Publisher

PROBABILITIES = (0.01, 0.10, 0.20, 0.25, 0.30, 0.40)
_TOPIC = "evaluation/bloom"
_PROBE = "probe"
_UNIT = 0.5
# South, west, north, east. S9's is in the text, the others are ours with the expected counts; a
# hair smaller than their fields, since a field that an area only touches would count as well.
AREAS = {
    6: (3.5, 0.5, 5.0, 1.5),
    7: (3.5, 3.0, 4.5, 4.5),
    8: (1.0, 3.5, 2.0, 4.5),
    9: (2.5, 1.5, 3.5, 2.5),
    10: (0.5, 0.5, 1.0, 1.0),
    11: (0.0, 2.0, 0.5, 3.5),
}
EXPECTED = {6: 6, 7: 6, 8: 4, 9: 4, 10: 1, 11: 3}
# Table 7.4 of Visotto 2023: false positives by subscriber.
THEIRS = {0.30: {9: 1}, 0.40: {6: 1, 7: 1, 9: 1, 11: 2}}
_HAIR = 0.01
_PATIENCE_S = 20.0


@dataclass(frozen=True)
class FalsePositives:
    """One probability: the filter's size, and messages per subscriber at three stages."""

    probability: float
    bits: int
    hashes: int
    through_routers: dict[int, int]
    by_filter: dict[int, int]
    delivered: dict[int, int]

    @property
    def false_positives(self) -> dict[int, int]:
        """What the filter lets through beyond the expected, by subscriber."""
        extra = {each: count - EXPECTED[each] for each, count in self.by_filter.items()}
        return {each: count for each, count in extra.items() if count}


def count_false_positives(probabilities: tuple[float, ...] = PROBABILITIES) -> list[FalsePositives]:
    """Run the experiment for each probability."""
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        return [_run(router, probability) for probability in probabilities]


def _area(subscriber: int) -> zonal.Box:
    south, west, north, east = AREAS[subscriber]
    return zonal.Box(south + _HAIR, west + _HAIR, north - _HAIR, east - _HAIR)


def _run(router: zonal.Router, probability: float) -> FalsePositives:
    grid = Grid(zonal.Box(0, 0, 5, 5), rows=10, columns=10)
    domain = zonal.BloomDomain(f"table-{probability * 100:g}", grid, probability)
    encoding = zonal.BloomEncoding(domain)
    zonal.register_encoding(encoding)
    heard = {each: _Plain(router, each, encoding) for each in AREAS}
    exact = {each: _Exact(router, each, encoding) for each in AREAS}
    try:
        with zonal.open(zonal.config("client", connect=router.endpoints)) as session:
            publisher = session.declare_publisher(_TOPIC, encoding=encoding.name)
            wait_until(
                lambda: _all_hear(publisher, heard, exact),
                _PATIENCE_S,
                "the subscribers hear nothing",
            )
            for row in range(grid.rows):
                for column in range(grid.columns):
                    at = zonal.Point((row + 0.5) * _UNIT, (column + 0.5) * _UNIT)
                    publisher.put(f"{row}-{column}", location=at)
            _settle([*heard.values(), *exact.values()])
    finally:
        for plain in heard.values():
            plain.close()
        for aware in exact.values():
            aware.close()
    return FalsePositives(
        probability,
        domain.bits,
        domain.hashes,
        {each: len(plain.messages) for each, plain in heard.items()},
        {each: plain.matching() for each, plain in heard.items()},
        {each: len(session.messages) for each, session in exact.items()},
    )


class _Listener:
    """Counts numbered messages; probes only tell that the way stands."""

    def __init__(self, number: int) -> None:
        self.inside = _area(number).center
        self.messages: list[str] = []
        self.probed = False

    def hear(self, text: str) -> None:
        """Take a message."""
        if text == _PROBE:
            self.probed = True
        else:
            self.messages.append(text)


class _Plain(_Listener):
    """A plain client under the subscriber's location key: what routers let through."""

    def __init__(self, router: zonal.Router, number: int, encoding: zonal.BloomEncoding) -> None:
        super().__init__(number)
        self._encoding = encoding
        self._filter = encoding.filter_of_area(_area(number))
        (mine,) = encode_area(_area(number), encoding.name)
        self._session = zenoh.open(zonal.config("client", connect=router.endpoints))
        self._session.declare_subscriber(
            f"{_TOPIC}/{mine.expression}", lambda sample: self.hear(sample.payload.to_string())
        )

    def matching(self) -> int:
        """How many of the heard messages match by the filters' bits."""
        fields = (GridCell(*map(int, text.split("-"))) for text in self.messages)
        sent = (self._encoding.domain.filter_of([each]) for each in fields)
        return sum(filters_match(self._filter, each) for each in sent)

    def close(self) -> None:
        """Leave the network."""
        self._session.close()


class _Exact(_Listener):
    """A location-aware session: what its user gets."""

    def __init__(self, router: zonal.Router, number: int, encoding: zonal.BloomEncoding) -> None:
        super().__init__(number)
        self._session = zonal.open(zonal.config("client", connect=router.endpoints))
        self._session.declare_subscriber(
            _TOPIC,
            lambda sample: self.hear(sample.payload.to_string()),
            area=_area(number),
            encoding=encoding.name,
        )

    def close(self) -> None:
        """Leave the network."""
        self._session.close()


def _all_hear(publisher: Publisher, heard: dict[int, _Plain], exact: dict[int, _Exact]) -> bool:
    for each in exact.values():
        publisher.put(_PROBE, location=each.inside)
    return all(each.probed for each in (*heard.values(), *exact.values()))


def _settle(listeners: list[_Plain | _Exact]) -> None:
    """Wait until nothing has come for a while and everybody has what is expected at least."""
    numbers = list(EXPECTED.values()) * 2

    def complete() -> bool:
        return all(
            len(each.messages) >= least for each, least in zip(listeners, numbers, strict=True)
        )

    wait_until(complete, _PATIENCE_S, "messages are missing")
    before = -1
    while (now := sum(len(each.messages) for each in listeners)) != before:
        before = now
        time.sleep(0.3)
