"""The page on latency: medians beside those of Barón 2024, box plots, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment.pages import how_it_was_run, table, verdicts, write_page
from zonal_lab.latency.claims import EchoJudge
from zonal_lab.latency.pictures import draw_scenario
from zonal_lab.latency.scenarios import SCENARIOS
from zonal_lab.latency.stacks import STACKS
from zonal_lab.latency.summary import THEIRS, EchoSummary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.latency.results import EchoResults
    from zonal_lab.latency.summary import EchoFigures

_LINKS = {
    "wifi": "wireless cards follow a made-up Wi-Fi trace (802.11n, a channel shared with others: "
    "a turn every 1.25 ms on average, at random moments, 29 Mbit/s, now and then gone for up to 20 "
    "ms; every direction of every card has its own, and all stacks of a round meet the same "
    "stretch)",
    "lte": "wireless cards follow a cellular trace, each way",
    "wired": "no link is wireless or limited, so the software alone is compared",
}


def write_echo_report(results: EchoResults, folder: Path, name: str = "latency") -> Path:
    """Write the page and its pictures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    summary = EchoSummary(results.echoes())
    for scenario in summary.scenarios():
        draw_scenario(summary, scenario, folder / f"{name}-{scenario}.png")
    return write_page(_page(results.manifest(), summary, name), folder, name)


def _page(manifest: dict[str, Any], summary: EchoSummary, name: str) -> Iterator[str]:
    yield "# Zenoh against MQTT: latency"
    yield ""
    yield from _introduction(manifest)
    judge = EchoJudge(summary)
    yield from verdicts("Figures to reach", judge.figures())
    yield from verdicts("The claims of the thesis (section 5.2)", judge.claims())
    yield from _medians(summary)
    for scenario in summary.scenarios():
        yield from _scenario(summary, scenario, name)
    yield from how_it_was_run(manifest)


def _introduction(manifest: dict[str, Any]) -> Iterator[str]:
    plan = manifest["plan"]
    acknowledged = plan.get("acknowledged_echoes", plan["echoes"])
    yield (
        f"Round trips of {plan['echoes']} echoes a case ({acknowledged} of MQTT at QoS 1 and 2, "
        f"{plan['delayed_echoes']} where 200 ms are added each way; the thesis took 1,000 "
        f"everywhere), in {plan['rounds']} rounds in which "
        f"the stacks take turns. A message of {plan['size']} bytes goes to the far end, which "
        "answers with 2 bytes on another key; the next one is sent when the answer is there, from "
        "the callback, as in the thesis' programs. TCP everywhere. In every scenario the near end "
        "is a Zenoh peer and the far end a client of its router; Mosquitto is Debian's, its "
        "clients are paho's with default settings; in γ a paho client on the first broker's host "
        "bridges two Mosquittos, while two of our brokers are one over Zenoh. Our session and our "
        "broker carry a place and an area (for the broker also a geofence) with every message. "
        f"The hosts are network namespaces on one machine; {_LINKS[plan['links']]}."
    )
    yield ""
    yield (
        "The thesis' hosts were Raspberry Pi 3 on real Wi-Fi: absolute numbers cannot be compared, "
        "ratios and orders can. A host here has one card, so in β and γ a message crosses the air "
        "once on its way (the thesis' router had a Wi-Fi card of its own, which makes two)."
    )
    yield ""
    load, cores = max(manifest.get("load", [0.0])), manifest["cores"]
    if load > cores:
        yield (
            f"**The machine was busy with other work** (load up to {load:g} on {cores} cores): "
            "differences of a few milliseconds between stacks are within what that does to them."
        )
        yield ""
    if manifest.get("failures"):
        yield f"Cases that failed and were run again: {'; '.join(manifest['failures'])}."
        yield ""


def _medians(summary: EchoSummary) -> Iterator[str]:
    yield "## Medians (ms), the thesis' in parentheses"
    yield ""
    present = summary.scenarios()
    rows = [
        (entry.title, *(_cell(summary.get(scenario, name)) for scenario in present))
        for name, entry in STACKS.items()
    ]
    yield from table(("", *(SCENARIOS[each].sign for each in present)), rows)


def _cell(row: EchoFigures | None) -> str:
    if row is None:
        return "–"
    theirs = THEIRS.get((row.scenario, row.stack))
    return f"{row.median:.3f}" + (f" ({theirs:g})" if theirs is not None else "")


def _scenario(summary: EchoSummary, scenario: str, name: str) -> Iterator[str]:
    entry = SCENARIOS[scenario]
    yield f"## {entry.sign}: {entry.title}"
    yield ""
    yield f"![round trips in {entry.sign}]({name}-{scenario}.png)"
    yield ""
    yield from table(
        (
            *("", "echoes", "lost", "median", "its 95 % interval", "mean", "quartiles"),
            *("99 % lie in", "bytes an echo"),
        ),
        (
            (
                STACKS[row.stack].title,
                str(row.count),
                str(row.lost),
                f"{row.median:.3f}",
                f"{row.median_range[0]:.3f} – {row.median_range[1]:.3f}",
                f"{row.mean:.3f}",
                f"{row.quartiles[0]:.2f} – {row.quartiles[1]:.2f}",
                f"{row.range99[0]:.2f} – {row.range99[1]:.2f}",
                f"{row.near_bytes:.0f}",
            )
            for row in summary.stacks(scenario)
        ),
    )
