"""Many things at once: clusters from afar, heat, trails, headings; and who crosses a border."""

from __future__ import annotations

from itertools import count

import pytest
from playwright.sync_api import Page, expect

from network import client, eventually
from town import CENTRE, WAIT_MS, Stage, draw_circle, let_it_glide, look_at, pixel
from zonal.geo import destination

SHARES_A_PAGE = True
CLUSTERED = """() => {
    const { map, things } = zonal;
    return map.queryRenderedFeatures({ layers: [things.crowd.clusters.ids[0]] })
        .reduce((sum, { properties }) => sum + (properties.point_count ?? 1), 0);
}"""

TRAIL = "zonal.things.crowd.trails.features[0]?.geometry.coordinates ?? []"


def test_from_afar_clusters_stand_for_things_and_a_click_goes_nearer(page: Page) -> None:
    let_it_glide(page)
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    look_at(page, zoom=4)
    page.wait_for_function(f"() => ({CLUSTERED})() === 20", timeout=WAIT_MS)
    page.mouse.click(*pixel(page, CENTRE))
    page.wait_for_function("() => zonal.map.getZoom() > 5", timeout=WAIT_MS)


def test_things_are_shown_one_by_one_where_clusters_are_not_wanted(page: Page) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    page.keyboard.press("k")
    look_at(page, zoom=4)
    drawn = page.evaluate("zonal.things.dots.frames")
    page.wait_for_function("(drawn) => zonal.things.dots.frames > drawn", arg=drawn)
    assert page.evaluate("zonal.things.crowd.clusters.features.length") == 0


@pytest.mark.parametrize("key", ["h", "k"])
def test_heat_is_drawn_and_taken_away(page: Page, key: str) -> None:
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    if key == "k":  # beside clusters or without them
        page.keyboard.press("k")
    page.keyboard.press("h")
    page.wait_for_function("() => zonal.things.crowd.heat.features.length === 20", timeout=WAIT_MS)
    page.keyboard.press("h")
    page.wait_for_function("() => zonal.things.crowd.heat.features.length === 0", timeout=WAIT_MS)


def test_a_thing_that_moves_has_a_trail_and_a_heading(page: Page, stage: Stage) -> None:
    page.keyboard.press("l")
    bus = {"id": "bus", "kind": "vehicle", "heading": 90}
    metres = count(0, 5)
    with client(stage.router) as driver:

        def drawn() -> list[list[float]]:
            driver.put("town/live/bus", bus, location=destination(CENTRE, 90, next(metres)))
            found: list[list[float]] = page.evaluate(TRAIL)
            return found if len(found) > 2 else []

        east = [lon for lon, _ in eventually(drawn)]
    assert east == sorted(east)
    heading = "[...zonal.things.things.values()].find((thing) => thing.value.id === 'bus').heading"
    assert page.evaluate(heading) == 90
    expect(page.locator("#kinds")).to_contain_text("vehicle")


def test_the_border_of_an_area_tells_who_comes_and_goes(page: Page, stage: Stage) -> None:
    draw_circle(page, 1000)
    expect(page.locator("#border-card")).to_be_visible()
    page.get_by_label("Watch it").check()
    page.get_by_label("Long is").fill("1")
    page.get_by_label("Long is").blur()
    events = page.locator("#border-events")
    with client(stage.router) as walker:

        def step(metres: float) -> None:
            place = destination(CENTRE, 45, metres)
            walker.put("town/live/walker", {"id": "w1", "kind": "phone"}, location=place)

        for wanted, metres in (("came in", 500), ("left", 1020), ("came in", 500)):
            count = events.get_by_text(f"w1 {wanted}").count()
            for _ in range(200):
                step(metres)
                if events.get_by_text(f"w1 {wanted}").count() > count:
                    break
                page.wait_for_timeout(100)
        expect(events).to_contain_text("w1 has stayed", timeout=WAIT_MS)
    expect(events).to_contain_text("w1 left")
    assert "border" in page.url
    page.reload()
    expect(page.locator("#border")).to_be_checked(timeout=WAIT_MS)
