"""How many frames a second the map draws while thousands of things move, in real Chromium.

make bench-map    (20,000 things, 5,000 moves a second; in the browser, without the network)

Things are a layer of our own; beside it the same number of points in sources of MapLibre's, which
get all places (`setData`), those that changed (`updateData`), or all and cluster them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser import browser
from network import LOOPBACK
from zonal import config
from zonal import open as open_session
from zonal.session import Router
from zonal.web import MapView, WebOptions, WebServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

PLAY = """
    const play = async (rate, seconds, move, eachFrame = () => {}) => {
        let moves = 0, longest = 0, frames = 0, last = performance.now();
        const began = last;
        const owed = () => Math.floor(rate * (performance.now() - began) / 1000);
        while (performance.now() - began < seconds * 1000) {
            for (const due = owed(); moves < due; moves += 1) move(moves);
            eachFrame();
            await new Promise(requestAnimationFrame);
            const now = performance.now();
            longest = Math.max(longest, now - last);
            last = now;
            frames += 1;
        }
        const took = (performance.now() - began) / 1000;
        const [frames_per_s, moves_per_s] = [frames / took, moves / took];
        return { frames_per_s, moves_per_s, longest_ms: longest, took };
    };
"""
"""Moves things at a rate for some seconds, and counts the page's frames meanwhile."""

MOVES = f"""async ([count, rate, seconds]) => {{{PLAY}
    const sample = (n) => ({{
        key: "bench/thing", encoding: "application/json", timestamp: null,
        location: {{ lat: 45.3 + 0.3 * Math.random(), long: 9.0 + 0.4 * Math.random() }},
        value: {{ id: n, kind: "car" }},
    }});
    for (let n = 0; n < count; n += 1) zonal.things.take(sample(n));
    const {{ things }} = zonal;
    const drawn = things.dots.frames;
    const found = await play(rate, seconds, (move) => things.take(sample(move % count)));
    return {{ ...found, shown_per_s: (things.dots.frames - drawn) / found.took }};
}}"""

SOURCE = f"""async ([count, rate, seconds, way]) => {{{PLAY}
    const {{ map }} = zonal;
    const anywhere = () => [9.0 + 0.4 * Math.random(), 45.3 + 0.3 * Math.random()];
    const place = () => ({{ type: "Point", coordinates: anywhere() }});
    const feature = (_, id) => ({{ type: "Feature", id, properties: {{}}, geometry: place() }});
    const features = Array.from({{ length: count }}, feature);
    const all = {{ type: "FeatureCollection", features }};
    map.addSource("bench", {{ type: "geojson", data: all, cluster: way === "cluster" }});
    const paint = {{ "circle-radius": 5 }};
    map.addLayer({{ id: "bench", type: "circle", source: "bench", paint }});
    await map.once("idle");
    let busy = false, shown = 0;
    map.on("data", ({{ sourceId, sourceDataType }}) => {{
        if (sourceId !== "bench" || sourceDataType !== "content") return;
        busy = false;
        shown += 1;
    }});
    const changed = new Set();
    const move = (number) => {{
        features[number % count].geometry = place();
        changed.add(number % count);
    }};
    const tell = () => {{
        if (busy || !changed.size) return;
        busy = true;
        if (way === "updateData") {{
            const moved = (id) => ({{ id, newGeometry: features[id].geometry }});
            map.getSource("bench").updateData({{ update: [...changed].map(moved) }});
        }} else map.getSource("bench").setData(all);
        changed.clear();
    }};
    const found = await play(rate, seconds, move, tell);
    return {{ ...found, shown_per_s: shown / found.took }};
}}"""


def measured(chrome: Browser, page: Page, script: str, arguments: list[Any]) -> dict[str, float]:
    """What a script found, and who was busy meanwhile, in seconds of processor time a second.

    `gpu` is the process that draws (without a graphics card: the software rasteriser), `ours`,
    `maplibre` and `native` (garbage collection, the browser's own calls) share the page's thread.
    """
    browser_wide, own = chrome.new_browser_cdp_session(), page.context.new_cdp_session(page)
    own.send("Profiler.enable")
    before = _processor_s(browser_wide)
    own.send("Profiler.start")
    figures: dict[str, float] = page.evaluate(script, arguments)
    profile = own.send("Profiler.stop")["profile"]
    took = (profile["endTime"] - profile["startTime"]) / 1e6
    busy: Counter[str] = Counter()
    owners = {node["id"]: _owner(node["callFrame"]) for node in profile["nodes"]}
    for node, lasted_us in zip(profile["samples"], profile["timeDeltas"], strict=True):
        busy[owners[node]] += lasted_us / 1e6
    drawing = _processor_s(browser_wide)["GPU"] - before["GPU"]
    shares = {name: busy[name] / took for name in ("ours", "maplibre", "native")}
    return {**figures, **shares, "gpu": drawing / took}


def _processor_s(session: CDPSession) -> Counter[str]:
    """Seconds of processor time by kind of process, since the browser started."""
    busy: Counter[str] = Counter()
    for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        busy[process["type"]] += process["cpuTime"]
    return busy


def _owner(frame: dict[str, Any]) -> str:
    if frame["functionName"] == "(idle)":
        return "idle"
    if "/-/maplibre/" in frame["url"]:
        return "maplibre"
    return "ours" if "/-/page/" in frame["url"] else "native"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="a second each, 2,000 things only")
    options = parser.parse_args()
    sizes = ((2_000, 500), (20_000, 5_000))
    if options.quick:
        options.seconds, sizes = 1.0, sizes[:1]
    found = {}
    with Router([LOOPBACK]) as router, browser() as chrome:
        view = MapView(latitude=45.45, longitude=9.2, zoom=11)
        with (
            open_session(config("client", connect=router.endpoints)) as session,
            WebServer(session, WebOptions(port=0, view=view)) as server,
        ):
            for way in ("layer", "setData", "updateData", "cluster"):
                for count, rate in sizes:
                    page = chrome.new_page(viewport={"width": 1280, "height": 800})
                    page.goto(server.url)
                    page.locator("body[data-ready=true]").wait_for(state="attached")
                    script = MOVES if way == "layer" else SOURCE
                    figures = measured(chrome, page, script, [count, rate, options.seconds, way])
                    page.close()
                    print(
                        f"{way}: {count:,} things, {figures['moves_per_s']:,.0f} moves a second: "
                        f"new places shown {figures['shown_per_s']:.1f} times a second, "
                        f"{figures['frames_per_s']:.1f} frames a second, "
                        f"longest {figures['longest_ms']:.0f} ms; busy: rasteriser "
                        f"{figures['gpu']:.2f}, our script {figures['ours']:.2f}, MapLibre "
                        f"{figures['maplibre']:.2f}, native {figures['native']:.2f} s a second",
                        flush=True,
                    )
                    found[f"{way} {count}"] = figures
    print(json.dumps(found))


if __name__ == "__main__":
    main()
