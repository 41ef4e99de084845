"""Pictures of the evaluation: the charts of Visotto 2023, chapter 7, with our numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from zonal_lab.experiment import grouped_bars, new_figure, panels, save_figure
from zonal_lab.location.samples import SAMPLES
from zonal_lab.location.techniques import TECHNIQUES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

    from zonal_lab.experiment import Results
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
    figure = new_figure(13, 3.8)
    shown: list[tuple[str, Callable[[SubscriberFigures], float]]] = [
        ("mean latency (ms)", lambda row: row.mean_ms),
        ("throughput (msg/s)", lambda row: row.throughput_hz),
        ("latency standard deviation (ms)", lambda row: row.std_ms),
    ]
    axes = panels(figure, 1, 3)
    for axis, (title, value) in zip(axes, shown, strict=True):
        _bars(axis, summary, condition, value)
        axis.set_title(title, fontsize=10)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8
    )
    figure.suptitle(condition.title, fontsize=11)
    save_figure(figure, path)


def _bars(
    axis: Axes,
    summary: Summary,
    condition: Condition,
    value: Callable[[SubscriberFigures], float],
) -> None:
    rows = {
        name: sorted(found, key=lambda row: row.subscriber)
        for name in TECHNIQUES
        if (found := summary.of(condition, name))
    }
    labels = [f"S{row.subscriber}" for row in next(reversed(rows.values()), [])]
    series = {name: [value(row) for row in mine] for name, mine in rows.items()}
    for bars in grouped_bars(axis, series, labels, COLOURS):
        axis.bar_label(bars, fmt=_short, fontsize=5.5, rotation=90, padding=2)
    axis.margins(y=0.18)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def draw_over_time(
    results: Results, condition: Condition, subscriber: int, path: Path, names: tuple[str, ...]
) -> None:
    """The latency of single messages of one run over time (Visotto 2023, figure 7.10)."""
    figure = new_figure(8, 3.4)
    (axis,) = panels(figure, 1, 1)
    for name in names:
        file = results.folder / SAMPLES / f"{condition.slug}-{name}-0.parquet"
        if not file.exists():
            continue
        table = pq.read_table(file, columns=["subscriber", "sent_us", "received_us"])
        mine = table.filter(table["subscriber"].to_numpy() == subscriber)
        sent, received = mine["sent_us"].to_numpy(), mine["received_us"].to_numpy()
        if len(sent):
            latency = (received - sent) / 1e3
            seconds = (sent - sent.min()) / 1e6
            axis.plot(seconds, latency, ".", ms=1.5, color=COLOURS[name], label=name)
    axis.set_xlabel("sent (s)")
    axis.set_ylabel("latency (ms)")
    axis.set_title(f"single messages at S{subscriber}: {condition.title}", fontsize=10)
    axis.legend(fontsize=8, markerscale=5)
    save_figure(figure, path)


def draw_links(summary: Summary, conditions: list[Condition], path: Path) -> None:
    """What all routers' cards sent together, by condition and technique."""
    figure = new_figure(11, 3.8)
    (axis,) = panels(figure, 1, 1)
    series = {
        name: [
            totals.router_mbit if (totals := summary.totals(condition, name)) else 0.0
            for condition in conditions
        ]
        for name in TECHNIQUES
    }
    grouped_bars(axis, series, [each.slug for each in conditions], COLOURS)
    axis.tick_params(axis="x", labelsize=7, rotation=20)
    axis.set_ylabel("sent by all routers (Mbit/s)")
    figure.legend(loc="outside upper center", ncols=6, fontsize=8)
    save_figure(figure, path)
