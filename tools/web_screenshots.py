"""Pictures of the map for the documentation: the demo at the height of its story, in Chromium.

python tools/web_screenshots.py docs/figures
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from rich.console import Console

from browser import browser, screenshot
from zonal.web.demo import CENTRE, Demo, DemoOptions, cloud_time

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ALERT_MS = 90_000


def opened(chrome: Browser, url: str, **options: object) -> Page:
    """The page, when the city is on it."""
    page = chrome.new_context(**options).new_page()  # type: ignore[arg-type]
    page.goto(url)
    page.locator("body[data-ready=true]").wait_for(state="attached")
    page.wait_for_function("() => zonal.things.count > 100", timeout=ALERT_MS)
    return page


def pixel(page: Page, east_m: float) -> tuple[float, float]:
    """Where a place east of the centre is on the screen."""
    lon = CENTRE.lon + east_m / 78_000
    at = page.evaluate("(p) => zonal.map.project(p)", [lon, CENTRE.lat])
    return at["x"], at["y"]


def draw_circle(page: Page, radius_m: float) -> None:
    """With the mouse, around the centre."""
    page.keyboard.press("c")
    page.mouse.move(*pixel(page, 0))
    page.mouse.down()
    page.mouse.move(*pixel(page, radius_m / 2))
    page.mouse.move(*pixel(page, radius_m))
    page.mouse.up()


def main(folder: Path) -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as data:
        options = DemoOptions(data=Path(data), port=0, router_port=0, spark=False)
        with Demo(options, Console(file=io.StringIO())) as demo, browser() as chrome:
            demo.clock.go_to(cloud_time(0.4))
            desk = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
            page = opened(chrome, demo.server.url, **desk)
            page.locator("#alerts li").first.wait_for(timeout=ALERT_MS)
            page.wait_for_timeout(1_500)
            screenshot(page, folder / "web-map.png")
            draw_circle(page, 1_800)
            page.keyboard.press("s")
            page.wait_for_timeout(6_000)
            screenshot(page, folder / "web-area.png")
            page.keyboard.press("s")
            page.keyboard.press("Delete")
            page.evaluate("zonal.history.go(Date.now() - 12_000)")
            page.locator("#link[data-state=past]").wait_for(timeout=ALERT_MS)
            page.wait_for_timeout(2_000)
            screenshot(page, folder / "web-past.png")
            page.evaluate("zonal.history.live()")
            page.evaluate("() => { zonal.map.jumpTo({ center: [10, 45], zoom: 4 }); }")
            page.wait_for_timeout(3_000)
            screenshot(page, folder / "web-world.png")
            left = opened(chrome, demo.server.url, **desk)
            night = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"}
            page = opened(chrome, demo.server.url, **night)
            page.keyboard.press("r")
            page.keyboard.press("g")
            page.wait_for_timeout(5_000)
            screenshot(page, folder / "web-dark.png")
            phone = {
                "viewport": {"width": 390, "height": 780}, "color_scheme": "dark",
                "has_touch": True, "is_mobile": True, "device_scale_factor": 2,
            }  # fmt: skip
            page = opened(chrome, demo.server.url, **phone)
            page.get_by_role("button", name="Circle").tap()
            page.touchscreen.tap(*pixel(page, 0))
            page.touchscreen.tap(*pixel(page, 1_500))
            page.wait_for_timeout(5_000)
            screenshot(page, folder / "web-phone.png")
            demo.server.stop()
            left.locator("#stale").wait_for(timeout=ALERT_MS)
            screenshot(left, folder / "web-lost.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures"))
