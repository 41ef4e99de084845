"""What part of the load that the journeys ask for was carried in time, as a table of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import table
from zonal_lab.geobroker.brokers import TITLES
from zonal_lab.geobroker.traveller import IN_TIME_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from zonal_lab.geobroker.samples import CaseFigures


def carried(rows: list[CaseFigures], manifest: dict[str, Any]) -> Iterator[str]:
    """A row a case of which that was measured; nothing where there is none."""
    rows = [row for row in rows if row.arrivals_due]
    if not rows:
        return
    plan = manifest["plan"]
    yield "## Carried in time"
    yield ""
    yield (
        "A client waits for each answer, so a system that is too slow loses nothing and makes its "
        "clients late; here everything is held against what the journeys ask for until the "
        f"measured time is over. An arrival is *in time* when it is made at most {IN_TIME_S:g} s "
        "after it is due. Without places, each is due to be delivered to every client; with them, "
        "to as many as its message was (on average, where none was sent). What has *come at the "
        "end* was there when the measured time was over, before stragglers are given 20 s. "
        "GeoBroker 2020 lost 22.5 % (750 clients) and 45.1 % (1,000) without places: clients at "
        "the recorded speed for 25 minutes, a broker on one to four small cores. Here they go "
        f"{plan.get('speed', 1.0):g} times as fast for {plan['seconds']:g} s, and the broker "
        f"shares {manifest['cores']} cores with them."
    )
    yield ""
    yield from table(
        (
            *("", "clients", "arrivals due", "not in time"),
            *("deliveries due", "not come at the end"),
        ),
        (
            (
                TITLES[row.system],
                str(row.clients),
                f"{row.arrivals_due:,}",
                f"{row.arrivals_missed:.1%}",
                f"{row.deliveries_due:,}",
                f"{row.deliveries_missed:.1%}",
            )
            for row in rows
        ),
    )
