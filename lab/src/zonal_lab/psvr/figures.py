"""Pictures and sentences from the rows of a sweep, or from stored ones.

A sentence says what the paper states, and what the rows say.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import mean, median, quantiles
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from zonal_lab.psvr.sweep import Row

MADE_UP = "made-up.k7"
"""The name of a trace that is none."""

_OURS, _THEIRS, _WIDE, _GREY = "#1b4965", "#d1495b", "#5fa8d3", "#99a3ab"


def _figure(width: float = 9.0, height: float = 4.6) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def gain(ours: float, theirs: float) -> float:
    """100 B/A − 100: per cent of messages more than the other approach."""
    return 100 * ours / theirs - 100 if theirs else 0.0


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some fields."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return dict(sorted(found.items()))


def gain_of(rows: Sequence[Row], ours: str, theirs: str) -> float:
    """The gain over all publications of some rows."""
    return gain(sum(r[ours] for r in rows), sum(r[theirs] for r in rows))


def figure_7(rows: Sequence[Row], path: Path) -> str:
    """Message gain over T_D and T_S by number of subscribers, one line per n."""
    figure = _figure(11)
    for axes, other in zip(figure.subplots(1, 2, sharey=True), ("td", "ts"), strict=True):
        for number, ((n,), part) in enumerate(grouped(rows, "n").items()):
            by_s = grouped(part, "s")
            for scheme, style in (("psvr", "-"), ("hub", ":")):
                axes.plot(
                    [s for (s,) in by_s],
                    [gain_of(group, scheme, other) for group in by_s.values()],
                    marker="o",
                    markersize=3,
                    linestyle=style,
                    color=f"C{number}",
                    label=f"n = {n}" if style == "-" else None,
                )
        axes.axhline(8, color=_THEIRS, linestyle="--", linewidth=0.8)
        axes.axhline(0, color=_GREY, linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("subscribers s (dotted: all shortcuts, well-linked root)")
        axes.set_title(f"against {'T_D (a tree per publisher)' if other == 'td' else 'T_S'}")
        axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("message gain of PSVR in %")
    figure.savefig(path, dpi=110)
    few = [r for r in rows if r["n"] <= 100 and 10 <= r["s"] < r["n"]]
    told = []
    for scheme, name in (
        ("psvr", "shortcuts as in the paper's figure 4"),
        ("wide", "all shortcuts"),
        ("hub", "all shortcuts and a well-linked root"),
    ):
        parts = [f"{tree} {_cells(few, scheme, key)}" for key, tree in _READINGS]
        told.append(f"{name}: {'; '.join(parts)}")
    return (
        "Paper: below 8 % more messages than T_D for n ≤ 100 and s ≥ 10. Ours, mean of each cell "
        "(n, p, s < n): "
        + ". ".join(told)
        + f". The older algorithm needs {gain_of(few, 'older', 'td'):.0f} % more than T_D."
    )


_READINGS = (
    ("td_any", "against T_D with any of the possible parents"),
    ("td", "against T_D with the parent first reached"),
)


def _cells(rows: Sequence[Row], scheme: str, other: str) -> str:
    """The mean over all cells, the worst cell, and how many are below the paper's 8 %."""
    found = {k: gain_of(group, scheme, other) for k, group in grouped(rows, "n", "p", "s").items()}
    worst = max(found, key=lambda key: found[key])
    below = sum(value < 8 for value in found.values())
    n, p, s = worst
    return (
        f"{mean(found.values()):.1f} %, at worst {found[worst]:.1f} % "
        f"(n = {n}, p = {p:g}, s = {s}), {below} of {len(found)} cells below 8 %"
    )


