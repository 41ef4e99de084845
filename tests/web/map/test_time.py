"""The time slider: everything is of one moment."""

from __future__ import annotations

import json
import time

import zenoh
from playwright.sync_api import Browser, Page, expect

from browser import FEW_PIXELS
from network import client, eventually
from served import Web
from town import CENTRE, WAIT_MS, Stage, draw_circle, remembered, send_event
from zonal.session import Query

SHARES_A_PAGE = True


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


def test_history_is_not_offered_where_there_is_none(chrome: Browser, web: Web) -> None:
    page = chrome.new_page(**FEW_PIXELS)
    page.goto(web.url)
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Ask history")).to_be_hidden()
    expect(page.locator("#time-card")).to_be_hidden()
    page.close()
