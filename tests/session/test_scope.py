"""What a subscription asks for as its subscriber moves: by what came from beside its area."""

from __future__ import annotations

import math

import numpy as np
import pytest
import s2geometry as s2

from zonal.geo import Circle, Point, destination
from zonal.keys import Role, encoding_named
from zonal.session.interest import Interest
from zonal.session.scope import Scope

DUOMO = Point(45.4642, 9.19)
RADIUS_M = 2000.0
EARTH_RADIUS_M = 6_371_008.8
S2 = encoding_named("s2")


def declared_on_the_way(name: str, messages_a_radius: float, *, moves: bool = False) -> float:
    """New keys a radius, of a circle that moves straight on."""
    scope = Scope(Circle(radius_m=RADIUS_M), DUOMO, moves_a_radius=64, moves=moves)
    interest = Interest("topic", [encoding_named(name)])
    interest.want("it", scope.wish)
    keys, new = interest.keys(), 0
    for step in range(1, 501):
        place = destination(DUOMO, 63.0, step * RADIUS_M / 100)
        scope.move(place, left_out=int(step * messages_a_radius / 100))
        interest.want("it", scope.wish)
        before, keys = keys, interest.keys()
        new += len(keys - before)
    return new / 5


@pytest.mark.parametrize(("name", "most"), [("s2", 14.0), ("mgrs", 20.0)])
def test_where_nothing_comes_from_beside_it_few_keys_change(name: str, most: float) -> None:
    assert declared_on_the_way(name, 0) <= most


@pytest.mark.parametrize(("name", "most"), [("s2", 10.8), ("mgrs", 22.0)])
def test_who_is_known_to_move_has_few_keys_from_the_first_on(name: str, most: float) -> None:
    assert declared_on_the_way(name, 0, moves=True) <= most


def test_who_stays_has_close_keys_and_who_moves_as_soon_as_much_comes_from_beside() -> None:
    """Declared over wanted area: at first, and on the way."""

    def surplus(interest: Interest) -> float:
        declared = interest.keys()
        keys = [key.removeprefix("topic/") for key in declared if "@to" not in key]
        cells = [S2.decode(key, Role.SUBSCRIBER) for key in keys]
        shares = [s2.S2Cell(s2.S2CellId(each.id)).ExactArea() for each in cells]  # type: ignore[union-attr]
        return float(sum(shares)) * EARTH_RADIUS_M**2 / (math.pi * RADIUS_M**2)

    staying, moving = (
        Scope(Circle(radius_m=RADIUS_M), DUOMO, moves_a_radius=64, moves=moves)
        for moves in (False, True)
    )
    here, there = (Interest("topic", [S2]) for _ in range(2))
    here.want("it", staying.wish)
    there.want("it", moving.wish)
    assert surplus(here) < 1.5 < surplus(there) < 3.5
    on_the_way = []
    for step in range(1, 401):
        moving.move(destination(DUOMO, 144.0, step * RADIUS_M / 50), step * 10)
        there.want("it", moving.wish)
        on_the_way.append(surplus(there))
    assert np.median(on_the_way[50:]) <= 1.4
    assert np.quantile(on_the_way[50:], 0.9) <= 1.6


@pytest.mark.parametrize("name", ["s2", "mgrs"])
def test_where_much_comes_from_beside_it_more_keys_are_declared(name: str) -> None:
    loosely, closely = (declared_on_the_way(name, number) for number in (0, 10_000))
    assert closely > loosely


def test_it_stays_close_while_some_still_comes_and_is_loose_again_when_nothing_does() -> None:
    scope = Scope(Circle(radius_m=RADIUS_M), DUOMO, moves_a_radius=64)
    left_out, closely = 0, []
    for step, come in enumerate((0, 30, 3, 3, 0), 1):
        left_out += come
        scope.move(destination(DUOMO, 90.0, step * 100.0), left_out)
        assert scope.wish is not None
        closely.append(scope.wish.closely)
    assert closely == [False, True, False, False, False]
    scope.move(destination(DUOMO, 90.0, 600.0), left_out + 30)
    scope.move(destination(DUOMO, 90.0, 700.0), left_out + 36)
    assert scope.wish is not None
    assert scope.wish.closely


@pytest.mark.parametrize("name", ["s2", "mgrs"])
def test_one_who_stays_among_many_messages_from_beside_is_covered_anew(name: str) -> None:
    scope = Scope(Circle(radius_m=RADIUS_M), DUOMO, moves_a_radius=64)
    interest, at_rest = (Interest("topic", [encoding_named(name)]) for _ in range(2))
    interest.want("it", scope.wish)
    for step in range(1, 301):
        scope.move(destination(DUOMO, 63.0, step * RADIUS_M / 50))
        interest.want("it", scope.wish)
    assert scope.wish is not None
    at_rest.want("it", scope.wish._replace(closely=True))
    every = at_rest.keys()
    areas = {key for key in every if "@to" not in key}
    scope.move(destination(DUOMO, 63.0, 300 * RADIUS_M / 50), left_out=255)
    assert not interest.want("it", scope.wish)
    assert not areas <= interest.keys()
    scope.move(destination(DUOMO, 63.0, 300 * RADIUS_M / 50), left_out=256)
    assert interest.want("it", scope.wish)
    assert areas <= interest.keys()


@pytest.mark.parametrize("announced", [False, True])
def test_what_is_announced_still_does_while_senders_hear_of_the_next_area(announced: bool) -> None:
    """The next area is only announced when the subscriber is a margin away from the last one."""
    scope = Scope(Circle(radius_m=RADIUS_M), DUOMO, announced=announced)
    last, step_m = scope.wish, RADIUS_M / 320
    for number in range(1, 200):
        scope.move(destination(DUOMO, 90.0, number * step_m))
        if scope.wish != last:
            break
        last = scope.wish
    assert last is not None
    assert last.area is not None
    # For as long again as it took until now, it may go on before anything is missed.
    later = destination(DUOMO, 90.0, (2 * number - 2) * step_m)
    front = destination(later, 90.0, RADIUS_M * 0.9999)
    assert last.area.contains(front) is announced
