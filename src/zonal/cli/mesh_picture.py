"""A mesh node for people: its links, its place in tree and ring, and what it has counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from zonal.mesh import MeshStatus

_RING = 48  # characters
_BARS = 10


def status_lines(found: MeshStatus) -> list[str]:
    """A line for each link, then tree, ring, tables and what is counted."""
    lines = [f"node {found.node}"]
    lines += [
        f"  link {link.node:>10}  {link.quality:4.0%}  {'used' if link.used else 'heard':5}  "
        f"{link.address}"
        for link in found.links
    ] or ["  no links: nobody was heard yet"]
    lines += [f"  {name:5} {text}" for name, text in _facts(found)]
    counted = ", ".join(f"{name} {value}" for name, value in found.counters.items() if value)
    lines.append(f"  count {counted or 'nothing yet'}")
    return lines


def _facts(found: MeshStatus) -> list[tuple[str, str]]:
    above = "it is the root" if found.parent == found.node else f"parent {found.parent}"
    below = ", ".join(map(str, found.children)) or "none"
    ring = ", ".join(map(str, found.positions)) or "none yet"
    table = f"{found.channels} channels in {found.rows} rows; {found.wanted} subscribed here"
    return [
        ("tree", f"root {found.root}, depth {found.depth}, {above}, children {below}"),
        ("ring", f"positions {ring} of {found.length}: {found.length // 2 + 1} nodes"),
        ("table", table),
    ]


def live_picture(found: MeshStatus, before: MeshStatus | None, seconds: float) -> RenderableType:
    """The node as a table of its neighbours, the ring, and counters with their rates.

    `before` is the status `seconds` ago, for what happened since.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    links = Table("neighbour", "role", "both ways", "", "where", title=f"mesh node {found.node}")
    for link in found.links:
        role = _role(found, link.node) if link.used else "heard"
        bar = "█" * round(_BARS * link.quality)
        links.add_row(str(link.node), role, f"{link.quality:.0%}", f"{bar:<{_BARS}}", link.address)
    counters = Table("counted", "in all", "a second")
    for name, value in found.counters.items():
        if value:
            rate = (value - before.counters.get(name, 0)) / seconds if before else 0.0
            counters.add_row(name, f"{value:,}", f"{rate:.1f}" if rate else "")
    facts = [Text(f"{name:5} {text}") for name, text in _facts(found)]
    return Group(links, *facts, Text(_ring(found)), counters)


def _role(found: MeshStatus, node: int) -> str:
    if node == found.parent:
        return "parent"
    return "child" if node in found.children else "shortcut"


def _ring(found: MeshStatus) -> str:
    """The ring as a line: where this node stands on it."""
    line = ["·"] * _RING
    for position in found.positions:
        line[position * _RING // max(found.length, 1) % _RING] = "●"
    return f"0 {''.join(line)} {found.length}" if found.positions else "no place on a ring yet"
