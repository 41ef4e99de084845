"""Rules by place at the broker's door."""

from __future__ import annotations

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench, Client
from property_examples import examples
from zonal.broker.access import OpenAccess, RemoteEnd, User
from zonal.broker.changed_rules import change_rules
from zonal.broker.geocontext import middle_of, read_location
from zonal.broker.listeners import MqttListener, access
from zonal.broker.recovery import recover
from zonal.broker.settings import Settings
from zonal.broker.store import StoredJournal
from zonal.broker.topics import matches
from zonal.errors import BrokerError
from zonal.geo import Area, Box, Circle, Point, area_from_wkt
from zonal.trust import Action, Rule, Rules, Who, parse_rules

MILANO = "POLYGON ((9.04 45.38, 9.28 45.38, 9.28 45.54, 9.04 45.54, 9.04 45.38))"
DUOMO, NAVIGLI, BERLIN = "45.4642,9.19", "45.452,9.175", "52.52,13.405"
REFUSED = 0x87


class Named:
    """Takes everybody's word for its name."""

    def __init__(self, rules: Rules | None) -> None:
        self.rules = rules

    def recall(self, name: str | None, _password: bytes | None, _peer: RemoteEnd) -> User:
        return User(name, self.rules)

    check = recall

    def exchange(self) -> None:
        pass

    def user(self, name: str | None) -> User:
        return User(name, self.rules)


def rules_of(*tables: str, positions: str = "") -> Rules:
    written = f'[areas]\nmilano = "{MILANO}"\n' + "".join(
        f"[[rule]]\n{table}\n".replace(";", "\n") for table in tables
    )
    return parse_rules(written + positions, "rules.toml", lambda name: name)


FREE = 'who = ["reporter", "admin"]; allow = ["publish", "subscribe"]'
ONLY_MILANO = 'who = "milanese"; allow = ["publish", "subscribe"]; area = "milano"'


def bench_with(*tables: str, positions: str = "") -> Bench:
    return Bench(access=Named(rules_of(*tables, positions=positions)))


def client_of(bench: Bench, name: str, at: str | None = None, client_id: str = "") -> Client:
    client = bench.client()
    properties = None if at is None else [("location", at)]
    client.connect(client_id or name, username=name, user_properties=properties)
    return client


def publish(client: Client, topic: str, payload: bytes, at: str | None = None,
            fence: str | None = None) -> int:  # fmt: skip
    properties = [("location", at)] if at else []
    properties += [("geofence", fence)] if fence else []
    client.publish(topic, payload, 1, properties=properties)
    return int(client.take(mqtt5.PubAckPacket).reason_code)


def test_a_subscriber_of_everything_hears_only_what_it_may_and_is_told_so() -> None:
    bench = bench_with(FREE, ONLY_MILANO)
    hearing = client_of(bench, "milanese")
    answer = hearing.subscribe("#")
    assert int(answer.reason_codes[0]) == 0
    assert "only a part" in (answer.reason_str or "")
    reporter = client_of(bench, "reporter")
    publish(reporter, "news", b"Milano", DUOMO)
    publish(reporter, "news", b"Berlin", BERLIN)
    publish(reporter, "news", b"nowhere")
    assert hearing.payloads() == [b"Milano"]


def test_a_subscribers_area_is_cut_and_one_outside_is_refused() -> None:
    bench = bench_with(FREE, ONLY_MILANO)
    hearing = client_of(bench, "milanese")
    wide = "POLYGON ((0 40, 20 40, 20 55, 0 55, 0 40))"
    assert "only a part" in str(hearing.subscribe("a", properties=[("geofence", wide)]).reason_str)
    small = "CIRCLE (9.19 45.4642, 500)"
    assert not hearing.subscribe("b", properties=[("geofence", small)]).reason_str
    berlin = "CIRCLE (13.405 52.52, 5000)"
    answer = hearing.subscribe("c", properties=[("geofence", berlin)])
    assert int(answer.reason_codes[0]) == REFUSED
    reporter = client_of(bench, "reporter")
    for topic in "abc":
        publish(reporter, topic, topic.encode(), DUOMO)
        publish(reporter, topic, b"far", BERLIN)
        publish(reporter, topic, b"navigli", NAVIGLI)
    assert hearing.payloads() == [b"a", b"navigli", b"b"]


def test_a_publisher_outside_its_area_is_refused() -> None:
    bench = bench_with(FREE, ONLY_MILANO)
    milanese = client_of(bench, "milanese", BERLIN)
    assert publish(milanese, "t", b"", DUOMO) == 0
    assert publish(milanese, "t", b"", BERLIN) == REFUSED
    assert publish(milanese, "t", b"") == REFUSED  # where it is itself
    assert publish(client_of(bench, "stranger"), "t", b"", DUOMO) == REFUSED


