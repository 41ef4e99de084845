"""Compiled rules against the exact ones, by Zenoh's own inclusion of key expressions."""

from __future__ import annotations

import zenoh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from places import areas, points
from zonal.geo import Area, Cell, Everywhere, Point, cell_intersects
from zonal.keys import Role, encoding_named, message_keys, read_key
from zonal.trust import Action, Rule, Rules, Who, compile_rules

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


_RARE = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@_RARE
@given(areas, points, st.sampled_from([S2, MGRS]))
def test_no_place_that_is_allowed_is_refused(area: Area, point: Point, kind: object) -> None:
    rules = Rules((rule(area, allows=True),))
    for place in (point, area.bounds.center):
        keys = message_keys("t", place, None, kind)  # type: ignore[arg-type]
        if rules.may_publish("alice", "t", place).allowed:
            assert passes(rules, keys)
        elif kind is S2 and not area.comes_within(place, 3_000_000):
            assert not passes(rules, keys)


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
    for key in message_keys("t", None, fence, S2):
        place = S2.decode(f"@s2/{read_key(key).fence}", Role.SUBSCRIBER)
        inside = isinstance(place, Cell) and cell_intersects(place, audience)
        assert not (inside and passes(denying, (key,)))
        if passes(demanding, (key,)):
            assert inside or isinstance(audience, Everywhere) or _is_near(place, audience)
    assert not passes(denying, ("t",))
    assert not passes(demanding, ("t",))


def _is_near(place: object, audience: Area) -> bool:
    """Cells that cover an area reach beyond it, at most by about its own size."""
    size = Point(audience.bounds.min_lat, audience.bounds.min_lon).distance_m(
        Point(audience.bounds.max_lat, audience.bounds.max_lon)
    )
    return isinstance(place, Cell) and audience.comes_within(place.center, size + 1_000_000)
