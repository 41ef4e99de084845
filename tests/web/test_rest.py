from __future__ import annotations

import json

import pytest

import zonal
from network import collect, eventually, wait_for_match, wait_until_declared
from served import Web, WebWith
from zonal import Box, Circle, Point

MILANO = Point(45.4642, 9.19)
CENTRE = Circle(MILANO, radius_m=500)


def test_put_publishes_from_a_place(web: Web) -> None:
    with web.sensor.declare_subscriber("city/air", area=CENTRE) as inside:
        wait_until_declared(web.session, inside)
        answer = web.http.put(
            "/city/air?lat=45.4642&long=9.19",
            content=b'{"pm10": 21}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 200
        (sample,) = collect(inside, 1)
    assert sample.key == "city/air"
    assert sample.location == MILANO
    assert sample.payload.to_bytes() == b'{"pm10": 21}'
    assert str(sample.content_encoding) == "application/json"


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_put_and_post_use_the_encoding_that_is_asked_for(web: Web, encoding: str) -> None:
    with web.sensor.declare_subscriber("city/air", area=CENTRE, encoding=encoding) as inside:
        wait_until_declared(web.session, inside)
        url = f"/city/air?lat=45.4642&long=9.19&encoding={encoding}"
        assert web.http.post(url, content=b"near").status_code == 200
        (sample,) = collect(inside, 1)
        assert sample.location == MILANO
        assert f"/@{encoding}/" in str(sample.zenoh.key_expr)
    assert web.metric(f'zonal_published_total{{topic="city/air",encoding="{encoding}"}}') == 1


def test_a_bloom_domain_is_named_by_its_numbers(web: Web) -> None:
    domain = "bloom:45.3,9.0,45.6,9.3,20x20,0.25"
    with web.sensor.declare_subscriber("city/air", area=CENTRE, encoding=domain) as inside:
        wait_until_declared(web.session, inside)
        for lat, text in ((45.35, b"far"), (45.4642, b"near")):
            url = f"/city/air?lat={lat}&long=9.19&encoding={domain}"
            assert web.http.post(url, content=text).status_code == 200
        (sample,) = collect(inside, 1)
        assert sample.text == "near"


def test_put_without_a_place_is_a_plain_message(web: Web) -> None:
    with web.sensor.zenoh.declare_subscriber("city/air") as plain:
        wait_for_match(web.session.zenoh, "city/air")
        web.http.put("/city/air", content="hello", headers={"content-type": "text/plain"})
        sample = plain.recv()
    assert sample.payload.to_string() == "hello"
    assert sample.attachment is None


def test_precision_gives_away_a_cell_only(web: Web) -> None:
    with web.sensor.declare_subscriber("city/air") as everywhere:
        wait_until_declared(web.session, everywhere)
        web.http.put("/city/air?lat=45.4642&long=9.19&precision=1000", content=b"x")
        (sample,) = collect(everywhere, 1)
    assert sample.is_blurred
    assert 1 < sample.location.distance_m(MILANO) < 5000


@pytest.mark.parametrize(
    "fence",
    [
        "geofence=CIRCLE (9.19 45.4642, 500)",
        "shape=circle&r=500",
        "shape=box&min_lat=45.46&min_long=9.18&max_lat=45.47&max_long=9.2",
        "shape=polygon&wkt=POLYGON ((9.18 45.46, 9.2 45.46, 9.2 45.47, 9.18 45.47, 9.18 45.46))",
    ],
)
def test_a_message_with_a_fence_is_heard_inside_only(web: Web, fence: str) -> None:
    from network import client

    with (
        client(web.router, position=MILANO) as near,
        client(web.router, position=Point(45.6, 9.4)) as far,
        near.declare_subscriber("city/alert") as heard,
        far.declare_subscriber("city/alert") as unheard,
    ):
        for subscriber in (heard, unheard):
            wait_until_declared(web.session, subscriber)
        assert web.http.put(f"/city/alert?lat=45.4642&long=9.19&{fence}", content=b"!").is_success
        web.http.put("/city/alert?lat=45.4642&long=9.19", content=b"all")
        # The two travel under different keys, so either may come first.
        assert {s.payload.to_string() for s in collect(heard, 2)} == {"!", "all"}
        assert [s.payload.to_string() for s in collect(unheard, 1)] == ["all"]


def test_delete_tells_that_there_is_no_value_any_more(web: Web) -> None:
    with web.sensor.declare_subscriber("city/air", area=CENTRE) as inside:
        wait_until_declared(web.session, inside)
        assert web.http.delete("/city/air?lat=45.4642&long=9.19").status_code == 200
        (sample,) = collect(inside, 1)
    assert str(sample.kind) == "SampleKind.DELETE"
    assert sample.location == MILANO


def test_the_admin_space_can_be_asked_and_not_be_written(web: Web) -> None:
    (router,) = web.http.get("/@/*/router?timeout=5").json()
    assert router["key"] == f"@/{web.router.zenoh.zid()}/router"
    assert router["value"]["zid"] == str(web.router.zenoh.zid())
    assert web.http.put("/@/x/router/config/mode", content=b"1").status_code == 400


def test_get_asks_the_queryables_of_the_area(web: Web) -> None:
    def near(query: zonal.session.Query) -> None:
        with query:
            query.reply(
                "city/air", '{"pm10": 21}', location=MILANO, content_encoding="application/json"
            )
            query.reply("city/air", "outside", location=Point(45.5, 9.3))

    def far(query: zonal.session.Query) -> None:
        with query:
            query.reply("city/air", "from far", location=Point(41.9, 12.5))

    with (
        web.sensor.declare_queryable("city/air", near, area=Circle(MILANO, radius_m=20_000)),
        web.sensor.declare_queryable("city/air", far, area=Circle(Point(41.9, 12.5), radius_m=99)),
    ):
        url = "/city/air?lat=45.4642&long=9.19&shape=circle&r=500&timeout=5"
        eventually(lambda: web.http.get(url).json())
        (reply,) = web.http.get(url).json()
    assert reply["key"] == "city/air"
    assert reply["value"] == {"pm10": 21}
    assert reply["encoding"] == "application/json"
    assert reply["location"] == {"lat": 45.4642, "long": 9.19}


def test_get_asks_in_a_bloom_domain(web: Web) -> None:
    domain = "bloom:45.3,9.0,45.6,9.3,20x20,0.25"

    def answer(query: zonal.session.Query) -> None:
        query.reply("city/air", "here", location=MILANO, encoding=domain)

    def elsewhere(query: zonal.session.Query) -> None:
        query.reply("city/air", "there", location=MILANO, encoding=domain)

    far = Circle(Point(45.35, 9.05), radius_m=500)
    with (
        web.sensor.declare_queryable("city/air", answer, area=CENTRE, encoding=domain),
        web.sensor.declare_queryable("city/air", elsewhere, area=far, encoding=domain) as other,
    ):
        url = f"/city/air?lat=45.4642&long=9.19&shape=circle&r=500&encoding={domain}"
        eventually(lambda: web.http.get(url).json())
        (reply,) = web.http.get(url).json()
        assert reply["location"] == {"lat": 45.4642, "long": 9.19}
        assert other.received == 0  # the network did not ask it


def test_get_hands_parameters_on_that_are_for_whoever_answers(web: Web) -> None:
    asked: list[str] = []

    def answer(query: zonal.session.Query) -> None:
        with query:
            asked.append(str(query.parameters))
            query.reply("city/air", b"\x00\x01", location=MILANO)

    with web.sensor.declare_queryable("city/air", answer):
        when, where = "_time=[now(-1h)..now()]", "lat=45.46&long=9.19&shape=circle&r=900"
        url = f"/city/air?{when}&selector=limit%3D3;x=y&{where}"
        eventually(lambda: web.http.get(url).json())
        assert web.http.get(url).json()[0]["value"] == "AAE="
    assert asked[-1].startswith("_time=[now(-1h)..now()];limit=3;x=y")  # Zenoh appends its own


def test_get_without_an_area_asks_the_whole_network_and_shows_errors(web: Web) -> None:
    def answer(query: zonal.session.Query) -> None:
        with query:
            query.reply_err("broken")

    def plain(query: zonal.session.Query) -> None:
        with query:
            query.reply("city/air", "no place", content_encoding="text/plain")

    with (
        web.sensor.declare_queryable("city/air", answer),
        web.sensor.declare_queryable("city/air", plain),
    ):
        eventually(lambda: len(web.http.get("/city/*").json()) >= 2)
        replies = web.http.get("/city/*").json()
        html = web.http.get("/city/*", headers={"accept": "text/html,*/*"}).text
        raw = web.http.get("/city/*?_raw")
    assert {
        "key": "city/air",
        "value": "no place",
        "encoding": "text/plain",
        "timestamp": None,
    } in [{**reply, "timestamp": None} for reply in replies]
    assert {"key": "ERROR", "value": "broken", "encoding": "text/plain"} in replies
    assert "<dd>no place</dd>" in html
    assert raw.text == "no place"
    assert raw.headers["content-type"] == "text/plain"
    assert raw.headers["content-security-policy"] == "sandbox"


def test_raw_get_without_an_answer_is_not_found(web: Web) -> None:
    assert web.http.get("/city/nothing?_raw&timeout=1").status_code == 404


def test_replies_over_the_limit_are_left_out_and_it_says_so(web_with: WebWith) -> None:
    web = web_with(limits=zonal.web.WebLimits(replies=3))

    def answer(query: zonal.session.Query) -> None:
        with query:
            for number in range(10):
                query.reply(f"city/air/{number}", str(number))

    with web.sensor.declare_queryable("city/air/*", answer):
        eventually(lambda: web.http.get("/city/air/*").json())
        reply = web.http.get("/city/air/*")
    assert len(reply.json()) == 3
    assert reply.headers["zonal-truncated"] == "true"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("/city/air?lat=45", "'long' is missing"),
        ("/city/air?long=9", "'lat' is missing"),
        ("/city/air?lat=91&long=9", "latitude 91.0 is not between -90 and 90"),
        ("/city/air?lat=north&long=9", "'lat' is a number, not 'north'"),
        ("/city/air?lat=nan&long=9", "finite number"),
        ("/city/air?lat=1&lat=2&long=9", "'lat' is given twice"),
        ("/city/air?shape=circle&r=10", "its centre"),
        ("/city/air?lat=1&long=1&shape=circle", "'r' is missing"),
        ("/city/air?lat=1&long=1&shape=circle&r=-1", "radius -1.0 m is not between"),
        ("/city/air?lat=1&long=1&shape=circle&r=5&wkt=x", "'wkt' does not belong"),
        ("/city/air?r=10", "'r' needs `shape`"),
        ("/city/air?shape=star", "circle, box or polygon, not 'star'"),
        (
            "/city/air?shape=box&min_lat=1&min_long=1&max_lat=0&max_long=2",
            "min_lat 1.0 is greater than max_lat",
        ),
        ("/city/air?shape=polygon&wkt=POLYGON((1 2", "cannot read"),
        ("/city/air?encoding=h3", "no encoding named 'h3'"),
        ("/city/air?timeout=999", "between 0 and 30 seconds"),
        ("/city/air?_raw=maybe", "true or false"),
        ("/city/@s2/1?lat=1&long=1", "verbatim chunk"),
        ("/city//air", "city//air"),
        ("/city/$x", "$"),
        ("/city/+/air", "MQTT"),
        ("/@/**?lat=1&long=1&shape=circle&r=5", "without an area"),
    ],
)
def test_bad_requests_say_what_is_wrong(web: Web, url: str, says: str) -> None:
    answer = web.http.get(url)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert says in problem["detail"]
    assert problem["status"] == 400


