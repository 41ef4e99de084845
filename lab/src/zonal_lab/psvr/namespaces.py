"""Network namespaces: every node in its own, every link a pair of virtual cards; needs root."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLONE_NEWNET = 0x40000000


def enter(namespace: str) -> None:
    """Move this process into a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/run/netns", namespace).open("rb") as handle:
        if libc.setns(handle.fileno(), _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise MeshError(f"cannot enter namespace {namespace}: {os.strerror(number)}")


def allowed() -> bool:
    """Whether namespaces can be made here (root, `ip`, and a kernel that plays along)."""
    name = f"zonal-probe-{os.getpid()}"
    try:
        made = subprocess.run(  # noqa: S603 — a fixed program, an own name
            ["ip", "netns", "add", name],  # noqa: S607
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return False
    if made.returncode != 0:
        return False
    subprocess.run(["ip", "netns", "del", name], check=True)  # noqa: S603, S607 — likewise
    return True


class NamespaceNet:
    """The namespaces and links of one fleet; names carry the launcher's process id."""

    def __init__(self, links: Iterable[tuple[int, int]]) -> None:
        self.links = sorted({(min(pair), max(pair)) for pair in links})
        self.names = sorted({name for pair in self.links for name in pair})
        self.number = {link: index for index, link in enumerate(self.links)}
        self.prefix = f"zm{os.getpid()}"

    def space(self, name: int) -> str:
        """The namespace of a node."""
        return f"{self.prefix}-{name}"

    def _card(self, name: int, other: int) -> str:
        """A node's card towards another: names are short in Linux, so it is the link's number."""
        return f"m{self.number[min(name, other), max(name, other)]}"

    def address(self, name: int, seen_from: int) -> tuple[str, int]:
        """Where a node listens on its link with a neighbour."""
        index = self.number[min(name, seen_from), max(name, seen_from)]
        return f"10.{index // 256}.{index % 256}.{1 if name < seen_from else 2}", 4000

    def create(self) -> None:
        """Make all namespaces and cards."""
        self._ip([f"netns add {self.space(name)}" for name in self.names])
        pairs = []
        for a, b in self.links:
            left, right = self._card(a, b), self._card(b, a)
            pairs.append(
                f"link add {left} netns {self.space(a)} type veth "
                f"peer name {right} netns {self.space(b)}"
            )
        self._ip(pairs)
        for name in self.names:
            mine = [link for link in self.links if name in link]
            commands = []
            for a, b in mine:
                other = b if name == a else a
                card, (host, _) = self._card(name, other), self.address(name, other)
                commands += [f"addr add {host}/30 dev {card}", f"link set {card} up"]
            self._ip(commands, self.space(name))

    def set_link(self, a: int, b: int, *, up: bool) -> None:
        """Bring a link up or down at one end, which is enough for both."""
        self._ip([f"link set {self._card(a, b)} {'up' if up else 'down'}"], self.space(a))

    def remove(self) -> None:
        """Take everything away that `create` made; the kernel removes the cards with it."""
        for name in self.names:
            if Path("/run/netns", self.space(name)).exists():
                self._ip([f"netns del {self.space(name)}"])

    def _ip(self, commands: list[str], space: str | None = None) -> None:
        where = ["-n", space] if space else []
        done = subprocess.run(  # noqa: S603 — a fixed program, own commands
            ["ip", *where, "-batch", "-"],  # noqa: S607
            input="\n".join(commands) + "\n",
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise MeshError(f"ip failed: {done.stderr.strip()}")
