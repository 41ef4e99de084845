"""What Barón 2024 says about reliability, and our own figures to reach, judged by the losses."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.experiment import OURS, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.reliability.samples import Figures


def our_figures(bursts: Figures, paced: Figures) -> Iterator[Verdict]:
    """Nothing lost: over TCP with block, and over UDP with recovery at a rate the link carries."""
    yield from _blocked(bursts)
    yield from _recovered(paced)


def _blocked(bursts: Figures) -> Iterator[Verdict]:
    for ours, reliable in itertools.product((True, False), (True, False)):
        blocked = {
            case: max(each.lost)
            for case, each in bursts.items()
            if case.transport == "tcp" and case.block and case.reliable == reliable
            if (case.stack != "zenoh") == ours
        }
        if not blocked:
            continue
        worst = max(blocked, key=blocked.__getitem__)
        who = "our session" if ours else "plain Zenoh"
        yield Verdict(
            OURS,
            f"{who}, TCP with block, {'reliable' if reliable else 'best effort'}: nothing lost",
            blocked[worst] == 0,
            f"{len(blocked)} cases, the worst loses {blocked[worst]:.3%} ({worst.name})",
        )


def _recovered(paced: Figures) -> Iterator[Verdict]:
    for case, each in paced.items():
        if case.transport != "udp" or case.stack != "recovery":
            continue
        others = [
            max(other.lost)
            for key, other in paced.items()
            if key.transport == "udp" and key.link_loss == case.link_loss and key != case
        ]
        link = f", the link losing {case.link_loss:.0%} of all frames" if case.link_loss else ""
        yield Verdict(
            OURS,
            f"recovery on: nothing lost over UDP at a rate that the link carries{link}",
            max(each.lost) == 0,
            f"{max(each.lost):.3%} lost; without recovery up to "
            f"{max(others, default=float('nan')):.2%}",
        )


def published_claims(bursts: Figures) -> Iterator[Verdict]:
    """What Barón 2024 concludes in section 5.3."""
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
        each.round_trips.median
        for case, each in found.items()
        if case.transport == transport and each.round_trips
    ]
    return float(np.median(medians)) if medians else None
