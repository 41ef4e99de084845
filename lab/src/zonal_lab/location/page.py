"""One page with every figure of Visotto 2023, chapter 7, our numbers beside, and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from zonal_lab.emulation import layout
from zonal_lab.experiment import picture, table
from zonal_lab.location.false_positives import EXPECTED, THEIRS
from zonal_lab.location.pictures import draw_condition, draw_links, draw_over_time
from zonal_lab.location.plan import FINE_BLOOM, FINE_BLOOM_IN, FalsePositivesCase
from zonal_lab.location.samples import SAMPLES
from zonal_lab.location.spark_summary import summarize_by_spark
from zonal_lab.location.summary import Condition, greatest_difference_ms, summarize
from zonal_lab.location.techniques import TECHNIQUES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.experiment import Results
    from zonal_lab.location.summary import Summary, Totals

# What chapter 7 of Visotto 2023 shows under which conditions; its charts carry no numbers.
_FIGURES = {
    Condition("zoning", "tcp", 100): "figures 7.2, 7.3, 7.4",
    Condition("near-field", "tcp", 100): "figures 7.6, 7.7, 7.8, 7.9",
    Condition("far-field", "tcp", 100): "figures 7.12, 7.13, 7.14",
    Condition("near-field", "tcp", 20): "figures 7.15, 7.16, 7.17",
    Condition("far-field", "tcp", 20): "figures 7.18, 7.19, 7.20",
    Condition("near-field", "udp", 100): "figures 7.21, 7.22, 7.23",
    Condition("far-field", "udp", 20): "figures 7.24, 7.25, 7.26",
}
# Table 7.2 of Visotto 2023: TOPIC, PAYLOAD, Base64, MGRS, Bloom (RH: routers at 100 %, RL: 20 %).
# Where the printed table leaves a cell without a sign, it stands for the lowest grade.
_THEIR_SIGNS = {
    Condition("zoning", "tcp", 100): ("− −", "− −", "+ +", "+ +", "+ +"),
    Condition("near-field", "tcp", 100): ("+ +", "+ +", "− −", "−", "− −"),
    Condition("near-field", "udp", 100): ("+ +", "+ +", "+", "+ +", "+"),
    Condition("near-field", "tcp", 20): ("+", "+ +", "− −", "+", "− −"),
    Condition("near-field", "udp", 20): ("+", "+ +", "+", "+ +", "+"),
    Condition("far-field", "tcp", 100): ("− −", "+ +", "+ +", "+ +", "+ +"),
    Condition("far-field", "udp", 100): ("+ +", "+ +", "+ +", "+ +", "+ +"),
    Condition("far-field", "tcp", 20): ("+", "+ +", "−", "+ +", "+"),
    Condition("far-field", "udp", 20): ("+", "+", "+", "+ +", "+"),
}


# Up to here one process computes the figures in seconds, and Spark's are checked by them.
_CHECKED_ROWS = 50_000_000


def page(results: Results, folder: Path, name: str, *, by_spark: bool = False) -> Iterator[str]:
    """The page's lines; its pictures and the summary as CSV go into the folder.

    This process computes the figures, or the summary job where it is asked for.
    """
    compute = summarize_by_spark if by_spark else summarize
    summary = compute(results)
    if by_spark and _sample_count(results) <= _CHECKED_ROWS:
        apart = greatest_difference_ms(summary, summarize(results))
        summary.computed_by += (
            f"; computed once more without Spark, no figure differs by more than {apart:.6f} ms"
        )
    pa_csv.write_csv(summary.table(), folder / f"{name}-summary.csv")
    return _lines(results, summary, _draw(results, summary, folder, name))


def _sample_count(results: Results) -> int:
    return sum(pq.read_metadata(path).num_rows for path in results.samples(SAMPLES))


def _draw(results: Results, summary: Summary, folder: Path, name: str) -> dict[str, str]:
    pictures = {}
    for condition in summary.conditions():
        file = f"{name}-{condition.slug}.png"
        draw_condition(summary, condition, folder / file)
        pictures[condition.slug] = file
    near = Condition("near-field", "tcp", 100)
    if near in summary.conditions():
        pictures["over-time"] = f"{name}-over-time.png"
        path = folder / pictures["over-time"]
        draw_over_time(results, near, 6, path, TECHNIQUES)
    pictures["links"] = f"{name}-links.png"
    draw_links(summary, summary.conditions(), folder / pictures["links"])
    return pictures


def _lines(results: Results, summary: Summary, pictures: dict[str, str]) -> Iterator[str]:
    manifest = results.manifest()
    yield from _introduction(manifest, summary.interval)
    yield f"The figures were computed from the raw samples by {summary.computed_by}."
    yield ""
    yield from _table_of_signs(summary)
    yield from _layouts(summary)
    for condition in summary.conditions():
        yield from _condition(summary, condition, pictures, manifest["cores"])
    yield from _extras(pictures)
    yield from _fine_bloom(summary)
    yield from _false_positives(results)


def _introduction(manifest: dict[str, Any], interval: int) -> Iterator[str]:
    plan = manifest["plan"]
    figures = "nothing is left out of the figures"
    if interval > 1:
        figures = (
            f"of very many messages one in so many by its number (at most one in {interval}) is "
            "kept and in the figures (doubles are counted among these, throughput is theirs times "
            "as many)"
        )
    links = "on cards without a limit"
    if plan["client_links"] == "trace":
        links = "on a packet trace (publishers outward, subscribers inward)"
    yield (
        f"{plan['rounds']} round{'s' * (plan['rounds'] > 1)} of {plan['seconds']:g} s a case; "
        "Visotto 2023 ran 12 of 180 s (`--rounds 12 --seconds 180`). Every router's one card "
        f"carries 5 Mbit/s each way, clients are {links}. All techniques of a round run one after "
        "the other on the same network and meet the same stretch of the trace. Every message is "
        "numbered and stamped with the machine's monotonic clock where it is sent and where the "
        f"application gets it; {figures}. A figure of several subscribers is the mean of theirs."
    )
    yield ""
    if plan.get("variant_seconds") is not None:
        yield (
            f"Runs over UDP and with slow routers last {plan['variant_seconds']:g} s; claims that "
            "compare them with TCP or with full routers (sections 7.6 and 7.7) are judged by the "
            f"first {plan['variant_seconds']:g} s of each."
        )
        yield ""
    if floors := manifest.get("trace_floor_ms"):
        listed = ", ".join(f"{name} {value:.0f} ms" for name, value in floors.items())
        yield (
            f"**The trace alone** costs a message on average: {listed} (a network between the "
            "clients that takes no time, each message a packet of its own). No technique can be "
            "faster than that."
        )
        yield ""


def _table_of_signs(summary: Summary) -> Iterator[str]:
    yield "## Table 7.2, ours and theirs"
    yield ""
    yield (
        "Ours by rule: + + up to 1.25 × the lowest mean latency of the row, + up to 2 ×, − up to "
        "4 ×, − − beyond; one step down when more than 5 % of the messages are lost. Theirs in "
        "brackets."
    )
    yield ""
    yield from table(("conditions", *TECHNIQUES), _sign_rows(summary))


def _sign_rows(summary: Summary) -> Iterator[tuple[str, ...]]:
    for condition in summary.conditions():
        theirs = dict(
            zip(
                ("TOPIC", "PAYLOAD", "json", "mgrs", "bloom"),
                _THEIR_SIGNS.get(condition, ()),
                strict=False,
            )
        )
        found = {name: summary.totals(condition, name) for name in TECHNIQUES}
        signs = grade({name: each for name, each in found.items() if each is not None})
        yield (
            condition.title,
            *(
                signs.get(name, "") + (f" ({theirs[name]})" if name in theirs else "")
                for name in TECHNIQUES
            ),
        )


def grade(totals: dict[str, Totals]) -> dict[str, str]:
    """Signs by latency against the row's best, one step down for loss."""
    steps = ("+ +", "+", "−", "− −")
    best = min(each.mean_ms for each in totals.values())
    signs = {}
    for name, each in totals.items():
        ratio = each.mean_ms / best
        step = (ratio > 1.25) + (ratio > 2) + (ratio > 4) + (each.loss > 0.05)
        signs[name] = steps[min(step, 3)]
    return signs


