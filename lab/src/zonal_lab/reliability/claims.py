"""What Barón 2024 says about reliability, and our own figures to reach, as functions of samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.reliability.plan import LINK_LOSS
from zonal_lab.reliability.samples import read_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal_lab.experiment import Draw, Results
    from zonal_lab.reliability.plan import ReliabilityCase
    from zonal_lab.reliability.samples import Figures

THESIS = "Barón 2024"
_HARDLY = 0.01
"""Per cent: so much counts as nothing lost."""


def claims(results: Results) -> Iterator[Claim]:
    """All claims, ours first; a round is one sample of a case."""
    found = read_figures(results)
    yield from _ours(found)
    yield from _published(found)


def _lost(
    found: Figures, wanted: Callable[[ReliabilityCase], bool], pick: Callable[..., float]
) -> Callable[[Draw], float]:
    """The least or most that any of these cases loses, in per cent."""
    series = [each.lost for case, each in found.items() if wanted(case)]

    def figure(draw: Draw) -> float:
        if not series:
            raise LookupError("no such case")
        return 100 * pick(draw(each) for each in series)

    return figure


def _ours(found: Figures) -> Iterator[Claim]:
    for guarantee, reliable in (("reliable", True), ("best effort", False)):
        for who, stacks in (("our session", ("session", "recovery")), ("plain Zenoh", ("zenoh",))):
            yield Claim(
                OURS, "reliability, bursts",
                f"{who}, TCP with block, {guarantee}: nothing lost in any case", "", Unit.SHARE,
                _lost(found, lambda c, s=stacks, r=reliable: _burst(c, "tcp", block=True)  # type: ignore[misc] # its own
                      and c.stack in s and c.reliable == r, max), most=0,
            )  # fmt: skip
    for loss in (LINK_LOSS, 0.0):
        yield Claim(
            OURS, "reliability, paced",
            f"with recovery nothing lost over UDP at a rate that the link carries, which loses "
            f"{loss:.0%} of all frames", "", Unit.SHARE,
            _lost(found, lambda c, lost=loss: bool(c.rate_hz) and c.transport == "udp"  # type: ignore[misc] # its own
                  and c.stack == "recovery" and c.link_loss == lost, max), most=0,
        )  # fmt: skip


def _burst(case: ReliabilityCase, transport: str, *, block: bool | None = None) -> bool:
    return not case.rate_hz and case.transport == transport and block in {None, case.block}


def _published(found: Figures) -> Iterator[Claim]:
    plain = {case: each for case, each in found.items() if case.stack == "zenoh"}
    yield Claim(
        THESIS, "5.3, figure 5.9",
        "TCP with block loses nothing, best effort or reliable, in any case", "0 %", Unit.SHARE,
        _lost(plain, lambda c: _burst(c, "tcp", block=True), max), most=0,
    )  # fmt: skip
    yield Claim(
        THESIS, "5.3, figure 5.9", "drop loses messages even over TCP, in every case", "> 0 %",
        Unit.SHARE, _lost(plain, lambda c: _burst(c, "tcp", block=False), min), least=_HARDLY,
    )  # fmt: skip
    yield Claim(
        THESIS, "5.3, figure 5.9", "UDP loses in every configuration", "> 0 %", Unit.SHARE,
        _lost(plain, lambda c: _burst(c, "udp"), min), least=_HARDLY,
    )  # fmt: skip
    yield Claim(
        THESIS, "5.3, figure 5.10",
        "the median round trip over UDP is shorter than over TCP, in every configuration",
        "shorter", Unit.CHANGE, lambda draw: _udp_against_tcp(draw, plain), most=0, neutral=0,
    )  # fmt: skip


def _udp_against_tcp(draw: Draw, plain: Figures) -> float:
    """The largest change of any size and guarantees."""
    bursts = {case: each.medians_ms for case, each in plain.items() if not case.rate_hz}
    changes = [
        change(draw(mine), draw(bursts[replace(case, transport="tcp")]))
        for case, mine in bursts.items()
        if case.transport == "udp" and replace(case, transport="tcp") in bursts
    ]
    if not changes:
        raise LookupError("no pair of TCP and UDP")
    return max(changes)
