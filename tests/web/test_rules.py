"""Rules over REST: users are named by tokens, and every door asks the same rules."""

from __future__ import annotations

import pytest

from events import EventReader
from network import eventually, wait_for_match
from served import Web, WebWith
from zonal import Point
from zonal.geo import destination
from zonal.session import Query
from zonal.trust import parse_rules
from zonal.web import WebLimits, grant_for

MILANO = Point(45.4642, 9.19)
BERLIN = Point(52.52, 13.405)
RULES = parse_rules(
    """
    [areas]
    milano = "CIRCLE (9.19 45.4642, 20000)"

    [[rule]]
    who = ["anna", "carl"]
    allow = ["publish", "subscribe", "query"]
    topics = ["city/#"]
    area = "milano"

    [[rule]]
    who = "anna"
    deny = ["publish", "subscribe", "query"]
    topics = ["city/secret/#"]

    [[rule]]
    who = "bert"
    allow = ["publish", "subscribe", "query"]
    topics = ["city/#"]
    precision_m = 1000

    [[rule]]
    who = "anonymous"
    allow = ["query"]
    topics = ["public/#"]

    [[positions]]
    who = "anna"
    max_speed_m_s = 60
    implausible = "refuse"
    """,
    "rules.toml",
    lambda name: name,
)
IN_MILANO, IN_BERLIN = "lat=45.4642&long=9.19", "lat=52.52&long=13.405"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def ruled(web_with: WebWith) -> Web:
    grants = (
        grant_for("a", "anna"),
        grant_for("b", "bert"),
        grant_for("c", "carl", read=("city/air",)),
    )
    return web_with(tokens=grants, rules=RULES, limits=WebLimits())


def test_rules_decide_what_the_user_of_a_token_writes(ruled: Web) -> None:
    def put(path: str, token: str = "a") -> int:
        return ruled.http.put(path, content=b"x", headers=bearer(token)).status_code

    assert put(f"/city/air?{IN_MILANO}") == 200
    assert put(f"/city/air?{IN_BERLIN}") == 403
    assert put("/city/air") == 403
    assert put(f"/city/secret/x?{IN_MILANO}") == 403
    assert put(f"/other?{IN_MILANO}") == 403
    assert put(f"/city/*?{IN_MILANO}") == 403, "it would be under city/secret too"
    assert put(f"/city/air?{IN_MILANO}", "c") == 403, "its token is for reading"


def test_positions_that_cannot_be_are_refused(ruled: Web) -> None:
    away = destination(MILANO, 90, 15_000)
    first = ruled.http.put(f"/city/car?{IN_MILANO}", headers=bearer("a"))
    second = ruled.http.put(f"/city/car?lat={away.lat}&long={away.lon}", headers=bearer("a"))
    assert (first.status_code, second.status_code) == (200, 403)
    assert "cannot be there" in second.json()["detail"]


def test_a_place_is_told_as_finely_as_rules_allow(ruled: Web) -> None:
    near = f"{IN_MILANO}&shape=circle&r=5000"
    with (
        ruled.sensor.declare_subscriber("city/air") as everything,
        EventReader(f"{ruled.url}/city/air?{near}", "a") as exact,
        EventReader(f"{ruled.url}/city/air?{near}", "b") as rough,
    ):
        for reader in (exact, rough):
            for key in reader.next_named("ready").data["declared"]:
                wait_for_match(ruled.sensor.zenoh, key)
        ruled.sensor.put("city/air", "x", location=MILANO)
        assert exact.next_named("PUT").data["location"] == {"lat": MILANO.lat, "long": MILANO.lon}
        seen = rough.next_named("PUT").data["location"]
        assert "cell" in seen
        assert seen["lat"] != MILANO.lat
        everything.recv(timeout=15)
        ruled.http.put(f"/city/air?{IN_MILANO}", content=b"y", headers=bearer("b"))
        told = everything.recv(timeout=15)
        assert told is not None
        assert told.is_blurred


def test_answers_and_distances_are_as_fine_as_rules_allow(ruled: Web) -> None:
    def answer(query: Query) -> None:
        with query:
            query.reply("city/air", "m", location=MILANO)
            query.reply("city/air", "b", location=BERLIN)

    with ruled.sensor.declare_queryable("city/air", answer):

        def asked(token: str, query: str = "") -> list[dict[str, object]]:
            path = f"/city/air?timeout=5{query}"
            return list(ruled.http.get(path, headers=bearer(token)).json())

        eventually(lambda: len(asked("b")) == 2)
        assert len(asked("a")) == len(asked("c")) == 1
        near = f"&{IN_MILANO}&nearest=1"
        assert asked("a", near)[0]["distance_m"] == 0.0
        assert asked("b", near)[0]["distance_m"] != 0.0
        refused = ruled.http.get("/city/*", headers=bearer("c"))
        assert refused.status_code == 403


def test_a_narrowed_stream_says_so(ruled: Web) -> None:
    wide = f"{IN_MILANO}&shape=circle&r=900000"
    with EventReader(f"{ruled.url}/city/air?{wide}", "a") as reader:
        ready = reader.next_named("ready").data
        assert "only a part" in ready["narrowed"]
    refused = ruled.http.get(
        f"/city/air?{IN_BERLIN}&shape=circle&r=9000",
        headers={**bearer("a"), "accept": "text/event-stream"},
    )
    assert refused.status_code == 403


def test_whoever_has_no_token_is_anonymous(ruled: Web) -> None:
    assert ruled.http.get("/public/x?timeout=0.1").status_code == 404
    assert ruled.http.get("/city/air").status_code == 403
    assert ruled.http.put("/public/x").status_code == 403
    assert ruled.http.get("/public/x", headers=bearer("wrong")).status_code == 401
    assert ruled.http.get("/metrics").status_code == 403
    assert ruled.http.get("/@/*/router", headers=bearer("a")).status_code == 403


def test_streams_end_when_the_rules_change(ruled: Web) -> None:
    tokens = ruled.server.options.tokens
    with EventReader(f"{ruled.url}/city/air", "a") as reader:
        reader.next_named("ready")
        ruled.server.use(tokens, RULES)  # the same again
        assert ruled.http.get("/public/x?timeout=0.1").status_code == 404
        ruled.sensor.put("city/air", "x", location=MILANO)
        assert reader.next_named("PUT").name == "PUT"
        ruled.server.use(tokens, parse_rules("", "rules.toml", str))
        assert reader.ended()
    assert ruled.http.get("/public/x").status_code == 401
