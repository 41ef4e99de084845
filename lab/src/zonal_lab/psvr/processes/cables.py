"""A fleet's network: every node in a namespace of its own, every link a pair of virtual cards."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from zonal_lab.emulation import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterable

_PORT = 4000


class CableNet:
    """The namespaces and links of one fleet; needs root."""

    def __init__(self, links: Iterable[tuple[int, int]]) -> None:
        self.number = {
            link: index for index, link in enumerate(sorted({_sorted(*pair) for pair in links}))
        }
        self.spaces: dict[int, Namespace] = {}
        self._closing = ExitStack()

    def address(self, name: int, seen_from: int) -> tuple[str, int]:
        """Where a node listens on its link with a neighbour."""
        index = self.number[_sorted(name, seen_from)]
        return f"10.{index // 256}.{index % 256}.{1 if name < seen_from else 2}", _PORT

    @property
    def everywhere(self) -> tuple[str, int]:
        """Where a node listens to be heard on all its links."""
        return "0.0.0.0", _PORT  # noqa: S104 - inside its own namespace there is nobody else

    def create(self) -> None:
        """Make all namespaces and cards."""
        for name in sorted({name for link in self.number for name in link}):
            self.spaces[name] = self._closing.enter_context(Namespace(f"node {name}"))
        for a, b in self.number:
            card = self._card(a, b)
            self.spaces[a].batch(
                "ip", [f"link add {card} type veth peer name {card} netns {self.spaces[b].path}"]
            )
            for name, other in ((a, b), (b, a)):
                host, _ = self.address(name, other)
                lines = [f"addr add {host}/30 dev {card}", f"link set {card} up"]
                self.spaces[name].batch("ip", lines)

    def set_link(self, a: int, b: int, *, up: bool) -> None:
        """Bring a link up or down at one end, which is enough for both."""
        self.spaces[a].batch("ip", [f"link set {self._card(a, b)} {'up' if up else 'down'}"])

    def _card(self, a: int, b: int) -> str:
        """Both ends of a link have its number in their name, since Linux wants short names."""
        return f"m{self.number[_sorted(a, b)]}"

    def close(self) -> None:
        """Let go of the namespaces; the kernel removes the cards with them."""
        self._closing.close()


def _sorted(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)
