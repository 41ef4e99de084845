"""The three checks, in their order, and what the index promises about ids, values and clients."""

from __future__ import annotations

import time

import pytest

from zonal.errors import SubscriptionError, TopicError, ZonalError
from zonal.geo import Box, Circle, Everywhere, Point
from zonal.index import SubscriptionIndex, Syntax

MILANO = Point(45.4642, 9.19)
MONZA = Point(45.5845, 9.2744)
ROMA = Point(41.9028, 12.4964)
AROUND_MILANO = Circle(MILANO, radius_m=5000.0)
LOMBARDIA = Box(44.7, 8.5, 46.6, 11.4)


def test_content_is_checked_first() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("air", "city/air", AROUND_MILANO)
    index.add("all", "city/**", AROUND_MILANO)
    index.add("water", "city/water", AROUND_MILANO)
    assert sorted(index.match("city/air", MILANO)) == ["air", "all"]


def test_the_consumer_geofence_must_contain_the_producer() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("milano", "t", AROUND_MILANO)
    index.add("lombardia", "t", LOMBARDIA)
    index.add("open", "t")
    index.add("everywhere", "t", Everywhere())
    assert sorted(index.match("t", MILANO)) == ["everywhere", "lombardia", "milano", "open"]
    assert sorted(index.match("t", MONZA)) == ["everywhere", "lombardia", "open"]
    assert sorted(index.match("t", ROMA)) == ["everywhere", "open"]


def test_the_producer_geofence_must_contain_the_consumer() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    for name, place in [("mi", MILANO), ("mo", MONZA), ("ro", ROMA)]:
        index.add(name, "t", client=name)
        index.locate(name, place)
    assert sorted(index.match("t", ROMA, LOMBARDIA)) == ["mi", "mo"]
    assert sorted(index.match("t", geofence=AROUND_MILANO)) == ["mi"]
    assert sorted(index.match("t", ROMA, Everywhere())) == ["mi", "mo", "ro"]


def test_missing_parts_of_the_geo_context_skip_their_check() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("milano", "t", AROUND_MILANO, client="c")
    assert index.match("t") == ["milano"]
    index.locate("c", ROMA)
    assert index.match("t", geofence=LOMBARDIA) == []
    assert index.match("t", geofence=Circle(ROMA, radius_m=10.0)) == ["milano"]


def test_a_message_with_a_geofence_does_not_reach_a_client_of_unknown_location() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("no client", "t")
    index.add("never located", "t", client="a")
    index.add("lost", "t", client="b")
    index.locate("b", MILANO)
    assert index.match("t", MILANO, LOMBARDIA) == ["lost"]
    index.locate("b", None)
    for geofence in (LOMBARDIA, AROUND_MILANO, Everywhere(), Circle(ROMA, radius_m=15e6)):
        assert index.match("t", MILANO, geofence) == []
    assert len(index.match("t", MILANO)) == 3


@pytest.mark.parametrize("crowd", [1, 40])
@pytest.mark.parametrize("geofence", [AROUND_MILANO, LOMBARDIA, Circle(ROMA, radius_m=15e6)])
def test_few_and_many_clients_are_judged_alike(crowd: int, geofence: Circle | Box) -> None:
    index: SubscriptionIndex[tuple[str, int]] = SubscriptionIndex()
    for number in range(crowd):
        for name, place in [("mi", MILANO), ("mo", MONZA), ("ro", ROMA), ("?", None)]:
            index.add((name, number), "t", client=(name, number))
            index.locate((name, number), place)
    expected = {"mi", "mo", "ro"} if geofence.bounds.contains(ROMA) else {"mi", "mo"}
    expected = {"mi"} if geofence is AROUND_MILANO else expected
    reached = index.match("t", MILANO, geofence)
    assert {name for name, _ in reached} == expected
    assert len(reached) == crowd * len(expected)


def test_a_subscription_that_asks_for_fenced_messages_gets_them_anywhere() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("recorder", "**", fenced=True)
    index.add("other", "**", client="c")
    assert index.match("t", MILANO, LOMBARDIA) == ["recorder"]
    index.update("recorder", fenced=False)
    index.update("other", fenced=True)
    assert index.match("t", MILANO, LOMBARDIA) == ["other"]
    index.remove("other")
    index.add("third", "**", client="c")
    assert index.match("t", MILANO, LOMBARDIA) == []


