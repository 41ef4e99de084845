"""The claims of Visotto 2023 and Visotto and Mottola 2024, and our own, judged by the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Verdict, change, changes, judged
from zonal_lab.location.summary import Condition
from zonal_lab.location.techniques import BASELINES, BLOOM_PROBABILITY, LOCATION_AWARE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.location.summary import Summary, Totals

PUBLISHED_LOCATION_AWARE = ("json", "mgrs", "bloom")


class Judge:
    """Reads claims off a summary; a claim without its runs is left out.

    Claims that compare conditions are judged by `alike`, whose runs are all equally long.
    """

    def __init__(self, summary: Summary, alike: Summary | None = None) -> None:
        self._summary = summary
        self._alike = alike or summary

    def _get(self, scenario: str, technique: str) -> Totals:
        """Over TCP with full routers."""
        return _find(self._summary, Condition(scenario, "tcp", 100), technique)

    def _like(
        self, scenario: str, technique: str, transport: str = "tcp", cpu: int = 100
    ) -> Totals:
        """To be compared with other conditions."""
        return _find(self._alike, Condition(scenario, transport, cpu), technique)

    def verdicts(self) -> Iterator[Verdict]:
        """All claims whose runs are there, those of Visotto 2023 first."""
        return judged(
            (
                self._zoning_latency,
                self._zoning_throughput,
                self._zoning_deviation,
                self._near_costs,
                self._near_mgrs_best,
                self._near_throughput,
                self._far_topic,
                self._far_payload,
                self._far_order,
                self._far_deviation,
                self._cpu_near,
                self._cpu_far,
                self._udp_latency,
                self._udp_loss,
                self._udp_mgrs,
            )
        )

    def figures(self) -> Iterator[Verdict]:
        """Our own figures to reach, on TCP with full routers."""
        return judged(
            (
                self._figure_zoning,
                self._figure_near,
                self._figure_far,
                self._figure_unwanted,
            )
        )

    # ---- our figures ----------------------------------------------------------------------

    def _figure_zoning(self) -> Verdict:
        best = min(self._get("zoning", name).mean_ms for name in BASELINES)
        ours = {name: self._get("zoning", name).mean_ms for name in LOCATION_AWARE}
        return Verdict(
            OURS,
            "Zoning: mean latency at least 90 % below both baselines for every encoding",
            all(value <= 0.1 * best for value in ours.values()),
            f"against the better baseline ({best:.1f} ms): {changes(ours, best)}",
        )

    def _figure_near(self) -> Verdict:
        base = self._get("near-field", "PAYLOAD").mean_ms
        ours = {name: self._get("near-field", name).mean_ms for name in ("s2", "mgrs")}
        return Verdict(
            OURS,
            "Near-field: s2 and mgrs at most 10 % above PAYLOAD",
            all(value <= 1.1 * base for value in ours.values()),
            f"against PAYLOAD ({base:.1f} ms): {changes(ours, base)}",
        )

    def _figure_far(self) -> Verdict:
        best = min(self._get("far-field", name).mean_ms for name in BASELINES)
        ours = {name: self._get("far-field", name).mean_ms for name in LOCATION_AWARE}
        return Verdict(
            OURS,
            "Far-field: every encoding below both baselines",
            all(value < best for value in ours.values()),
            f"against the better baseline ({best:.1f} ms): {changes(ours, best)}",
        )

    def _figure_unwanted(self) -> Verdict:
        counts = {
            name: sum(
                totals.unwanted
                for condition in self._summary.conditions()
                if (totals := self._summary.totals(condition, name)) is not None
            )
            for name in LOCATION_AWARE
        }
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        allowed = BLOOM_PROBABILITY * self._summary.for_others("bloom")
        return Verdict(
            OURS,
            "Sessions that do not match receive nothing with s2, mgrs and json, and with bloom "
            "only what its probability allows",
            not any(counts[name] for name in ("s2", "mgrs", "json")) and counts["bloom"] <= allowed,
            f"messages that reached non-matching sessions, all runs: {listed} (a probability of "
            f"{BLOOM_PROBABILITY:.0%} allows bloom {allowed:.0f})",
        )

    # ---- Visotto 2023, section 7.3 --------------------------------------------------------

    def _zoning_latency(self) -> Verdict:
        ours = {n: self._get("zoning", n).mean_ms for n in PUBLISHED_LOCATION_AWARE}
        bases = {n: self._get("zoning", n).mean_ms for n in BASELINES}
        return Verdict(
            "7.3, figure 7.2",
            "Zoning: location-aware latency about 50 % below both baselines",
            max(ours.values()) <= 0.5 * min(bases.values()),
            f"TOPIC {bases['TOPIC']:.1f} ms, PAYLOAD {bases['PAYLOAD']:.1f} ms; from the better: "
            f"{changes(ours, min(bases.values()))}",
        )

    def _zoning_throughput(self) -> Verdict:
        ours = min(self._get("zoning", n).throughput_hz for n in PUBLISHED_LOCATION_AWARE)
        bases = max(self._get("zoning", n).throughput_hz for n in BASELINES)
        return Verdict(
            "7.3, figure 7.3",
            "Zoning: location-aware throughput is higher",
            ours > bases,
            f"the lowest location-aware one is {ours:.2f} msg/s, the best baseline {bases:.2f} "
            "(20 are sent)",
        )

    def _zoning_deviation(self) -> Verdict:
        ours = max(self._get("zoning", n).std_ms for n in PUBLISHED_LOCATION_AWARE)
        bases = min(self._get("zoning", n).std_ms for n in BASELINES)
        return Verdict(
            "7.3, figure 7.4; paper",
            "Zoning: the baselines' latency deviates about 53 % more",
            bases >= 1.5 * ours,
            f"the steadiest baseline {bases:.1f} ms, the least steady encoding {ours:.1f} ms: "
            f"{change(bases, ours)}",
        )

    # ---- 7.4 ------------------------------------------------------------------------------

    def _near_costs(self) -> Verdict:
        base = self._get("near-field", "PAYLOAD").mean_ms
        ours = {n: self._get("near-field", n).mean_ms for n in PUBLISHED_LOCATION_AWARE}
        return Verdict(
            "7.4, figure 7.6",
            "Near-field: location-aware latency is higher, up to +70 %",
            min(ours.values()) > base,
            f"against PAYLOAD ({base:.1f} ms): {changes(ours, base)}",
        )

    def _near_mgrs_best(self) -> Verdict:
        ours = {n: self._get("near-field", n).mean_ms for n in PUBLISHED_LOCATION_AWARE}
        others = min(ours["json"], ours["bloom"])
        return Verdict(
            "7.4, figure 7.7",
            "Near-field: MGRS is the best encoding, 40 % below the other two",
            ours["mgrs"] <= 0.65 * others,
            f"mgrs {ours['mgrs']:.1f} ms, json {ours['json']:.1f} ms, bloom {ours['bloom']:.1f} ms",
        )

    def _near_throughput(self) -> Verdict:
        ours = {n: self._get("near-field", n).throughput_hz for n in PUBLISHED_LOCATION_AWARE}
        base = self._get("near-field", "PAYLOAD").throughput_hz
        return Verdict(
            "7.4, figure 7.8",
            "Near-field: throughput does not suffer",
            min(ours.values()) >= 0.95 * base,
            f"PAYLOAD {base:.0f} msg/s; " + ", ".join(f"{n} {v:.0f}" for n, v in ours.items()),
        )

    # ---- 7.5 ------------------------------------------------------------------------------

    def _far_topic(self) -> Verdict:
        base = self._get("far-field", "TOPIC").mean_ms
        ours = {n: self._get("far-field", n).mean_ms for n in PUBLISHED_LOCATION_AWARE}
        return Verdict(
            "7.5, figure 7.12; paper",
            "Far-field: 55 % lower latency than TOPIC",
            max(ours.values()) <= 0.45 * base,
            f"TOPIC {base:.1f} ms: {changes(ours, base)}",
        )

    def _far_payload(self) -> Verdict:
        base = self._get("far-field", "PAYLOAD").mean_ms
        ours = {n: self._get("far-field", n).mean_ms for n in PUBLISHED_LOCATION_AWARE}
        return Verdict(
            "7.5, figure 7.12; paper",
            "Far-field: 20 % lower latency than PAYLOAD",
            max(ours.values()) <= 0.8 * base,
            f"PAYLOAD {base:.1f} ms: {changes(ours, base)}",
        )

    def _far_order(self) -> Verdict:
        ours = {n: self._get("far-field", n).mean_ms for n in PUBLISHED_LOCATION_AWARE}
        return Verdict(
            "7.5",
            "Far-field: MGRS first, then Bloom, then Base64",
            ours["mgrs"] < ours["bloom"] < ours["json"],
            ", ".join(f"{n} {v:.1f} ms" for n, v in sorted(ours.items(), key=lambda e: e[1])),
        )

    def _far_deviation(self) -> Verdict:
        ours = max(self._get("far-field", n).std_ms for n in PUBLISHED_LOCATION_AWARE)
        bases = min(self._get("far-field", n).std_ms for n in BASELINES)
        return Verdict(
            "7.5, figure 7.14",
            "Far-field: the baselines' latency deviates more",
            bases > ours,
            f"the steadiest baseline {bases:.1f} ms, the least steady encoding {ours:.1f} ms",
        )

    # ---- 7.6 ------------------------------------------------------------------------------

    def _cpu_near(self) -> Verdict:
        slower = [
            self._like("near-field", n, cpu=20).mean_ms / self._like("near-field", n).mean_ms
            for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)
        ]
        rates = [
            self._like("near-field", n, cpu=20).throughput_hz
            / self._like("near-field", n).throughput_hz
            for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)
        ]
        return Verdict(
            "7.6, figures 7.15 to 7.17",
            "Routers at 20 %, near-field: latency rises, throughput does not change",
            min(slower) > 1 and min(rates) > 0.95,
            f"latency × {min(slower):.2f} to {max(slower):.2f}, throughput × {min(rates):.2f} to "
            f"{max(rates):.2f}",
        )

    def _cpu_far(self) -> Verdict:
        change = {
            n: self._like("far-field", n, cpu=20).mean_ms / self._like("far-field", n).mean_ms
            for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)
        }
        heavy = min(change["json"], change["bloom"])
        light = max(change[n] for n in (*BASELINES, "mgrs"))
        return Verdict(
            "7.6, figures 7.18 to 7.20",
            "Routers at 20 %, far-field: Base64 and Bloom suffer more than the others",
            heavy > light,
            ", ".join(f"{n} × {v:.2f}" for n, v in change.items()),
        )

    # ---- 7.7 ------------------------------------------------------------------------------

    def _udp_latency(self) -> Verdict:
        ratios = {
            f"{s} {n}": self._like(s, n, "udp").mean_ms / self._like(s, n).mean_ms
            for s in ("near-field", "far-field")
            for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)
        }
        lower = sum(ratio < 1 for ratio in ratios.values())
        return Verdict(
            "7.7, figures 7.21 to 7.26",
            "UDP: lower latency than TCP",
            lower == len(ratios),
            f"lower in {lower} of {len(ratios)}: "
            + ", ".join(f"{k} × {v:.2f}" for k, v in ratios.items()),
        )

    def _udp_loss(self) -> Verdict:
        udp = {
            n: self._like("near-field", n, "udp").loss
            for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)
        }
        tcp = {n: self._like("near-field", n).loss for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)}
        return Verdict(
            "7.7, figure 7.22",
            "UDP: messages are lost, most with Base64 and Bloom",
            sum(udp.values()) > sum(tcp.values()) and min(udp["json"], udp["bloom"]) > udp["mgrs"],
            "lost over UDP (TCP): " + ", ".join(f"{n} {udp[n]:.1%} ({tcp[n]:.1%})" for n in udp),
        )

    def _udp_mgrs(self) -> Verdict:
        rates = {
            n: self._like("far-field", n, "udp", 20).throughput_hz
            for n in (*BASELINES, *PUBLISHED_LOCATION_AWARE)
        }
        return Verdict(
            "7.7, figure 7.25",
            "UDP and routers at 20 %, far-field: MGRS keeps the highest throughput",
            rates["mgrs"] >= 0.99 * max(rates.values()),
            ", ".join(f"{n} {v:.0f} msg/s" for n, v in rates.items()),
        )


def _find(summary: Summary, condition: Condition, technique: str) -> Totals:
    found = summary.totals(condition, technique)
    if found is None:
        raise LookupError(f"{condition.slug} {technique}")
    return found
