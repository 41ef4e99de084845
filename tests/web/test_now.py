"""The nearest and events at a border over HTTP."""

from __future__ import annotations

import pytest

from events import EventReader
from network import eventually, wait_for_match
from served import Web
from zonal import Point, Store
from zonal.geo import destination

DUOMO = Point(45.4642, 9.19)
NEAR = "lat=45.4642&long=9.19"


def test_the_nearest_are_sorted_and_say_how_far_away_they_are(web: Web) -> None:
    with Store(web.sensor, "city/**"):

        def found() -> list[tuple[str, float]]:
            for metres in (300, 100, 200, 5000):
                place = destination(DUOMO, 90, metres)
                web.session.put(f"city/bus/{metres}", str(metres), location=place)
            answer = web.http.get(f"/city/bus/*?nearest=3&{NEAR}&within=1000").json()
            return [(each["key"], each["distance_m"]) for each in answer]

        expected = [(f"city/bus/{metres}", pytest.approx(metres)) for metres in (100, 200, 300)]
        eventually(lambda: found() == expected)


def test_a_stream_tells_who_comes_and_goes(web: Web) -> None:
    detect = "shape=circle&r=500&detect=enter,leave,hysteresis:25m"
    with EventReader(f"{web.url}/city/bus/*?{NEAR}&{detect}") as reader:
        opened = reader.next()
        for key in opened.data["declared"]:
            wait_for_match(web.sensor.zenoh, key)
        for metres in (700, 100, 510, 600):
            place = destination(DUOMO, 90, metres)
            web.sensor.put("city/bus/7", str(metres), location=place, content_encoding="text/plain")
        enter, leave = reader.next(), reader.next()
    assert (enter.name, leave.name) == ("enter", "leave")
    assert enter.data["thing"] == "city/bus/7"
    assert enter.data["sample"]["value"] == "100"
    assert leave.data["sample"]["value"] == "600"
    assert leave.data["since"] == enter.data["at"]
    assert set(leave.data["previous"]) == {"lat", "long"}


def test_things_of_one_key_are_told_apart_by_a_member_of_their_values(web: Web) -> None:
    detect = "shape=circle&r=500&detect=enter,leave&thing=id"
    with EventReader(f"{web.url}/city/car?{NEAR}&{detect}") as reader:
        for key in reader.next().data["declared"]:
            wait_for_match(web.sensor.zenoh, key)
        for name, metres in (("a", 100), ("b", 510), ("b", 200), ("a", 510)):
            place = destination(DUOMO, 90, metres)
            web.sensor.put("city/car", {"id": name}, location=place)
        web.sensor.put("city/car", "no JSON", location=DUOMO)
        told = [(each.name, each.data["thing"]) for each in (reader.next() for _ in range(4))]
    things = ("city/car/a", "city/car/b", "city/car/a", "city/car")
    assert told == list(zip(("enter", "enter", "leave", "enter"), things, strict=True))


@pytest.mark.parametrize(
    ("query", "accept", "wrong"),
    [
        ("nearest=3", "*/*", "lat"),
        (f"nearest=0&{NEAR}", "*/*", "whole number"),
        (f"within=3&{NEAR}", "*/*", "nearest"),
        (f"nearest=3&{NEAR}&shape=circle&r=5", "*/*", "shape"),
        ("detect=enter", "text/event-stream", "shape"),
        (f"{NEAR}&shape=circle&r=5&thing=id", "text/event-stream", "detect"),
        (f"{NEAR}&shape=circle&r=5&detect=arrive", "text/event-stream", "arrive"),
        (f"{NEAR}&shape=circle&r=5&detect=dwell:60", "text/event-stream", "dwell:60s"),
        (f"{NEAR}&shape=circle&r=5&detect=enter,dwell", "text/event-stream", "belong together"),
    ],
)
def test_what_cannot_be_asked_is_told(web: Web, query: str, accept: str, wrong: str) -> None:
    answer = web.http.get(f"/city/bus/*?{query}", headers={"accept": accept})
    assert answer.status_code == 400
    assert wrong in answer.text