def test_an_ego_centric_geofence_follows_its_client() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("around me", "t", Circle(radius_m=1000.0), client="c")
    assert index.match("t", MILANO) == []
    assert index.match("t") == ["around me"]
    index.locate("c", MILANO)
    assert index.match("t", MILANO) == ["around me"]
    index.locate("c", ROMA)
    assert index.match("t", MILANO) == []
    assert index.match("t", ROMA) == ["around me"]
    index.locate("c", None)
    assert index.match("t", ROMA) == []
    index.locate("c", ROMA)
    index.update("around me", area=Circle(radius_m=600_000.0))
    assert index.match("t", MILANO) == ["around me"]


def test_updates_change_what_they_name_and_nothing_else() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("s", "a", AROUND_MILANO, client="c", value="one")
    index.update("s", area=Circle(ROMA, radius_m=10.0))
    assert (index.match("a", MILANO), index.match("a", ROMA)) == ([], ["one"])
    index.update("s", topic_filter="b/*")
    assert (index.match("a", ROMA), index.match("b/x", ROMA)) == ([], ["one"])
    assert index.match("b/x") == ["one"]
    index.update("s", value="two")
    assert (index.match("b/x"), index.match("b/x", ROMA)) == (["two"], ["two"])
    index.update("s", area=None)
    assert index.match("b/x", MILANO) == ["two"]
    index.update("s", area=AROUND_MILANO)
    assert index["s"].area == AROUND_MILANO
    assert index["s"].client == "c"
    assert index["s"].topic_filter.topic == "b/*"


def test_the_value_is_what_match_returns_and_the_id_by_default() -> None:
    index: SubscriptionIndex[object] = SubscriptionIndex()
    index.add(("c", "t"), "t")
    index.add("x", "t", value=["anything", {"even": "unhashable"}])
    index.add("none", "t", value=None)
    found = index.match("t")
    assert ("c", "t") in found
    assert ["anything", {"even": "unhashable"}] in found
    assert None in found
    assert len(index.match("t", MILANO)) == 3


def test_many_messages_of_a_topic_are_answered_as_one_after_the_other() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex(syntax=Syntax.MQTT)
    places = [MILANO, ROMA, MONZA, MILANO]

    def check() -> None:
        lats, lons = [place.lat for place in places], [place.lon for place in places]
        numbers, values = index.match_each("city/air", lats, lons)
        assert numbers == sorted(numbers)
        assert sorted(zip(numbers, values, strict=True)) == [
            (number, value)
            for number, place in enumerate(places)
            for value in sorted(index.match("city/air", place))
        ]

    check()
    index.add("milano", "city/air", AROUND_MILANO)
    check()
    for name, pattern, area in (
        ("lombardia", "city/+", LOMBARDIA),
        ("roma", "city/air", Circle(ROMA, radius_m=10.0)),
        ("everywhere", "city/air", Everywhere()),
        ("monza", "city/air", Circle(MONZA, radius_m=30_000.0)),
        ("ego", "#", Circle(radius_m=10.0)),
        ("all", "#", None),
    ):
        index.add(name, pattern, area)
        check()
    for name in list(index):
        index.remove(name)
        check()


def test_rows_stand_for_subscriptions() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    for name in "abc":
        index.add(name, "t", AROUND_MILANO, client=name)
    index.remove("a")
    rows = index.match_rows("t", MILANO)
    assert sorted(rows.tolist()) == sorted([index.row_of("b"), index.row_of("c")])
    assert sorted(index.values(rows)) == ["b", "c"]
    assert len(index.match_rows("t")) == 2
    assert len(index.match_rows("u", MILANO)) == 0
    assert len(index.match_rows("t", MILANO, LOMBARDIA)) == 0


def test_ids_are_unique_and_known() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("s", "t")
    with pytest.raises(SubscriptionError, match="update"):
        index.add("s", "u")
    for missing in (
        lambda: index.remove("x"),
        lambda: index.update("x", area=None),
        lambda: index["x"],
        lambda: index.row_of("x"),
    ):
        with pytest.raises(SubscriptionError, match="'x'") as caught:
            missing()
        assert isinstance(caught.value, ZonalError | LookupError)
    assert ("s" in index, "x" in index, len(index), list(index)) == (True, False, 1, ["s"])