def test_from_where_and_to_whom_are_asked_too() -> None:
    bench = bench_with(
        'who = "mayor"; allow = "publish"; from = "milano"; to = "milano"',
        'who = "*"; allow = "subscribe"; from = "milano"',
    )
    mayor = client_of(bench, "mayor", DUOMO)
    inside, wide = "CIRCLE (9.19 45.4642, 500)", "CIRCLE (9.19 45.4642, 90000)"
    assert publish(mayor, "t", b"", fence=inside) == 0
    assert publish(mayor, "t", b"", fence=wide) == REFUSED
    assert publish(mayor, "t", b"") == REFUSED
    assert int(client_of(bench, "b", BERLIN).subscribe("t").reason_codes[0]) == REFUSED
    assert int(client_of(bench, "c").subscribe("t").reason_codes[0]) == REFUSED
    walker = client_of(bench, "walker", DUOMO)
    walker.subscribe("t")
    publish(mayor, "t", b"1", fence=inside)
    walker.publish("$zonal/location", BERLIN.encode(), 1)
    everyone = 'who = "mayor"; allow = "publish"'
    change_rules(
        bench.broker, rules_of(everyone, 'who = "*"; allow = "subscribe"; from = "milano"')
    )
    publish(mayor, "t", b"2")
    assert walker.payloads() == [b"1"]


def test_who_leaves_the_place_it_may_hear_from_hears_nothing_more() -> None:
    bench = bench_with(FREE, 'who = "guest"; allow = "subscribe"; from = "milano"')
    guest, reporter = client_of(bench, "guest", DUOMO), client_of(bench, "reporter")
    guest.subscribe("t")
    publish(reporter, "t", b"1")
    guest.publish("$zonal/location", BERLIN.encode(), 1)
    publish(reporter, "t", b"2")
    guest.publish("$zonal/location", NAVIGLI.encode(), 1)
    publish(reporter, "t", b"3")
    assert guest.payloads() == [b"1", b"3"]


def test_what_is_denied_in_a_part_is_left_out() -> None:
    secret = 'who = "*"; deny = "subscribe"; topics = "city/secret/#"; area = "milano"'
    bench = bench_with(FREE, 'who = "guest"; allow = "subscribe"', secret)
    guest, reporter = client_of(bench, "guest"), client_of(bench, "reporter")
    guest.subscribe("city/#")
    for topic in ("city/air", "city/secret/door"):
        for at in (DUOMO, BERLIN):
            publish(reporter, topic, f"{topic} {at[:2]}".encode(), at)
    assert guest.payloads() == [b"city/air 45", b"city/air 52", b"city/secret/door 52"]


def told_places(client: Client) -> list[Point]:
    return [
        read_location(value)
        for message in client.messages()
        for name, value in message.user_properties
        if name == "location"
    ]


def test_a_publishers_place_is_blurred_for_everybody() -> None:
    bench = bench_with(FREE, 'who = "walker"; allow = "publish"; precision_m = 1000')
    reader = client_of(bench, "admin")
    reader.subscribe("#")
    exact = read_location(DUOMO)
    walker = client_of(bench, "walker", DUOMO)
    publish(walker, "t", b"own place")
    publish(walker, "t", b"written", DUOMO)
    walker.publish("$geo/at:45.4642,9.19/t", b"in the topic", 1)
    places = told_places(reader)
    assert len(places) == 3
    assert len(set(places)) == 1
    assert 30 < places[0].distance_m(exact) < 4000


def test_a_hearer_is_told_places_no_finer_than_it_may_know_and_cannot_corner_them() -> None:
    bench = bench_with(FREE, 'who = "curious"; allow = "subscribe"; precision_m = 1000')
    curious, admin = client_of(bench, "curious"), client_of(bench, "admin")
    reporter = client_of(bench, "reporter")
    curious.subscribe("t")
    admin.subscribe("t")
    publish(reporter, "t", b"", DUOMO)
    (told,), (exact,) = told_places(curious), told_places(admin)
    assert exact == read_location(DUOMO)
    assert told.distance_m(exact) > 30
    # A fence around the exact place alone hears nothing, one around the told place does.
    tight = f"CIRCLE ({exact.lon} {exact.lat}, 20)"
    curious.subscribe("t", properties=[("geofence", tight)])
    publish(reporter, "t", b"", DUOMO)
    assert curious.messages() == []
    around_told = f"CIRCLE ({told.lon} {told.lat}, 20)"
    curious.subscribe("t", properties=[("geofence", around_told)])
    publish(reporter, "t", b"", DUOMO)
    assert told_places(curious) == [told]


