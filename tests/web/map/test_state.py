"""What the page shows is in its address, and it comes back by itself."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import FEW_PIXELS, Watched
from network import client
from town import WAIT_MS, Stage, draw_circle, look_at
from zonal.web import WebOptions, WebServer, grant_for


def test_a_lost_connection_is_told_and_comes_back(chrome: Browser, stage: Stage) -> None:
    with client(stage.router) as session:
        options = WebOptions(port=0, view=stage.server.options.view)
        server = WebServer(session, options).start()
        context = chrome.new_context(**FEW_PIXELS)
        page = context.new_page()
        try:
            page.goto(server.url)
            expect(page.locator("#link")).to_have_text("live", timeout=WAIT_MS)
            port = server.port
            server.stop()
            expect(page.locator("#link")).to_have_text("connection lost", timeout=WAIT_MS)
            expect(page.locator("#stale")).to_contain_text("what you see is old")
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
        context = chrome.new_context(**FEW_PIXELS)
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
    look_at(page, zoom=12)
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)
    area = page.evaluate("zonal.selection.area")
    page.reload()
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    expect(page.locator("#area-title")).to_contain_text("Circle of 1.5 km")
    expect(page.locator("#grid-s2")).to_be_checked()
    assert page.evaluate("zonal.map.getZoom()") == 12
    assert page.evaluate("zonal.selection.area.radius") == pytest.approx(area["radius"], rel=1e-3)
    expect(page.locator("#shown")).to_have_text("10", timeout=WAIT_MS)


def test_an_address_that_makes_no_sense_is_left_alone(chrome: Browser, stage: Stage) -> None:
    page = chrome.new_page(**FEW_PIXELS)
    watched = Watched(page, stage.server.url)
    page.goto(f"{stage.server.url}/#map=x,y&area=}}&time=never&encoding=none")
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    expect(page.locator("#area-title")).to_have_text("Everywhere")
    page.close()
    assert watched.errors == []
