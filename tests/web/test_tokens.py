"""Tokens: what is asked for without one, what one grants, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run_zonal
from events import EventReader
from network import eventually, wait_for_match
from served import Web, WebWith
from zonal import Circle, Point
from zonal.errors import WebError
from zonal.geo import destination
from zonal.session import Query
from zonal.web import MapView, WebGrant, WebOptions, add_token, grant_for, read_tokens
from zonal.web.access import WebAccess
from zonal.web.tokens import RIGHTS, Tokens

MILANO = Point(45.4642, 9.19)
BERLIN = Point(52.52, 13.405)
AROUND_MILANO = Circle(MILANO, radius_m=20_000)
IN_MILANO, IN_BERLIN = "lat=45.4642&long=9.19", "lat=52.52&long=13.405"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def milanese(**more: Any) -> WebGrant:
    rights = dict.fromkeys(RIGHTS, ("city/**",))
    return grant_for("secret", "anna", **{**rights, "area": AROUND_MILANO, **more})


@pytest.fixture
def guarded(web_with: WebWith) -> Web:
    """A server with tokens: `secret` for Milano, `all` for everything."""
    everything = grant_for(
        "all", "root", read=("**",), events=("**",), write=("**",), fenced=True, metrics=True
    )
    return web_with(tokens=(milanese(), everything), view=MapView(events="city/alert"))


def wait_for(web: Web, declared: list[str]) -> None:
    for key in declared:
        wait_for_match(web.sensor.zenoh, key)


def heard(reader: EventReader, until: str) -> list[str]:
    """The values of messages up to one."""
    values: list[str] = []
    while not values or values[-1] != until:
        values.append(reader.next_named("PUT").data["value"])
    return values


@pytest.mark.parametrize(
    "path", ["/city/air", "/city/**", "/@/*/router", "/metrics", "/-/view", "/-/events",
             "/-/routers", "/-/layers/0", "/-/cover?shape=circle&r=9&lat=1&long=1",
             "/city/air?_time=[now(-1h)..]"],
)  # fmt: skip
def test_where_there_are_tokens_nothing_is_read_without(guarded: Web, path: str) -> None:
    for headers in (
        {},
        bearer("wrong"),
        {"authorization": "Basic secret"},
        {"authorization": "Bearer"},
    ):
        answer = guarded.http.get(path, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"].startswith("Bearer")
        stream = guarded.http.get(path, headers={**headers, "accept": "text/event-stream"})
        assert stream.status_code == 401


def test_writing_needs_a_token_and_the_page_that_asks_for_it_does_not(guarded: Web) -> None:
    http = guarded.http
    for method in ("PUT", "POST", "DELETE"):
        assert http.request(method, f"/city/air?{IN_MILANO}").status_code == 401
        answer = http.request(method, f"/city/air?{IN_MILANO}", headers=bearer("secret"))
        assert answer.status_code == 200
    for path in ("/", "/-/page/main.js", "/health", "/ready", "/-/openapi.json"):
        assert http.get(path).status_code == 200, path
    operations = http.get("/-/openapi.json").json()["paths"]["/{key}"]
    assert all(each["security"] == [{"token": []}] for each in operations.values())


def test_a_token_is_for_its_keys(guarded: Web) -> None:
    headers = bearer("secret")
    for key in ("other/air", "**", "city", "*/air", "@/*/router", "cit$*/air"):
        answer = guarded.http.get(f"/{key}?timeout=0.1", headers=headers)
        expected = 200 if key == "city" else 403  # city/** includes city
        assert answer.status_code in (expected, 404 if key == "city" else 403), key
        stream = {**headers, "accept": "text/event-stream"}
        if key != "city":
            assert guarded.http.get(f"/{key}", headers=stream).status_code in (400, 403), key
            put = guarded.http.put(f"/{key}?{IN_MILANO}", headers=headers)
            assert put.status_code in (400, 403), key
    assert guarded.http.get("/metrics", headers=headers).status_code == 403
    assert guarded.http.get("/-/routers", headers=headers).status_code == 403
    assert guarded.http.get("/metrics", headers=bearer("all")).status_code == 200


def test_a_token_writes_from_its_area_alone(guarded: Web) -> None:
    for where in ("", IN_BERLIN):
        for method in ("PUT", "DELETE"):
            answer = guarded.http.request(method, f"/city/air?{where}", headers=bearer("secret"))
            assert answer.status_code == 403, where
            assert "no rule allows" in answer.json()["detail"]


def test_a_stream_tells_of_the_tokens_area_alone(guarded: Web) -> None:
    for query in ("", f"?{IN_MILANO}&shape=circle&r=900000"):
        with EventReader(f"{guarded.url}/city/air{query}", "secret") as reader:
            wait_for(guarded, reader.next_named("ready").data["declared"])
            for value, place in (("b", BERLIN), ("nowhere", None), ("m", MILANO)):
                guarded.sensor.put("city/air", value, location=place, content_encoding="text/plain")
            assert heard(reader, "m") == ["m"]


def test_fenced_messages_are_for_tokens_that_may_and_those_inside(guarded: Web) -> None:
    accept = {"accept": "text/event-stream"}
    path = f"{guarded.url}/city/alert"
    answer = guarded.http.get("/city/alert?fenced=true", headers={**accept, **bearer("secret")})
    assert answer.status_code == 403
    fence, elsewhere = Circle(MILANO, radius_m=500), Circle(BERLIN, radius_m=500)

    def tell(value: str, geofence: Circle | None, *, attested: bool = False) -> None:
        guarded.sensor.put(
            "city/alert",
            value,
            location=MILANO,
            geofence=geofence,
            attested=attested,
            content_encoding="text/plain",
        )

    with (
        EventReader(f"{path}?fenced=true", "all") as everything,
        EventReader(f"{path}?{IN_MILANO}", "secret") as inside,
        EventReader(f"{path}?{IN_BERLIN}", "secret") as liar,
        EventReader(path, "secret") as nowhere,
    ):
        for reader in (everything, inside, liar, nowhere):
            wait_for(guarded, reader.next_named("ready").data["declared"])
        tell("milano", fence)
        tell("berlin", elsewhere)
        tell("vouched", fence, attested=True)
        tell("end", None)
        assert heard(everything, "end") == ["milano", "berlin", "vouched", "end"]
        assert heard(inside, "end") == ["milano", "end"]
        assert heard(liar, "end") == ["end"], "it may not say that it is in Berlin"
        assert heard(nowhere, "end") == ["end"]
    told = guarded.http.get("/-/events", headers=bearer("all")).json()
    assert [event["value"] for event in told] == ["milano", "berlin", "vouched", "end"]
    told = guarded.http.get("/-/events", headers=bearer("secret")).json()
    assert [event["value"] for event in told] == ["end"]


def test_answers_are_of_the_tokens_area_alone(guarded: Web) -> None:
    def answer(query: Query) -> None:
        with query:
            for name, place in (("m", MILANO), ("b", BERLIN)):
                query.reply(f"city/{name}", name, location=place, content_encoding="text/plain")

    with guarded.sensor.declare_queryable("city/*", answer):

        def values(token: str, query: str = "") -> list[str]:
            found = guarded.http.get(f"/city/*?timeout=5{query}", headers=bearer(token)).json()
            return sorted(each["value"] for each in found)

        eventually(lambda: values("all") == ["b", "m"])
        assert values("secret") == ["m"]
        assert values("secret", "&shape=box&min_lat=40&min_long=0&max_lat=60&max_long=20") == ["m"]
        assert values("secret", f"&{IN_BERLIN}&nearest=5") == ["m"]
        assert values("all", f"&{IN_BERLIN}&nearest=5") == ["b", "m"]


def test_events_at_a_border_hide_what_lies_outside(web_with: WebWith) -> None:
    web = web_with(tokens=(milanese(area=Circle(MILANO, radius_m=500)),))
    watch = f"{IN_MILANO}&shape=circle&r=500&detect=enter,leave,hysteresis:25m"
    with EventReader(f"{web.url}/city/bus?{watch}", "secret") as reader:
        wait_for(web, reader.next_named("ready").data["declared"])
        web.sensor.put("city/bus", "1", location=MILANO)
        assert reader.next_named("enter").data["location"] is not None
        web.sensor.put("city/bus", "1", location=destination(MILANO, 90, 600))
        left = reader.next_named("leave").data
        assert left["location"] is None
        assert "sample" not in left


def test_other_tokens_are_taken_while_it_runs_and_streams_of_old_ones_end(guarded: Web) -> None:
    with (
        EventReader(f"{guarded.url}/city/air", "secret") as gone,
        EventReader(f"{guarded.url}/city/air", "all") as stays,
    ):
        gone.next_named("ready")
        wait_for(guarded, stays.next_named("ready").data["declared"])
        kept = [each for each in guarded.server.options.tokens if each.name == "root"]
        guarded.server.use(kept)
        assert gone.ended()
        guarded.sensor.put("city/air", "x", location=MILANO)
        assert stays.next_named("PUT").data["location"]["lat"] == MILANO.lat
    assert guarded.http.get("/city/air", headers=bearer("secret")).status_code == 401
    guarded.server.use(())
    eventually(lambda: guarded.http.get("/city/*", headers=bearer("all")).status_code == 401)
    assert guarded.http.get("/city/*").status_code == 401, "no tokens do not open the door"


# The file


def test_the_file_keeps_hashes_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    (tmp_path / "milano.geojson").write_text(json.dumps(AROUND_MILANO.to_geojson()))
    made = run_zonal(
        "token", str(path), "anna", "--read", "city/**", "--area", "milano.geojson", "--fenced"
    )
    token = made.stdout.strip()
    assert len(token) >= 43, made.stderr
    second = add_token(path, "bert", {"write": ["é/**"], "metrics": True})
    assert path.stat().st_mode & 0o077 == 0
    assert token not in path.read_text()
    anna, bert = read_tokens(path)
    ((rule,),) = (rules.rules for rules in anna.rules)
    assert (anna.name, rule.topics, rule.area, anna.fenced) == (
        "anna", ("city/**",), AROUND_MILANO, True,
    )  # fmt: skip
    ((rule,),) = (rules.rules for rules in bert.rules)
    assert (rule.topics, bert.metrics, rule.area) == (("é/**",), True, None)
    known = Tokens((anna, bert))
    assert known.grant(token.encode()) is anna
    assert known.grant(second.encode()) is bert
    assert token not in repr(anna)
    with pytest.raises(WebError, match="already"):
        add_token(path, "anna", {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no token in"),
        ("secret", "no TOML"),
        ("a = 1", "no table"),
        ("[a]", "needs sha256"),
        ("[a]\nsha256 = 'zz'", "needs sha256"),
        ("[a]\nsha256 = '{0}'\nreed = ['**']", "'reed' is none"),
        ("[a]\nsha256 = '{0}'\nread = '**'", "list of key expressions"),
        ("[a]\nsha256 = '{0}'\nread = ['a//b']", "no key expression"),
        ("[a]\nsha256 = '{0}'\nfenced = 1", "true or false"),
        ("[a]\nsha256 = '{0}'\narea = 5", "well-known text"),
        ("[a]\nsha256 = '{0}'\narea = 'CIRCLE'", "well-known text"),
        ("[a]\nsha256 = '{0}'\narea = 'gone.geojson'", "well-known text"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text.format("0" * 64))
    with pytest.raises(WebError, match=says):
        read_tokens(path)


@pytest.mark.parametrize("name", ["", "a.b", "a]", "é", "x" * 65])
def test_a_name_that_could_not_be_read_back_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WebError, match="no name"):
        add_token(tmp_path / "tokens.toml", name, {})


@given(st.binary(max_size=600))
def test_only_the_token_itself_is_known(token: bytes) -> None:
    known = Tokens((grant_for("secret", "anna"),))
    assert (known.grant(token) is not None) == (token == b"secret")


def test_an_area_without_keys_is_refused(tmp_path: Path) -> None:
    done = run_zonal("token", str(tmp_path / "t"), "anna", "--area", "EVERYWHERE")
    assert done.returncode != 0
    assert "give some" in done.stderr
    with pytest.raises(WebError, match="grants nothing"):
        WebAccess(WebOptions(tokens=(grant_for("t", "anna"),)))


def test_a_fence_for_attested_positions_can_be_written(web_with: WebWith) -> None:
    web = web_with()
    fence = "geofence=CIRCLE(9.19%2045.4642,500)"
    with web.sensor.declare_subscriber("city/alert", fenced=True) as everything:
        wait_for_match(web.session.zenoh, "city/alert")
        answer = web.http.put(f"/city/alert?{IN_MILANO}&{fence}&attested=true", content=b"x")
        assert answer.status_code == 200
        sample = everything.recv(timeout=15)
        assert sample is not None
        assert sample.context is not None
        assert sample.context.attested
    assert web.http.put("/city/alert?attested=true").status_code == 400