def _layouts(summary: Summary) -> Iterator[str]:
    yield "## How the layouts are read"
    yield ""
    for name in dict.fromkeys(condition.scenario for condition in summary.conditions()):
        topology = layout(name)
        yield f"- **{topology.title}**: {topology.reading}"
    yield ""


def _condition(
    summary: Summary, condition: Condition, pictures: dict[str, str], cores: int
) -> Iterator[str]:
    theirs = _FIGURES.get(condition)
    yield f"## {condition.title[0].upper()}{condition.title[1:]}"
    yield ""
    shown = f"Theirs: {theirs}." if theirs else "Visotto 2023 shows no chart of these conditions."
    low, high = summary.load(condition)
    yield f"{shown} The machine's load meanwhile: {low:.0f} to {high:.0f} on {cores} cores."
    yield ""
    yield from picture(condition.title, pictures[condition.slug])
    yield from table(
        (
            *("technique", "latency (ms)", "deviation", "99 % below", "throughput (msg/s)"),
            *("lost", "doubles", "unwanted", "busiest router sends", "all routers send"),
            "routers' CPU",
        ),
        (
            _row(name, each)
            for name in TECHNIQUES
            if (each := summary.totals(condition, name)) is not None
        ),
        right=1,
    )


def _row(name: str, each: Totals) -> tuple[str, ...]:
    return (
        name,
        f"{each.mean_ms:.2f}",
        f"{each.std_ms:.2f}",
        f"{each.p99_ms:.1f}",
        f"{each.throughput_hz:.2f}",
        f"{each.loss:.2%}",
        str(each.doubles),
        str(each.unwanted),
        f"{each.busiest_mbit:.2f} Mbit/s",
        f"{each.router_mbit:.2f} Mbit/s",
        f"{each.router_cpu:.2f}",
    )


