"""The picture of the pipeline's benchmark."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "pipeline-bench.png"


def draw(results: dict[str, dict[str, float]]) -> None:
    panels: list[tuple[str, dict[str, float], float | None, str]] = []
    if "stream" in results:
        one = results["stream"]
        values = {
            "log→silver→gold": one["rows_per_s"],
            "Delta stream,\none aggregate": one["native_rows_per_s"],
        }
        panels.append(("rows/s on local[2]", values, 100_000, "log"))
    if "recorder" in results:
        values = {"recorder": results["recorder"]["messages_per_s"]}
        panels.append(("messages/s through a router", values, 50_000, "linear"))
    if "deliveries" in results:
        one = results["deliveries"]
        values = {
            "cell join": one["join_s"],
            "GeoPandas,\none process": one["geopandas_s_extrapolated"],
            "cross join": one["cross_join_s_extrapolated"],
        }
        panels.append(("deliveries: seconds", values, None, "log"))
    if "history" in results:
        one = results["history"]
        values = {
            "area + hour": one["query_s"],
            "DuckDB": one["duckdb_s"],
            "full scan": one["full_scan_s"],
        }
        panels.append(("history: seconds", values, None, "log"))
    if "cluster" in results:
        one = results["cluster"]
        values = {"one executor": one["one_s"], "two": one["two_s"]}
        panels.append(("bronze to silver: seconds", values, None, "linear"))
    size = (3.2 * len(panels), 3.2)
    figure, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for axis, (title, values, target, scale) in zip(axes[0], panels, strict=True):
        bars = axis.bar(list(values), list(values.values()), color="#4c78a8", width=0.6)
        axis.bar_label(
            bars,
            [f"{value:,.3g}" if value < 100 else f"{value:,.0f}" for value in values.values()],
            fontsize=8,
        )
        if target:
            axis.axhline(target, color="#e45756", linestyle="--", linewidth=1)
            axis.text(-0.78, target, "target", color="#e45756", fontsize=8, va="bottom")
        axis.set_xlim(-0.8, len(values) - 0.2)
        axis.set_yscale(scale)
        axis.minorticks_off()
        axis.margins(y=0.15)
        axis.set_title(title, fontsize=10)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=120)
    plt.close(figure)
