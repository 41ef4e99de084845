"""What `zonal broker status` shows: figures, clients, and where they are."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from zonal.cli.output import console

WIDTH, HEIGHT = 60, 16
SHOWN = 20
DENSITY = "·•●"
FIGURES = (
    "clients/connected", "clients/disconnected", "connections/total", "connections/refused",
    "subscriptions/count", "retained messages/count", "store/messages/count",
    "store/messages/bytes", "messages/received", "messages/sent", "publish/messages/dropped",
    "publish/messages/refused", "connections/slowed",
)  # fmt: skip


def show(status: dict[str, Any]) -> None:
    """Prints a broker's status for people."""
    out = console()
    out.print(f"zonal {status['version']}, up for {status['uptime_s']:,} s")
    figures = Table(show_header=False, box=None)
    for name in FIGURES:
        figures.add_row(name, f"{status['figures'][name]:,}")
    out.print(figures)
    clients = status["clients"]
    table = Table("client", "user", "from", "at", "filters", "queued", "under way", "KiB")
    for each in clients[:SHOWN]:
        at = each["location"]
        table.add_row(
            repr(each["client"])[1:-1],
            each["user"] or "",
            each["address"] or "absent",
            "" if at is None else f"{at[0]:.4f},{at[1]:.4f}",
            str(each["subscriptions"]),
            str(each["queued"]),
            str(each["under_way"]),
            str(each["bytes"] // 1024),
        )
    out.print(table)
    if len(clients) > SHOWN:
        out.print(f"… and {len(clients) - SHOWN:,} more")
    places = [each["location"] for each in clients if each["location"] is not None]
    for line in draw_map(places):
        out.print(line, markup=False, highlight=False)


def draw_map(places: list[tuple[float, float]]) -> list[str]:
    """Points as a picture of characters, north up, as large as they need; none without points."""
    if not places:
        return []
    south, north = min(lat for lat, _ in places), max(lat for lat, _ in places)
    west, east = min(lon for _, lon in places), max(lon for _, lon in places)
    counts: dict[tuple[int, int], int] = {}
    for lat, lon in places:
        row = 0 if north == south else round((north - lat) / (north - south) * (HEIGHT - 1))
        column = 0 if east == west else round((lon - west) / (east - west) * (WIDTH - 1))
        counts[row, column] = counts.get((row, column), 0) + 1
    edge = "─" * WIDTH
    lines = [f"┌{edge}┐ {north:.4f} N"]
    for row in range(HEIGHT):
        signs = "".join(
            DENSITY[min(counts[row, column], len(DENSITY)) - 1] if (row, column) in counts else " "
            for column in range(WIDTH)
        )
        lines.append(f"│{signs}│")
    lines.append(f"└{edge}┘ {south:.4f} N, {west:.4f} to {east:.4f} E")
    return lines
