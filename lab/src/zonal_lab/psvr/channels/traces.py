"""Recorded links: the k7 format of the IoT-LAB testbed, and the Intel Lab's table."""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TextIO

from zonal.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from zonal_lab.psvr.channels.trace_channel import LinkSeries

_BURST = 120.0
"""Rows of one source and radio channel within this many seconds are of one burst."""
_HEADER = "datetime,src,dst,channel,mean_rssi,pdr,tx_count"


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def read_trace(path: Path) -> LinkSeries:
    """The links of a recording, by its name: `.k7` or `.k7.gz`, else the Intel Lab's table."""
    return read_k7(path) if ".k7" in path.suffixes else read_intel_lab(path)


def read_k7(path: Path, *, channel: int | None = None, nodes: int | None = None) -> LinkSeries:
    """Delivery ratio of each directed link over time, in seconds from the first measurement.

    A measurement is one burst of a source on one radio channel; who is not listed for it heard
    nothing. Without `channel` a link's ratio is the mean of the last value on every channel, as a
    node sees it that hops over all of them. `nodes` takes only the first so many.
    """
    bursts = _bursts(path, channel, nodes)
    heard: dict[int, set[int]] = defaultdict(set)
    for _, source, _, ratios in bursts:
        heard[source] |= ratios.keys()
    latest: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    series: dict[tuple[int, int], tuple[list[float], list[float]]] = {
        (source, other): ([], []) for source, others in heard.items() for other in sorted(others)
    }
    for time, source, radio, ratios in bursts:
        for other in heard[source]:
            values = latest[source, other]
            values[radio] = ratios.get(other, 0.0)
            times, means = series[source, other]
            times.append(time)
            means.append(sum(values.values()) / len(values))
    if not series:
        raise MeshError(f"{path} has no links for these nodes and this channel")
    return series


def _bursts(
    path: Path, channel: int | None, nodes: int | None
) -> list[tuple[float, int, int, dict[int, float]]]:
    found: list[tuple[float, int, int, dict[int, float]]] = []
    open_bursts: dict[tuple[int, int], tuple[float, dict[int, float]]] = {}
    first: datetime | None = None
    for when, source, other, radio, ratio in _rows(path):
        first = first or when
        if channel is not None and radio != channel:
            continue
        if nodes is not None and max(source, other) >= nodes:
            continue
        time = (when - first).total_seconds()
        since, ratios = open_bursts.get((source, radio), (-_BURST, {}))
        if time - since >= _BURST:
            ratios = {}
            open_bursts[source, radio] = (time, ratios)
            found.append((time, source, radio, ratios))
        ratios[other] = ratio
    return sorted(found, key=lambda burst: burst[:3])


def _rows(path: Path) -> Iterator[tuple[datetime, int, int, int, float]]:
    with _open(path) as lines:
        json.loads(next(lines))
        if next(lines).strip() != _HEADER:
            raise MeshError(f"{path} is no k7 trace: its second line should be {_HEADER!r}")
        for number, text in enumerate(lines, start=3):
            try:
                when, source, other, radio, _, ratio, _ = text.split(",")
                stamp = datetime.fromisoformat(when)
                yield stamp, int(source), int(other), int(radio), float(ratio)
            except ValueError as error:
                raise MeshError(f"{path}, line {number}: {error}") from error


def write_k7(path: Path, ratios: Mapping[tuple[int, int], float], *, sweeps: int = 3) -> None:
    """A small trace in the same format, for where the recorded one is not at hand."""
    rng, start = random.Random(1), datetime(2018, 1, 11, 16, 0)  # noqa: DTZ001 - k7 has no zone
    names = {name for pair in ratios for name in pair}
    head = {"location": "made", "node_count": len(names), "channels": [11], "tx_length": 100}
    lines = [json.dumps(head), _HEADER]
    for sweep in range(sweeps):
        for source in sorted(names):
            stamp = start + timedelta(seconds=600 * sweep + 10 * source)
            for (a, b), ratio in sorted(ratios.items()):
                if a == source and ratio:
                    value = min(max(ratio + rng.gauss(0, 0.02), 0.0), 1.0)
                    lines.append(f"{stamp.isoformat()}.0,{a},{b},11,-70.0,{value:.2f},100")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_intel_lab(path: Path) -> LinkSeries:
    """The Intel Lab's connectivity table: sender, receiver, probability; node 0 is no mote."""
    series = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = text.split()
        if len(words) in {0, 2}:  # the table has a pair without a value: not measured
            continue
        try:
            source, other, ratio = words
            pair, value = (int(source), int(other)), float(ratio)
        except ValueError as error:
            raise MeshError(f"{path}, line {number}: {error}") from error
        if min(pair) > 0 and pair[0] != pair[1] and value > 0:
            series[pair] = ([0.0], [min(value, 1.0)])
    if not series:
        raise MeshError(f"{path} has no links")
    return series
