"""Messages to areas, alerts, who heard them, and zones that take colours."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

import zonal
from network import client, eventually
from town import CENTRE, WAIT_MS, Stage, drag, pixel, remembered, send_event
from zonal.geo import destination

SHARES_A_PAGE = True


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
    assert page.evaluate("zonal.layers.zones.get('west').properties.colour").startswith("rgb(")


def test_a_reload_keeps_alerts_and_colours(page: Page, stage: Stage) -> None:
    eventually(lambda: send_event(stage, "alert", {"id": "kept"}) or remembered(page, "kept"))
    eventually(
        lambda: send_event(stage, "zone", {"zone": "west", "mean": 90}) or remembered(page, "west")
    )
    page.reload()
    expect(page.locator("body[data-coloured-zones='1']")).to_be_attached(timeout=WAIT_MS)
    expect(page.locator("#alerts .alert").first).to_be_visible(timeout=WAIT_MS)
