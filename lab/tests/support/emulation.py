"""Small networks for the lab's tests."""

from __future__ import annotations

from zonal_lab.emulation.topology import Topology, parse_topology


def star(card: str, senders: int = 1) -> Topology:
    """One router with the card under test, and `senders` plain subscribers around it."""
    clients = "".join(
        f"[[subscribers]]\nid = {number}\nrouter = 1\narea = [0, 0, 1, 1]\n"
        for number in range(2, 2 + senders)
    )
    return parse_topology(f"[cards.router]\n{card}\n[[routers]]\nid = 1\n{clients}", "star")
