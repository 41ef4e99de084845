"""What is to be burst: sizes × guarantees × transports × stacks, and a paced, lossy part."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator

BurstStack = Literal["zenoh", "session", "recovery"]
STACKS: tuple[BurstStack, ...] = ("zenoh", "session", "recovery")
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
class BurstCase:
    """One way of sending; `rate_hz` of 0 means without pauses."""

    stack: BurstStack
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
        """A name that sorts and serves as a file name."""
        words = ("reliable" if self.reliable else "best-effort", "block" if self.block else "drop")
        pace = "burst"
        if self.rate_hz:
            pace = "lossy" if self.link_loss else "paced"
        return f"{pace}-{self.transport}-{self.size:04}-{'-'.join(words)}-{self.stack}"


@dataclass(frozen=True)
class BurstPlan:
    """A whole evaluation; that of Barón 2024 takes 100 samples of every case."""

    samples: int = 100
    sizes: tuple[int, ...] = tuple(BURSTS)
    transports: tuple[str, ...] = ("tcp", "udp")
    stacks: tuple[BurstStack, ...] = STACKS
    rate_mbit: float = 100.0

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise PlanError(f"a plan needs samples above 0, not {self.samples}")
        if unknown := set(self.sizes) - set(BURSTS):
            raise PlanError(f"unknown sizes {sorted(unknown)}; there are {sorted(BURSTS)}")
        if unknown_stacks := set(self.stacks) - set(STACKS):
            raise PlanError(f"unknown stacks {sorted(unknown_stacks)}; there are {list(STACKS)}")

    def bursts(self) -> Iterator[BurstCase]:
        """The cases of Barón 2024; recovery is shown where Zenoh promises most: reliable, block."""
        for size, transport, stack in product(self.sizes, self.transports, self.stacks):
            for reliable, block in product((False, True), repeat=2):
                if stack != "recovery" or (reliable and block):
                    yield BurstCase(stack, transport, reliable, block, size)

    def paced(self) -> Iterator[BurstCase]:
        """What recovery changes: a rate that the link carries, losing nothing or some frames."""
        for loss, transport, stack in product((0.0, LINK_LOSS), self.transports, self.stacks):
            yield BurstCase(stack, transport, True, True, PACED_SIZE, PACED_HZ, loss)
