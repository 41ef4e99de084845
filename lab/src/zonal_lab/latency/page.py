"""The page on latency: medians beside those of Barón 2024, box plots, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import picture, table
from zonal_lab.latency.pictures import draw_scenario
from zonal_lab.latency.samples import ECHOES
from zonal_lab.latency.scenarios import SCENARIOS
from zonal_lab.latency.stacks import STACKS
from zonal_lab.latency.summary import THEIRS, LatencySummary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.experiment import Results
    from zonal_lab.latency.summary import RoundTrips

_LINKS = {
    "wifi": "wireless cards follow made-up Wi-Fi traces",
    "lte": "wireless cards follow a cellular trace, each way",
    "wired": "no link is wireless or limited, so the software alone is compared",
}


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; a picture for each scenario goes into the folder."""
    summary = LatencySummary(results.table(ECHOES))
    for scenario in summary.scenarios():
        draw_scenario(summary, scenario, folder / f"{name}-{scenario}.png")
    yield from _introduction(results.manifest())
    yield from _medians(summary)
    for scenario in summary.scenarios():
        yield from _scenario(summary, scenario, name)


def _introduction(manifest: dict[str, Any]) -> Iterator[str]:
    plan = manifest["plan"]
    acknowledged = plan.get("acknowledged_echoes", plan["echoes"])
    yield (
        f"Round trips of {plan['echoes']} echoes a case ({acknowledged} of MQTT at QoS 1 and 2, "
        f"{plan['delayed_echoes']} where 200 ms are added each way; Barón 2024 took 1,000 "
        f"everywhere), in {plan['rounds']} rounds in which "
        f"the stacks take turns. A message of {plan['size']} bytes goes to the far end, which "
        "answers with 2 bytes on another key; the next one is sent when the answer is there, from "
        "the callback, as in the programs of Barón 2024. TCP everywhere but where TLS and QUIC are "
        "named (not in γ, whose routers link over TCP). In every scenario the "
        "near end is a Zenoh peer and the far end a client of its router; MQTT's broker is "
        f"Mosquitto {manifest.get('mosquitto', '?')}, its clients are paho's with default "
        "settings; in γ a paho client on the first broker's host bridges two Mosquittos, while "
        "two of our brokers are one over Zenoh. Our session and our broker carry a place and an "
        "area (for the broker also a geofence) with every message. "
        f"The hosts are network namespaces on one machine; {_LINKS[plan['links']]}."
    )
    yield ""
    yield (
        "The hosts of Barón 2024 were Raspberry Pi 3 on real Wi-Fi: absolute numbers cannot be "
        "compared, ratios and orders can. A host here has one card, so in β and γ a message "
        "crosses the air once on its way (twice where the router has a Wi-Fi card, as theirs had)."
    )
    yield ""


def _medians(summary: LatencySummary) -> Iterator[str]:
    yield "## Medians (ms), those of Barón 2024 in parentheses"
    yield ""
    present = summary.scenarios()
    found = {name: [summary.get(each, name) for each in present] for name in STACKS}
    rows = [(STACKS[name].title, *map(_cell, cells)) for name, cells in found.items() if any(cells)]
    yield from table(("", *(SCENARIOS[each].sign for each in present)), rows)


def _cell(row: RoundTrips | None) -> str:
    if row is None:
        return "–"
    theirs = THEIRS.get((row.scenario, row.stack))
    return f"{row.median:.3f}" + (f" ({theirs:g})" if theirs is not None else "")


def _scenario(summary: LatencySummary, scenario: str, name: str) -> Iterator[str]:
    entry = SCENARIOS[scenario]
    yield f"## {entry.sign}: {entry.title}"
    yield ""
    yield from picture(f"round trips in {entry.sign}", f"{name}-{scenario}.png")
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
