"""Pictures of the index experiments: the paper's figures 7 and 8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal_lab.experiment import grouped_bars, new_figure, panels, save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

SHADES = ["#1a365d", "#2b6cb0", "#63b3ed", "#bee3f8"]


def draw_granularity(tables: dict[str, Any], path: Path) -> None:
    """Operations a second by granularity: figure 7."""
    figure = new_figure(11, 3.8)
    axes = panels(figure, 1, 2)
    for axis, clients in zip(axes, ("10", "1000"), strict=True):
        table = tables[f"clients {clients}"]
        _bars(axis, table)
        axis.set_title(f"{clients} clients")
        axis.set_xlabel("granularity (fields per degree)")
        axis.set_ylabel("operations a second")
        axis.set_ylim(0, max(max(row.values()) for row in table.values()) * 1.25)
    axes[0].legend(title="updates/gets", frameon=False, ncols=4, loc="upper left")
    save_figure(figure, path)


def draw_geo_or_not(tables: dict[str, Any], path: Path) -> None:
    """As in the paper's figure 8: x times faster above the line, x times slower below."""
    figure = new_figure(11, 3.8)
    axes = panels(figure, 1, 2, sharey=True)
    for axis, title in zip(axes, ("answers collected", "answers remembered"), strict=True):
        signed = {
            name: {count: f if f >= 1 else -1 / f for count, f in row.items()}
            for name, row in tables[title].items()
        }
        _bars(axis, signed)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_yscale("symlog", linthresh=1)
        ticks = [-20, -10, -5, -2, -1, 1, 2, 5, 10]
        axis.set_yticks(ticks, [str(tick) for tick in ticks])
        axis.set_title(f"without geofences: {title}")
        axis.set_xlabel("clients")
    axes[0].set_ylabel("times faster (+) or slower (-)\nwith geofences than without")
    axes[1].legend(title="updates/gets", frameon=False, ncols=2, loc="upper left")
    save_figure(figure, path)


def _bars(axis: Axes, table: dict[str, dict[str, float]]) -> None:
    series = {name: list(row.values()) for name, row in table.items()}
    labels = list(next(iter(table.values())))
    grouped_bars(axis, series, labels, dict(zip(series, SHADES, strict=False)))