def figure_8(rows: Sequence[Row], path: Path) -> str:
    """Delivery by density, PSVR beside Shen."""
    figure = _figure()
    axes = figure.subplots()
    totals = {}
    for (scheme,), part in grouped(rows, "scheme").items():
        by_side = grouped(part, "side")
        density = [1000 * part[0]["n"] / side**2 for (side,) in by_side]
        shares = [
            100 * sum(r["got"] for r in group) / sum(r["wanted"] for r in group)
            for group in by_side.values()
        ]
        totals[scheme] = 100 * sum(r["got"] for r in part) / sum(r["wanted"] for r in part)
        colour = _OURS if scheme == "psvr" else _THEIRS
        label = "PSVR" if scheme == "psvr" else "Shen"
        axes.plot(density, shares, marker="o", color=colour, label=label)
    axes.set_ylim(0, 102)
    axes.set_xlabel("nodes per 1,000 m²")
    axes.set_ylabel("publications delivered in %")
    axes.legend()
    figure.savefig(path, dpi=110)
    return (
        "Paper: throughput of the two is close to identical. "
        f"Ours, radio model without acknowledgement: PSVR {totals.get('psvr', 0):.1f} %, "
        f"Shen {totals.get('shen', 0):.1f} %."
    )


def figure_9(rows: Sequence[Row], path: Path) -> str:
    """Histogram of hop distances with one subscriber."""
    counts: dict[str, dict[int, int]] = {}
    for name in ("psvr", "shen", "wide"):
        counts[name] = defaultdict(int)
        for row in rows:
            for hops, count in row[name].items():
                counts[name][int(hops)] += count
    means = {n: sum(h * c for h, c in k.items()) / sum(k.values()) for n, k in counts.items()}
    figure = _figure()
    axes = figure.subplots()
    most = max(max(known) for known in counts.values())
    for shift, name, colour, label in (
        (-0.2, "psvr", _OURS, "PSVR"),
        (0.2, "shen", _THEIRS, "Shen"),
    ):
        total = sum(counts[name].values())
        heights = [100 * counts[name].get(h, 0) / total for h in range(1, most + 1)]
        axes.bar([h + shift for h in range(1, most + 1)], heights, 0.4, color=colour, label=label)
        axes.axvline(means[name], color=colour, linestyle="--", linewidth=1)
    axes.set_xlabel("hops from publisher to subscriber (dashed: mean)")
    axes.set_ylabel("routes in %")
    axes.legend()
    figure.savefig(path, dpi=110)
    short = {
        n: 100 * sum(c for h, c in k.items() if h <= 3) / sum(k.values()) for n, k in counts.items()
    }
    return (
        "Paper: more routes of up to 3 hops and a shorter mean than Shen. "
        f"Ours: {short['psvr']:.0f} % of the routes against {short['shen']:.0f} % have up to 3 hops"
        f"; mean {means['psvr']:.2f} against {means['shen']:.2f} "
        f"({means['wide']:.2f} with wide shortcuts)."
    )


def figure_10(rows: Sequence[Row], path: Path) -> str:
    """Messages saved against Shen by density, as boxes."""
    figure = _figure(11)
    models = grouped([r for r in rows if r["shen"]], "model", "max_links")
    ends = []
    for axes, ((model, most), part) in zip(
        figure.subplots(1, len(models), squeeze=False)[0], models.items(), strict=True
    ):
        key = "side" if model == "radio" else "range"
        groups = list(grouped(part, key).items())  # by range; the wider the side, the sparser
        if model == "radio":
            groups.reverse()
        saved = [[-gain(r["psvr"], r["shen"]) for r in group] for _, group in groups]
        axes.boxplot(saved, tick_labels=[
            f"{value:g}\n{mean(r['degree'] for r in group):.1f}" for (value,), group in groups
        ])  # fmt: skip
        axes.axhline(0, color=_GREY, linewidth=0.8)
        unit = "side in m" if model == "radio" else "range"
        axes.set_xlabel(f"{unit}, and links per node")
        name = f"radio, C_N = {most}" if model == "radio" else "points in the unit square"
        axes.set_title(name)
        ends.append((name, median(saved[0]), median(saved[-1])))
    figure.axes[0].set_ylabel("messages saved against Shen in %")
    figure.savefig(path, dpi=110)
    told = "; ".join(f"{model}: {low:.0f} % to {high:.0f} %" for model, low, high in ends)
    return (
        f"Paper: the denser the network, the more is saved against Shen. "
        f"Ours, median saving from the sparsest to the densest: {told}."
    )


