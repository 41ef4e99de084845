from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from zonal.geo import Point, distance_m
from zonal_lab.emulation.topology import layout, load_topology, parse_topology
from zonal_lab.errors import TopologyError

if TYPE_CHECKING:
    from pathlib import Path

CIRCLE = "around = [0, 0]\nradius_m = 500\n"
MINIMAL = """
[[routers]]
id = 1
[[subscribers]]
id = 6
router = 1
area = [0, 0, 1, 1]
[[publishers]]
id = 13
router = 1
at = [0.5, 0.5]
rate_hz = 20
"""


def test_zoning_has_the_nodes_of_figure_7_1() -> None:
    zoning = layout("zoning")
    assert sorted(n.id for n in zoning.with_role("router")) == [1, 2, 3, 4, 5, 14, 15, 16, 17]
    assert sorted(n.id for n in zoning.with_role("subscriber")) == [6, 7, 8, 9, 10, 11]
    assert {n.id: n.rate_hz for n in zoning.with_role("publisher")} == {13: 20, 12: 3200}
    assert [n.id for n in zoning.nodes if n.measured] == [6, 7, 8]
    for subscriber in zoning.with_role("subscriber"):
        assert zoning.wants(subscriber, zoning[13]) == (subscriber.id <= 8)
        assert zoning.wants(subscriber, zoning[12]) == (subscriber.id > 8)


@pytest.mark.parametrize("name", ["near-field", "far-field"])
def test_fields_have_eight_routers_and_one_loud_publisher(name: str) -> None:
    field = layout(name)
    assert sorted(n.id for n in field.with_role("router")) == [1, 2, 3, 4, 5, 14, 15, 16]
    assert [(n.id, n.rate_hz) for n in field.with_role("publisher")] == [(13, 3200)]
    assert all(n.card.rate_mbit == 5 for n in field.with_role("router"))
    assert [s.id for s in field.with_role("subscriber") if field.wants(s, field[13])] == [6, 7, 8]


def test_far_field_swaps_6_with_10_and_7_with_9() -> None:
    near = {n.id: n.routers for n in layout("near-field").with_role("subscriber")}
    far = {n.id: n.routers for n in layout("far-field").with_role("subscriber")}
    assert far == {**near, 6: near[10], 10: near[6], 7: near[9], 9: near[7]}
    assert far[10] == (14,)  # the text: router 14 dispatches to subscriber 10 before router 1
    assert far[6] == (1,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = [", "no TOML"),
        ("colour = 1", "unknown entries"),
        ("", "needs nodes"),
        (MINIMAL.replace("id = 6", "id = 1"), "unique"),
        (MINIMAL.replace("id = 6", "id = 251"), "from 1 to 250"),
        (MINIMAL.replace("router = 1\narea", "router = 9\narea"), "no router"),
        (MINIMAL.replace("router = 1\narea", "area"), "must be node numbers"),
        (MINIMAL.replace("area = [0, 0, 1, 1]", ""), "needs an `area`"),
        (MINIMAL.replace("area = [0, 0, 1, 1]", "around = [0, 0]"), "a `radius_m` above 0"),
        (MINIMAL.replace("area = [0, 0, 1, 1]", f"{CIRCLE}to = [0, 1]"), "a `speed_m_s` above 0"),
        (MINIMAL.replace("[0, 0, 1, 1]", "[0, 0, 1, 1]\nto = [0, 1]\nspeed_m_s = 1"), "`around`"),
        (MINIMAL.replace("[0, 0, 1, 1]", f"[0, 0, 1, 1]\n{CIRCLE}"), "needs an `area`, or"),
        (MINIMAL.replace("[0, 0, 1, 1]", "[0, 0, 1]"), "must be 4 numbers"),
        (MINIMAL.replace("rate_hz = 20", ""), "rate_hz"),
        (MINIMAL + "to = [0.5, 0.6]\nspeed_m_s = 1", "S6 needs `around` .* P13 moves"),
        (MINIMAL + "to = [0.5, 0.6]", "a `speed_m_s` above 0"),
        (MINIMAL + "to = [0.5, 0.5]\nspeed_m_s = 1", "another one"),
        (MINIMAL + "to = [1, 1]\nspeed_m_s = 1\nover = [0, 0, 1, 1]\nsteps = 2", "its place"),
        (MINIMAL + "[[routers]]\nid = 2\n", "not connected"),
        (MINIMAL + "[cards.router]\nloss = 1.5\n", "probability"),
        (MINIMAL + "[cards.router]\nspeed = 1.5\n", "unknown entries"),
        (MINIMAL + "[cards.router]\nrate_mbit = 0\n", "above 0"),
    ],
)
def test_mistakes_are_named(text: str, says: str) -> None:
    with pytest.raises(TopologyError, match=says):
        parse_topology(text)


def test_an_unknown_layout_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="far-field, moving, near-field, pair, spread, zoning"):
        layout("ring")
    with pytest.raises(TopologyError, match="cannot be read"):
        load_topology(tmp_path / "none.toml")


def test_a_publisher_that_roams_is_wanted_in_part() -> None:
    spread = layout("spread")
    roaming = spread[13]
    assert len(roaming.places) == 64
    shares = {s.id: sum(spread.wanted(s, roaming)) for s in spread.with_role("subscriber")}
    assert all(2 <= each <= 16 for each in shares.values()), shares
    areas = [node.area for node in spread.with_role("subscriber")]
    assert len(set(areas)) == len(areas), "every subscriber has an area of its own"
    nowhere = sum(
        not any(spread.wanted(s, roaming)[each] for s in spread.with_role("subscriber"))
        for each in range(64)
    )
    assert nowhere > 16, "the publisher is around the areas as well"


def test_who_moves_goes_there_and_back() -> None:
    node = parse_topology(
        MINIMAL.replace("area = [0, 0, 1, 1]", f"{CIRCLE}to = [0, 0.01]\nspeed_m_s = 100")
    )[6]
    leg_s = distance_m(Point(0, 0), Point(0, 0.01)) / 100
    there_and_back = [node.where(share * leg_s) for share in (-1, 0, 0.5, 1, 1.5, 2, 3)]
    assert [lat for lat, _ in there_and_back] == [0] * 7
    lons = [0, 0, 0.005, 0.01, 0.005, 0, 0.01]
    assert [lon for _, lon in there_and_back] == pytest.approx(lons)


def test_beside_four_who_move_two_rest() -> None:
    moving = layout("moving")
    subscribers = moving.with_role("subscriber")
    assert [each.moves for each in subscribers].count(True) == 4
    assert len({each.around for each in subscribers}) == 6
    for each in subscribers:
        assert each.measured
        assert moving.wants(each, moving[13]), "a probe reaches it before it sets out"
        if not each.moves:
            assert each.where(0) == each.where(1000) == each.around


def test_beside_a_publisher_that_moves_one_rests_on_its_way() -> None:
    moving = layout("moving")
    publishers = {each.way: each for each in moving.with_role("publisher")}
    assert {way: each.id for way, each in publishers.items()} == {
        "roams": 13, "moves": 12, "rests": 17,
    }  # fmt: skip
    moves, rests = publishers["moves"], publishers["rests"]
    assert (moves.routers, moves.rate_hz, moves.card) == (rests.routers, rests.rate_hz, rests.card)
    way = [Point(*moves.where(second)) for second in range(70)]
    assert min(distance_m(each, Point(*rests.places[0])) for each in way) < 300
    assert distance_m(way[0], way[60]) == pytest.approx(1800, abs=1)
