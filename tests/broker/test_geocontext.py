"""Places in user properties: four dimensions, three checks, and answers to bad ones."""

from __future__ import annotations

import contextlib

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench, Client
from property_examples import examples
from zonal.broker import geocontext
from zonal.broker.settings import Limits, Settings
from zonal.errors import GeometryError
from zonal.geo import Box, Circle, Point, area_from_wkt

DUOMO = "45.4642,9.1900"
NAVIGLI = "45.4520,9.1750"  # 1.8 km away
BERLIN = "52.5200,13.4050"
MILANO = "POLYGON ((9.0 45.3, 9.4 45.3, 9.4 45.6, 9.0 45.6, 9.0 45.3))"
GERMANY = "POLYGON ((6 47, 15 47, 15 55, 6 55, 6 47))"
BOTH = (
    "MULTIPOLYGON (((9.0 45.3, 9.4 45.3, 9.4 45.6, 9.0 45.6, 9.0 45.3)), "
    "((6 47, 15 47, 15 55, 6 55, 6 47)))"
)


STRICT = Settings(strict=True, sys_interval=0)


def at(bench: Bench, client_id: str, place: str | None) -> Client:
    properties = [("location", place)] if place else None
    return bench.connected(client_id, user_properties=properties)


def test_a_message_carries_its_producers_location() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t")
    at(bench, "p", DUOMO).publish("t", b"", properties=[("k", "v")])
    message = reader.one(mqtt5.PublishPacket)
    assert message.user_properties == [("k", "v"), ("location", "45.4642,9.19")]


def test_a_messages_own_location_stays_as_it_was_written() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t")
    at(bench, "p", DUOMO).publish("t", b"", properties=[("location", "POINT (13.4 52.5)")])
    assert reader.one(mqtt5.PublishPacket).user_properties == [("location", "POINT (13.4 52.5)")]


def test_without_properties_it_is_an_ordinary_broker() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t")
    bench.connected("p").publish("t", b"x", properties=[("place", "nowhere")])
    assert reader.one(mqtt5.PublishPacket).user_properties == [("place", "nowhere")]


@pytest.mark.parametrize("fence", [MILANO, BOTH])
@pytest.mark.parametrize(("place", "arrives"), [(DUOMO, True), ("41.9,12.5", False), (None, False)])
def test_the_consumer_geofence_contains_the_producer(
    fence: str, place: str | None, arrives: bool
) -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t", properties=[("geofence", fence)])
    at(bench, "p", place).publish("t", b"x")
    assert bool(reader.messages()) == arrives


@pytest.mark.parametrize(("place", "arrives"), [(DUOMO, True), (BERLIN, False), (None, False)])
def test_the_producer_geofence_contains_the_consumer(place: str | None, arrives: bool) -> None:
    bench = Bench()
    reader = at(bench, "r", place)
    reader.subscribe("t")
    bench.connected("p").publish("t", b"x", properties=[("geofence", MILANO)])
    assert bool(reader.messages()) == arrives


def test_both_checks_must_pass() -> None:
    bench = Bench()
    reader = at(bench, "r", DUOMO)
    reader.subscribe("t", properties=[("geofence", GERMANY)])
    producer = at(bench, "p", BERLIN)
    producer.publish("t", b"both", properties=[("geofence", MILANO)])
    producer.publish("t", b"consumer outside", properties=[("geofence", GERMANY)])
    at(bench, "q", DUOMO).publish("t", b"producer outside", properties=[("geofence", MILANO)])
    assert reader.payloads() == [b"both"]


def test_a_client_moves_by_publishing_its_location() -> None:
    bench = Bench()
    reader = at(bench, "r", BERLIN)
    reader.subscribe("t")
    producer = bench.connected("p")
    reader.publish("$zonal/location", DUOMO.encode(), 1)
    assert int(reader.one(mqtt5.PubAckPacket).reason_code) == 0
    producer.publish("t", b"1", properties=[("geofence", MILANO)])
    reader.publish("$zonal/location", b"", properties=[("location", "POINT (13.4 52.5)")])
    producer.publish("t", b"2", properties=[("geofence", MILANO)])
    assert reader.payloads() == [b"1"]


def test_location_updates_reach_nobody() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("#")
    reader.subscribe("$zonal/#")
    bench.connected("p").publish("$zonal/location", DUOMO.encode(), retain=True)
    assert reader.packets() == []
    assert len(bench.broker.retained) == 0


