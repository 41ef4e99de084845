"""The page on discovery: the times until a subscriber hears its first message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.discovery.plan import CASES
from zonal_lab.experiment import table, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results


@dataclass(frozen=True)
class Times:
    """The times of one case, in milliseconds, a round each; None: nothing was heard."""

    topology: str
    scouting: str
    open_ms: list[float]
    first_ms: list[float | None]


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; all times go into the folder as JSON."""
    found = {record.name: record.figures for record in results.records()}
    rows = [
        Times(case.topology, case.scouting, **found[case.name])
        for case in CASES
        if case.name in found
    ]
    write_rows(rows, folder / f"{name}.json")
    yield (
        f"{results.manifest()['plan']['rounds']} times each: all nodes but the last are up, the "
        "first publishes from a place every 10 ms; then a location-aware subscriber starts from "
        "nothing. *Open*: until its session is open; *first message*: until it hears something "
        "from its area, both from the call of `zonal.open`, in ms. *Multicast* and *gossip* are "
        "Zenoh's scouting, with default times (routers link to other routers only when told, so "
        "the two of *routed* are); *told* means endpoints in the configuration and no scouting. "
        "*Mesh*: four applications in a square, each in the mode of a router. *Peers in a row*: "
        "three peers with `routing/peer/mode` set to `linkstate`, as in Barón 2024, and gossip "
        "over several hops that links nobody. Hosts are network namespaces on one switch, links "
        "without limits."
    )
    yield ""
    yield from table(
        ("topology", "found by", "open, median", "first message, median", "longest", "never"),
        (
            (
                row.topology,
                row.scouting,
                f"{np.median(row.open_ms):.0f}",
                f"{np.median(heard):.0f}" if heard else "–",
                f"{max(heard):.0f}" if heard else "–",
                str(row.first_ms.count(None)),
            )
            for row in rows
            for heard in [[each for each in row.first_ms if each is not None]]
        ),
    )
