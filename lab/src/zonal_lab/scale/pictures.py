"""Pictures of large networks: what a router needs, and what the model says by design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import new_figure, panels, save_figure
from zonal_lab.scale.world import DESIGNS, LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from zonal_lab.scale.world import Prediction

_COLOURS = {"flat": "#7f7f7f", "bounded": "#d62728", "wide": "#ff7f0e", "coarse": "#1f77b4"}


def draw_router(costs: Mapping[int, Mapping[str, float]], path: Path) -> None:
    """Costs of a declaration and a publication, and latency, by the keys that a router knows."""
    figure = new_figure(11, 3.4)
    sizes = sorted(costs)
    lines: tuple[dict[str, tuple[str, float]], ...] = (
        {"declare_cpu_s": ("a declaration", 1e6), "match_cpu_s": ("a publication", 1e6)},
        {"bytes_a_key": ("memory", 1)},
        {"p50_us": ("p50", 1), "p99_us": ("p99", 1)},
    )
    titles = ("router's CPU (µs)", "memory a key (B)", "latency through it (µs)")
    for axis, title, names in zip(panels(figure, 1, 3), titles, lines, strict=True):
        for name, (label, factor) in names.items():
            axis.plot(sizes, [factor * costs[n][name] for n in sizes], marker="o", label=label)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("keys that the router knows")
        axis.set_title(title, fontsize=10)
        axis.legend(fontsize=8)
    save_figure(figure, path)


def draw_growth(growth: Mapping[str, Mapping[int, Mapping[str, float]]], path: Path) -> None:
    """How long an answer takes, and bytes for each, by the size of index, store and lake."""
    figure = new_figure(9, 3.4)
    names = {"index": "subscriptions", "store": "things", "lake": "rows (bytes a file)"}
    lines = (("ask_us", 1e-3, "an answer (ms)"), ("bytes_each", 1.0, "bytes each"))
    for axis, (key, factor, title) in zip(panels(figure, 1, 2), lines, strict=True):
        for part, rows in growth.items():
            sizes = sorted(rows)
            axis.plot(sizes, [factor * rows[n][key] for n in sizes], marker="o", label=names[part])
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("how many")
        axis.set_title(title, fontsize=10)
        axis.legend(fontsize=8)
    save_figure(figure, path)


def draw_world(predictions: list[Prediction], path: Path) -> None:
    """Keys and cores of the busiest router of each level, by subscribers and design."""
    figure = new_figure(12, 6.4)
    axes = panels(figure, 2, 3, sharex=True)
    for row, (name, title) in enumerate((("known", "keys in its table"), ("cores", "cores"))):
        for column, level in enumerate(LEVELS):
            axis = axes[3 * row + column]
            for design in DESIGNS:
                mine = [each for each in predictions if each.design == design]
                axis.plot(
                    [each.subscribers for each in mine],
                    [max(getattr(each.loads[level], name), 1e-6) for each in mine],
                    marker="o",
                    ms=3,
                    color=_COLOURS[design],
                    label=design,
                )
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_title(f"busiest {level} router: {title}", fontsize=9)
            if name == "cores":
                axis.axhline(1, color="black", lw=0.6, ls="--")
                axis.set_xlabel("subscribers")
    axes[0].legend(fontsize=8)
    save_figure(figure, path)