def test_a_put_with_bad_input_publishes_nothing(web: Web) -> None:
    assert web.http.put("/city/air?lat=1&long=1&precision=0", content=b"").status_code == 400
    assert web.http.put("/city/air?encoding=s2,mgrs", content=b"").status_code == 400
    assert web.http.put("/city/*?lat=1&long=200", content=b"").status_code == 400
    fences = "lat=1&long=1&shape=circle&r=5&geofence=CIRCLE(1 1, 5)"
    assert "not both" in web.http.put(f"/city/air?{fences}", content=b"").json()["detail"]
    assert "zonal_published_total{" not in web.http.get("/metrics").text


def test_methods_without_a_meaning_are_refused(web: Web) -> None:
    answer = web.http.patch("/city/air")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, PUT, POST, DELETE"


def test_bodies_over_the_limit_are_refused(web_with: WebWith) -> None:
    web = web_with(limits=zonal.web.WebLimits(body_bytes=1000))
    assert web.http.put("/a", content=b"x" * 1000).status_code == 200
    answer = web.http.put("/a", content=b"x" * 1001)
    assert answer.status_code == 413
    assert "1001 bytes is over the limit of 1000" in answer.json()["detail"]
    chunked = web.http.put("/a", content=iter([b"x" * 600, b"x" * 600]))
    assert chunked.status_code == 413


