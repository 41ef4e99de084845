"""The nearest things, through one or many stores, and from those who answer everything."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import numpy as np
import pytest

from command_line import run_zonal
from network import eventually
from zonal import Store
from zonal.errors import GeometryError, PositionError
from zonal.geo import Box, Circle, Point, destination
from zonal.session import Query, Router, Session
from zonal.store import StoredThing

DUOMO = Point(45.4642, 9.1900)
WEST, EAST = Box(40.0, 0.0, 50.0, 9.2), Box(40.0, 9.2, 50.0, 20.0)
OpenClient = Callable[..., Session]


def fill(session: Session, topic: str, places: list[Point], *stores: Store) -> None:
    def is_known() -> bool:
        for number, place in enumerate(places):
            session.put(f"{topic}/{number}", str(number), location=place)
        return sum(len(store.find(f"{topic}/*")) for store in stores) >= len(places)

    eventually(is_known)


def by_distance(topic: str, places: list[Point], to: Point) -> list[str]:
    return [
        f"{topic}/{number}"
        for _, number in sorted((place.distance_m(to), n) for n, place in enumerate(places))
    ]


def test_the_nearest_come_sorted_from_several_stores(open_client: OpenClient, topic: str) -> None:
    draw = random.Random(16)
    places = [destination(DUOMO, draw.uniform(0, 360), draw.uniform(0, 30_000)) for _ in range(60)]
    with (
        Store(open_client(), f"{topic}/**", area=WEST) as west,
        Store(open_client(), f"{topic}/**", area=EAST) as east,
    ):
        session = open_client(position=DUOMO)
        fill(session, topic, places, west, east)
        expected = by_distance(topic, places, DUOMO)

        def found(**options: object) -> list[str]:
            return [reply.key for reply in session.get(f"{topic}/*", **options)]  # type: ignore[call-overload]

        eventually(lambda: found(nearest=10) == expected[:10])
        assert found(nearest=100) == expected
        near = list(session.get(f"{topic}/*", nearest=60, within_m=10_000))
        assert [reply.key for reply in near] == expected[: len(near)]
        assert [r.distance_m for r in near] == sorted(r.location.distance_m(DUOMO) for r in near)
        assert max(reply.distance_m for reply in near) <= 10_000
        assert 0 < len(near) < 60
        # Each is asked for no more than it must answer, and who is far away not at all.
        before = west.counters, east.counters
        corner = destination(DUOMO, 270, 25_000)
        assert found(nearest=1, to=corner) == by_distance(topic, places, corner)[:1]
        after = west.counters, east.counters
        assert after[0].replies - before[0].replies == 1
        assert after[1].asked == before[1].asked


async def test_who_answers_everything_is_sorted_here(open_client: OpenClient, topic: str) -> None:
    places = [destination(DUOMO, 0, 100 * number) for number in range(50)]

    def answer(query: Query) -> None:
        for number, place in enumerate(places):
            query.reply(f"{topic}/{number}", "x", location=place)
        query.reply(f"{topic}/nowhere", "x")

    open_client().declare_queryable(f"{topic}/**", answer)
    session = open_client()
    end = places[-1]
    eventually(lambda: len(list(session.get(f"{topic}/**", nearest=1, to=end))) == 1)
    found = session.get(f"{topic}/**", nearest=15, to=end)
    assert [r.key async for r in found] == [f"{topic}/{n}" for n in range(49, 34, -1)]
    assert found.rings == 2
    heard: list[float] = []
    session.get(f"{topic}/**", lambda reply: heard.append(reply.distance_m), nearest=2, to=end)
    eventually(lambda: len(heard) == 2)
    assert heard == [pytest.approx(0, abs=1e-6), pytest.approx(100)]


def test_wrong_questions_are_refused(
    open_client: OpenClient, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    session = open_client()
    with pytest.raises(PositionError):
        session.get(topic, nearest=1)
    with pytest.raises(GeometryError, match="at least 1"):
        session.get(topic, nearest=0, to=DUOMO)
    with pytest.raises(GeometryError, match="within_m= bounds it"):
        session.get(topic, nearest=1, to=DUOMO, area=Circle(DUOMO, radius_m=1))  # type: ignore[call-overload]
    with pytest.raises(GeometryError, match="belong to nearest"):
        session.get(topic, to=DUOMO)  # type: ignore[call-overload]
    with Store(open_client(), topic) as store:
        store.table.write([StoredThing(topic, *_nothing())])

        def failure() -> str:
            replies = session.get(f"{topic}?_nearest=x")
            assert list(replies) == []
            return "".join(map(str, replies.failures))

        eventually(lambda: "asks for the nearest" in failure())
        assert "Traceback" not in caplog.text, "strangers' mistakes are theirs"


def test_numbers_of_numpy_are_places_too(open_client: OpenClient, topic: str) -> None:
    with Store(open_client(), f"{topic}/*") as store:
        session = open_client()
        fill(session, topic, [DUOMO], store)
        to = Point(*np.array([45.46, 9.19]))
        eventually(lambda: [r.key for r in session.get(f"{topic}/*", nearest=1, to=to)])


def _nothing() -> tuple[object, ...]:
    return "", None, None, None, 1, "a", False, b"", "zenoh/bytes", "s2", None, None, None, None


def test_the_command_prints_the_distance(
    open_client: OpenClient, router: Router, topic: str
) -> None:
    places = [destination(DUOMO, 90, 100.0 * number) for number in range(1, 5)]
    with Store(open_client(), f"{topic}/**") as store:
        fill(open_client(), topic, places, store)
        options = ("--to", "45.4642,9.19", "-e", router.endpoints[0])
        lines = run_zonal("get", f"{topic}/*", "--nearest", "2", *options).stdout.splitlines()
        assert [line.split()[0] for line in lines] == [f"{topic}/0", f"{topic}/1"]
        assert "(100 m)" in lines[0]
        text = run_zonal(
            "get", f"{topic}/*", "--nearest", "9", "--within", "310m", "--json", *options
        )
        found = [json.loads(line)["distance_m"] for line in text.stdout.splitlines()]
        assert found == pytest.approx([100, 200, 300])
