"""The pictures of the index benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from zonal_lab.index import draw_geo_or_not, draw_granularity

if TYPE_CHECKING:
    from pathlib import Path

BLUE, ORANGE, GREY, GREEN = "#2b6cb0", "#dd6b20", "#a0aec0", "#2f855a"


def draw(result: dict[str, Any], folder: Path) -> None:
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    _draw_workload(result["workload"], folder / "index-workload.png")
    draw_granularity(result["granularity"], folder / "index-granularity.png")
    draw_geo_or_not(result["geo or not"], folder / "index-geo-or-not.png")
    _draw_growth(result["growth"]["rows"], folder / "index-growth.png")


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_workload(rows: dict[str, Any], path: Path) -> None:
    names = [name for name, row in rows.items() if isinstance(row, dict)]
    figure, axes = plt.subplots(figsize=(8, 3.4))
    left = [0.0] * len(names)
    for phase, colour in (("adds_s", BLUE), ("updates_s", ORANGE), ("gets_s", GREEN)):
        widths = [rows[name][phase] for name in names]
        axes.barh(names, widths, left=left, color=colour, label=phase.removesuffix("_s"))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for position, total in enumerate(left):
        axes.text(max(total, 1.6) + 0.4, position, f"{total:.2f} s", va="center")
    axes.axvline(
        1.6, color="black", linewidth=0.8, linestyle=":", label="the paper's raster, 1.6 s"
    )
    axes.invert_yaxis()
    axes.set_xlim(0, max(left) * 1.15)
    axes.set_xlabel("seconds for 35 k adds, 25 k updates and 50 k gets (one thread)")
    axes.legend(frameon=False, loc="center right")
    _save(figure, path)


def _draw_growth(rows: dict[str, Any], path: Path) -> None:
    counts = [int(count) for count in rows]
    figure, (cost, memory) = plt.subplots(1, 2, figsize=(10, 3.4))
    cost.plot(counts, [row["get_us"] for row in rows.values()], "o-", color=GREEN, label="get")
    cost.plot(counts, [row["add_us"] for row in rows.values()], "o-", color=BLUE, label="add")
    cost.set_xscale("log")
    cost.set_ylim(bottom=0)
    cost.set_xlabel("subscriptions, at a fixed density")
    cost.set_ylabel("µs")
    cost.legend(frameon=False)
    names = [f"{count:,}" for count in counts]
    index_bytes = [row["index_bytes"] for row in rows.values()]
    memory.bar(names, index_bytes, color=BLUE, label="index")
    area_bytes = [row["area_bytes"] for row in rows.values()]
    memory.bar(names, area_bytes, bottom=index_bytes, color=GREY, label="the area itself")
    heights = [a + b for a, b in zip(index_bytes, area_bytes, strict=True)]
    memory.set_ylim(0, max(heights) * 1.3)
    memory.set_xlabel("subscriptions")
    memory.set_ylabel("bytes a subscription")
    memory.legend(frameon=False, ncols=2, loc="upper left")
    _save(figure, path)