def figure_11(tests: Sequence[Row], long_runs: Sequence[Row], path: Path) -> str:
    """Delivery of real processes as boxes, and over time on the trace."""
    figure = _figure(11)
    left, right = figure.subplots(1, 2)
    by_n = grouped(tests, "n", "acknowledged")
    shares = {key: [100 * r["got"] / r["reachable"] for r in group] for key, group in by_n.items()}
    if shares:
        left.boxplot(
            list(shares.values()), tick_labels=[f"{n}{' ack' if a else ''}" for n, a in shares]
        )
    left.axhspan(80, 90, color=_GREY, alpha=0.2)
    left.set_ylim(0, 102)
    left.set_xlabel("real processes (grey: the paper's 80 to 90 %)")
    left.set_ylabel("publications delivered in %")
    for (n, channel, ack), part in grouped(long_runs, "n", "radio", "acknowledged").items():
        right.plot(
            [r["minutes"] / 60 for r in part],
            [100 * r["got"] / max(r["possible"], 1) for r in part],
            linewidth=1,
            linestyle="-" if ack else ":",
            label=f"{n}, {channel}{', ack' if ack else ''}",
        )
    right.set_ylim(0, 102)
    right.set_xlabel("hours of simulated time")
    if long_runs:
        right.legend(fontsize=7)
    figure.savefig(path, dpi=110)
    told = []
    for name in sorted({row["trace"] for row in (*tests, *long_runs)}):
        links = "links made up by chance" if name == MADE_UP else f"the recorded links of {name}"
        fleets, simulated = ([r for r in rows if r["trace"] == name] for rows in (tests, long_runs))
        said = (_processes(fleets) if fleets else "", _simulated(simulated) if simulated else "")
        told.append(f"on {links}: {' '.join(filter(None, said))}")
    return f"Paper: mostly 80 to 90 %. Ours, {' Ours, '.join(told)}"


def _processes(tests: Sequence[Row]) -> str:
    """Delivery of processes, how much of it the cuts left possible, and how much came late."""
    boxes = "; ".join(
        f"{n} processes{' with acknowledgement' if ack else ''} "
        f"{mean(100 * r['got'] / r['reachable'] for r in group):.1f} %"
        for (n, ack), group in grouped(tests, "n", "acknowledged").items()
    )
    wanted, reachable = (sum(r[key] for r in tests) for key in ("wanted", "reachable"))
    late, got = (sum(r[key] for r in tests if r["acknowledged"]) for key in ("late", "got"))
    share = 100 * late / got if got else 0.0
    return (
        f"{boxes}. With links cut, {reachable:,} of {wanted:,} deliveries stayed possible; with "
        f"acknowledgement {share:.1f} % came after more than a second."
    )


def _simulated(rows: Sequence[Row]) -> str:
    """Delivery in long runs, and what the best way between any two nodes would give."""
    told = []
    for (n, channel, ack), part in grouped(rows, "n", "radio", "acknowledged").items():
        share = 100 * sum(r["got"] for r in part) / max(sum(r["possible"] for r in part), 1)
        best = 100 * sum(r["bound"] for r in part) / max(sum(r["possible"] for r in part), 1)
        told.append(
            f"{n} nodes, {channel}, "
            + (
                f"with ack {share:.1f} %"
                if ack
                else f"without {share:.1f} % of at best {best:.1f} %"
            )
        )
    return "Simulated: " + "; ".join(told) + "."


def recovery_figure(rows: Sequence[Row], path: Path) -> str:
    """Rounds to recovery by n, as boxes with the worst case."""
    figure = _figure()
    axes = figure.subplots()
    by_n = grouped(rows, "n")
    axes.boxplot(
        [[r["rounds"] for r in group] for group in by_n.values()],
        tick_labels=[str(n) for (n,) in by_n],
        whis=(0, 100),
    )
    axes.set_xlabel("nodes n (whiskers: best and worst)")
    axes.set_ylabel("rounds until legitimate")
    figure.savefig(path, dpi=110)
    failed = sum(not r["recovered"] for r in rows)
    told = []
    for (n,), group in by_n.items():
        rounds = [r["rounds"] for r in group]
        high = quantiles(rounds, n=100)[98] if len(rounds) > 1 else rounds[0]
        told.append(
            f"n = {n}: median {median(rounds):.0f}, 99 % {high:.0f}, worst {max(rounds):.0f}"
        )
    return (
        f"{len(rows)} corruptions of whole node states, {failed} without recovery; rounds: "
        + "; ".join(told)
        + "."
    )
