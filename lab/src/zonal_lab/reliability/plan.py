"""What is to be sent: sizes × guarantees × transports × stacks, and a paced, lossy part."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, get_args

from zonal_lab.errors import PlanError
from zonal_lab.experiment import require_known

if TYPE_CHECKING:
    from collections.abc import Iterator

ReliabilityStack = Literal["zenoh", "session", "recovery"]
STACKS: tuple[ReliabilityStack, ...] = get_args(ReliabilityStack)
TRANSPORTS = ("tcp", "udp")
TITLES: dict[str, str] = {
    "zenoh": "Zenoh",
    "session": "zonal session",
    "recovery": "zonal session with recovery",
}
# Five megabytes, as Barón 2024 cuts them: messages by their size in bytes.
BURSTS = {1000: 5000, 500: 10_000, 100: 50_000}
# The paced part: a rate that the link carries with ease, and a link that loses frames.
PACED_HZ, PACED_COUNT, PACED_SIZE, LINK_LOSS = 2000.0, 4000, 1000, 0.01


@dataclass(frozen=True)
class ReliabilityCase:
    """One way of sending; `rate_hz` of 0 means a burst, without pauses."""

    stack: ReliabilityStack
    transport: str
    reliable: bool
    block: bool
    size: int
    rate_hz: float = 0.0
    link_loss: float = 0.0

    @property
    def count(self) -> int:
        """How many messages."""
        return PACED_COUNT if self.rate_hz else BURSTS[self.size]

    @property
    def guarantees(self) -> str:
        """In Zenoh's words."""
        return (
            f"{'reliable' if self.reliable else 'best effort'}, {'block' if self.block else 'drop'}"
        )

    @property
    def name(self) -> str:
        """Pace, transport, size, guarantees and stack."""
        words = ("reliable" if self.reliable else "best-effort", "block" if self.block else "drop")
        pace = "burst"
        if self.rate_hz:
            pace = "lossy" if self.link_loss else "paced"
        return f"{pace}-{self.transport}-{self.size:04}-{'-'.join(words)}-{self.stack}"


@dataclass(frozen=True)
class ReliabilityPlan:
    """A whole evaluation; that of Barón 2024 takes 100 samples of every burst.

    Without sizes there are no bursts, the paced part alone. The two ends are peers of one another,
    or clients of a `zenohd` on a host between them.
    """

    samples: int = 100
    paced_samples: int = 20
    sizes: tuple[int, ...] = tuple(BURSTS)
    transports: tuple[str, ...] = TRANSPORTS
    stacks: tuple[ReliabilityStack, ...] = STACKS
    rate_mbit: float = 100.0
    routers: Literal["none", "zenohd"] = "none"
    seed: int = 1

    def __post_init__(self) -> None:
        least = min(self.samples, self.paced_samples)
        if least < 1:
            raise PlanError(f"a plan needs samples above 0, not {least}")
        if self.sizes:
            require_known("size", self.sizes, tuple(BURSTS))
        require_known("transport", self.transports, TRANSPORTS)
        require_known("stack", self.stacks, STACKS)

    def cases(self) -> Iterator[ReliabilityCase]:
        """Bursts on a clean wire, then the paced part, also on one that loses frames."""
        yield from self.bursts()
        yield from self.paced()

    def samples_of(self, case: ReliabilityCase) -> int:
        """How often a case is sent."""
        return self.paced_samples if case.rate_hz else self.samples

    def bursts(self) -> Iterator[ReliabilityCase]:
        """The cases of Barón 2024; recovery is shown where Zenoh promises most: reliable, block."""
        for size, transport, stack in product(self.sizes, self.transports, self.stacks):
            for reliable, block in product((False, True), repeat=2):
                if stack != "recovery" or (reliable and block):
                    yield ReliabilityCase(stack, transport, reliable, block, size)

    def paced(self) -> Iterator[ReliabilityCase]:
        """What recovery changes: a rate that the link carries, losing nothing or some frames."""
        for loss, transport, stack in product((0.0, LINK_LOSS), self.transports, self.stacks):
            yield ReliabilityCase(stack, transport, True, True, PACED_SIZE, PACED_HZ, loss)
