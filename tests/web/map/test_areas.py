"""Drawing areas with mouse and keyboard, and hearing only what is inside."""

from __future__ import annotations

import math

import pytest
from playwright.sync_api import Page, expect

from network import client, eventually
from town import CENTRE, WAIT_MS, Stage, drag, draw_circle, let_it_glide, look_at, pixel
from zonal import Point
from zonal.geo import destination

SHARES_A_PAGE = True


def test_a_drawn_circle_shows_only_what_is_inside_and_counts_what_was_spared(page: Page) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    draw_circle(page, 1500)
    expect(page.locator("#area-title")).to_contain_text("Circle of 1.5 km")
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    # Half of the things are inside, so the network keeps about half of the messages away; the
    # server's meter may be some messages behind or ahead, which matters less with each second.
    number = "(id) => Number(document.getElementById(id).textContent.replace(/\\D/g, ''))"
    page.wait_for_function(
        f"() => ({number})('published') > 100 && Math.abs(({number})('spared') - 50) <= 10",
        timeout=WAIT_MS,
    )
    page.wait_for_function("() => zonal.layers.coverCount >= 1", timeout=WAIT_MS)
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
    let_it_glide(page)
    page.keyboard.press("c")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # at once: the map still glides by the arrow's 100 pixels
    expect(page.locator("#area-title")).to_contain_text("Circle of", timeout=WAIT_MS)
    metres = page.evaluate("zonal.selection.area.radius")
    per_pixel = 40_075_016 * math.cos(math.radians(CENTRE.lat)) / (256 * 2**12)
    assert metres == pytest.approx(100 * per_pixel, rel=0.1)


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


def test_enter_ends_a_polygon_that_the_mouse_draws(page: Page) -> None:
    page.get_by_role("button", name="Polygon").click()
    for bearing in (0, 120, 240):
        page.mouse.click(*pixel(page, destination(CENTRE, bearing, 1500)))
        page.wait_for_timeout(30)
    page.keyboard.press("Enter")
    expect(page.locator("#area-title")).to_have_text("Polygon with 3 corners")


def test_an_area_by_keyboard_alone(page: Page) -> None:
    let_it_glide(page)
    page.keyboard.press("c")
    expect(page.locator("#hint")).to_be_visible()
    page.keyboard.press("Enter")
    for _ in range(2):
        before = page.evaluate("zonal.map.getCenter().lng")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(before) => zonal.map.getCenter().lng > before", arg=before)
        page.wait_for_function("() => !zonal.map.isMoving()")
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


AREAS_AT_ONCE = """(center) => {
    for (const radius of [100, 300, 500, 700, 900, 1100, 1300, 1500]) {
        zonal.selection.select({ shape: "circle", center, radius });
    }
}"""


def test_areas_that_follow_each_other_at_once_leave_no_streams_behind(
    page: Page, stage: Stage
) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    before = stage.server.application.feeds.stream_count
    for _ in range(3):
        page.evaluate(AREAS_AT_ONCE, [CENTRE.lat, CENTRE.lon])
        expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    eventually(lambda: stage.server.application.feeds.stream_count <= before, WAIT_MS / 1000)


SEEN_AT = """(place) => zonal.map.queryRenderedFeatures(
    zonal.map.project(place), { layers: zonal.selection.sheet.ids }).length > 0"""


def test_an_area_across_the_antimeridian_is_one_and_is_drawn_on_both_sides(
    page: Page, stage: Stage
) -> None:
    look_at(page, center=[180, 0], zoom=8)
    middle = page.evaluate("zonal.map.project([180, 0])")
    page.keyboard.press("b")
    drag(page, (middle["x"] - 100, middle["y"] + 60), (middle["x"] + 100, middle["y"] - 60))
    expect(page.locator("#area-title")).to_contain_text("Box of")
    told = page.evaluate("zonal.selection.parameters")
    assert -180 <= told["max_long"] < 0 < told["min_long"] <= 180
    with client(stage.router) as ship:

        def shown() -> list[str]:
            for name, lon in (("w", 179.95), ("e", -179.95), ("far", 178.0)):
                ship.put("town/live/ship", {"id": name}, location=Point(0.1, lon))
            found = page.evaluate("[...zonal.things.things.values()].map((t) => t.value.id)")
            return sorted(found)

        eventually(lambda: shown() == ["e", "w"], WAIT_MS / 1000)
    for seen_from in (180.0, -180.0):
        look_at(page, center=[seen_from, 0], zoom=8)
        for lon in (seen_from - 0.2, seen_from + 0.2):
            page.wait_for_function(SEEN_AT, arg=[lon, 0.05], timeout=WAIT_MS)
