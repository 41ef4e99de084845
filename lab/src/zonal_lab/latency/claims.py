"""What Barón 2024 says about latency, and our own figures to reach, as functions of rounds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from zonal_lab.experiment import OURS, Claim, Draw, Unit, change
from zonal_lab.latency.plan import LatencyCase
from zonal_lab.latency.samples import ECHOES
from zonal_lab.latency.scenarios import SCENARIOS
from zonal_lab.latency.stacks import STACKS
from zonal_lab.latency.summary import THEIRS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal_lab.experiment import Results

THESIS = "Barón 2024"
MOST_RATIO = 1.15
_ZENOH = ("zenoh-best-effort", "zenoh-reliable")
_SESSION = ("session-best-effort", "session-reliable")
_MQTT = ("mqtt-0", "mqtt-1", "mqtt-2")


def claims(results: Results) -> Iterator[Claim]:
    """All claims, ours first; the number of a round is its median round trip.

    A run of some scenarios alone has those that it measured.
    """
    table = LatencyClaims(results)
    whole = set(results.manifest()["plan"]["scenarios"]) == set(SCENARIOS)
    for each in (*table.ours(), *table.encrypted(), *table.published()):
        if whole or _is_measured(each):
            yield each


def _is_measured(claim: Claim) -> bool:
    try:
        claim.figure(Draw())
    except LookupError:
        return False
    return True


class LatencyClaims:
    """Claims on the medians of rounds."""

    def __init__(self, results: Results) -> None:
        self._medians: dict[tuple[str, str], list[float]] = defaultdict(list)
        for record in results.records():
            case = LatencyCase(**record.case)
            echoes = pq.read_table(results.folder / ECHOES / f"{record.name}.parquet")
            times = echoes["rtt_ns"].drop_null().to_numpy() / 1e6
            if len(times):
                self._medians[case.scenario, case.stack].append(float(np.median(times)))

    def _median(self, draw: Draw, scenario: str, stack: str) -> float:
        return draw(self._medians[scenario, stack])

    def _below(self, draw: Draw, scenario: str, ours: Sequence[str], base: Sequence[str]) -> float:
        """The slowest of ours against the fastest of the others, in per cent."""
        mine = max(self._median(draw, scenario, each) for each in ours)
        return change(mine, min(self._median(draw, scenario, each) for each in base))

    # ---- ours -----------------------------------------------------------------------------

    def ours(self) -> Iterator[Claim]:
        """Our own figures to reach."""
        most = 100 * MOST_RATIO - 100
        for name, scenario in SCENARIOS.items():
            for ours, plain in zip(_SESSION, _ZENOH, strict=True):
                yield Claim(
                    OURS, f"latency, {scenario.sign}",
                    f"{ours}: median at most {most:.0f} % above {plain}'s", "", Unit.CHANGE,
                    lambda draw, n=name, a=ours, b=plain: self._below(draw, n, (a,), (b,)),  # type: ignore[misc] # its own
                    most=most,
                )  # fmt: skip
        yield Claim(
            OURS, "latency, γ", "the session below MQTT at every QoS", "", Unit.CHANGE,
            lambda draw: self._below(draw, "gamma", _SESSION, _MQTT), most=0, neutral=0,
        )  # fmt: skip

    def encrypted(self) -> Iterator[Claim]:
        """What encryption costs, and QUIC beside TLS over TCP."""
        most = 100 * MOST_RATIO - 100
        for name, scenario in SCENARIOS.items():
            for mine, base in (("zenoh-tls", "zenoh-reliable"), ("zenoh-quic", "zenoh-tls")):
                if STACKS[mine].fits(scenario):
                    yield Claim(
                        OURS, f"latency, {scenario.sign}, encrypted",
                        f"{mine}: median at most {most:.0f} % above {base}'s", "", Unit.CHANGE,
                        lambda draw, n=name, a=mine, b=base: self._below(draw, n, (a,), (b,)),  # type: ignore[misc] # its own
                        most=most,
                    )  # fmt: skip

    # ---- Barón 2024 -----------------------------------------------------------------------

    def published(self) -> Iterator[Claim]:
        """What Barón 2024 concludes in section 5.2."""
        for scenario in ("alpha", "beta", "beta-delay", "gamma"):
            for qos in _MQTT:
                yield self._below_mqtt(scenario, qos)
        for scenario in ("alpha", "beta", "gamma"):
            yield self._dear_qos_2(scenario)
        theirs = change(THEIRS["delta", "zenoh-reliable"], THEIRS["alpha", "zenoh-reliable"])
        yield Claim(
            THESIS, "5.2.4",
            f"two peers (δ) at least {int(-theirs)} % faster than two ends with a router in the "
            "same network (α)", Unit.CHANGE.write(theirs), Unit.CHANGE, self._without_middle,
            most=int(theirs), neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "5.2.3", "a second hop (γ − β) costs Zenoh less than it costs MQTT at QoS 0",
            "−4.01 ms", Unit.MORE_MS,
            lambda draw: self._hop(draw, "zenoh-reliable") - self._hop(draw, "mqtt-0"),
            most=0, neutral=0,
        )  # fmt: skip

    def _below_mqtt(self, scenario: str, qos: str) -> Claim:
        zenoh = max(THEIRS[scenario, each] for each in _ZENOH)
        theirs = change(zenoh, THEIRS[scenario, qos])
        # Where they say "slightly", the direction is the claim; else so is the size.
        slightly = theirs > -10
        size = "below" if slightly else f"at least {int(-theirs)} % below"
        return Claim(
            THESIS, f"5.2, table 5.2, {SCENARIOS[scenario].sign}",
            f"the slower of Zenoh's two {size} MQTT at QoS {qos[-1]}",
            Unit.CHANGE.write(theirs), Unit.CHANGE,
            lambda draw: self._below(draw, scenario, _ZENOH, (qos,)),
            most=0 if slightly else int(theirs), neutral=0,
        )  # fmt: skip

    def _dear_qos_2(self, scenario: str) -> Claim:
        theirs = THEIRS[scenario, "mqtt-2"] - THEIRS[scenario, "mqtt-0"]
        return Claim(
            THESIS, f"5.2.1, {SCENARIOS[scenario].sign}",
            "MQTT at QoS 2 costs about 100 ms more than at QoS 0 (80 to 120)",
            Unit.MORE_MS.write(theirs), Unit.MORE_MS,
            lambda draw: self._median(draw, scenario, "mqtt-2")
            - self._median(draw, scenario, "mqtt-0"),
            least=80, most=120, neutral=0,
        )  # fmt: skip

    def _without_middle(self, draw: Draw) -> float:
        peers, routed = (self._median(draw, each, "zenoh-reliable") for each in ("delta", "alpha"))
        return change(peers, routed)

    def _hop(self, draw: Draw, stack: str) -> float:
        return self._median(draw, "gamma", stack) - self._median(draw, "beta", stack)
