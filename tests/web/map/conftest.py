"""The map in real Chromium, on a real router."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import FEW_PIXELS, Watched, browser, chromium
from network import client, router_row
from town import CENTRE, WAIT_MS, Stage, Town
from zonal.web import MapView, Meter, WebOptions, WebServer

OPENED = pytest.StashKey[tuple[ExitStack, Browser]]()


@pytest.fixture(scope="module")
def chrome(pytestconfig: pytest.Config) -> Browser:
    """One browser for all files of this folder: to start it takes seconds of processor time."""
    if chromium() is None:
        pytest.skip("chromium is not installed")
    if OPENED not in pytestconfig.stash:
        stack = ExitStack()
        pytestconfig.stash[OPENED] = stack, stack.enter_context(browser())
    return pytestconfig.stash[OPENED][1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """Close the browser behind the last: while it is open, no event loop can run in its process."""
    try:
        return (yield)
    finally:
        is_last = nextitem is None or nextitem.path.parent != item.path.parent
        if is_last and OPENED in item.config.stash:
            item.config.stash[OPENED][0].close()
            del item.config.stash[OPENED]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    zones = tmp_path_factory.mktemp("zones") / "zones.geojson"
    corners = [[9.17, 45.45], [9.19, 45.45], [9.19, 45.47], [9.17, 45.47], [9.17, 45.45]]
    feature = {
        "type": "Feature",
        "properties": {"zone": "west"},
        "geometry": {"type": "Polygon", "coordinates": [corners]},
    }
    zones.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    view = MapView(
        title="Test town",
        topics=("town/live/*",),
        latitude=CENTRE.lat,
        longitude=CENTRE.lon,
        zoom=12,
        value="pm10",
        unit="µg/m³",
        events="town/event/*",
        alerts="town/event/alert",
        notices="town/event/notice",
        heard="town/event/heard",
        zones="town/event/zone",
        layers=(("Zones", zones),),
        history=True,
    )
    with ExitStack() as stack:
        (router,) = stack.enter_context(router_row(1))
        session, counter = (stack.enter_context(client(router)) for _ in range(2))
        meter = stack.enter_context(Meter(counter, view.topics))
        server = stack.enter_context(WebServer(session, WebOptions(port=0, view=view), meter))
        town = stack.enter_context(Town(stack.enter_context(client(router))))
        yield Stage(router, server, town)


@contextmanager
def open_page(chrome: Browser, stage: Stage) -> Iterator[tuple[Page, Watched]]:
    context = chrome.new_context(**FEW_PIXELS)
    page = context.new_page()
    watched = Watched(page, stage.server.url)
    page.goto(stage.server.url)
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    yield page, watched
    context.close()


AS_AT_FIRST = """([chosen, center, zoom]) => {
    const { map, layers, things, selection } = zonal;
    document.activeElement.blur();
    document.getElementById("encoding").value = "s2";
    document.getElementById("border").checked = false;
    layers.choose(chosen);
    things.open(null);
    map.jumpTo({ center, zoom });
    selection.select(null);
}"""


@pytest.fixture(scope="module")
def shared_page(chrome: Browser, stage: Stage) -> Iterator[tuple[Page, Watched, list[object]]]:
    """A page, and what it showed at first."""
    with open_page(chrome, stage) as (page, watched):
        shown = page.evaluate("[zonal.layers.chosen, zonal.map.getCenter(), zonal.map.getZoom()]")
        yield page, watched, shown


@pytest.fixture
def page(request: pytest.FixtureRequest, chrome: Browser, stage: Stage) -> Iterator[Page]:
    """The map; the tests of a module that says so (`SHARES_A_PAGE`) wait for its loading once."""
    with ExitStack() as stack:
        if getattr(request.module, "SHARES_A_PAGE", False):
            opened, watched, shown = request.getfixturevalue("shared_page")
            expect(opened.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
            opened.emulate_media(reduced_motion="reduce")
            opened.keyboard.press("Escape")
            opened.evaluate(AS_AT_FIRST, shown)
        else:
            opened, watched = stack.enter_context(open_page(chrome, stage))
        yield opened
    assert watched.errors == []
    assert watched.foreign == [], "the page works without the internet"
