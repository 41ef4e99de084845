"""The page on reliability: losses and round trips of bursts, and what recovery changes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from zonal_lab.experiment.pages import how_it_was_run, table, verdicts, write_page
from zonal_lab.location.claims import Verdict
from zonal_lab.reliability.plan import LINK_LOSS, PACED_COUNT, PACED_HZ, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from matplotlib.axes import Axes

    from zonal_lab.reliability.evaluation import BurstFigures, BurstResults
    from zonal_lab.reliability.plan import BurstCase

    Figures = dict[BurstCase, BurstFigures]

_COLOURS = {"zenoh": "#1f77b4", "session": "#d62728", "recovery": "#2ca02c"}


def write_burst_report(results: BurstResults, folder: Path, name: str = "reliability") -> Path:
    """Write the page and its pictures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    found = results.figures()
    _draw(found, folder / f"{name}.png")
    return write_page(_page(results.manifest(), found, name), folder, name)


def _page(manifest: dict[str, Any], found: Figures, name: str) -> Iterator[str]:
    plan = manifest["plan"]
    bursts = {case: each for case, each in found.items() if not case.rate_hz}
    paced = {case: each for case, each in found.items() if case.rate_hz}
    yield "# Zenoh's reliability and congestion control"
    yield ""
    yield (
        "Five megabytes in messages of 1000, 500 and 100 bytes, without pauses, between two peers; "
        f"{plan['samples']} samples a case (the thesis: 100). The receiver answers every message "
        "with 2 bytes; a round trip ends with the answer. Two network namespaces on one machine, "
        f"their cards at {plan['rate_mbit']:g} Mbit/s (a Raspberry Pi 3's Ethernet), nothing lost "
        "by the link itself. *Recovery*: our session with a publisher's memory and a subscriber's "
        "recovery, which asks again for numbers that are missing."
    )
    yield ""
    if manifest.get("failures"):
        yield f"Cases that failed: {'; '.join(manifest['failures'])}."
        yield ""
    yield from verdicts("Figures to reach", _figures(bursts, paced))
    yield from verdicts("The claims of the thesis (section 5.3)", _claims(bursts))
    yield f"![losses and round trips]({name}.png)"
    yield ""
    yield "## Bursts"
    yield ""
    yield from _table(bursts)
    yield "## At a rate that the link carries"
    yield ""
    yield (
        f"{PACED_COUNT} messages of 1000 bytes at {PACED_HZ:g} a second; reliable, block. A link "
        f"that loses {LINK_LOSS:.0%} of all frames loses questions for missing messages and "
        "answers to them, too; recovery asks again, for just what is missing. In the bursts above "
        "over UDP it also brings what the receiver's buffers could not take, in its own time."
    )
    yield ""
    for loss in (0.0, LINK_LOSS):
        yield f"The link loses {loss:.0%}:"
        yield ""
        yield from _table({case: each for case, each in paced.items() if case.link_loss == loss})
    yield from how_it_was_run(manifest)


def _table(found: Figures) -> Iterator[str]:
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
                *_trips(each.round_trips),
            )
            for case, each in sorted(found.items(), key=lambda pair: pair[0].name)
        ),
    )


def _trips(spread: list[float]) -> tuple[str, str, str]:
    if not spread:
        return ("–", "–", "–")
    return f"{spread[2]:.1f}", f"{spread[0]:.1f} – {spread[4]:.1f}", f"{spread[6]:.1f}"


def _figures(bursts: Figures, paced: Figures) -> Iterator[Verdict]:
    for ours, reliable in itertools.product((True, False), (True, False)):
        blocked = {
            case: each
            for case, each in bursts.items()
            if case.transport == "tcp" and case.block and case.reliable == reliable
            if (case.stack != "zenoh") == ours
        }
        if not blocked:
            continue
        worst = max(blocked, key=lambda case: max(blocked[case].lost))
        lost = max(blocked[worst].lost)
        who = "our session" if ours else "plain Zenoh"
        numbers = f"{len(blocked)} cases, the worst loses {lost:.3%} ({worst.name})"
        if lost and not reliable and not ours:
            numbers += "; Zenoh 1.10 drops best-effort messages, whether told to block or not"
        yield Verdict(
            "TARGETS D",
            f"{who}, TCP with block, {'reliable' if reliable else 'best effort'}: nothing lost",
            lost == 0,
            numbers,
        )
    for case, each in paced.items():
        if case.transport == "udp" and case.stack == "recovery":
            others = [
                max(other.lost)
                for key, other in paced.items()
                if key.transport == "udp" and key.link_loss == case.link_loss and key != case
            ]
            link = f", the link losing {case.link_loss:.0%} of all frames" if case.link_loss else ""
            yield Verdict(
                "TARGETS D",
                f"recovery on: nothing lost over UDP at a rate that the link carries{link}",
                max(each.lost) == 0,
                f"{max(each.lost):.3%} lost; without recovery up to "
                f"{max(others, default=float('nan')):.2%}",
            )


