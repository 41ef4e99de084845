from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zonal.geo import Area, Box, Circle, Everywhere, Point, cell_of
from zonal.trust import Action, Rule, Rules, Who

MILANO = Box(45.38, 9.04, 45.54, 9.28)
BERLIN = Box(52.3, 13.0, 52.7, 13.8)
DUOMO, ALEXANDERPLATZ = Point(45.4642, 9.19), Point(52.5219, 13.4132)
ALICE = Who(names=frozenset({"alice"}))
EVERYONE = Who(everyone=True)
ALL = frozenset(Action)


def allow(**given: object) -> Rule:
    return Rule(**{"name": "a", "who": ALICE, "allows": True, "actions": ALL, **given})  # type: ignore[arg-type]


def deny(**given: object) -> Rule:
    return Rule(**{"name": "d", "who": EVERYONE, "allows": False, "actions": ALL, **given})  # type: ignore[arg-type]


def test_what_no_rule_allows_is_refused() -> None:
    assert not Rules().may_publish("alice", "t").allowed
    assert not Rules((allow(),)).may_publish("bob", "t").allowed
    assert not Rules((allow(),)).may_publish(None, "t").allowed
    assert Rules((allow(),)).may_publish("alice", "t").allowed


def test_a_rule_that_denies_goes_before_those_that_allow() -> None:
    rules = Rules((allow(topics=("city/#",)), deny(topics=("city/secret/#",))))
    assert rules.may_publish("alice", "city/air").allowed
    verdict = rules.may_publish("alice", "city/secret/door")
    assert not verdict.allowed
    assert verdict.rule == "d"


def test_a_publisher_is_held_to_its_area() -> None:
    rules = Rules((allow(area=MILANO),))
    assert rules.may_publish("alice", "t", DUOMO).allowed
    assert not rules.may_publish("alice", "t", ALEXANDERPLATZ).allowed
    assert not rules.may_publish("alice", "t").allowed


def test_a_blurred_place_has_to_lie_within_as_a_whole_and_is_denied_by_a_part() -> None:
    inside, across = cell_of(DUOMO, 14), cell_of(DUOMO, 6)
    rules = Rules((allow(area=MILANO),))
    assert rules.may_publish("alice", "t", inside).allowed
    assert not rules.may_publish("alice", "t", across).allowed
    assert not Rules((allow(), deny(area=MILANO))).may_publish("alice", "t", across).allowed


def test_of_some_topics_another_rule_may_allow_more() -> None:
    rules = Rules((allow(area=MILANO), allow(topics=("air/#",)), allow(topics=("x",), area=BERLIN)))
    everything = rules.may_hear("alice", "#")
    assert everything.allowed
    assert everything.narrowed
    assert everything.area is None, "air comes from anywhere, and from nowhere"
    rest = Rules(rules.rules[::2]).may_hear("alice", "#")
    assert rest.area is not None
    assert rest.area.contains(ALEXANDERPLATZ), "x comes from Berlin, too"


def test_who_acts_has_to_be_somewhere_and_must_say_so() -> None:
    rules = Rules((allow(origin=MILANO),))
    assert rules.may_publish("alice", "t", position=DUOMO).allowed
    assert not rules.may_publish("alice", "t", position=ALEXANDERPLATZ).allowed
    assert not rules.may_publish("alice", "t").allowed
    barred = Rules((allow(), deny(origin=BERLIN)))
    assert barred.may_publish("alice", "t", position=DUOMO).allowed
    assert not barred.may_publish("alice", "t", position=ALEXANDERPLATZ).allowed
    assert not barred.may_publish("alice", "t").allowed


def test_a_message_without_a_fence_is_for_everybody() -> None:
    rules = Rules((allow(audience=MILANO),))
    assert rules.may_publish("alice", "t", fence=Circle(DUOMO, radius_m=500)).allowed
    assert not rules.may_publish("alice", "t", fence=Circle(DUOMO, radius_m=50_000)).allowed
    assert not rules.may_publish("alice", "t").allowed
    barred = Rules((allow(), deny(audience=BERLIN)))
    assert barred.may_publish("alice", "t", fence=Circle(DUOMO, radius_m=500)).allowed
    assert not barred.may_publish("alice", "t").allowed