def test_areas_over_the_limit_are_refused(web_with: WebWith) -> None:
    web = web_with(limits=zonal.web.WebLimits(vertices=10, wkt_characters=300))
    ring = ", ".join(f"{n} {n % 7}" for n in range(20))
    answer = web.http.get("/a", params={"shape": "polygon", "wkt": f"POLYGON (({ring}))"})
    assert answer.status_code == 413
    assert "20 vertices is over the limit 10" in answer.json()["detail"]
    assert web.http.put("/a", params={"geofence": "X" * 301}).status_code == 413


def test_paths_may_be_encoded(web: Web) -> None:
    with web.sensor.declare_subscriber("città/aria") as subscriber:
        wait_until_declared(web.session, subscriber)
        assert web.http.put("/citt%C3%A0/aria", content=b"x").is_success
        assert collect(subscriber, 1)[0].key == "città/aria"


def test_answers_are_json_that_others_can_read(web: Web) -> None:
    def answer(query: zonal.session.Query) -> None:
        with query:
            query.reply("t", "NaN", content_encoding="application/json")
            query.reply("t/x", "", content_encoding="text/plain")

    with web.sensor.declare_queryable("t/**", answer):
        eventually(lambda: web.http.get("/t/**").json())
        text = web.http.get("/t/**").text
    values = {
        reply["key"]: reply["value"] for reply in json.loads(text, parse_constant=pytest.fail)
    }
    assert values == {"t": "TmFO", "t/x": None}


