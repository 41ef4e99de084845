"""The page on large networks: what was measured, what the model says, which limit comes first."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.experiment import picture, table
from zonal_lab.scale.city import WORLD
from zonal_lab.scale.growth_page import growth_lines, short
from zonal_lab.scale.network_page import network_lines
from zonal_lab.scale.pictures import draw_router, draw_world
from zonal_lab.scale.samples import read_measured
from zonal_lab.scale.world import (
    CITIES,
    CONTINENTS,
    DESIGNS,
    HEADER_BYTES,
    KEY_BYTES,
    LEVELS,
    MOVING,
    PAYLOAD_BYTES,
    PUBLISH_S,
    REGIONS,
    city_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.experiment import Results
    from zonal_lab.scale.samples import Measured
    from zonal_lab.scale.world import Prediction

_ONE_CORE = 1.0
_MUCH_MIB = 4096.0


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; its pictures go into the folder."""
    found, plan = read_measured(results), results.manifest()["plan"]
    if found.router and found.movement and found.cities:
        predictions = found.predictions(plan)
        draw_world(predictions, folder / f"{name}-world.png")
        yield from _world(predictions, plan, found.curve().largest)
        title = "tables and processors by the number of subscribers"
        yield from picture(title, f"{name}-world.png")
        yield from _limits(predictions)
        yield from _spared(predictions)
    if found.router:
        draw_router(found.router, folder / f"{name}-router.png")
        yield from _router(found, name)
    yield from growth_lines(found, folder, name)
    if found.cities:
        yield from _cities(found)
    if found.movement:
        yield from _movement(found)
    if found.networks:
        yield from network_lines(found)


def _world(predictions: list[Prediction], plan: dict[str, Any], largest: float) -> Iterator[str]:
    share = city_sizes(1)[0]
    yield "## What the model says"
    yield ""
    yield (
        f"{CITIES:,} cities, whose sizes follow Zipf's law, in {REGIONS} regions and {CONTINENTS} "
        f"continents; {plan['publishers']:,} publishers, each publishing every {PUBLISH_S:g} s; "
        f"{MOVING:.0%} of the subscribers under way, {WORLD.away:.0%} with their area in another "
        "city (both assumed). Areas of 300 m to 5 km, their margins a quarter of the radius. "
        "*Flat*: stock routers, which all know every key. *Bounded*, *wide*: a gateway passes a "
        "union of at most 256, 1,024 cells up for each city, and down what others want there. "
        "*Coarse*: cells of about 10 km. The busiest router of each level; cores by the costs "
        "measured below. A publication is counted once at each router that it passes, without what "
        "unions of other cities let through in vain."
    )
    yield ""
    yield (
        f"Cities of up to {largest:,.0f} subscribers were simulated. Beyond, their keys and "
        "changes are extrapolated by the law of occupancy, which saturates "
        "([decision 142](../../decisions/0142-beyond-the-largest-city.md)), and unions by the "
        "slope of the last two sizes, up to their bound: in the busiest city, where "
        f"{share:.1%} of all live, from {largest / share:,.0f} subscribers on. Costs are "
        "extrapolated beyond the most keys that a router was given."
    )
    yield ""
    yield from table(
        (
            *("subscribers", "design", *(f"keys, {level}" for level in LEVELS)),
            *(f"changes/s, {level}" for level in LEVELS),
            *(f"publications/s, {level}" for level in LEVELS),
            *(f"cores, {level}" for level in LEVELS),
        ),
        (
            (
                f"{each.subscribers:,}{' *' if each.subscribers * share > largest else ''}",
                each.design,
                *(short(each.loads[level].known) for level in LEVELS),
                *(short(each.loads[level].changes) for level in LEVELS),
                *(short(each.loads[level].matches) for level in LEVELS),
                *(f"{each.loads[level].cores:.2g}" for level in LEVELS),
            )
            for each in sorted(predictions, key=lambda each: each.subscribers)
        ),
        right=2,
    )
    yield "\\* The busiest city is extrapolated."
    yield ""


def _spared(predictions: list[Prediction]) -> Iterator[str]:
    yield "## Bytes that need not travel"
    yield ""
    yield (
        f"A publication has {PAYLOAD_BYTES} B, its key {KEY_BYTES} B, and {HEADER_BYTES} B are "
        "added by Zenoh, TCP, IP and Ethernet ([measured](../capture/capture.md)); each travels "
        "alone. On all links above the routers of a level together: *flooded*, if every "
        "publication went up and down to all others; *sent*, by what is declared; what is *spared* "
        "need not travel."
    )
    yield ""
    levels = LEVELS[:-1] if predictions else ()
    heads = ("flooded", "sent", "spared")
    names = {"city": "above cities", "region": "above regions"}
    yield from table(
        (
            "subscribers",
            "design",
            *(f"{names[level]}: {head}" for level in levels for head in heads),
        ),
        (
            (
                f"{each.subscribers:,}",
                each.design,
                *(
                    _rate(value)
                    for level in levels
                    for value in (*each.travel[level], each.travel[level].spared)
                ),
            )
            for each in sorted(predictions, key=lambda each: each.subscribers)
            if each.design in {"flat", "bounded", "coarse"}
        ),
        right=2,
    )


