"""How many frames a second the map draws while thousands of things move, in real Chromium.

make bench-map    (20,000 things, 5,000 moves a second; in the browser, without the network)

Things are a layer of our own; beside it the same number of points in sources of MapLibre's, which
get all places (`setData`), those that changed (`updateData`), or all and cluster them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser import browser
from network import LOOPBACK
from zonal import config
from zonal import open as open_session
from zonal.session import Router
from zonal.web import MapView, WebOptions, WebServer

MOVES = """async ([count, rate, seconds]) => {
    const sample = (n) => ({
        key: "bench/thing", encoding: "application/json", timestamp: null,
        location: { lat: 45.3 + 0.3 * Math.random(), long: 9.0 + 0.4 * Math.random() },
        value: { id: n, kind: "car" },
    });
    for (let n = 0; n < count; n += 1) zonal.things.take(sample(n));
    const { things } = zonal;
    let moves = 0, longest = 0, frames = 0, last = performance.now();
    const [began, drawn] = [last, things.dots.frames];
    const owed = () => Math.floor(rate * (performance.now() - began) / 1000);
    while (performance.now() - began < seconds * 1000) {
        for (const due = owed(); moves < due; moves += 1) things.take(sample(moves % count));
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
        frames += 1;
    }
    const took = (performance.now() - began) / 1000;
    return {
        shown_per_s: (things.dots.frames - drawn) / took, frames_per_s: frames / took,
        moves_per_s: moves / took, longest_ms: longest,
    };
}"""

SOURCE = """async ([count, rate, seconds, way]) => {
    const { map } = zonal;
    const anywhere = () => [9.0 + 0.4 * Math.random(), 45.3 + 0.3 * Math.random()];
    const place = () => ({ type: "Point", coordinates: anywhere() });
    const feature = (_, id) => ({ type: "Feature", id, properties: {}, geometry: place() });
    const features = Array.from({ length: count }, feature);
    const all = { type: "FeatureCollection", features };
    map.addSource("bench", { type: "geojson", data: all, cluster: way === "cluster" });
    const paint = { "circle-radius": 5 };
    map.addLayer({ id: "bench", type: "circle", source: "bench", paint });
    await map.once("idle");
    let busy = false, moves = 0, longest = 0, frames = 0, shown = 0, last = performance.now();
    map.on("data", ({ sourceId, sourceDataType }) => {
        if (sourceId !== "bench" || sourceDataType !== "content") return;
        busy = false;
        shown += 1;
    });
    const began = last;
    const changed = new Set();
    while (performance.now() - began < seconds * 1000) {
        const due = Math.floor(rate * (performance.now() - began) / 1000);
        for (; moves < due; moves += 1) {
            features[moves % count].geometry = place();
            changed.add(moves % count);
        }
        if (!busy && changed.size) {
            busy = true;
            if (way === "updateData") {
                const moved = (id) => ({ id, newGeometry: features[id].geometry });
                const update = [...changed].map(moved);
                map.getSource("bench").updateData({ update });
            } else map.getSource("bench").setData(all);
            changed.clear();
        }
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
        frames += 1;
    }
    const took = (performance.now() - began) / 1000;
    return {
        shown_per_s: shown / took, frames_per_s: frames / took,
        moves_per_s: moves / took, longest_ms: longest,
    };
}"""


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
                    figures = page.evaluate(script, [count, rate, options.seconds, way])
                    page.close()
                    print(
                        f"{way}: {count:,} things, {figures['moves_per_s']:,.0f} moves a second: "
                        f"new places shown {figures['shown_per_s']:.1f} times a second, "
                        f"{figures['frames_per_s']:.1f} frames a second, "
                        f"longest {figures['longest_ms']:.0f} ms",
                        flush=True,
                    )
                    found[f"{way} {count}"] = figures
    print(json.dumps(found))


if __name__ == "__main__":
    main()
