from __future__ import annotations

from zonal.geo import Circle, Point
from zonal.keys import encoding_named
from zonal.session import Session
from zonal.session.announcements import WATCHED, Announcements

DUOMO = Point(45.4642, 9.19)


def test_a_sender_to_many_topics_watches_the_latest_only(near: Session, topic: str) -> None:
    json = encoding_named("json")
    with near.declare_subscriber(f"{topic}/0", area=Circle(DUOMO, radius_m=500), encoding="json"):
        announcements = Announcements(near.zenoh)
        for number in range(WATCHED + 20):
            announcements.matching(f"{topic}/{number}", json, DUOMO)
        assert len(announcements._watches) == WATCHED
        assert announcements.matching(f"{topic}/0", json, DUOMO), "looked at anew"
        assert len(announcements._watches) == WATCHED
        announcements.close()