def test_an_ego_centric_geofence_follows_the_client() -> None:
    bench = Bench()
    reader = at(bench, "r", DUOMO)
    reader.subscribe("t", properties=[("around", "500m")])
    producer = bench.connected("p")

    def heard(place: str) -> bool:
        producer.publish("t", b"x", properties=[("location", place)])
        return bool(reader.messages())

    assert heard("45.4660,9.1900")
    assert not heard(NAVIGLI)
    reader.publish("$zonal/location", NAVIGLI.encode())
    assert heard(NAVIGLI)
    assert not heard(DUOMO)


def test_an_ego_centric_geofence_hears_nothing_before_the_client_has_a_place() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t", properties=[("around", "20000km")])
    producer = at(bench, "p", DUOMO)
    producer.publish("t", b"1")
    reader.publish("$zonal/location", DUOMO.encode())
    producer.publish("t", b"2")
    assert reader.payloads() == [b"2"]


def test_subscribing_again_moves_the_geofence_and_dropping_it_opens_the_subscription() -> None:
    bench = Bench()
    reader = bench.connected("r")
    milano, berlin = at(bench, "m", DUOMO), at(bench, "b", BERLIN)
    for fence, expected in ((MILANO, [b"m"]), (GERMANY, [b"b"]), (None, [b"m", b"b"])):
        reader.subscribe("t", properties=[("geofence", fence)] if fence else None)
        milano.publish("t", b"m")
        berlin.publish("t", b"b")
        assert reader.payloads() == expected


def test_overlapping_subscriptions_with_and_without_geofences_give_one_message() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t/#", identifier=1)
    reader.subscribe("t/+", identifier=2, properties=[("geofence", MILANO)])
    reader.subscribe("t/x", identifier=3, properties=[("geofence", GERMANY)])
    at(bench, "p", DUOMO).publish("t/x", b"")
    assert [sorted(m.subscription_ids) for m in reader.messages()] == [[1, 2]]


def test_a_shared_group_chooses_among_the_members_that_pass() -> None:
    bench = Bench()
    inside, outside = at(bench, "in", DUOMO), at(bench, "out", BERLIN)
    for member in (inside, outside):
        member.subscribe("$share/g/t")
    producer = bench.connected("p")
    for _ in range(4):
        producer.publish("t", b"x", properties=[("geofence", MILANO)])
    assert len(inside.messages()) == 4
    assert outside.messages() == []


def test_retained_messages_pass_the_checks_too() -> None:
    bench = Bench()
    at(bench, "p", DUOMO).publish("a", b"a", retain=True)
    bench.connected("q").publish("b", b"b", retain=True, properties=[("geofence", GERMANY)])
    reader = at(bench, "r", BERLIN)
    reader.subscribe("a", properties=[("geofence", GERMANY)])
    reader.subscribe("b")
    assert reader.payloads() == [b"b"]
    reader.subscribe("a", properties=[("geofence", MILANO)])
    assert reader.payloads() == [b"a"]


def test_a_will_comes_from_where_the_client_was() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("gone", properties=[("geofence", MILANO)])
    will = mqtt5.Will("gone", payload=b"bye")
    client = bench.connected("c", will=will, user_properties=[("location", BERLIN)])
    client.publish("$zonal/location", DUOMO.encode())
    client.hang_up()
    assert reader.payloads() == [b"bye"]


BAD = {
    "location": ["", "45.4", "45.4,9.1,3", "north,east", "95,0", "45,200", "nan,0", "POINT (9)",
                 "POINT (200 100)", MILANO],
    "geofence": ["", "POLYGON", "POLYGON ((0 0, 1 1))", "LINESTRING (9 45, 10 46)", "around 500m",
                 "POLYGON ((0 0, 0 200, 10 200, 0 0))", "45.4,9.1",
                 "CIRCULARSTRING (0 0, 1 1, 2 0)", "COMPOUNDCURVE ((0 0, 1 1), (1 1, 2 0))",
                 "CURVEPOLYGON (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0))",
                 "CURVEPOLYGON ((0 0, 0 1, 1 1, 0 0))", "CURVEPOLYGON EMPTY",
                 "MULTICURVE ((0 0, 1 1), CIRCULARSTRING (0 0, 1 1, 2 0))",
                 "MULTISURFACE (CURVEPOLYGON (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0)))",
                 "TRIANGLE ((0 0, 0 1, 1 1, 0 0))", "TIN (((0 0, 0 1, 1 1, 0 0)))",
                 "POLYHEDRALSURFACE (((0 0, 0 1, 1 1, 0 0)))",
                 "GEOMETRYCOLLECTION (POINT (9 45), LINESTRING (9 45, 10 46))",
                 "GEOMETRYCOLLECTION (CURVEPOLYGON ((0 0, 0 1, 1 1, 0 0)))",
                 "GEOMETRYCOLLECTION (" * 50 + "POINT (9 45)" + ")" * 50,
                 "GEOMETRYCOLLECTION (" * 3_000 + "POINT (9 45)" + ")" * 3_000,
                 "GEOMETRYCOLLECTION (" * 1_000 + "POLYGON ((0 0, 0 1, 1 1, 0 0))" + ")" * 1_000,
                 "(" * 65_000, "POLYGON " + "(" * 65_000],
    "around": ["", "500", "-5m", "5 miles", "1e3m", "30000km", "m"],
}  # fmt: skip


