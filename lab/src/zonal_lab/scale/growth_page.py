"""Tables of what grows in one process: index, broker, store and lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import picture, table
from zonal_lab.scale.broker_growth import A_CONNECTION, PUBLISHED
from zonal_lab.scale.growth import A_DAY, LAKE_REGIONS, ROWS_A_FILE
from zonal_lab.scale.pictures import draw_growth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from zonal_lab.scale.samples import Measured


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


def growth_lines(found: Measured, folder: Path, name: str) -> Iterator[str]:
    """The section on what grows in one process, and its picture; nothing without any."""
    if not found.growth:
        return
    drawn = {part: rows for part, rows in found.growth.items() if part in _GROWN}
    if drawn:
        draw_growth(drawn, folder / f"{name}-growth.png")
    yield "## What grows in one process"
    yield ""
    yield (
        "Each size in a process of its own. Additions and moves by processor time, answers by the "
        "clock."
    )
    yield ""
    if drawn:
        yield from picture("answers and memory by size", f"{name}-growth.png")
    for part, (title, words) in _GROWN.items():
        if part in found.growth:
            yield words
            yield ""
            yield from _grown(part, title, found.growth[part])
    if "broker" in found.growth:
        yield from _broker(found.growth["broker"])


def _grown(part: str, title: str, rows: dict[int, dict[str, float]]) -> Iterator[str]:
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
                *(f"{short(each[key])}{unit}" for key in keys),
                *(f"{each[key] / 1000:,.3g} ms" for key in ("ask_us", "ask_p99_us")),
                f"{each['bytes_each']:,.0f}",
                f"{each['memory_bytes'] / 2**20:,.0f} MiB"
                if part != "index"
                else f"{each['hits']:.0f}",
            )
            for size, each in sorted(rows.items())
        ),
        right=0,
    )


def _broker(rows: dict[int, dict[str, float]]) -> Iterator[str]:
    yield (
        f"`zonal broker`, a process of its own: circles of 0.01°, as dense however many, "
        f"{A_CONNECTION:,} a connection and dealt by chance, subscribed with `$geo/circle:…`; then "
        f"{PUBLISHED:,} publications from places, one after another. *Copies*: deliveries of one. "
        "Latency is that of the last copy, from when the publication is sent."
    )
    yield ""
    yield from table(
        (
            *("subscriptions of one broker", "connections", "added, CPU", "a publication, CPU"),
            *("copies", "a copy, CPU", "latency p50", "p99", "bytes each", "memory of all"),
        ),
        (
            (
                f"{size:,}",
                f"{each['connections']:,.0f}",
                f"{short(each['add_us'])} µs",
                f"{short(each['publish_cpu_us'])} µs",
                f"{each['hits']:.1f}",
                f"{short(each['publish_cpu_us'] / max(each['hits'], 1))} µs",
                *(f"{each[key] / 1000:,.3g} ms" for key in ("ask_us", "ask_p99_us")),
                f"{each['bytes_each']:,.0f}",
                f"{each['memory_bytes'] / 2**20:,.0f} MiB",
            )
            for size, each in sorted(rows.items())
        ),
        right=0,
    )


def short(value: float) -> str:
    """A figure without digits that say nothing."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
