"""Debian's Chromium, driven by Playwright; no network but loopback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",  # WebGL by the processor
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",  # the page around the map is drawn without a graphics card's way
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

FEW_PIXELS: dict[str, Any] = {
    "viewport": {"width": 1024, "height": 640}, "device_scale_factor": 0.25,
    "reduced_motion": "reduce",
}  # fmt: skip
"""A window of an ordinary width with few pixels: the processor draws them, beside all tests.

Of somebody who wants no motion, since each flight of the map is many frames; `town.let_it_glide`.
"""


def chromium() -> str | None:
    """Where it is: the one without a window, which takes half the processor time, or the whole."""
    found = (shutil.which(name) for name in ("chromium-headless-shell", "chromium"))
    return os.environ.get("CHROMIUM") or next(filter(None, found), None)


@contextmanager
def browser() -> Iterator[Browser]:
    path = chromium()
    assert path is not None
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Watched:
    """What went wrong in a page, and what it asked other machines for."""

    def __init__(self, page: Page, origin: str) -> None:
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self._origin = origin
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._console)
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self._origin, "data:", "blob:")):
            self.foreign.append(request.url)


def screenshot(page: Page, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