def _rate(bytes_a_second: float) -> str:
    for unit, factor in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_a_second >= factor:
            return f"{bytes_a_second / factor:,.3g} {unit}"
    return f"{bytes_a_second:,.0f} B/s"


def _limits(predictions: list[Prediction]) -> Iterator[str]:
    yield "## Which limit comes first"
    yield ""
    yield (
        f"The smallest number of subscribers at which the busiest router of a level needs more "
        f"than {_ONE_CORE:g} core, or {_MUCH_MIB / 1024:g} GiB for its table."
    )
    yield ""
    yield from table(
        ("design", "limit", *LEVELS),
        (
            (design, title, *(_first(predictions, design, level, over) for level in LEVELS))
            for design in DESIGNS
            for title, over in (
                ("more than a core", lambda load: load.cores > _ONE_CORE),
                ("more than 4 GiB", lambda load: load.memory_mib > _MUCH_MIB),
            )
        ),
    )


def _first(predictions: list[Prediction], design: str, level: str, over: Any) -> str:
    found = [
        each.subscribers
        for each in predictions
        if each.design == design and over(each.loads[level])
    ]
    return f"{min(found):,}" if found else "not reached"


def _router(found: Measured, name: str) -> Iterator[str]:
    yield "## What a real router needs"
    yield ""
    yield (
        "One stock router in a process of its own; clients declare hundreds of keys each, then one "
        "client publishes 5,000 messages that nobody wants. Processor time and memory are the "
        "router's; latency is that of a message through it, from put to callback."
    )
    yield ""
    yield from picture("costs by what the router knows", f"{name}-router.png")
    yield from table(
        (
            *("keys", "a declaration, router's CPU", "in all", "a publication, router's CPU"),
            *("memory a key", "latency p50", "p99"),
        ),
        (
            (
                f"{keys:,}",
                f"{each['declare_cpu_s'] * 1e6:.0f} µs",
                f"{each['declare_s'] * 1e3:.2f} ms",
                f"{each['match_cpu_s'] * 1e6:.1f} µs",
                f"{each['bytes_a_key']:,.0f} B",
                f"{each['p50_us']:.0f} µs",
                f"{each['p99_us']:.0f} µs",
            )
            for keys, each in sorted(found.router.items())
        ),
        right=0,
    )


def _cities(found: Measured) -> Iterator[str]:
    yield "## One city"
    yield ""
    yield (
        "Real covers and unions; means of the rounds. *Lets through*: the share of publications "
        "in the city that somebody wants, and that each way of declaring lets through. *Changes*: "
        "keys declared or undeclared when a subscriber leaves its margin: its own, and those that "
        "go up. *By the law*: what the law of occupancy makes of the covers alone."
    )
    yield ""
    law = found.curve().law
    ways = ("distinct", "bounded", "wide", "coarse")
    yield from table(
        (
            *(
                "subscribers",
                "declared",
                "distinct",
                "by the law",
                "union of 256",
                "of 1,024",
                "coarse",
            ),
            *("wanted", *(f"lets through, {way}" for way in ways)),
            *("own changes", *(f"changes, {way}" for way in ways)),
        ),
        (
            (
                f"{size:,}",
                f"{fmean(row.declared for row in rows):,.0f}",
                f"{fmean(row.together.keys['distinct'] for row in rows):,.0f}",
                f"{law.distinct(np.array([float(size)]))[0]:,.0f}",
                *(
                    f"{fmean(row.together.keys[way] for row in rows):,.0f}"
                    for way in ("bounded", "wide")
                ),
                f"{fmean(row.together.keys['coarse'] for row in rows):,.0f}",
                f"{100 * fmean(row.wanted for row in rows):.1f} %",
                *(
                    f"{100 * fmean(row.together.let_through[way] for row in rows):.1f} %"
                    for way in ways
                ),
                f"{fmean(row.own_changes for row in rows):.2f}",
                *(f"{fmean(row.changes[way] for row in rows):.2f}" for way in ways),
            )
            for size, rows in sorted(found.cities.items())
        ),
        right=0,
    )


def _movement(found: Measured) -> Iterator[str]:
    yield "## Movement"
    yield ""
    yield "How often an hour somebody under way leaves its margin and declares anew:"
    yield ""
    margins = list(next(iter(found.movement.values())))
    yield from table(
        ("", *(f"margin {each} m" for each in margins)),
        (
            (kind, *(f"{rates[each]:.1f}" for each in margins))
            for kind, rates in found.movement.items()
        ),
        right=1,
    )
