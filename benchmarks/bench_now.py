"""What is where now: the border, the store, nearest, what a watcher hears, and Tile38 beside it.

The border runs in this process on one core, by processor time. The store is a process of its own
beside a router; things are written into its table first, then sent through the network. Each part
can be run alone (`--only`), and tells on standard error how far it is.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import zonal
from now_store import measure_store, measure_table
from now_tile38 import measure_beside_tile38
from now_world import SIDE, SOUTH, WEST, Traffic, console, shown, tell, zones_of
from zonal.border import Border, BorderPlan
from zonal.geo import Circle, Point

if TYPE_CHECKING:
    from zonal.border import ZoneSet

PARTS = ("border", "store", "ring", "tile38")


def measure_border(zones: ZoneSet, things: int, rounds: int) -> dict[str, Any]:
    plan = BorderPlan(("enter", "leave", "cross", "dwell"), 60.0, 25.0, 600.0)
    traffic = Traffic(things, np.random.default_rng(2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    border = Border(zones, plan)
    for places in traffic.noted(traffic.step()):
        border.update(places)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    spent = events = 0.0
    for number in range(rounds):
        for places in traffic.noted(traffic.step()):
            began = time.process_time()
            events += len(border.update(places)) + len(border.pass_time(places[-1].time))
            spent += time.process_time() - began
        tell(f"border: round {number + 1} of {rounds}")
    return {
        "zones": len(zones),
        "things": things,
        "updates_per_s": round(rounds * things / spent),
        "events_per_s": round(events / spent),
        "events_per_update": round(events / rounds / things, 3),
        "bytes_a_thing": round(used / things),
    }


def measure_ring(things: int, rounds: int) -> dict[str, Any]:
    """What a watcher of 2 km hears of a city: the zone, its ring, and what routers let through."""
    traffic = Traffic(things, np.random.default_rng(5))
    middle = Point(SOUTH + SIDE / 2, WEST + SIDE / 2)
    zone = Circle(middle, radius_m=2000)
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with zonal.open(config) as watcher, zonal.open(config) as city:
            fence = watcher.declare_fence("city/bus/*", zone, hysteresis_m=25, resume=False)
            time.sleep(1.0)
            sent = inside = around = 0
            for _ in range(rounds):
                for number, lat, lon, _ in traffic.step():
                    place = Point(lat, lon)
                    city.put(traffic.names[number], b"x", location=place)
                    distance = place.distance_m(middle)
                    sent += 1
                    inside += distance <= 2000
                    around += distance <= 2500
            time.sleep(1.0)
            return {
                "sent": sent,
                "in_the_zone": inside,
                "in_zone_and_ring": around,
                "received_by_the_watcher": fence.counters.received,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--only", default=",".join(PARTS), help="some of %(default)s")
    parser.add_argument(
        "--tile38",
        default=shutil.which("tile38-server"),
        help="the program of Tile38's server; without it, from PATH",
    )
    options = parser.parse_args()
    only = options.only.split(",")
    if unknown := set(only) - set(PARTS):
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(PARTS)}")
    part = 10 if options.quick else 1
    zone_count, things = 10_000 // part, 100_000 // part
    results: dict[str, Any] = {}

    def show(name: str, result: dict[str, Any]) -> None:
        results[name] = result
        console.print(f"[bold]{name}[/]  {shown(result)}", soft_wrap=True)

    if "border" in only:
        zones = zones_of(zone_count, np.random.default_rng(1))
        show("border", measure_border(zones, things, 3))
    if "store" in only:
        with tempfile.TemporaryDirectory() as folder:
            many = 1_000_000 // part
            show("table", measure_table(folder, many))
            show("store", measure_store(folder, many, 10.0, 10_000))
    if "ring" in only:
        show("ring", measure_ring(2000, 5))
    if "tile38" in only:
        if options.tile38 is None:
            console.print("tile38  left out: tile38-server is not in PATH, see --tile38")
        else:
            zones = zones_of(zone_count, np.random.default_rng(1))
            for name, result in measure_beside_tile38(options.tile38, zones, things, 3).items():
                show(name, result)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