@pytest.mark.parametrize("value", BAD["geofence"] + BAD["around"])
def test_bad_geometry_in_subscribe_is_answered_and_changes_nothing(value: str) -> None:
    bench = Bench()
    reader = at(bench, "r", DUOMO)
    reader.subscribe("t", properties=[("geofence", MILANO)])
    name = "geofence" if value in BAD["geofence"] else "around"
    answer = reader.subscribe("t", 1, properties=[(name, value)])
    assert [int(c) for c in answer.reason_codes] == [0x83]
    assert answer.reason_str is not None
    assert name in answer.reason_str
    assert not reader.is_closed
    at(bench, "p", DUOMO).publish("t", b"x")
    assert len(reader.messages()) == 1


@pytest.mark.parametrize("value", BAD["location"])
def test_a_location_that_is_none_is_an_ordinary_property(value: str) -> None:
    bench = Bench()
    reader = at(bench, "r", DUOMO)
    reader.subscribe("t")
    fenced = at(bench, "f", DUOMO)
    fenced.subscribe("t", properties=[("geofence", MILANO)])
    producer = bench.connected("p", user_properties=[("location", value)])
    for qos in (0, 1, 2):
        producer.publish("t", b"x", qos, properties=[("location", value)])
        producer.packets()
    (first, second, third) = reader.messages()
    assert first.user_properties == second.user_properties == [("location", value)]
    assert third.user_properties == [("location", value)]
    assert fenced.messages() == []
    assert bench.broker.counters.unread_locations == 4
    assert bench.broker.counters.refused == 0


def test_an_unread_location_leaves_the_place_of_the_client() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("t", properties=[("geofence", MILANO)])
    producer = at(bench, "p", DUOMO)
    producer.publish("t", b"x", properties=[("location", "Kitchen")])
    (message,) = reader.messages()
    assert message.user_properties == [("location", "Kitchen"), ("location", "45.4642,9.19")]


@pytest.mark.parametrize("value", BAD["location"])
def test_a_strict_broker_answers_a_bad_location_and_it_goes_nowhere(value: str) -> None:
    bench = Bench(STRICT)
    reader = bench.connected("r")
    reader.subscribe("t")
    producer = bench.connected("p")
    producer.publish("t", b"x", 1, properties=[("location", value)])
    answer = producer.one(mqtt5.PubAckPacket)
    assert int(answer.reason_code) == 0x83
    assert answer.reason_str is not None
    assert "location" in answer.reason_str
    producer.publish("t", b"x", 2, properties=[("location", value)])
    assert int(producer.one(mqtt5.PubRecPacket).reason_code) == 0x83
    producer.publish("t", b"x", 0, properties=[("location", value)])
    assert reader.messages() == []
    assert bench.broker.counters.refused == 3
    producer.publish("t", b"fine", 0)
    assert reader.payloads() == [b"fine"]


@pytest.mark.parametrize("value", BAD["location"])
def test_a_strict_broker_refuses_a_bad_location_in_connect(value: str) -> None:
    client = Bench(STRICT).client()
    client.send(mqtt5.ConnectPacket("c", user_properties=[("location", value)]))
    assert client.refused_with() == 0x83


def test_a_bad_location_update_keeps_the_older_one() -> None:
    bench = Bench()
    reader = at(bench, "r", DUOMO)
    reader.subscribe("t")
    reader.publish("$zonal/location", b"\xff", 1)
    assert int(reader.one(mqtt5.PubAckPacket).reason_code) == 0x83
    bench.connected("p").publish("t", b"x", properties=[("geofence", MILANO)])
    assert reader.payloads() == [b"x"]


