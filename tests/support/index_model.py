"""Random sequences of operations on subscription indexes, and a naive model to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import zenoh
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from index_places import areas, points
from zonal.geo import Area, Circle, Point
from zonal.index import Fences, SubscriptionIndex

filters = st.sampled_from(["a/b", "a/*", "a/**", "**", "b", "a/@x", "**/b"])
topics = st.sampled_from(["a/b", "a", "b", "a/@x", "a/b/c", "a/*"])
ids = st.integers(0, 9)
clients = st.sampled_from([None, "p", "q", "r"])
some_areas = st.one_of(
    st.none(), areas, st.builds(lambda radius: Circle(radius_m=radius), st.floats(1.0, 1e6))
)


@dataclass(frozen=True)
class Entry:
    topic_filter: str
    area: Area | None
    client: str | None
    fenced: bool


@dataclass
class Model:
    """The rules, written down as plainly as they can be."""

    entries: dict[int, Entry] = field(default_factory=dict)
    locations: dict[str, Point] = field(default_factory=dict)

    def match(self, topic: str, location: Point | None, geofence: Area | None) -> list[int]:
        key = zenoh.KeyExpr(topic)
        return [
            id_
            for id_, entry in self.entries.items()
            if zenoh.KeyExpr(entry.topic_filter).intersects(key)
            and self.wants(entry, location)
            and self.reached(entry, geofence)
        ]

    def wants(self, entry: Entry, location: Point | None) -> bool:
        area, center = entry.area, self.locations.get(entry.client or "")
        if area is None or location is None:
            return True
        if isinstance(area, Circle) and area.center is None:
            return center is not None and area.at(center).contains(location)
        return area.contains(location)

    def reached(self, entry: Entry, geofence: Area | None) -> bool:
        if geofence is None or entry.fenced:
            return True
        location = self.locations.get(entry.client or "")
        return location is not None and geofence.contains(location)


class SameAnswers(RuleBasedStateMachine):
    """Drives an index of each kind of fences, and the model, through the same operations."""

    structures: Sequence[Callable[[], Fences]] = ()

    @initialize()
    def start(self) -> None:
        self.model = Model()
        self.indexes: list[SubscriptionIndex[int]] = [
            SubscriptionIndex(fences=make) for make in self.structures
        ]

    @rule(id_=ids, topic_filter=filters, area=some_areas, client=clients, fenced=st.booleans())
    def add_or_change(
        self, id_: int, topic_filter: str, area: Area | None, client: str | None, fenced: bool
    ) -> None:
        old = self.model.entries.get(id_)
        for index in self.indexes:
            if old is None:
                index.add(id_, topic_filter, area, client=client, fenced=fenced)
            else:
                index.update(id_, topic_filter=topic_filter, area=area, fenced=fenced)
        kept = client if old is None else old.client
        self.model.entries[id_] = Entry(topic_filter, area, kept, fenced)

    @rule(id_=ids, area=some_areas)
    def change_geofence(self, id_: int, area: Area | None) -> None:
        if id_ in self.model.entries:
            for index in self.indexes:
                index.update(id_, area=area)
            self.model.entries[id_] = replace(self.model.entries[id_], area=area)

    @rule(id_=ids)
    def remove(self, id_: int) -> None:
        if self.model.entries.pop(id_, None):
            for index in self.indexes:
                index.remove(id_)

    @rule(client=st.sampled_from("pqr"), point=st.one_of(st.none(), points))
    def locate(self, client: str, point: Point | None) -> None:
        self.model.locations.pop(client, None)
        if point is not None:
            self.model.locations[client] = point
        for index in self.indexes:
            index.locate(client, point)

    @rule(client=st.sampled_from("pqr"))
    def remove_client(self, client: str) -> None:
        gone = [id_ for id_, entry in self.model.entries.items() if entry.client == client]
        for id_ in gone:
            del self.model.entries[id_]
        self.model.locations.pop(client, None)
        for index in self.indexes:
            assert sorted(index.remove_client(client)) == sorted(gone)  # type: ignore[type-var]

    @rule(
        topic=topics,
        location=st.one_of(st.none(), points),
        geofence=st.one_of(st.none(), areas),
    )
    def ask(self, topic: str, location: Point | None, geofence: Area | None) -> None:
        expected = sorted(self.model.match(topic, location, geofence))
        for index in self.indexes:
            assert sorted(index.match(topic, location, geofence)) == expected
            rows = index.match_rows(topic, location, geofence)
            assert sorted(index.values(rows)) == expected

    @invariant()
    def sizes_agree(self) -> None:
        for index in getattr(self, "indexes", []):
            assert len(index) == len(self.model.entries)
