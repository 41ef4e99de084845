"""Pictures of the use case: latencies over time (the paper's figures 9 to 11), deliveries, CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zonal_lab.experiment import new_figure, panels, save_figure
from zonal_lab.geobroker.brokers import SYSTEMS, TITLES
from zonal_lab.geobroker.plan import KINDS
from zonal_lab.geobroker.samples import read_latencies

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from zonal_lab.experiment import Results
    from zonal_lab.geobroker.samples import CaseFigures

_COLOURS = {"geo": "#d62728", "no-geo": "#ff7f0e", "mosquitto": "#7f7f7f", "federated": "#1f77b4"}
_OPERATIONS = {
    "connect": "#9467bd",
    "ping": "#8c564b",
    "subscribe": "#2ca02c",
    "publish": "#d62728",
    "delivery": "#1f77b4",
}


def draw_over_time(results: Results, rows: list[CaseFigures], path: Path) -> None:
    """Mean latency of every operation by second, one panel a system."""
    figure = new_figure(3.6 * len(rows), 3.4)
    axes = panels(figure, 1, len(rows), sharey=True)
    for axis, row in zip(axes, rows, strict=True):
        table = read_latencies(results, row)
        names = table["operation"].to_numpy(zero_copy_only=False)
        for name, colour in _OPERATIONS.items():
            mine = names == name
            _line(
                axis,
                table["begun_ms"].to_numpy()[mine] / 1000,
                table["took_us"].to_numpy()[mine] / 1000,
                name,
                colour,
            )
        axis.set_yscale("log")
        axis.set_xlabel("second")
        axis.set_title(TITLES[row.system], fontsize=9)
    axes[0].set_ylabel("mean latency (ms)")
    axes[-1].legend(fontsize=7)
    figure.suptitle(f"{rows[0].clients} {KINDS[rows[0].kind]} clients", fontsize=10)
    save_figure(figure, path)


def _line(axis: Axes, seconds: np.ndarray, took: np.ndarray, name: str, colour: str) -> None:
    if not len(seconds):
        return
    # Connecting came before the journey began: a mark at the left edge is all it needs.
    bins = np.maximum(np.floor(seconds), -1).astype(int) + 1
    counts = np.bincount(bins)
    sums = np.bincount(bins, weights=took)
    there = np.flatnonzero(counts)
    style = "o" if name == "connect" else "-"
    axis.plot(there - 1, sums[there] / counts[there], style, color=colour, label=name, lw=1, ms=3)


def draw_growth(rows: list[CaseFigures], path: Path) -> None:
    """Publish latency, deliveries a second and processor use by the number of clients."""
    figure = new_figure(12, 3.4)
    axes = panels(figure, 1, 3)
    for system in SYSTEMS:
        mine = sorted(
            (row for row in rows if row.system == system and row.kind == "travel"),
            key=lambda row: row.clients,
        )
        if not mine:
            continue
        clients = [row.clients for row in mine]
        style: dict[str, Any] = {"color": _COLOURS[system], "marker": "o", "label": TITLES[system]}
        axes[0].plot(clients, [row.latencies["publish"]["mean"] for row in mine], **style)
        axes[1].plot(clients, [row.deliveries / row.seconds for row in mine], **style)
        axes[2].plot(clients, [row.broker_cpu_s / row.seconds for row in mine], **style)
    for axis, title in zip(
        axes,
        ("mean publish latency (ms)", "deliveries a second", "broker: cores used"),
        strict=True,
    ):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("clients")
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    axes[0].legend(fontsize=7)
    save_figure(figure, path)
