"""How many frames a second the map draws while thousands of things move, in real Chromium.

make bench-map    (20,000 things, 5,000 moves a second; in the browser, without the network)
"""

from __future__ import annotations

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
    let frames = 0, moves = 0, longest = 0, last = performance.now();
    const began = last;
    const owed = () => Math.floor(rate * (performance.now() - began) / 1000);
    while (performance.now() - began < seconds * 1000) {
        for (const due = owed(); moves < due; moves += 1) zonal.things.take(sample(moves % count));
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
        frames += 1;
    }
    const took = (performance.now() - began) / 1000;
    return { frames_per_s: frames / took, moves_per_s: moves / took, longest_ms: longest };
}"""


def main() -> None:
    found = {}
    with Router([LOOPBACK]) as router, browser() as chrome:
        view = MapView(latitude=45.45, longitude=9.2, zoom=11)
        with (
            open_session(config("client", connect=router.endpoints)) as session,
            WebServer(session, WebOptions(port=0, view=view)) as server,
        ):
            for count, rate in ((2_000, 500), (20_000, 5_000)):
                page = chrome.new_page(viewport={"width": 1280, "height": 800})
                page.goto(server.url)
                page.locator("body[data-ready=true]").wait_for(state="attached")
                figures = page.evaluate(MOVES, [count, rate, 10])
                page.close()
                print(
                    f"{count:,} things, {figures['moves_per_s']:,.0f} moves a second: "
                    f"{figures['frames_per_s']:.1f} frames a second, "
                    f"longest {figures['longest_ms']:.0f} ms"
                )
                found[f"{count}"] = figures
    print(json.dumps(found))


if __name__ == "__main__":
    main()