def _claims(bursts: Figures) -> Iterator[Verdict]:
    plain = {case: each for case, each in bursts.items() if case.stack == "zenoh"}
    reliable = {case: each for case, each in plain.items() if case.reliable}
    yield from _loses(
        reliable, "tcp", True, "TCP with block loses nothing (here: reliable)", expected=False
    )
    yield from _loses(plain, "tcp", False, "drop loses messages even over TCP", expected=True)
    yield from _loses(plain, "udp", None, "UDP loses in every configuration", expected=True)
    udp, tcp = (_median(plain, transport) for transport in ("udp", "tcp"))
    if udp is not None and tcp is not None:
        yield Verdict(
            "figure 5.10",
            "round trips over UDP are shorter than over TCP",
            udp < tcp,
            f"median of the cases' medians {udp:.1f} against {tcp:.1f} ms",
        )


def _loses(
    found: Figures, transport: str, block: bool | None, claim: str, *, expected: bool
) -> Iterator[Verdict]:
    mine = [
        max(each.lost)
        for case, each in found.items()
        if case.transport == transport and block in {None, case.block}
    ]
    if mine:
        holds = all(each > 0 for each in mine) if expected else max(mine) == 0
        some = f"{sum(each > 0 for each in mine)} of {len(mine)} cases lose"
        yield Verdict("figure 5.9", claim, holds, f"{some}, the worst {max(mine):.1%}")


def _median(found: Figures, transport: str) -> float | None:
    medians = [
        each.round_trips[2]
        for case, each in found.items()
        if case.transport == transport and each.round_trips
    ]
    return float(np.median(medians)) if medians else None


def _draw(found: Figures, path: Path) -> None:
    """Losses above, round trips below; TCP left, UDP right."""
    bursts = {case: each for case, each in found.items() if not case.rate_hz}
    figure, axes = plt.subplots(2, 2, figsize=(13, 7), layout="constrained", squeeze=False)
    for column, transport in enumerate(("tcp", "udp")):
        mine = sorted((c for c in bursts if c.transport == transport), key=lambda c: c.name)
        _draw_losses(axes[0][column], mine, bursts)
        _draw_trips(axes[1][column], mine, bursts)
        axes[0][column].set_title(transport.upper(), fontsize=10)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _draw_losses(axis: Axes, cases: list[BurstCase], found: Figures) -> None:
    for place, case in enumerate(cases):
        lost = [100 * each for each in found[case].lost]
        axis.bar(place, float(np.mean(lost)), color=_COLOURS[case.stack], alpha=0.6)
        axis.plot([place] * len(lost), lost, ".", color="black", ms=3)
    axis.set_ylabel("lost (%)")
    axis.set_xticks([])
    axis.spines[["top", "right"]].set_visible(False)


def _draw_trips(axis: Axes, cases: list[BurstCase], found: Figures) -> None:
    for place, case in enumerate(cases):
        spread = found[case].round_trips
        if spread:
            axis.plot([place, place], [spread[0], spread[4]], color="black", lw=0.8)
            axis.bar(place, spread[3] - spread[1], bottom=spread[1], color=_COLOURS[case.stack])
            axis.plot(place, spread[2], "_", color="black", ms=9)
    labels = [f"{c.size} B {c.guarantees}" for c in cases]
    axis.set_xticks(range(len(cases)), labels, rotation=90, fontsize=6)
    axis.set_yscale("log")
    axis.set_ylabel("round trip (ms)")
    axis.spines[["top", "right"]].set_visible(False)
    for stack, colour in _COLOURS.items():
        axis.plot([], [], "s", color=colour, label=TITLES[stack])
    axis.legend(fontsize=7)
