"""For everyone: light and dark, phones, screen readers."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import FEW_PIXELS, Watched
from served import Web
from town import CENTRE, WAIT_MS, Stage, draw_circle, pixel
from zonal.geo import destination

SHARES_A_PAGE = True


def test_light_and_dark(page: Page) -> None:
    ground = "zonal.map.getPaintProperty('ground', 'background-color')"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ground) != light
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_on_a_phone_everything_is_in_reach(chrome: Browser, stage: Stage) -> None:
    context = chrome.new_context(
        viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True,
        color_scheme="dark", device_scale_factor=0.5,
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
    context.close()
    assert watched.errors == []


def violations(page: Page) -> dict[str, list[str]]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return {each["id"]: [node["html"] for node in each["nodes"]] for each in found}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_accessible(page: Page, stage: Stage, theme: str) -> None:
    page.evaluate("name => { document.documentElement.dataset.theme = name; }", theme)
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    page.mouse.click(*pixel(page, stage.town.far[1]))
    expect(page.locator(".maplibregl-popup-content")).to_be_visible()
    draw_circle(page, 1500)
    page.keyboard.press("r")
    expect(page.locator(".router")).to_have_count(1, timeout=WAIT_MS)
    assert violations(page) == {}


def test_the_page_is_accessible_on_a_phone(chrome: Browser, stage: Stage) -> None:
    context = chrome.new_context(
        viewport={"width": 360, "height": 640},
        has_touch=True,
        is_mobile=True,
        device_scale_factor=0.5,
    )
    page = context.new_page()
    page.goto(stage.server.url)
    expect(page.locator("#shown")).to_have_text("20", timeout=WAIT_MS)
    assert violations(page) == {}
    page.locator("#fold").tap()
    expect(page.locator("#cards")).to_be_visible()
    assert violations(page) == {}
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def test_the_page_of_the_interface_shows_every_operation(chrome: Browser, web: Web) -> None:
    page = chrome.new_page(**FEW_PIXELS)
    page.goto(f"{web.url}/docs")
    expect(page.locator(".opblock")).to_have_count(7, timeout=WAIT_MS)
    expect(page.locator(".opblock-put")).to_have_count(1)
    page.close()
