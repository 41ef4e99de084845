"""The page on reliability: losses and round trips of bursts, and what recovery changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.experiment import picture, table
from zonal_lab.reliability.pictures import draw_bursts
from zonal_lab.reliability.plan import LINK_LOSS, PACED_COUNT, PACED_HZ, TITLES
from zonal_lab.reliability.samples import kept_trips, read_figures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.experiment import Results
    from zonal_lab.reliability.samples import Figures, Spread


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; its picture goes into the folder."""
    found = read_figures(results)
    bursts = {case: each for case, each in found.items() if not case.rate_hz}
    paced = {case: each for case, each in found.items() if case.rate_hz}
    yield from _introduction(results.manifest()["plan"])
    if bursts:
        draw_bursts(bursts, folder / f"{name}.png")
        yield from picture("losses and round trips", f"{name}.png")
        yield "## Bursts"
        yield ""
        yield from _figures(bursts)
    if paced:
        yield from _at_a_rate(paced)
    yield from _late(found)


def _at_a_rate(paced: Figures) -> Iterator[str]:
    yield "## At a rate that the link carries"
    yield ""
    yield f"{PACED_COUNT} messages of 1000 bytes at {PACED_HZ:g} a second; reliable, block."
    yield ""
    for loss in (0.0, LINK_LOSS):
        yield f"The link loses {loss:.0%} of all frames:"
        yield ""
        yield from _figures({case: each for case, each in paced.items() if case.link_loss == loss})


def _late(found: Figures) -> Iterator[str]:
    """Whether anything came when it had been counted as lost, of the cases in which it was seen."""
    seen = [each.late for each in found.values() if each.late is not None]
    if seen:
        yield (
            f"Messages that came when their sample had been counted, in all cases: {sum(seen):,}; "
            "they are lost above."
        )
        yield ""


_BETWEEN = {"none": "between two peers", "zenohd": "between two clients of a router between them"}


def _introduction(plan: dict[str, Any]) -> Iterator[str]:
    sizes = " and ".join(", ".join(map(str, plan["sizes"])).rsplit(", ", 1))
    yield (
        f"Five megabytes in messages of {sizes} bytes, without pauses, "
        f"{_BETWEEN[plan.get('routers', 'none')]}; "
        f"{_samples(plan)} (Barón 2024: 100). The receiver answers every message "
        "with 2 bytes; a round trip ends with the answer; of each sample up to "
        f"{kept_trips(plan['samples'])} are kept, evenly spaced. Two network namespaces on one "
        f"machine, their cards at {plan['rate_mbit']:g} Mbit/s (a Raspberry Pi 3's Ethernet), "
        "nothing lost by the link itself. *Recovery*: our session with a publisher's memory and a "
        "subscriber's recovery, which asks again for numbers that are missing."
    )
    yield ""


def _samples(plan: dict[str, Any]) -> str:
    bursts, paced = plan["samples"], plan.get("paced_samples", plan["samples"])
    if bursts == paced:
        return f"{bursts} samples a case"
    return f"{bursts} samples of each burst and {paced} at a steady rate"


def _figures(found: Figures) -> Iterator[str]:
    yield from table(
        (
            *("", "transport", "guarantees", "bytes", "lost, mean", "least – most"),
            *("doubled", "median round trip (ms)", "99 % lie in", "longest"),
        ),
        (
            (
                TITLES[case.stack],
                case.transport.upper(),
                case.guarantees,
                str(case.size),
                f"{np.mean(each.lost):.2%}",
                f"{min(each.lost):.2%} – {max(each.lost):.2%}",
                str(each.copies),
                *_round_trips(each.round_trips),
            )
            for case, each in sorted(found.items(), key=lambda pair: pair[0].name)
        ),
    )


def _round_trips(spread: Spread | None) -> tuple[str, str, str]:
    if spread is None:
        return ("–", "–", "–")
    return (
        f"{spread.median:.1f}",
        f"{spread.p0_5:.1f} – {spread.p99_5:.1f}",
        f"{spread.longest:.1f}",
    )