def test_properties_where_they_do_not_belong() -> None:
    answer = Bench(STRICT).connected("c").subscribe("t", properties=[("location", DUOMO)])
    assert [int(c) for c in answer.reason_codes] == [0x83]
    client = Bench().connected("c")
    answer = client.subscribe("t", properties=[("location", DUOMO)])
    assert [int(c) for c in answer.reason_codes] == [0]
    assert "belongs to CONNECT" in str(answer.reason_str)
    client.publish("t", b"", 1, properties=[("around", "5m")])
    assert int(client.one(mqtt5.PubAckPacket).reason_code) == 0x83
    for twice in ([("location", DUOMO)] * 2, [("geofence", MILANO)] * 2):
        client.publish("t", b"", 1, properties=twice)
        assert int(client.one(mqtt5.PubAckPacket).reason_code) == 0x83


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Location", "location"), ("geo-fence", "geofence"), ("geofense", "geofence"),
     ("arround", "around"), ("position", "location"), ("trace-id", None), ("loc", None)],
)  # fmt: skip
def test_a_property_that_looks_like_ours_is_answered_with_a_hint(
    name: str, meant: str | None
) -> None:
    bench = Bench()
    client = bench.client()
    client.send(mqtt5.ConnectPacket("c", user_properties=[(name, "x")]))
    said = [client.one(mqtt5.ConnAckPacket).reason_str]
    said.append(client.subscribe("t", properties=[(name, "x")]).reason_str)
    for qos, kind in ((1, mqtt5.PubAckPacket), (2, mqtt5.PubRecPacket)):
        client.publish("other", b"x", qos, properties=[(name, "x")])
        answer = client.one(kind)
        assert int(answer.reason_code) == 0x10
        said.append(answer.reason_str)
    if meant is None:
        assert said == [None] * 4
    else:
        assert all(f"did you mean {meant!r}" in str(text) for text in said)


def test_who_is_nowhere_is_told_that_nothing_is_around() -> None:
    bench = Bench()
    client = bench.connected("c")
    answer = client.subscribe("t", properties=[("around", "500m")])
    assert [int(c) for c in answer.reason_codes] == [0]
    assert "$zonal/location" in str(answer.reason_str)
    client.publish("$zonal/location", DUOMO.encode())
    assert client.subscribe("t", properties=[("around", "500m")]).reason_str is None


def test_a_geofence_has_a_bounded_number_of_vertices() -> None:
    bench = Bench(Settings(limits=Limits(maximum_vertices=4), sys_interval=0))
    client = bench.connected("c")
    assert int(client.subscribe("a", properties=[("geofence", MILANO)]).reason_codes[0]) == 0
    six = "POLYGON ((0 0, 1 0, 2 1, 1 2, 0 2, 0 0))"
    assert int(client.subscribe("a", properties=[("geofence", six)]).reason_codes[0]) == 0x83


SIDES = st.floats(-89.0, 89.0).map(lambda value: f"{value:.4f}")


@examples(100)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 3), st.booleans(), st.data())
def test_a_polygon_that_is_a_box_contains_the_same_points(
    west: str, south: str, east: str, north: str, turn: int, back: bool, data: st.DataObject
) -> None:
    corners = [(west, south), (east, south), (east, north), (west, north)]
    corners = corners[turn:] + corners[:turn]
    if back:
        corners.reverse()
    written = ", ".join(f"{lon} {lat}" for lon, lat in [*corners, corners[0]])
    text = f"POLYGON (({written}))"
    try:
        polygon = area_from_wkt(text)
    except GeometryError:
        with pytest.raises(GeometryError):
            geocontext.read_geofence(text)
        return
    area = geocontext.read_geofence(text)
    assert isinstance(area, Box)
    lons = st.sampled_from([float(west), float(east)]) | st.floats(-180.0, 180.0)
    lats = st.sampled_from([float(south), float(north)]) | st.floats(-90.0, 90.0)
    point = Point(data.draw(lats), data.draw(lons))
    assert area.contains(point) == polygon.contains(point)


@pytest.mark.parametrize(
    "text",
    [
        "POLYGON ((9 45, 10 45, 10 46, 9.1 46, 9 45))",
        "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45), (9.2 45.2, 9.4 45.2, 9.4 45.4, 9.2 45.2))",
        "POLYGON ((170 45, 190 45, 190 46, 170 46, 170 45))",
        "POLYGON ((9 80, 10 80, 10 90, 9 90, 9 80))",
        "POLYGON ((9 45, 10 45, 10 46, 9 45))",
    ],
)
def test_any_other_polygon_stays_one(text: str) -> None:
    assert geocontext.read_geofence(text) == area_from_wkt(text)