def test_a_refused_add_or_update_leaves_nothing_behind() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("s", "t", AROUND_MILANO)
    with pytest.raises(TopicError):
        index.add("bad", "a//b")
    with pytest.raises(TopicError):
        index.update("s", topic_filter="a//b", area=None)
    assert list(index) == ["s"]
    assert index["s"].area == AROUND_MILANO
    with pytest.raises(TopicError):
        index.match("a//b", MILANO)
    with pytest.raises(ValueError, match="granularity"):
        SubscriptionIndex(granularity=-1)


def test_removing_a_client_removes_its_subscriptions_and_its_location() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("a", "t", client="c")
    index.add("b", "u/**", AROUND_MILANO, client="c")
    index.add("other", "t", client="d")
    index.locate("c", MILANO)
    assert sorted(map(str, index.ids_of("c"))) == ["a", "b"]
    assert index.location_of("c") == MILANO
    assert sorted(map(str, index.remove_client("c"))) == ["a", "b"]
    assert index.location_of("c") is None
    assert index.ids_of("c") == []
    assert index.match("t") == ["other"]
    assert index.match("u/x", MILANO) == []
    assert index.remove_client("nobody") == []
    index.add("a", "t", client="c")
    assert index.match("t", MILANO, LOMBARDIA) == []


def test_seats_of_clients_are_given_back() -> None:
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number in range(1000):
        index.add(number, "t", client=number)
        index.locate(number, MILANO)
        index.remove(number)
        index.locate(number, None)
    assert len(index._clients) == 0
    assert len(index._clients._points) < 10
    assert len(index._roster._records) == 1


def test_remembered_topics_follow_every_change_of_filters() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex(syntax=Syntax.MQTT)
    assert index.match("a/b") == []
    index.add("literal", "a/b")
    assert index.match("a/b") == ["literal"]
    index.add("wild", "a/+")
    assert sorted(index.match("a/b")) == ["literal", "wild"]
    index.add("zenoh", "a/*", syntax=Syntax.ZENOH)
    assert sorted(index.match("a/b")) == ["literal", "wild", "zenoh"]
    assert sorted(index.match("a/*", syntax=Syntax.ZENOH)) == ["literal", "wild", "zenoh"]
    index.remove("literal")
    assert sorted(index.match("a/b")) == ["wild", "zenoh"]
    assert sorted(index.match("a/*", syntax=Syntax.ZENOH)) == ["wild", "zenoh"]
    index.remove("wild")
    index.remove("zenoh")
    assert index.match("a/b") == []


def test_remembered_topics_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zonal.index.routes.MAX_ROUTES", 10)
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("s", "a/*")
    for number in range(100):
        assert index.match(f"a/{number}") == ["s"]
    assert len(index._routes.remembered(Syntax.ZENOH)) <= 10


def test_shared_subscriptions_tell_their_group() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex(syntax=Syntax.MQTT)
    index.add("a", "$share/group/t/+", AROUND_MILANO)
    index.add("b", "$share/other/t/+", AROUND_MILANO)
    index.add("c", "t/+", AROUND_MILANO)
    assert sorted(index.match("t/x", MILANO)) == ["a", "b", "c"]
    assert [index[id_].topic_filter.share for id_ in "abc"] == ["group", "other", None]
    index.remove("a")
    assert sorted(index.match("t/x", MILANO)) == ["b", "c"]


def test_a_client_with_thousands_of_subscriptions_is_located_in_no_time() -> None:
    """A session is one client with all its subscriptions; locating it must not visit them."""
    index: SubscriptionIndex[int] = SubscriptionIndex()
    start = time.process_time()
    for number in range(5000):
        index.add(number, "t", AROUND_MILANO, client="session")
        index.locate("session", MILANO)
    for number in range(5000):
        index.remove(number)
    assert time.process_time() - start < 3.0  # 0.2 s; visiting all would take 10 s and more
    assert index.location_of("session") == MILANO


def test_a_geofence_stops_following_when_it_gets_a_place() -> None:
    index: SubscriptionIndex[str] = SubscriptionIndex()
    index.add("a", "t", Circle(radius_m=1000.0), client="c")
    index.add("b", "t", Circle(radius_m=1000.0), client="c")
    index.locate("c", ROMA)
    index.update("a", area=AROUND_MILANO)
    index.locate("c", MONZA)
    assert index.match("t", MILANO) == ["a"]
    assert index.match("t", MONZA) == ["b"]
    index.remove("b")
    index.locate("c", ROMA)
    assert index.match("t", MONZA) == []
    assert index._roster._followers == {}
