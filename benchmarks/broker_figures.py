"""Pictures of the broker's benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from zonal_lab.geobroker import KINDS

if TYPE_CHECKING:
    from pathlib import Path


def draw(results: dict[str, Any], folder: Path) -> None:
    """Two pictures: throughput beside Mosquitto's, and the use case."""
    if "throughput" in results:
        draw_throughput(results["throughput"], folder)
    if "use_case" in results:
        draw_use_case(results["use_case"], folder)


def draw_throughput(rows: list[dict[str, Any]], folder: Path) -> None:
    figure, axis = plt.subplots(figsize=(9, 4.2))
    places = range(len(rows))
    axis.barh([p + 0.2 for p in places], [r["mosquitto"] for r in rows], 0.38, label="Mosquitto",
              color="#9aa5b1")  # fmt: skip
    axis.barh([p - 0.2 for p in places], [r["zonal"] for r in rows], 0.38, label="zonal broker",
              color="#0b7285")  # fmt: skip
    for place, row in zip(places, rows, strict=True):
        axis.text(row["zonal"], place - 0.2, f"  ×{row['share']}", va="center", fontsize=9)
    axis.set_yticks(list(places), [r["case"] for r in rows])
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlim(left=1000)
    axis.set_xlabel("deliveries per second (256 B, log scale)")
    axis.legend(loc="lower right", frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(folder / "broker-throughput.png", dpi=130)
    plt.close(figure)


def draw_use_case(rows: list[dict[str, Any]], folder: Path) -> None:
    groups = sorted({(r["kind"], r["clients"]) for r in rows})
    names = [f"{n} clients\n{KINDS[kind]}" for kind, n in groups]
    figure, axes = plt.subplots(1, 3, figsize=(11, 4))
    measures = (
        ("relevant_per_cpu_s", "relevant deliveries per CPU second"),
        ("latency_ms", "mean publish latency, ms"),
        ("excess", "excess deliveries"),
    )
    for axis, (measure, title) in zip(axes, measures, strict=True):
        for shift, broker, color in ((-0.2, "mosquitto", "#9aa5b1"), (0.2, "zonal", "#0b7285")):
            values = [
                next(r[measure] for r in rows
                     if (r["kind"], r["clients"]) == g and r["broker"] == broker)
                for g in groups
            ]  # fmt: skip
            label = "zonal broker" if broker == "zonal" else "Mosquitto, clients filter"
            axis.bar([p + shift for p in range(len(groups))], values, 0.38, color=color,
                     label=label)  # fmt: skip
        axis.set_xticks(range(len(groups)), names, fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.set_yscale("symlog" if measure == "excess" else "log")
        axis.set_ylim(bottom=0 if measure == "excess" else 1)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=2, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(folder / "broker-use-case.png", dpi=130)
    plt.close(figure)
