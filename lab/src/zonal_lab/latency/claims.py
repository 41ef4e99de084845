"""What Barón 2024 says about latency, and our own figures to reach, judged by the medians."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import Verdict
from zonal_lab.latency.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.latency.summary import LatencySummary, RoundTrips

MOST_RATIO = 1.15
_ZENOH = ("zenoh-best-effort", "zenoh-reliable")
_SESSION = ("session-best-effort", "session-reliable")
_MQTT = ("mqtt-0", "mqtt-1", "mqtt-2")


class LatencyJudge:
    """Reads claims off a summary; a claim without its runs is left out."""

    def __init__(self, summary: LatencySummary) -> None:
        self._summary = summary

    def figures(self) -> Iterator[Verdict]:
        """Our own figures to reach."""
        for scenario in self._summary.scenarios():
            yield from self._session_near_zenoh(scenario)
        yield from self._below_mqtt("gamma", _SESSION, "the session in γ: below MQTT at every QoS")

    def _session_near_zenoh(self, scenario: str) -> Iterator[Verdict]:
        for ours, plain in zip(_SESSION, _ZENOH, strict=True):
            a, b = self._summary.get(scenario, ours), self._summary.get(scenario, plain)
            if a is not None and b is not None:
                yield Verdict(
                    SCENARIOS[scenario].sign,
                    f"{ours}: median at most {MOST_RATIO} times {plain}'s",
                    a.median <= MOST_RATIO * b.median,
                    f"{a.median:.3f} against {b.median:.3f} ms: {a.median / b.median:.3f}",
                )

    def _below_mqtt(self, scenario: str, ours: tuple[str, ...], claim: str) -> Iterator[Verdict]:
        own = [row for each in ours if (row := self._summary.get(scenario, each)) is not None]
        theirs = [row for each in _MQTT if (row := self._summary.get(scenario, each)) is not None]
        if len(own) < len(ours) or not theirs:
            return
        mine = max(own, key=lambda row: row.median)
        best = min(theirs, key=lambda row: row.median)
        overlap = (
            mine.median_range[1] >= best.median_range[0]
            and best.median_range[1] >= mine.median_range[0]
        )
        listed = ", ".join(f"{row.stack} {row.median:.3f}" for row in theirs)
        yield Verdict(
            SCENARIOS[scenario].sign,
            claim,
            mine.median < best.median,
            f"{mine.stack} {mine.median:.3f} ({_range(mine)}) against {listed} ms (the best: "
            f"{_range(best)}); these 95 % intervals {'overlap' if overlap else 'are apart'}",
        )

    def claims(self) -> Iterator[Verdict]:
        """What Barón 2024 concludes in section 5.2."""
        for scenario in ("alpha", "beta", "beta-delay"):
            sign = SCENARIOS[scenario].sign
            yield from self._below_mqtt(
                scenario, _ZENOH, f"Zenoh in {sign}: below MQTT at every QoS, slightly at QoS 0"
            )
        yield from self._below_mqtt(
            "gamma", _ZENOH, "Zenoh in γ: much below MQTT (its 5.5 against 9.8 ms and more)"
        )
        yield from self._dear_qos_2()
        yield from self._fastest_without_middle()
        yield from self._cheap_hop()

    def _dear_qos_2(self) -> Iterator[Verdict]:
        for scenario in ("alpha", "beta", "gamma"):
            two, one = (self._summary.get(scenario, each) for each in ("mqtt-2", "mqtt-0"))
            if two is not None and one is not None:
                yield Verdict(
                    "5.2.1",
                    f"MQTT QoS 2 costs about 100 ms more in {SCENARIOS[scenario].sign}",
                    60 <= two.median - one.median <= 160,
                    f"{two.median:.1f} against {one.median:.1f} ms",
                )

    def _fastest_without_middle(self) -> Iterator[Verdict]:
        try:
            peers = self._summary.median("delta", "zenoh-reliable")
            routed = self._summary.median("alpha", "zenoh-reliable")
        except LookupError:
            return
        yield Verdict(
            "5.2.4",
            "two peers (δ) are much faster than two ends with a router in the same network (α)",
            peers < routed * 0.75,
            f"{peers:.2f} against {routed:.2f} ms (theirs: 3.90 and 7.03)",
        )

    def _cheap_hop(self) -> Iterator[Verdict]:
        try:
            zenoh = self._hop("zenoh-reliable")
            mqtt = self._hop("mqtt-0")
        except LookupError:
            return
        yield Verdict(
            "5.2.3",
            "a second hop (γ − β) costs Zenoh less than it costs MQTT",
            zenoh < mqtt,
            f"{zenoh:+.2f} against {mqtt:+.2f} ms (theirs: +1.01 and +5.02)",
        )

    def _hop(self, stack: str) -> float:
        return self._summary.median("gamma", stack) - self._summary.median("beta", stack)


def _range(row: RoundTrips) -> str:
    return f"{row.median_range[0]:.3f} to {row.median_range[1]:.3f}"
