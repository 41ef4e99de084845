"""The page on large networks: what was measured, what the model says, which limit comes first."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from zonal_lab.experiment import picture, table
from zonal_lab.scale.growth import A_DAY, LAKE_REGIONS, ROWS_A_FILE
from zonal_lab.scale.pictures import draw_growth, draw_router, draw_world
from zonal_lab.scale.samples import read_measured
from zonal_lab.scale.world import (
    CITIES,
    CONTINENTS,
    DESIGNS,
    LEVELS,
    MOVING,
    PUBLISH_S,
    REGIONS,
    REMOTE,
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
        yield from _world(predictions, plan)
        title = "tables and processors by the number of subscribers"
        yield from picture(title, f"{name}-world.png")
        yield from _limits(predictions)
    if found.router:
        draw_router(found.router, folder / f"{name}-router.png")
        yield from _router(found, name)
    yield from _growth(found, folder, name)
    if found.cities:
        yield from _cities(found)
    if found.movement:
        yield from _movement(found)
    if found.networks:
        yield from _networks(found)


def _world(predictions: list[Prediction], plan: dict[str, Any]) -> Iterator[str]:
    yield "## What the model says"
    yield ""
    yield (
        f"{CITIES:,} cities, whose sizes follow Zipf's law, in {REGIONS} regions and {CONTINENTS} "
        f"continents; {plan['publishers']:,} publishers, each publishing every {PUBLISH_S:g} s; "
        f"{MOVING:.0%} of the subscribers under way, {REMOTE:.0%} with their area in another city "
        "(both assumed). Areas of 300 m to 5 km, their margins a quarter of the radius. *Flat*: "
        "stock routers, which all know every key. *Bounded*, *wide*: a gateway passes a union of "
        "at most 256, 1,024 cells up for each city, and down what others want there. *Coarse*: "
        "cells of about 10 km. The busiest "
        "router of each level; cores by the costs measured below. *Spared*: copies that flooding "
        "all cities would send and that need not travel."
    )
    yield ""
    yield from table(
        (
            *("subscribers", "design", *(f"keys, {level}" for level in LEVELS)),
            *(f"changes/s, {level}" for level in LEVELS),
            *(f"publications/s, {level}" for level in LEVELS),
            *(f"cores, {level}" for level in LEVELS),
            "spared",
        ),
        (
            (
                f"{each.subscribers:,}",
                each.design,
                *(_short(each.loads[level].known) for level in LEVELS),
                *(_short(each.loads[level].changes) for level in LEVELS),
                *(_short(each.loads[level].matches) for level in LEVELS),
                *(f"{each.loads[level].cores:.2g}" for level in LEVELS),
                f"{each.spared:.3f} %",
            )
            for each in sorted(predictions, key=lambda each: each.subscribers)
        ),
        right=2,
    )


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


_GROWN = {
    "index": (
        "subscriptions of one broker's index",
        "Circles of 0.01°, as dense however many; *asked*: who wants a publication from a place.",
    ),
    "store": (
        "things in a store",
        (
            "SQLite in a folder, transactions of 1,000; *asked*: all in a circle that holds about "
            "a hundred, by the table alone."
        ),
    ),
    "lake": (
        "rows of a lake",
        (
            f"{ROWS_A_FILE:,} rows a file, {LAKE_REGIONS} regions, {A_DAY} files of each a day, "
            "sorted by place; only the Delta log is there, with statistics, as a checkpoint. "
            "*Asked*: by `History`, for a district and one hour, until the files to open are "
            "known, once."
        ),
    ),
}


def _growth(found: Measured, folder: Path, name: str) -> Iterator[str]:
    if not found.growth:
        return
    draw_growth(found.growth, folder / f"{name}-growth.png")
    yield "## What grows in one process"
    yield ""
    yield (
        "Each size in a process of its own. Additions and moves by processor time, answers by the "
        "clock."
    )
    yield ""
    yield from picture("answers and memory by size", f"{name}-growth.png")
    for part, (title, words) in _GROWN.items():
        if part not in found.growth:
            continue
        yield words
        yield ""
        beyond = ("files", "left to open") if part == "lake" else ("added", "moved")
        keys = ("files", "left") if part == "lake" else ("add_us", "move_us")
        unit = "" if part == "lake" else " µs"
        asked = ("asked, CPU", "by the clock") if part == "lake" else ("asked, median", "p99")
        last = "memory of all" if part != "index" else "answers"
        yield from table(
            (title, *beyond, *asked, f"bytes {'a file' if part == 'lake' else 'each'}", last),
            (
                (
                    f"{size:,}",
                    *(f"{_short(each[key])}{unit}" for key in keys),
                    *(f"{each[key] / 1000:,.3g} ms" for key in ("ask_us", "ask_p99_us")),
                    f"{each['bytes_each']:,.0f}",
                    f"{each['memory_bytes'] / 2**20:,.0f} MiB"
                    if part != "index"
                    else f"{each['hits']:.0f}",
                )
                for size, each in sorted(found.growth[part].items())
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
        "go up."
    )
    yield ""
    ways = ("distinct", "bounded", "wide", "coarse")
    yield from table(
        (
            *("subscribers", "declared", "distinct", "union of 256", "of 1,024", "coarse"),
            *("wanted", *(f"lets through, {way}" for way in ways)),
            *("own changes", *(f"changes, {way}" for way in ways)),
        ),
        (
            (
                f"{size:,}",
                f"{fmean(row.declared for row in rows):,.0f}",
                f"{fmean(row.distinct for row in rows):,.0f}",
                *(f"{fmean(row.union[way] for row in rows):,.0f}" for way in ("bounded", "wide")),
                f"{fmean(row.coarse for row in rows):,.0f}",
                f"{100 * fmean(row.wanted for row in rows):.1f} %",
                *(f"{100 * fmean(row.let_through[way] for row in rows):.1f} %" for way in ways),
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


def _networks(found: Measured) -> Iterator[str]:
    yield "## The model beside a real network"
    yield ""
    yield (
        "Three city routers and a region's, real processes; what is published in a city is sent "
        "by a client of another one. *Expected*: what the union of just these areas lets "
        "through; *model*: the share of simulated cities of this size."
    )
    yield ""
    yield from table(
        ("subscribers a city", "keys a city", "sent", "expected", "received", "share", "model"),
        (
            (
                f"{size:,}",
                f"{fmean(each['keys'] for each in rows) / 3:.0f}",
                f"{sum(each['sent'] for each in rows):,.0f}",
                f"{sum(each['expected'] for each in rows):,.0f}",
                f"{sum(each['received'] for each in rows):,.0f}",
                f"{100 * fmean(each['received'] / each['sent'] for each in rows):.1f} %",
                f"{100 * found.comes_through(size):.1f} %" if found.cities else "–",
            )
            for size, rows in sorted(found.networks.items())
        ),
        right=0,
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
