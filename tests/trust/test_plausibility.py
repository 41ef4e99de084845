from __future__ import annotations

from zonal.geo import Point, destination
from zonal.trust import Movements, Plausible, Who

DUOMO = Point(45.4642, 9.19)
WALKERS = Plausible(name="walkers", who=Who(everyone=True), max_speed_m_s=3.0)


def test_who_is_faster_than_possible_is_counted() -> None:
    movements = Movements([WALKERS])
    assert movements.judge("alice", "phone", DUOMO, 0).plausible
    assert movements.judge("alice", "phone", destination(DUOMO, 0, 30), 10).plausible
    judged = movements.judge("alice", "phone", destination(DUOMO, 0, 5000), 20)
    assert not judged.plausible
    assert not judged.refused
    assert movements.implausible == {"alice": 1}
    assert movements.judge("bob", "phone", destination(DUOMO, 0, 5000), 20).plausible


def test_a_refused_position_is_as_if_it_had_not_been_said() -> None:
    kind = Plausible(name="w", who=Who(everyone=True), max_speed_m_s=3.0, refuse=True)
    movements = Movements([kind])
    movements.judge("alice", "phone", DUOMO, 0)
    far = destination(DUOMO, 0, 5000)
    assert movements.judge("alice", "phone", far, 20).refused
    assert movements.judge("alice", "phone", far, 21).refused
    assert movements.judge("alice", "phone", destination(DUOMO, 0, 40), 22).plausible
    assert movements.judge("alice", "phone", far, 5000).plausible  # it may have walked there


def test_many_small_steps_make_no_great_speed() -> None:
    movements = Movements([WALKERS])
    place, wrong = DUOMO, 0
    for second in range(100):  # 40 m/s in steps that are each within the slack
        place = destination(place, 90, 40)
        wrong += not movements.judge("alice", "phone", place, float(second)).plausible
    assert wrong > 10


def test_a_receiver_that_trembles_is_plausible() -> None:
    movements = Movements([WALKERS])
    for number in range(1000):
        place = destination(DUOMO, number * 77 % 360, 20)
        assert movements.judge("alice", "phone", place, number / 10).plausible


def test_jumps_are_told_from_a_long_silence() -> None:
    kind = Plausible(name="j", who=Who(anonymous=True), max_jump_m=1000)
    movements = Movements([kind])
    movements.judge(None, "c", DUOMO, 0)
    assert not movements.judge(None, "c", destination(DUOMO, 0, 2000), 600).plausible
    assert movements.judge(None, "c", DUOMO, 600 + 3601).plausible
    assert movements.implausible == {"": 1}
