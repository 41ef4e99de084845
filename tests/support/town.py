"""A town on a real router with a map in front of it, as tests of the map see it."""

from __future__ import annotations

import json
import threading
from typing import Self

from playwright.sync_api import Page

from network import client
from zonal import Point
from zonal.geo import destination
from zonal.session import Router, Session
from zonal.web import WebServer

CENTRE = Point(45.4642, 9.19)
WAIT_MS = 20_000
_COLOUR_AT = """([x, y]) => new Promise((tell) => {
    const { map } = zonal;
    map.once("render", () => {
        const gl = map.getCanvas().getContext("webgl2");
        const pixel = new Uint8Array(4);
        const across = (at) => Math.round(at * map.getPixelRatio());
        const up = gl.drawingBufferHeight - across(y);
        gl.readPixels(across(x), up, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
        tell([...pixel].slice(0, 3));
    });
    map.triggerRepaint();
})"""


class Town:
    """Things in a row, each sending twice a second: `near` ones and `far` ones."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.near = [destination(CENTRE, 36 * n, 300) for n in range(10)]
        self.far = [destination(CENTRE, 36 * n, 4000) for n in range(10)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(0.5):
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


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def pixel(page: Page, place: Point) -> tuple[float, float]:
    point = page.evaluate("([lat, lon]) => zonal.map.project([lon, lat])", [place.lat, place.lon])
    return point["x"], point["y"]


def look_at(page: Page, **camera: object) -> None:
    """Move the map at once: `center` (longitude, latitude) and `zoom`."""
    # No value: what `jumpTo` returns is the map itself, which would be sent here, all of it.
    page.evaluate("(camera) => { zonal.map.jumpTo(camera); }", camera)


def let_it_glide(page: Page) -> None:
    """From here on the map moves through all places between: frame by frame, with ends later on."""
    page.emulate_media(reduced_motion="no-preference")


def colour_at(page: Page, place: tuple[float, float]) -> list[int]:
    """What is drawn there, read in the very frame that it is drawn in."""
    found: list[int] = page.evaluate(_COLOUR_AT, list(place))
    return found


def draw_circle(page: Page, radius_m: float) -> None:
    page.get_by_role("button", name="Circle").click()
    drag(page, pixel(page, CENTRE), pixel(page, destination(CENTRE, 90, radius_m)))


def send_event(stage: Stage, kind: str, value: dict[str, object]) -> None:
    with client(stage.router) as pipeline:
        pipeline.put(f"town/event/{kind}", value, location=CENTRE)


def remembered(page: Page, name: str) -> bool:
    events = page.evaluate("fetch('/-/events').then((answer) => answer.json())")
    return any(f'"{name}"' in json.dumps(event["value"]) for event in events)
