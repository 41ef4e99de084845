"""Zenoh beyond its links, and what filtering by place leaves of that: our own claims on zoning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Claim, Unit
from zonal_lab.location.summary import Condition
from zonal_lab.location.techniques import BASELINES, LOCATION_AWARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from zonal_lab.experiment import Draw
    from zonal_lab.location.rounds import Rounds

CARD_MBIT = 5.0
"""What every router's card carries each way, in the published layouts."""
_FULL, _ROOM = 90.0, 75.0
"""Per cent of that: a link that is full, and one with room."""
_OVERLOADED, _SPARED = 5.0, 0.5
"""Per cent of the messages that are lost: by a network beyond its links, and within them."""
_WHERE = "zoning, overload"


def overload_claims(rounds: Rounds) -> Iterator[Claim]:
    """That the baselines fill the links and lose, and no encoding does, on the same network."""
    for name in BASELINES:
        yield Claim(
            OURS, _WHERE,
            f"{name} fills the links: the busiest router sends at least {_FULL:g} % of the "
            f"{CARD_MBIT:g} Mbit/s that its card carries", "", Unit.SHARE,
            _busiest(rounds, (name,)), least=_FULL,
        )  # fmt: skip
        yield Claim(
            OURS, _WHERE, f"{name} loses at least {_OVERLOADED:g} % of the messages", "",
            Unit.SHARE, _most_lost(rounds, (name,)), least=_OVERLOADED,
        )  # fmt: skip
    yield Claim(
        OURS, _WHERE, f"with no encoding the busiest router sends more than {_ROOM:g} % of that",
        "", Unit.SHARE, _busiest(rounds, LOCATION_AWARE), most=_ROOM,
    )  # fmt: skip
    yield Claim(
        OURS, _WHERE, f"no encoding loses more than {_SPARED:g} % of the messages", "",
        Unit.SHARE, _most_lost(rounds, LOCATION_AWARE), most=_SPARED,
    )  # fmt: skip


def _busiest(rounds: Rounds, techniques: Sequence[str]) -> Callable[[Draw], float]:
    greatest = _greatest(rounds, techniques, "busiest_mbit")
    return lambda draw: 100 * greatest(draw) / CARD_MBIT


def _most_lost(rounds: Rounds, techniques: Sequence[str]) -> Callable[[Draw], float]:
    greatest = _greatest(rounds, techniques, "loss")
    return lambda draw: 100 * greatest(draw)


def _greatest(rounds: Rounds, techniques: Sequence[str], name: str) -> Callable[[Draw], float]:
    """Of some techniques the one whose figure is the greatest, over TCP with full routers."""
    condition = Condition("zoning", "tcp", 100)
    return lambda draw: max(draw(rounds.of(condition, each, name)) for each in techniques)