def _extras(pictures: dict[str, str]) -> Iterator[str]:
    if "over-time" in pictures:
        yield "## Single messages over time (theirs: figure 7.10)"
        yield ""
        yield from picture("latency of single messages", pictures["over-time"])
    yield "## What the routers carry"
    yield ""
    yield from picture("bytes sent by routers", pictures["links"])


def _fine_bloom(summary: Summary) -> Iterator[str]:
    condition = Condition(*FINE_BLOOM_IN)
    fine = summary.totals(condition, FINE_BLOOM)
    coarse = summary.totals(condition, "bloom")
    if fine is None or coarse is None:
        return
    yield "## Bloom filters of 1 % in the far-field (theirs: figure 7.28)"
    yield ""
    yield (
        f"At 25 % (320 bits) the mean latency is {coarse.mean_ms:.1f} ms, at 1 % (960 bits) "
        f"{fine.mean_ms:.1f} ms; all routers send {coarse.router_mbit:.2f} and "
        f"{fine.router_mbit:.2f} Mbit/s."
    )
    yield ""


def _false_positives(results: Results) -> Iterator[str]:
    name = FalsePositivesCase().name
    rows = [row for record in results.records() if record.name == name
            for row in record.figures["rows"]]  # fmt: skip
    if not rows:
        return
    yield "## False positives of Bloom filters (theirs: tables 7.3 and 7.4)"
    yield ""
    yield (
        "One message from each of 100 fields; S6 to S11 expect 6, 6, 4, 4, 1 and 3. S9's area is "
        "in the text, the others' are ours with the same counts, and so is the hash; so the "
        "false positives need not be the same ones. *Routers*: what they let through, by chunks of "
        "four bits. *Filter*: what matches by bit, as in Visotto 2023. *Session*: what its user "
        "gets after the exact check."
    )
    yield ""
    yield from table(
        (
            *("probability", "bits", "hashes", "false positives, theirs"),
            *("filter", "routers", "session"),
        ),
        (
            (
                f"{row['probability']:.0%}",
                str(row["bits"]),
                str(row["hashes"]),
                _named(THEIRS.get(row["probability"], {})),
                *(
                    _named(_extra(row[stage]))
                    for stage in ("by_filter", "through_routers", "delivered")
                ),
            )
            for row in rows
        ),
    )


def _extra(counts: dict[str, int]) -> dict[int, int]:
    return {int(each): count - EXPECTED[int(each)] for each, count in counts.items()}


def _named(extra: dict[int, int]) -> str:
    found = [f"S{each} {count}" for each, count in extra.items() if count]
    return f"{sum(extra.values())} ({', '.join(found)})" if found else "none"
