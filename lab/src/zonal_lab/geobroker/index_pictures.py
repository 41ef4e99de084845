"""Pictures of the index experiments: the paper's figures 7 and 8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from pathlib import Path

SHADES = ["#1a365d", "#2b6cb0", "#63b3ed", "#bee3f8"]


def draw_granularity(tables: dict[str, Any], path: Path) -> None:
    """Operations a second by granularity: figure 7."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.8))
    for axes, clients in zip(panels, ("10", "1000"), strict=True):
        table = tables[f"clients {clients}"]
        _grouped_bars(axes, table, SHADES)
        axes.set_title(f"{clients} clients")
        axes.set_xlabel("granularity (fields per degree)")
        axes.set_ylabel("operations a second")
        axes.set_ylim(0, max(max(row.values()) for row in table.values()) * 1.25)
    panels[0].legend(title="updates/gets", frameon=False, ncols=4, loc="upper left")
    _save(figure, path)


def draw_geo_or_not(tables: dict[str, Any], path: Path) -> None:
    """As in the paper: x times faster above the line, x times slower below."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True)
    for axes, title in zip(panels, ("answers collected", "answers remembered"), strict=True):
        signed = {
            name: {count: f if f >= 1 else -1 / f for count, f in row.items()}
            for name, row in tables[title].items()
        }
        _grouped_bars(axes, signed, SHADES)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_yscale("symlog", linthresh=1)
        ticks = [-20, -10, -5, -2, -1, 1, 2, 5, 10]
        axes.set_yticks(ticks, [str(tick) for tick in ticks])
        axes.set_title(f"without geofences: {title}")
        axes.set_xlabel("clients")
    panels[0].set_ylabel("times faster (+) or slower (-)\nwith geofences than without")
    panels[1].legend(title="updates/gets", frameon=False, ncols=2, loc="upper left")
    _save(figure, path)


def _grouped_bars(axes: Any, table: dict[str, dict[str, float]], colours: list[str]) -> None:
    columns = list(next(iter(table.values())))
    width = 0.8 / len(table)
    for number, (name, row) in enumerate(table.items()):
        places = [place + number * width - 0.4 + width / 2 for place in range(len(columns))]
        axes.bar(
            places, [row[column] for column in columns], width, color=colours[number], label=name
        )
    axes.set_xticks(range(len(columns)), columns)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
