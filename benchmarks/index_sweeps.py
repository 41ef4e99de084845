"""GeoBroker's figures 7 and 8, printed: measured by the code that the lab uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from zonal_lab.index import (
    WAYS,
    break_even,
    sweep_clients,
    sweep_granularity,
    walk_of,
    walks_of_all,
)

if TYPE_CHECKING:
    import argparse

    from zonal_lab.index import Trajectory

Result = dict[str, Any]


def bench_granularity(trajectories: list[Trajectory], args: argparse.Namespace) -> Result:
    seconds = args.seconds / 4 if args.quick else args.seconds
    result: Result = {}
    for clients in (10, 1000):
        table = sweep_granularity(walk_of(trajectories, clients), seconds)
        print(f"\nFigure 7: operations a second for {clients} clients, by granularity and ratio")
        print_table(table)
        result[f"clients {clients}"] = table
    return result


def bench_geo_or_not(trajectories: list[Trajectory], args: argparse.Namespace) -> Result:
    seconds = args.seconds / 4 if args.quick else args.seconds
    result: Result = {}
    walks = walks_of_all(trajectories)
    for title, remembers in WAYS.items():
        factors = sweep_clients(walks, seconds, remembers=remembers)
        print(f"\nFigure 8, {title}: throughput with geofences (granularity 25) over without")
        print_table(factors, digits=2)
        result[title] = factors
    result["break-even"] = break_even(trajectories)
    print("  with remembered answers: {told}".format(**result["break-even"]))
    return result


def print_table(table: dict[str, dict[str, float]], digits: int = 0) -> None:
    columns = list(next(iter(table.values())))
    shown = Table(box=None)
    for heading in ("ratio", *columns):
        shown.add_column(heading, justify="right")
    for name, row in table.items():
        shown.add_row(name, *(f"{row[column]:,.{digits}f}" for column in columns))
    Console(width=100).print(shown)
