"""Box plots of round trips, drawn as Barón 2024 draws them (figures 5.3 to 5.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import COLOURS, new_figure, panels, save_figure
from zonal_lab.latency.scenarios import SCENARIOS
from zonal_lab.latency.stacks import stack
from zonal_lab.latency.summary import THEIRS

if TYPE_CHECKING:
    from pathlib import Path

    from zonal_lab.latency.summary import LatencySummary


def draw_scenario(summary: LatencySummary, scenario: str, path: Path) -> None:
    """Quartiles, median, mean (circle), whiskers over 99 % of the echoes; × is Barón 2024."""
    rows = summary.stacks(scenario)
    figure = new_figure(max(5.0, 1.05 * len(rows)), 4.2)
    (axis,) = panels(figure, 1, 1)
    boxes = [
        {
            "med": row.median,
            "q1": row.quartiles[0],
            "q3": row.quartiles[1],
            "whislo": row.range99[0],
            "whishi": row.range99[1],
            "mean": row.mean,
            "fliers": [],
        }
        for row in rows
    ]
    mean = {"marker": "o", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 5}
    drawn = axis.bxp(boxes, showmeans=True, meanprops=mean, patch_artist=True, widths=0.6)
    for number, row in enumerate(rows):
        family, box = stack(row.stack).family, drawn["boxes"][number]
        box.set_facecolor(COLOURS["ours" if family == "session" else family])
        box.set_alpha(0.55)
        drawn["medians"][number].set_color("black")
    known = {
        at: THEIRS[scenario, row.stack]
        for at, row in enumerate(rows, 1)
        if (scenario, row.stack) in THEIRS
    }
    axis.plot(
        list(known), list(known.values()), "x", color="black", ms=7, label="Barón 2024, median"
    )
    axis.set_xticks(range(1, len(rows) + 1), [row.stack.replace("-", "\n", 1) for row in rows])
    axis.tick_params(axis="x", labelsize=8)
    axis.set_yscale("log")
    axis.set_ylabel("round trip (ms)")
    axis.set_title(f"{SCENARIOS[scenario].sign}: {SCENARIOS[scenario].title}", fontsize=10)
    axis.legend(fontsize=8, loc="upper left")
    save_figure(figure, path)