def test_boxes_across_the_antimeridian(web: Web) -> None:
    area = Box(-20, 170, -10, -170)
    with web.sensor.declare_queryable(
        "sea", lambda q: (q.reply("sea", "fiji", location=Point(-17, 179)), q.drop()), area=area
    ):
        url = "/sea?shape=box&min_lat=-18&min_long=178&max_lat=-16&max_long=-179"
        eventually(lambda: web.http.get(url).json())


def test_what_sends_from_one_place_again_gets_a_declared_publisher(web: Web) -> None:
    publishing = web.server.application._rest._publishing
    with web.sensor.declare_subscriber("city/air", area=CENTRE) as inside:
        wait_until_declared(web.session, inside)
        for number in range(50):
            url = "/city/air?lat=45.4642&long=9.19"
            kind = {"content-type": "text/plain"}
            assert web.http.put(url, content=f"{number}", headers=kind).is_success
        samples = collect(inside, 50)
        assert [s.payload.to_string() for s in samples] == [f"{n}" for n in range(50)]
        assert {(s.location, str(s.content_encoding)) for s in samples} == {(MILANO, "text/plain")}
        assert len(publishing) == 1
        for number in range(5):
            web.http.put(f"/city/air?lat=45.46{number}&long=9.19", content=b"moving")
        assert len(publishing) == 1


def test_declared_publishers_are_bounded(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zonal.web.publishing.KEPT", 3)
    with web.sensor.declare_subscriber("city/air") as everything:
        wait_until_declared(web.session, everything)
        for _ in range(2):
            for number in range(6):
                web.http.put(f"/city/air?lat=45.{number}&long=9", content=b"x")
        assert len(collect(everything, 12)) == 12
    assert len(web.server.application._rest._publishing) == 3


def test_a_content_type_that_zenoh_cannot_carry_is_refused_and_the_server_goes_on(web: Web) -> None:
    where = {"lat": "45.4642", "long": "9.19"}
    answer = web.http.put(
        "/city/air", params=where, content=b"1", headers={"content-type": "text/" + "x" * 400}
    )
    assert answer.status_code == 400
    assert "255 bytes" in answer.json()["detail"]
    assert web.http.put("/city/air", params=where, content=b"1").status_code == 200
