"""Pictures of an evaluation: the charts of Visotto 2023, chapter 7, with our numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq

from zonal_lab.location.techniques import TECHNIQUES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

    from zonal_lab.experiment.results import Results
    from zonal_lab.location.summary import Condition, SubscriberFigures, Summary

COLOURS = {
    "TOPIC": "#7f7f7f",
    "PAYLOAD": "#bcbd22",
    "json": "#1f77b4",
    "mgrs": "#2ca02c",
    "bloom": "#ff7f0e",
    "s2": "#d62728",
}


def draw_condition(summary: Summary, condition: Condition, path: Path) -> None:
    """Latency, throughput and deviation at the measured subscribers, one bar a technique."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    panels: list[tuple[str, Callable[[SubscriberFigures], float]]] = [
        ("mean latency (ms)", lambda row: row.mean_ms),
        ("throughput (msg/s)", lambda row: row.throughput_hz),
        ("latency standard deviation (ms)", lambda row: row.std_ms),
    ]
    for axis, (title, value) in zip(axes, panels, strict=True):
        _bars(axis, summary, condition, value)
        axis.set_title(title, fontsize=10)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8
    )
    figure.suptitle(condition.title, fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bars(
    axis: Axes,
    summary: Summary,
    condition: Condition,
    value: Callable[[SubscriberFigures], float],
) -> None:
    present = [name for name in TECHNIQUES if summary.of(condition, name)]
    width = 0.8 / max(len(present), 1)
    subscribers: list[int] = []
    for index, name in enumerate(present):
        rows = sorted(summary.of(condition, name), key=lambda row: row.subscriber)
        subscribers = [row.subscriber for row in rows]
        places = np.arange(len(rows)) + (index - (len(present) - 1) / 2) * width
        bars = axis.bar(
            places, [value(row) for row in rows], width, color=COLOURS[name], label=name
        )
        axis.bar_label(bars, fmt=_short, fontsize=5.5, rotation=90, padding=2)
    axis.set_xticks(range(len(subscribers)), [f"S{each}" for each in subscribers])
    axis.margins(y=0.18)
    axis.spines[["top", "right"]].set_visible(False)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def draw_over_time(
    results: Results, condition: Condition, subscriber: int, path: Path, names: tuple[str, ...]
) -> None:
    """The latency of single messages of one run over time (Visotto 2023, figure 7.10)."""
    figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
    for name in names:
        file = results.folder / "samples" / f"{condition.slug}-{name}-0.parquet"
        if not file.exists():
            continue
        table = pq.read_table(file, columns=["subscriber", "sent_ns", "received_ns"])
        mine = table.filter(table["subscriber"].to_numpy() == subscriber)
        sent, received = mine["sent_ns"].to_numpy(), mine["received_ns"].to_numpy()
        if len(sent):
            latency = (received - sent) / 1e6
            seconds = (sent - sent.min()) / 1e9
            axis.plot(seconds, latency, ".", ms=1.5, color=COLOURS[name], label=name)
    axis.set_xlabel("sent (s)")
    axis.set_ylabel("latency (ms)")
    axis.set_title(f"single messages at S{subscriber}: {condition.title}", fontsize=10)
    axis.legend(fontsize=8, markerscale=5)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_links(summary: Summary, conditions: list[Condition], path: Path) -> None:
    """What all routers' cards sent together, by condition and technique."""
    figure, axis = plt.subplots(figsize=(11, 3.8), layout="constrained")
    width = 0.8 / len(TECHNIQUES)
    for index, name in enumerate(TECHNIQUES):
        totals = [summary.totals(condition, name) for condition in conditions]
        values = [each.router_mbit if each else 0.0 for each in totals]
        places = np.arange(len(conditions)) + (index - (len(TECHNIQUES) - 1) / 2) * width
        axis.bar(places, values, width, color=COLOURS[name], label=name)
    axis.set_xticks(range(len(conditions)), [each.slug for each in conditions], rotation=20)
    axis.tick_params(axis="x", labelsize=7)
    axis.set_ylabel("sent by all routers (Mbit/s)")
    figure.legend(loc="outside upper center", ncols=6, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
