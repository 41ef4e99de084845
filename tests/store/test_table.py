"""Tables against plain lists: what is newest, what is in an area, what is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from zenoh import KeyExpr

from places import areas, points
from property_examples import examples
from zonal.errors import StoreError
from zonal.geo import Area, Cell, Point, cell_of
from zonal.keys import Place, refine
from zonal.store import Nearness, StoredThing, Table, ThingFilter, open_table
from zonal.store.nearest import distance_to, nearest_in
from zonal.store.thing import cell_numbers

CLOCK = "a1b2"


@pytest.fixture(params=["sqlite", "postgres"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    is_file = request.param == "sqlite"
    made = open_table(tmp_path if is_file else request.getfixturevalue("database"))
    yield made
    made.forget(2**63 - 1, deleted=False)
    made.close()


def thing(key: str, place: Place | None, time: int = 1, **changes: object) -> StoredThing:
    at = place.center if isinstance(place, Cell) else place
    lat, lon = (None, None) if at is None else (at.lat, at.lon)
    kept = StoredThing(
        key, "", lat, lon, cell_numbers([place])[0], time, CLOCK, False, b"", "zenoh/bytes", "s2",
        None, None, None, None,
    )  # fmt: skip
    return kept._replace(**changes)


places = st.one_of(
    points, st.builds(lambda point, level: cell_of(point, 2 * level), points, st.integers(5, 14))
)
keys = st.sampled_from(["a", "a/b", "a/b/c", "b/a", "ab"])
expressions = st.sampled_from(["**", "a", "a/**", "a/*", "*/b", "a$*", "*/*/c", "b/a"])


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(keys, st.one_of(st.none(), places), st.integers(1, 5)), max_size=8),
    st.one_of(st.none(), areas),
    expressions,
)
def test_what_is_found_is_the_newest_under_the_keys_in_the_area(
    table: Table,
    writes: list[tuple[str, Place | None, int]],
    area: Area | None,
    expression: str,
) -> None:
    table.forget(2**63 - 1, deleted=False)
    newest: dict[str, StoredThing] = {}
    for key, place, time in writes:
        each = thing(key, place, time)
        table.write([each])
        if key not in newest or newest[key].stamp < each.stamp:
            newest[key] = each
    expected = {
        key
        for key, each in newest.items()
        if KeyExpr(expression).intersects(KeyExpr(key))
        and (area is None or (each.place is not None and refine(area, each.place)))
    }
    found = list(table.find(ThingFilter(expression, area)))
    assert {each.key for each in found} == expected
    assert len(found) == len(expected)
    assert set(found) <= set(newest.values())


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(places, max_size=12),
    points,
    st.integers(1, 5),
    st.sampled_from([-1.0, 0.0, 1000.0, 1e6]),
    st.one_of(st.none(), areas),
)
def test_the_nearest_are_those_of_a_sorted_list(
    table: Table,
    everything: list[Place],
    to: Point,
    count: int,
    beyond_m: float,
    area: Area | None,
) -> None:
    table.forget(2**63 - 1, deleted=False)
    things = [thing(f"t/{number}", place) for number, place in enumerate(everything)]
    table.write(things)
    found = nearest_in(table, ThingFilter("t/*", area), Nearness(count, to, beyond_m))
    expected = sorted(
        (distance_to(each.place, to), each.key)
        for each in things
        if each.place is not None
        and (area is None or refine(area, each.place))
        and distance_to(each.place, to) > beyond_m
    )[:count]
    assert [each.key for each in found] == [key for _, key in expected]


def test_deleted_and_old_things_are_forgotten(table: Table) -> None:
    here = Point(45, 9)
    table.write([thing("a", here, 5), thing("b", here, 6), thing("c", here, 7, deleted=True)])
    assert (len(table), table.newest()) == (2, 7)
    assert {each.key for each in table.find(ThingFilter("**", deleted=True, newer_than=5))} == {
        "b",
        "c",
    }
    assert table.forget(10, deleted=True) == 1
    assert table.forget(6, deleted=False) == 1
    assert [each.key for each in table.find(ThingFilter("**"))] == ["b"]
    assert set(table.named([("b", ""), ("x", "")])) == {("b", "")}


def test_an_older_message_does_not_replace_a_newer_one(table: Table) -> None:
    table.write([thing("a", None, 5, payload=b"new"), thing("a", None, 4, payload=b"old")])
    table.write([thing("a", None, 5, clock="0", payload=b"same time, another clock")])
    assert [each.payload for each in table.find(ThingFilter("a"))] == [b"new"]


def test_people_read_the_newest_values_with_sql(database: str) -> None:
    import psycopg

    table = open_table(database)
    when = 1_700_000_000
    table.write(
        [
            thing(
                "sql/a",
                Point(45.46, 9.19),
                when << 32,
                payload=b"21",
                content_encoding="text/plain",
            ),
            thing("sql/b", Point(45.58, 9.27), when << 32),
            thing("sql/c", None, when << 32, deleted=True),
        ]
    )
    with psycopg.connect(database) as connection:
        near = connection.execute(
            "SELECT key, text, extract(epoch FROM time) FROM newest WHERE key LIKE 'sql/%' "
            "AND ST_DWithin(place, ST_MakePoint(9.19, 45.46)::geography, 2000)"
        ).fetchall()
        assert near == [("sql/a", "21", when)]
        count = "SELECT count(*) FROM newest WHERE key LIKE 'sql/%'"
        assert connection.execute(count).fetchone() == (2,)
    table.close()


def test_a_database_that_is_not_there_is_told() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="cannot keep things in PostgreSQL"):
        open_table("postgresql:///nothing?host=/nowhere")