def test_geo_can_be_switched_off() -> None:
    bench = Bench(Settings(geo=False, sys_interval=0))
    reader = bench.connected("r", user_properties=[("location", "nonsense")])
    reader.subscribe("t", properties=[("geofence", "nonsense")])
    bench.connected("p").publish("t", b"x", properties=[("location", "nonsense")])
    assert reader.one(mqtt5.PublishPacket).user_properties == [("location", "nonsense")]


@examples(200)
@given(st.text(max_size=40))
def test_whatever_a_property_says_it_is_a_place_or_a_geometry_error(text: str) -> None:
    for name in ("location", "geofence", "around"):
        with contextlib.suppress(GeometryError):
            geocontext.read([(name, text)])


@examples(60)
@given(
    st.lists(
        st.tuples(st.floats(45.40, 45.52), st.floats(9.1, 9.3), st.integers(50, 8000)),
        min_size=1, max_size=6,
    ),
    st.floats(45.40, 45.52), st.floats(9.1, 9.3), st.booleans(),
)  # fmt: skip
def test_the_broker_agrees_with_exact_geometry(
    readers: list[tuple[float, float, int]], lat: float, lon: float, fenced: bool
) -> None:
    bench = Bench()
    clients = []
    for number, (own_lat, own_lon, radius) in enumerate(readers):
        client = at(bench, f"r{number}", f"{own_lat!r},{own_lon!r}")
        client.subscribe("t", properties=[("around", f"{radius}m")])
        clients.append(client)
    properties = [("location", f"{lat!r},{lon!r}")]
    half = "POLYGON ((9.0 45.3, 9.2 45.3, 9.2 45.6, 9.0 45.6, 9.0 45.3))"
    if fenced:
        properties.append(("geofence", half))
    bench.connected("p").publish("t", b"x", properties=properties)
    for client, (own_lat, own_lon, radius) in zip(clients, readers, strict=True):
        here = Point(own_lat, own_lon)
        near = Circle(here, radius_m=float(radius)).contains(Point(lat, lon))
        inside = not fenced or geocontext.read_geofence(half).contains(here)
        assert bool(client.messages()) == (near and inside)


HERE = "CIRCLE (9 45, 1000)"


@pytest.mark.parametrize("place", [("geofence", HERE), ("location", "52,13")])
def test_whether_somebody_is_at_a_place_is_not_told(place: tuple[str, str]) -> None:
    bench = Bench()
    bench.connected("l", user_properties=[("location", "10,10")]).subscribe(
        "t", properties=[("geofence", HERE)]
    )
    writer = bench.connected("w")
    writer.publish("t", b"", 1, properties=[place])
    assert int(writer.one(mqtt5.PubAckPacket).reason_code) == 0
    writer.publish("nobody", b"", 1)
    assert int(writer.one(mqtt5.PubAckPacket).reason_code) == 0x10


def test_a_client_may_have_its_place_told_less_finely() -> None:
    bench = Bench()
    heard = bench.connected("l")
    heard.subscribe("t")
    writer = bench.connected(
        "w", user_properties=[("location", "45.4642,9.19"), ("precision", "1km")]
    )
    writer.publish("t", b"")
    (message,) = heard.messages()
    (told,) = [value for name, value in message.user_properties if name == "location"]
    assert told != "45.4642,9.19"
    assert 1 < geocontext.read_location(told).distance_m(Point(45.4642, 9.19)) < 3000
    assert "precision" not in dict(message.user_properties)


def test_a_precision_that_is_no_distance_is_refused() -> None:
    client = Bench().client()
    client.send(mqtt5.ConnectPacket("c", user_properties=[("precision", "coarse")]))
    assert client.refused_with() == 0x83


def test_an_area_with_a_place_of_its_own_stays_there_whoever_asks() -> None:
    here, there = Point(52.52, 13.405), Point(45.4642, 9.19)
    placed, following = Circle(there, radius_m=1000), Circle(radius_m=1000)
    assert geocontext.holds(placed, there, here)
    assert not geocontext.holds(placed, here, here)
    assert geocontext.holds(following, here, here)
    assert not geocontext.holds(following, there, here)
    assert not geocontext.holds(following, here, None)
    assert not geocontext.holds(placed, None, here)
