"""Areas of many topics are covered with few keys, and closely where messages are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import cycle, islice

import pytest
import s2geometry as s2

from network import collect, eventually, texts, wait_until_declared
from zonal.geo import EARTH_RADIUS_M, Cell, Circle, Point, cell_of, destination
from zonal.keys import encode_place
from zonal.keys.s2 import cell_of_path
from zonal.runtime import CallbackThreads
from zonal.session import PastMessages, Session, Subscriber
from zonal.session.interest import CELLS_AN_AREA
from zonal.session.key_budget import (
    FEW_CELLS,
    FEWEST_CELLS,
    FIRST_KEYS,
    MANY_TOPICS,
    MOST_KEYS,
    KeyBudget,
)

DUOMO = Point(45.4642, 9.19)
RADIUS_M = 500.0
WANTED_M2 = math.pi * RADIUS_M**2


def cells_of(subscriber: Subscriber) -> list[Cell]:
    paths = [key.partition("/@s2/")[2] for key in subscriber.declared_keys]
    return [cell_of_path(path.removesuffix("/**")) for path in paths]


def declared_over_wanted(subscriber: Subscriber) -> float:
    cells = [s2.S2Cell(s2.S2CellId(cell.id)) for cell in cells_of(subscriber)]
    return float(sum(cell.ApproxArea() for cell in cells) * EARTH_RADIUS_M**2 / WANTED_M2)


def is_in(cells: list[Cell], place: Point) -> bool:
    return any(cell.contains(cell_of(place)) for cell in cells)


def beside(cells: list[Cell]) -> Iterator[Point]:
    """Places in these cells, but not in the circle around the Duomo."""
    for number in range(200_000):
        place = destination(DUOMO, number * 137.5, RADIUS_M + 1 + number * 0.618 % 1_500)
        if is_in(cells, place):
            yield place


def is_heard(session: Session, topic: str, place: Point) -> bool:
    """Whether messages of a topic from there still go to somebody."""
    key = f"{topic}/{encode_place(place)[0]}"
    with session.zenoh.declare_publisher(key) as publisher:
        return bool(publisher.matching_status.matching)


def subscribe(session: Session, topic: str, area: Circle, count: int) -> list[Subscriber]:
    return [session.declare_subscriber(f"{topic}/{each}", area=area) for each in range(count)]


def test_of_many_topics_one_with_much_from_beside_is_covered_closely(
    near: Session, far: Session, topic: str
) -> None:
    """And no message from inside is lost or doubled while its keys change."""
    area = Circle(DUOMO, radius_m=RADIUS_M)
    *others, busy = subscribe(far, topic, area, 300)
    assert declared_over_wanted(busy) > 2
    assert len(busy.declared_keys) <= FEW_CELLS
    wait_until_declared(near, busy)
    places = beside(cells_of(busy))
    sent = 0

    def sent_more_until_refined() -> bool:
        nonlocal sent
        for _ in range(64):
            near.put(busy.key, "beside", location=next(places))
            near.put(busy.key, str(sent), location=destination(DUOMO, sent * 31.0, sent % 490))
            sent += 1
        return declared_over_wanted(busy) <= 1.6

    eventually(sent_more_until_refined)
    assert sent >= 256
    assert sorted(map(int, texts(collect(busy, sent)))) == list(range(sent))

    cells = cells_of(busy)
    now_left_out = [
        place for place in islice(beside(cells_of(others[-1])), 60) if not is_in(cells, place)
    ]
    eventually(lambda: not any(is_heard(near, busy.key, place) for place in now_left_out))
    received = busy.counters.received
    for place in now_left_out:
        near.put(busy.key, "beside", location=place)
    near.put(busy.key, "last", location=DUOMO)
    assert texts(collect(busy, 1)) == ["last"]
    assert busy.counters.received == received + 1
    assert len(others[-1].declared_keys) <= FEW_CELLS


def test_room_for_close_covers_returns_when_topics_go(far: Session, topic: str) -> None:
    area = Circle(DUOMO, radius_m=RADIUS_M)
    first, *others, last = subscribe(far, topic, area, 120)
    assert declared_over_wanted(first) <= 1.4
    assert declared_over_wanted(last) > 2
    for each in others:
        each.undeclare()
    again = far.declare_subscriber(f"{topic}/again", area=area)
    assert declared_over_wanted(again) <= 1.4


def test_keys_of_the_place_where_one_is_take_nothing_from_areas(
    far: Session, far_client: Callable[..., Session], topic: str
) -> None:
    somewhere = far_client(position=destination(DUOMO, 10.0, 20_000))
    area = Circle(DUOMO, radius_m=RADIUS_M)
    nowhere, located = (subscribe(each, topic, area, 100) for each in (far, somewhere))
    for one, other in zip(nowhere, located, strict=True):
        assert set(one.declared_keys) < set(other.declared_keys)
        assert all("/@to/" in key for key in set(other.declared_keys) - set(one.declared_keys))


def test_keys_that_history_came_by_stay(near: Session, far: Session, topic: str) -> None:
    """Others would ask publishers once more for all that they remember."""
    area = Circle(DUOMO, radius_m=RADIUS_M)
    subscribe(far, f"{topic}/others", area, 100)
    subscriber = far.declare_subscriber(topic, area=area, history=PastMessages())
    keys = subscriber.declared_keys
    wait_until_declared(near, subscriber)
    for place in islice(cycle(islice(beside(cells_of(subscriber)), 50)), 600):
        near.put(topic, "beside", location=place)
    near.put(topic, "last", location=DUOMO)
    assert texts(collect(subscriber, 1)) == ["last"]
    assert subscriber.counters.filtered_at_edge == 600
    assert subscriber.declared_keys == keys


class Topic:
    """A topic whose area has as many keys as it may have cells."""

    def __init__(self, budget: KeyBudget) -> None:
        self._budget = budget
        self.received = 0
        self.cells_an_area = budget.first_cells()
        budget.note(self, self.cells_an_area)

    def fit(self, cells_an_area: int) -> None:
        self.cells_an_area = cells_an_area
        self._budget.note(self, cells_an_area)

    def ask(self) -> None:
        self._budget.ask(self)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budget(clock: Clock) -> Iterator[KeyBudget]:
    threads = CallbackThreads("zonal")
    yield KeyBudget(threads, clock)
    threads.close()


def test_further_topics_have_fewer_cells_and_never_too_few(budget: KeyBudget) -> None:
    cells = [Topic(budget).cells_an_area for _ in range(MANY_TOPICS + 100)]
    assert cells[0] == CELLS_AN_AREA
    assert cells == sorted(cells, reverse=True)
    assert min(cells[:MANY_TOPICS]) == FEW_CELLS
    assert cells[-1] == FEWEST_CELLS
    assert sum(cells) <= MANY_TOPICS * FEW_CELLS + FIRST_KEYS + 100


def detail(topics: list[Topic]) -> int:
    return sum(max(0, each.cells_an_area - FEW_CELLS) for each in topics)


def test_quiet_topics_make_room_for_busy_ones(budget: KeyBudget, clock: Clock) -> None:
    quiet = [Topic(budget) for _ in range(100)]
    busy = [Topic(budget) for _ in range(MOST_KEYS // (CELLS_AN_AREA - FEW_CELLS))]
    assert quiet[0].cells_an_area == CELLS_AN_AREA

    def are_all_refined() -> bool:
        clock.now += 11.0
        for each in busy:
            each.received += 1_000
            each.ask()
        return all(each.cells_an_area == CELLS_AN_AREA for each in busy)

    eventually(are_all_refined)
    assert quiet[0].cells_an_area == FEW_CELLS
    assert detail(quiet + busy) <= MOST_KEYS


def test_where_all_are_busy_nobody_has_to_make_room(budget: KeyBudget, clock: Clock) -> None:
    topics = [Topic(budget) for _ in range(200)]

    def cells() -> list[int]:
        return [each.cells_an_area for each in topics]

    def have_all_asked() -> bool:
        before = cells()
        clock.now += 11.0
        for each in topics:
            each.received += 1_000
            each.ask()
        return cells() == before and sum(before) > MOST_KEYS

    eventually(have_all_asked)
    assert min(cells()) == FEW_CELLS
    assert detail(topics) <= MOST_KEYS
