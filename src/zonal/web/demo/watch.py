"""Stands in while there is no Spark: the mean of each district, and an alert above a limit."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import zonal
from zonal.geo import area_from_geojson
from zonal.web.demo import topics
from zonal.web.demo.city import ALERT_ABOVE
from zonal.web.demo.crowd import JSON, Repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.geo import Area, Point
    from zonal.session import Sample

_ROUND_S = 5.0
_QUIET_S = 25.0
"""A district is alerted of again after this time at the earliest."""


class Watch:
    """Listens to the stations and speaks for the districts."""

    def __init__(self, features: dict[str, Any], connect: Sequence[str]) -> None:
        self._areas: dict[str, Area] = {
            feature["properties"]["zone"]: area_from_geojson(feature["geometry"])
            for feature in features["features"]
        }
        self._centres = {name: area.bounds.center for name, area in self._areas.items()}
        self._values: defaultdict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()
        self._zone_of: dict[Point, str | None] = {}
        self._alerted: dict[str, float] = {}
        self.alerts = 0
        self._session = zonal.open(zonal.config("client", connect=connect))
        self._subscriber = self._session.declare_subscriber(
            topics.AIR, self._take, encoding="s2", fenced=False
        )
        self._rounds = Repeated(_ROUND_S, self._round, "demo-watch")

    def _take(self, sample: Sample) -> None:
        place = sample.location
        if place is None:
            return
        if place not in self._zone_of:
            names = (name for name, area in self._areas.items() if area.contains(place))
            self._zone_of[place] = next(names, None)
        zone = self._zone_of[place]
        if zone is not None:
            with self._lock:
                self._values[zone].append(float(json.loads(sample.payload.to_string())["pm10"]))

    def _round(self) -> None:
        with self._lock:
            values, self._values = self._values, defaultdict(list)
        for zone, measured in values.items():
            mean = round(sum(measured) / len(measured), 1)
            text = json.dumps({"zone": zone, "mean": mean})
            self._session.put(topics.ZONES, text, content_encoding=JSON)
            if mean > ALERT_ABOVE and time.monotonic() - self._alerted.get(zone, -1e9) > _QUIET_S:
                self._alerted[zone] = time.monotonic()
                self._alert(zone, mean)

    def _alert(self, zone: str, mean: float) -> None:
        value = {
            "measure": "pm10",
            "statistic": "mean",
            "threshold": ALERT_ABOVE,
            "value": mean,
            "zone": zone,
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._session.put(
            topics.ALERTS,
            json.dumps(value),
            location=self._centres[zone],
            geofence=self._areas[zone],
            content_encoding=JSON,
        )
        self.alerts += 1

    def close(self) -> None:
        """Stop listening; safe to call twice."""
        self._rounds.close()
        self._session.close()
