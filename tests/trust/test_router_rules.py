"""Compiled rules against the exact ones, by Zenoh's own inclusion of key expressions."""

from __future__ import annotations

import zenoh
from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from property_examples import examples
from zonal.geo import Area, Cell, Point, cell_of, cover
from zonal.keys import Role, encoding_named, message_keys, read_key
from zonal.trust import Action, Rule, Rules, Who, compile_rules
from zonal.trust.cell_ranges import CellRanges

S2, MGRS = encoding_named("s2"), encoding_named("mgrs")
ALICE = Who(names=frozenset({"alice"}))


def rule(area: Area | None, *, allows: bool, audience: Area | None = None) -> Rule:
    actions = frozenset({Action.PUBLISH})
    return Rule(name="r", who=ALICE, allows=allows, actions=actions, area=area, audience=audience)


def passes(rules: Rules, keys: tuple[str, ...]) -> bool:
    """Whether a router lets all copies of a message in."""
    document = compile_rules(rules, max_cells=32).access_control
    allowed = [
        zenoh.KeyExpr(key)
        for each in document["rules"]
        if "put" in each["messages"]
        for key in each["key_exprs"]
    ]
    return all(any(ke.includes(zenoh.KeyExpr(key)) for ke in allowed) for key in keys)


_RARE = examples(30)


@_RARE
@given(areas, points, st.sampled_from([S2, MGRS]))
def test_no_place_that_is_allowed_is_refused(area: Area, point: Point, kind: object) -> None:
    rules = Rules((rule(area, allows=True),))
    for place in (point, area.bounds.center):
        keys = message_keys("t", place, None, kind)  # type: ignore[arg-type]
        if rules.may_publish("alice", "t", place).allowed:
            assert passes(rules, keys)
        elif kind is S2:  # it may lie in the bit that cells have beyond the area
            covered = CellRanges.of(cover(area, 32, max_level=20))
            assert passes(rules, keys) == bool(covered & CellRanges.of([cell_of(place)]))


@_RARE
@given(st.one_of(st.none(), areas), areas, points)
def test_no_place_that_is_denied_is_let_in(
    allowed: Area | None, denied: Area, point: Point
) -> None:
    rules = Rules((rule(allowed, allows=True), rule(denied, allows=False)))
    for place in (point, denied.bounds.center):
        keys = message_keys("t", place, None, S2)
        if denied.contains(place):
            assert not passes(rules, keys)
    if allowed is None:
        assert passes(rules, ("t",))
        assert not passes(rules, ("t/@s2/**",))


@_RARE
@given(areas, areas)
def test_no_copy_goes_to_receivers_for_whom_it_is_denied(audience: Area, fence: Area) -> None:
    denying = Rules((rule(None, allows=True), rule(None, allows=False, audience=audience)))
    demanding = Rules((rule(None, allows=True, audience=audience),))
    covered = CellRanges.of(cover(audience, 16, max_level=20))
    for key in message_keys("t", None, fence, S2):
        place = S2.decode(f"@s2/{read_key(key).fence}", Role.SUBSCRIBER)
        cells = [place] if isinstance(place, Cell) else []
        if any(cell.contains(cell_of(point)) for cell in cells for point in _some_of(audience)):
            assert not passes(denying, (key,))
        if passes(demanding, (key,)):
            assert covered.is_everywhere or (cells and not CellRanges.of(cells) - covered)
    assert not passes(denying, ("t",))
    assert not passes(demanding, ("t",))


def _some_of(area: Area) -> list[Point]:
    """Points of an area: of a grid on the box around it."""
    box, parts = area.bounds, range(9)
    lats = [box.min_lat + box.height_deg * part / 8 for part in parts]
    lons = [(box.min_lon + box.width_deg * part / 8 + 180) % 360 - 180 for part in parts]
    found = (Point(lat, lon) for lat in lats for lon in lons)
    return [point for point in found if area.contains(point)]