def test_a_subscriber_gets_what_its_area_has_in_common_with_what_it_may_hear() -> None:
    rules = Rules((allow(area=MILANO),))
    everything = rules.may_hear("alice", "t")
    assert everything.narrowed
    assert everything.reason.endswith("between 45.3800,9.0400 and 45.5400,9.2800")
    assert everything.area == MILANO
    north = rules.may_hear("alice", "t", Box(45.5, 9.0, 46.0, 9.3))
    assert north.narrowed
    assert north.area is not None
    assert north.area.bounds == Box(45.5, 9.04, 45.54, 9.28)
    within = rules.may_hear("alice", "t", Circle(DUOMO, radius_m=100))
    assert not within.narrowed
    assert within.area == Circle(DUOMO, radius_m=100)
    assert not rules.may_hear("alice", "t", BERLIN).allowed


def test_what_may_be_heard_of_several_rules_is_put_together() -> None:
    rules = Rules((allow(area=MILANO), allow(area=BERLIN)))
    both = rules.may_hear("alice", "t").area
    assert both is not None
    assert both.contains(DUOMO)
    assert both.contains(ALEXANDERPLATZ)
    assert not both.contains(Point(48, 11))
    assert rules.may_receive("alice", "t", ALEXANDERPLATZ).allowed
    assert not rules.may_receive("alice", "t", Point(48, 11)).allowed
    assert not rules.may_receive("alice", "t").allowed


def test_a_filter_that_is_wider_than_any_rule_is_refused() -> None:
    rules = Rules((allow(topics=("city/+/air",)),))
    assert rules.may_hear("alice", "city/milano/air").allowed
    assert rules.may_hear("alice", "city/*/air").allowed
    for wider in ("#", "**", "city/#", "city/+/+", "city/**/air"):
        assert not rules.may_hear("alice", wider).allowed


def test_what_is_denied_in_a_part_is_decided_message_by_message() -> None:
    rules = Rules((allow(topics=("#",)), deny(topics=("city/secret/#",), area=MILANO)))
    assert rules.may_hear("alice", "city/#").allowed
    assert not rules.may_receive("alice", "city/secret/x", DUOMO).allowed
    assert rules.may_receive("alice", "city/secret/x", ALEXANDERPLATZ).allowed
    assert not rules.may_hear("alice", "city/secret/x", Circle(DUOMO, radius_m=10)).allowed


def test_places_are_told_as_finely_as_the_most_generous_rule_says() -> None:
    rules = Rules((allow(precision_m=5000), allow(area=MILANO, precision_m=100, name="near")))
    near = rules.may_receive("alice", "t", DUOMO)
    assert (near.precision_m, near.rule) == (100, "near")
    assert rules.may_receive("alice", "t", ALEXANDERPLATZ).precision_m == 5000
    assert rules.may_publish("alice", "t", DUOMO).told(DUOMO) != DUOMO


def test_names_are_filled_in_and_never_widen_a_rule() -> None:
    own = allow(who=EVERYONE, topics=("own/%u/#",))
    assert Rules((own,)).may_publish("bob", "own/bob/x").allowed
    assert not Rules((own,)).may_publish("bob", "own/alice/x").allowed
    for evil in ("+", "*", "#", "a/b"):
        assert not Rules((own,)).may_publish(evil, "own/alice/x").allowed
    client = allow(topics=("c/%c",))
    assert Rules((client,)).may_publish("alice", "c/7", client="7").allowed
    assert not Rules((client,)).may_publish("alice", "c/7", client="8").allowed


def test_the_brokers_own_topics_need_a_rule_that_names_them() -> None:
    assert not Rules((allow(),)).may_hear("alice", "$SYS/#").allowed
    assert Rules((allow(topics=("$SYS/#",)),)).may_hear("alice", "$SYS/broker/uptime").allowed


# Against an oracle: on a small grid of places and topics everything can be tried out.