def test_retained_messages_wills_and_shared_groups_follow_the_same_rules() -> None:
    bench = bench_with(FREE, ONLY_MILANO, 'who = "coarse"; allow = "subscribe"; precision_m = 900')
    reporter = client_of(bench, "reporter")
    for topic, at in (("kept/milano", DUOMO), ("kept/berlin", BERLIN)):
        reporter.publish(topic, topic.encode(), 1, retain=True, properties=[("location", at)])
        reporter.take(mqtt5.PubAckPacket)
    milanese, coarse = client_of(bench, "milanese"), client_of(bench, "coarse")
    milanese.subscribe("kept/#")
    assert milanese.payloads() == [b"kept/milano"]
    coarse.subscribe("kept/milano")
    assert told_places(coarse) != [read_location(DUOMO)]
    # Of a shared group only those who may have it take their turn.
    milanese.subscribe("$share/g/shared")
    admin = client_of(bench, "admin")
    admin.subscribe("$share/g/shared")
    for _ in range(4):
        publish(reporter, "shared", b"Berlin", BERLIN)
    assert (len(milanese.payloads()), len(admin.payloads())) == (0, 4)
    # A will of somebody who is where it may not publish from is not sent.
    admin.subscribe("will")
    for at, heard in ((BERLIN, 0), (DUOMO, 1)):
        dying = bench.client()
        dying.connect("dying", username="milanese", will=mqtt5.Will("will", payload=b""),
                      user_properties=[("location", at)])  # fmt: skip
        dying.hang_up()
        assert len(admin.payloads()) == heard


@pytest.mark.parametrize("there", [True, False])
def test_an_acknowledgement_says_nothing_about_who_is_where(there: bool) -> None:
    bench = bench_with(FREE, 'who = "guest"; allow = "subscribe"; from = "milano"')
    guest, reporter = client_of(bench, "guest", DUOMO), client_of(bench, "reporter")
    guest.subscribe("t")
    if not there:
        guest.publish("$zonal/location", BERLIN.encode(), 1)
    assert publish(reporter, "t", b"") == 0
    assert publish(reporter, "t", b"", DUOMO) == 0
    assert publish(reporter, "t", b"", fence="CIRCLE (9.19 45.4642, 1)") == 0


def test_positions_that_cannot_be_are_counted_or_refused() -> None:
    positions = '[[positions]]\nwho = "walker"\nmax_speed_m_s = 3\nimplausible = "refuse"\n'
    positions += '[[positions]]\nwho = "*"\nmax_speed_m_s = 3\n'
    bench = bench_with(FREE, positions=positions)
    walker = client_of(bench, "walker", DUOMO)
    bench.wait(10)
    walker.publish("$zonal/location", BERLIN.encode(), 1)
    answer = walker.take(mqtt5.PubAckPacket)
    assert int(answer.reason_code) == REFUSED
    assert "3 m/s" in str(answer.reason_str)
    assert bench.broker.sessions["walker"].location == read_location(DUOMO)
    other = client_of(bench, "other", DUOMO)
    other.publish("$zonal/location", BERLIN.encode(), 1)
    assert int(other.take(mqtt5.PubAckPacket).reason_code) == 0
    assert bench.broker.counters.implausible == 2
    assert bench.broker.movements.implausible == {"walker": 1, "other": 1}


def test_those_without_a_name_have_rules_too() -> None:
    bench = Bench(
        access=OpenAccess(rules_of('who = "anonymous"; allow = "subscribe"; topics = "a"'))
    )
    client = bench.connected("c")
    assert int(client.subscribe("a").reason_codes[0]) == 0
    assert int(client.subscribe("b").reason_codes[0]) == REFUSED
    assert publish(client, "a", b"") == REFUSED


def test_rules_for_nobody_are_noticed_before_the_broker_starts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("rules") / "rules.toml"
    path.write_text('[[rule]]\nwho = "alice"\nallow = "publish"\n')
    with pytest.raises(BrokerError, match="without a password"):
        access(MqttListener(rules=path))


def test_changed_rules_hold_for_those_who_are_connected() -> None:
    bench = bench_with(FREE, ONLY_MILANO)
    milanese, reporter = client_of(bench, "milanese"), client_of(bench, "reporter")
    milanese.subscribe("#")
    change_rules(bench.broker, rules_of(FREE, 'who = "milanese"; allow = "subscribe"'))
    publish(reporter, "t", b"1", BERLIN)
    assert milanese.payloads() == [b"1"]
    change_rules(bench.broker, rules_of(FREE, ONLY_MILANO))
    publish(reporter, "t", b"2", BERLIN)
    publish(reporter, "t", b"3", DUOMO)
    assert milanese.payloads() == [b"3"]
    change_rules(bench.broker, rules_of(FREE))
    publish(reporter, "t", b"4", DUOMO)
    assert milanese.payloads() == []
    assert not bench.broker.sessions["milanese"].subscriptions


