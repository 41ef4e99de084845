"""A satellite receiver: NMEA 0183 sentences (parsed by pynmea2), or what gpsd says of them."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

from zonal.errors import FeedError, PositionError
from zonal.feeds.observation import Observation, known, moment_of, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zonal.geo import Point

logger = logging.getLogger(__name__)

GPSD_WATCH = b'?WATCH={"enable":true,"json":true};\n'
_KNOT_M_S = 1852 / 3600
_FIX_2D = 2


def read_nmea(lines: Iterable[str]) -> Iterator[Observation]:
    """Where the receiver is, for each sentence with a fix; others and broken ones are left out."""
    import pynmea2

    for line in lines:
        if not line.lstrip().startswith(("$", "!")):
            continue
        try:
            sentence = pynmea2.parse(line.strip(), check=True)
        except (pynmea2.ParseError, ValueError):
            continue
        if (seen := _fix(sentence)) is not None and seen.place is not None:
            yield seen


def _fix(sentence: Any) -> Observation | None:
    kind = getattr(sentence, "sentence_type", "")
    if kind == "RMC" and sentence.status == "A":
        speed, track = sentence.spd_over_grnd, sentence.true_course
        value = known(
            speed_m_s=None if speed is None else round(speed * _KNOT_M_S, 2), heading=track
        )
        when = sentence.datetime if sentence.datestamp and sentence.timestamp else None
    elif kind == "GGA" and sentence.gps_qual:
        value, when = known(altitude_m=sentence.altitude, satellites=sentence.num_sats), None
    else:
        return None
    place = place_of(sentence.latitude, sentence.longitude)
    return Observation("", place, {"kind": "receiver", **value}, when)


def read_gpsd(lines: Iterable[str]) -> Iterator[Observation]:
    """The same from gpsd's JSON: its reports of time, position and velocity."""
    for line in lines:
        try:
            report = json.loads(line)
        except ValueError:
            continue
        if not isinstance(report, dict) or report.get("class") != "TPV":
            continue
        if report.get("mode", 0) < _FIX_2D:
            continue
        place = place_of(report.get("lat"), report.get("lon"))
        value = known(
            kind="receiver",
            speed_m_s=report.get("speed"),
            heading=report.get("track"),
            altitude_m=report.get("altMSL"),
        )
        if place is not None:
            yield Observation("", place, value, moment_of(report.get("time")))


class ReceiverPosition:
    """A receiver as the position of a session: `zonal.open(position=ReceiverPosition(fixes))`.

    The fixes are read in a thread of their own; the last one is where we are, also when the
    receiver is gone, which the log says. Before the first one `PositionError` says so; `wait` waits
    for it.
    """

    def __init__(self, fixes: Iterable[Observation]) -> None:
        self._last: Point | None = None
        self._known = threading.Event()
        self._thread = threading.Thread(
            target=self._read, args=(fixes,), name="zonal-receiver", daemon=True
        )
        self._thread.start()

    def _read(self, fixes: Iterable[Observation]) -> None:
        try:
            for fix in fixes:
                self._last = fix.place
                self._known.set()
        except FeedError as error:
            logger.warning("the receiver is gone, its last fix stays: %s", error)
        finally:
            self._known.set()  # nobody waits for a receiver that is gone

    def wait(self, timeout_s: float | None = None) -> Point:
        """The first fix, once there is one; `PositionError` if there is none in that time."""
        self._known.wait(timeout_s)
        return self()

    def __call__(self) -> Point:
        """Where the receiver is."""
        if self._last is None:
            raise PositionError("the receiver has no fix yet")
        return self._last
