"""What is live: everything before an area is drawn, what a click tells, the legend."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import FEW_PIXELS
from network import eventually
from served import Web, WebWith
from town import CENTRE, WAIT_MS, Stage, colour_at, pixel
from zonal import Point, Store
from zonal.geo import destination
from zonal.web import MapView

SHARES_A_PAGE = True
LAND = [247, 249, 248]
"""The colour of --land in the light theme."""


def test_everything_live_is_shown_before_an_area_is_drawn(page: Page) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    expect(page.locator("#link")).to_have_text("live")
    expect(page.get_by_role("heading", name="Test town")).to_be_visible()


def test_the_counter_never_says_that_more_was_received_than_published(page: Page) -> None:
    """The server's meter may be behind what a stream has brought."""
    number = "(id) => Number(document.getElementById(id).textContent.replace(/\\D/g, ''))"
    counts = f"['received', 'published'].map({number})"
    heard = "(least, [received, published]) => published > least && received > least / 2"
    for least in (40, 80, 120, 160):
        page.wait_for_function(f"least => ({heard})(least, {counts})", arg=least)
        received, published = page.evaluate(counts)
        assert received <= published


def test_a_thing_that_is_clicked_tells_about_itself(page: Page, stage: Stage) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    page.mouse.click(*pixel(page, stage.town.far[1]))
    popup = page.locator(".maplibregl-popup-content")
    expect(popup).to_contain_text("s11")
    assert re.search(r"time\s*\d{1,2}:\d\d:\d\d", popup.inner_text())
    page.mouse.click(*pixel(page, destination(CENTRE, 10, 2500)))
    expect(popup).to_have_count(0)


def test_dots_are_drawn_where_things_are(page: Page, stage: Stage) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    for place in (stage.town.far[1], stage.town.far[6]):
        assert colour_at(page, pixel(page, place)) != LAND
    assert colour_at(page, pixel(page, destination(CENTRE, 10, 2500))) == LAND


def test_there_are_a_scale_and_a_legend(page: Page) -> None:
    expect(page.locator(".maplibregl-ctrl-scale")).to_contain_text("km")
    expect(page.locator("#kinds")).to_contain_text("sensor", timeout=WAIT_MS)


def test_what_a_store_knows_is_there_when_the_page_opens(chrome: Browser, web: Web) -> None:
    with Store(web.sensor, "**"):
        eventually(lambda: _kept(web, "city/bus/7"))
        page = chrome.new_page(**FEW_PIXELS)
        page.goto(web.url)
        expect(page.locator("#shown")).to_have_text("1", timeout=WAIT_MS)
        page.close()


def _kept(web: Web, key: str) -> bool:
    web.session.put(key, {"id": "7"}, location=Point(45.46, 9.19))
    return bool(list(web.session.get(key)))


def test_a_map_that_was_told_no_place_goes_to_the_first_things(
    chrome: Browser, web_with: WebWith
) -> None:
    web = web_with(view=MapView(fits=True))
    middle = "[zonal.map.getCenter().lat, zonal.map.getCenter().lng, zonal.map.getZoom()]"
    with Store(web.sensor, "**"):
        for name, place in (("a", CENTRE), ("b", destination(CENTRE, 90, 3000))):
            web.sensor.put(f"bus/{name}", {"speed": 30}, location=place)
        pages = [chrome.new_page(**FEW_PIXELS) for _ in range(2)]
        pages[0].goto(web.url)
        pages[1].goto(f"{web.url}/#map=5,10,20")
        for page in pages:
            expect(page.locator("#shown")).to_have_text("2", timeout=WAIT_MS)
        pages[0].wait_for_function("() => zonal.map.getZoom() > 9", timeout=WAIT_MS)
        pages[0].wait_for_function("() => location.hash.startsWith('#map=1')", timeout=WAIT_MS)
        lat, lon, _ = pages[0].evaluate(middle)
        assert CENTRE.distance_m(Point(lat, lon)) < 3000
        # A shared address is where it says.
        assert pages[1].evaluate(middle) == pytest.approx([10, 20, 4])
        for page in pages:
            page.close()