def test_a_stored_subscription_is_held_to_the_rules_of_the_day(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("data")
    bench = Bench(access=Named(rules_of(FREE, ONLY_MILANO)), journal=StoredJournal(folder))
    client = bench.client()
    client.connect("m", username="milanese", clean=False, expiry=1000)
    client.subscribe("t", 1)
    bench.broker.journal.commit()
    bench.broker.journal.close()  # type: ignore[attr-defined]
    for rules, wanted in (
        (rules_of(FREE, ONLY_MILANO), [b"Milano"]),
        (rules_of(FREE, 'who = "milanese"; allow = "subscribe"'), [b"Milano", b"Berlin"]),
    ):
        store = StoredJournal(folder)
        after = Bench(Settings(sys_interval=0), access=Named(rules), journal=store)
        recover(after.broker, store, after.now)
        reporter = client_of(after, "reporter")
        publish(reporter, "t", b"Milano", DUOMO)
        publish(reporter, "t", b"Berlin", BERLIN)
        again = after.client()
        again.connect("m", username="milanese", clean=False, expiry=1000)
        assert again.payloads()[-len(wanted) :] == wanted
        store.close()


# Against the rules themselves: whatever the index and the narrowed areas are, each message reaches
# exactly those who may have it and asked for its place as they are told it.

_CORNERS = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4))
_AREAS = st.one_of(
    st.none(),
    _CORNERS.map(lambda c: area_from_wkt(Box(c[0], c[1], c[0] + c[2], c[1] + c[3]).to_wkt())),
    _CORNERS.map(lambda c: Circle(Point(c[0], c[1]), radius_m=60_000.0 * c[2])),
)
_PLACES = st.one_of(st.none(), st.builds(Point, st.floats(0, 8), st.floats(0, 8)))
_RULES = st.builds(
    Rule,
    name=st.just("r"),
    who=st.just(Who(names=frozenset({"hearer"}))),
    allows=st.sampled_from([True, True, False]),
    actions=st.just(frozenset({Action.SUBSCRIBE})),
    topics=st.lists(st.sampled_from(["#", "a/#", "a/b", "+/b"]), min_size=1).map(tuple),
    area=_AREAS,
    origin=st.one_of(st.none(), _AREAS),
    precision_m=st.sampled_from([None, None, 5_000.0, 80_000.0]),
)
_MESSAGES = st.lists(st.tuples(st.sampled_from(["a", "a/b", "c/b"]), _PLACES), max_size=8)


@examples(60)
@given(
    st.lists(_RULES, max_size=4),
    st.lists(st.tuples(st.sampled_from(["#", "a/#", "a/b", "+/b"]), _AREAS), max_size=3),
    _MESSAGES,
    _PLACES,
)
def test_a_client_gets_exactly_what_rules_and_its_areas_allow(
    rules: list[Rule], wanted: list[tuple[str, Area | None]],
    messages: list[tuple[str, Point | None]], position: Point | None,
) -> None:  # fmt: skip
    may = Rule(name="free", who=Who(names=frozenset({"reporter"})), allows=True,
               actions=frozenset(Action))  # fmt: skip
    held = Rules((may, *rules))
    bench = Bench(access=Named(held))
    at = None if position is None else f"{position.lat!r},{position.lon!r}"
    hearer, reporter = client_of(bench, "hearer", at), client_of(bench, "reporter")
    subscribed: dict[str, Area | None] = {}
    for pattern, area in wanted:
        properties = None if area is None else [("geofence", area.to_wkt())]
        code = int(hearer.subscribe(pattern, properties=properties).reason_codes[0])
        allowed = held.may_hear("hearer", pattern, area, position=position).allowed
        assert (code == 0) == allowed
        if allowed:
            subscribed[pattern] = area
    expected = []
    for number, (topic, place) in enumerate(messages):
        publish(reporter, topic, b"%d" % number, None if place is None else
                f"{place.lat!r},{place.lon!r}")  # fmt: skip
        verdict = held.may_receive("hearer", topic, place, position=position)
        told = None if place is None else middle_of(place, verdict.precision_m)
        reached = any(
            matches(pattern, topic) and (area is None or (told is not None and area.contains(told)))
            for pattern, area in subscribed.items()
        )
        if verdict.allowed and reached:
            expected.append(b"%d" % number)
    assert hearer.payloads() == expected
