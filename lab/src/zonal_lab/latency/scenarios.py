"""The scenarios of Barón 2024, table 5.1, as emulated hosts: α, β, β with delay, γ and δ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from zonal_lab.emulation import Card, Topology, hosts_in_a_row
from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping

Links = Literal["wifi", "lte", "wired"]
LINKS: tuple[Links, ...] = get_args(Links)
LTE_TRACE = "TMobile-LTE-driving.down"
DELAY_MS = 200.0
_WIFI = "wifi-"


@dataclass(frozen=True)
class Scenario:
    """Hosts in a row, from the one that sends (near) to the one that echoes (far)."""

    name: str
    sign: str
    title: str
    hosts: int
    wireless: tuple[int, ...]
    delay_ms: float = 0.0

    @property
    def middles(self) -> int:
        """How many routers (or brokers) stand between the two ends."""
        return self.hosts - 2

    def topology(self, links: Links) -> Topology:
        """The hosts with their cards; host 1 is the near end, the last one the far end."""
        cards = [self._card(number, links) for number in range(1, self.hosts + 1)]
        return hosts_in_a_row(self.name, cards, self.title)

    def _card(self, number: int, links: Links) -> Card:
        delay = self.delay_ms if number == self.hosts else 0.0
        if links == "wired" or number not in self.wireless:
            return Card(delay_ms=delay)
        out, back = trace_names(number, links)
        return Card(delay_ms=delay, trace_out=out, trace_in=back)


def trace_names(number: int, links: Links) -> tuple[str, str]:
    """The traces of a host's card; every Wi-Fi card has a channel history of its own."""
    if links == "lte":
        return LTE_TRACE, LTE_TRACE
    return f"{_WIFI}{2 * number}", f"{_WIFI}{2 * number + 1}"


def wifi_seed(name: str) -> int:
    """The seed of the made-up Wi-Fi trace of this name."""
    return int(name.removeprefix(_WIFI))


_ALL = (
    Scenario("alpha", "α", "three hosts in one wireless network", 3, (1, 2, 3)),
    Scenario("beta", "β", "a wireless sender; router and far end wired", 3, (1,)),
    Scenario("beta-delay", "β + 200 ms", "β with 200 ms each way on the wire", 3, (1,), DELAY_MS),
    Scenario("gamma", "γ", "a wireless sender, two routers or brokers in a row", 4, (1,)),
    Scenario("delta", "δ", "two wireless peers, nobody between", 2, (1, 2)),
)
SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in _ALL}


def scenario(name: str) -> Scenario:
    """A scenario by name."""
    if name not in SCENARIOS:
        raise PlanError(f"there is no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    return SCENARIOS[name]