_SPOTS = [Point(lat + 0.5, lon + 0.5) for lat in range(3) for lon in range(3)]
_BOXES = st.builds(
    lambda south, west, height, width: Box(south, west, south + height, west + width),
    st.integers(0, 2), st.integers(0, 2), st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
_AREAS = st.one_of(st.none(), _BOXES)
_TOPICS = ("a", "a/b", "a/c", "b/c")
_PATTERNS = st.sampled_from(["#", "a", "a/#", "+", "a/+", "+/c", "b/c", "*/c", "**/c"])
_MATCHING = {
    "#": _TOPICS, "a": ("a",), "a/#": ("a", "a/b", "a/c"), "+": ("a",), "a/+": ("a/b", "a/c"),
    "+/c": ("a/c", "b/c"), "*/c": ("a/c", "b/c"), "b/c": ("b/c",), "**/c": ("a/c", "b/c"),
}  # fmt: skip
_RULES = st.lists(
    st.builds(
        Rule,
        name=st.just("r"),
        who=st.sampled_from([ALICE, EVERYONE, Who(anonymous=True)]),
        allows=st.booleans(),
        actions=st.sets(st.sampled_from(Action), min_size=1).map(frozenset),
        topics=st.lists(_PATTERNS, min_size=1, max_size=2).map(tuple),
        area=_AREAS,
        origin=_AREAS,
        audience=_AREAS,
        precision_m=st.none(),
    ),
    max_size=5,
).map(lambda rules: Rules(tuple(rules)))


def _spots(area: Area | None) -> set[Point]:
    return {spot for spot in _SPOTS if area is None or area.contains(spot)}


def _oracle(
    rules: Rules, user: str | None, action: Action, topic: str, place: Point | None,
    reached: set[Point], position: Point | None,
) -> bool:  # fmt: skip
    """The promises of the module's docstring, spelt out spot by spot."""
    allowed = False
    for rule in rules.rules:
        named = _is_named(rule.who, user)
        topics = {topic for pattern in rule.topics for topic in _MATCHING[pattern]}
        about = rule.area is None or (place is not None and rule.area.contains(place))
        if not (named and action in rule.actions and topic in topics and about):
            continue
        known_there = rule.origin is None or position in _spots(rule.origin)
        maybe_there = known_there or position is None
        to_all = rule.audience is None or action is not Action.PUBLISH
        if rule.allows and known_there and (to_all or reached <= _spots(rule.audience)):
            allowed = True
        if not rule.allows and maybe_there and (to_all or reached & _spots(rule.audience)):
            return False
    return allowed


def _is_named(who: Who, user: str | None) -> bool:
    return who == {"alice": ALICE, "bob": EVERYONE, None: Who(anonymous=True)}[user] or (
        user == "alice" and who == EVERYONE
    )


_USERS = st.sampled_from(["alice", "bob", None])
_PLACES = st.one_of(st.none(), st.sampled_from(_SPOTS))


@given(_RULES, _USERS, st.sampled_from(_TOPICS), _PLACES, _BOXES, _PLACES)
def test_a_publication_is_decided_as_the_oracle_does(
    rules: Rules, user: str | None, topic: str, place: Point | None, fence: Box,
    position: Point | None,
) -> None:  # fmt: skip
    fence = Box(fence.min_lat, fence.min_lon, min(3, fence.max_lat), min(3, fence.max_lon))
    # Fences that touch an area's edge have a point in common with it, though no spot.
    fence = Box(fence.min_lat + 0.1, fence.min_lon + 0.1, fence.max_lat - 0.1, fence.max_lon - 0.1)
    decided = rules.may_publish(user, topic, place, fence, position=position).allowed
    assert decided == _oracle(rules, user, Action.PUBLISH, topic, place, _spots(fence), position)


@given(_RULES, _USERS, _PATTERNS, _AREAS, _PLACES)
def test_nothing_that_may_be_received_is_missing_from_what_may_be_heard(
    rules: Rules, user: str | None, pattern: str, area: Box | None, position: Point | None
) -> None:
    hearing = rules.may_hear(user, pattern, area, position=position)
    whole = rules.may_hear(user, pattern, area or Everywhere(), position=position)
    assert whole.allowed or not hearing.allowed
    for topic in _MATCHING[pattern]:
        for place in [None, *_spots(area)]:
            received = rules.may_receive(user, topic, place, position=position).allowed
            oracle = _oracle(rules, user, Action.SUBSCRIBE, topic, place, set(), position)
            assert received == oracle
            if received and hearing.allowed and hearing.area is not None and place is not None:
                assert hearing.area.contains(place) or not _covered(rules, pattern)


def _covered(rules: Rules, pattern: str) -> bool:
    """Whether every allowing rule covers the whole pattern: else some are for single messages."""
    return all(rule.covers_topic(pattern) for rule in rules.rules if rule.allows)
