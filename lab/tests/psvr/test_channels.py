"""Channel models: radio, and recorded links."""

import os
import random
from pathlib import Path

import pytest

from meshes import share_delivered
from zonal.errors import MeshError
from zonal.mesh import MeshConfig, Simulation
from zonal_lab.psvr.channels import (
    RadioChannel,
    RadioConfig,
    TraceChannel,
    connected_nodes,
    packet_ratio,
    read_k7,
    read_trace,
    write_k7,
)
from zonal_lab.psvr.plane import random_points

DATA = Path(os.environ.get("ZONAL_DATA", "nowhere"))
GRENOBLE = DATA / "iotlab_k7/grenoble.k7.gz"
INTEL = DATA / "intel_lab/data/connectivity.txt"


def test_radio_ratio_falls_with_noise_and_size() -> None:
    assert packet_ratio(20, 100) == 1.0
    assert packet_ratio(-20, 10) == 0.0
    assert packet_ratio(0.0, 20) > packet_ratio(0.0, 120)
    assert packet_ratio(2.0, 60) > packet_ratio(-1.0, 60)


def test_radio_neighbours_collide_unless_they_sense_the_carrier() -> None:
    points = {0: (0.0, 0.0), 1: (5.0, 0.0), 2: (2.0, 3.0)}
    channel = RadioChannel(points, RadioConfig(shadowing=0, fading=0))
    first = channel.begin(0, None, "a", 0.0, 50)
    assert channel.defer(1, 0.0005, 0) > 0
    assert channel.receivers(first) == [1, 2]
    second = channel.begin(0, None, "b", 1.0, 50)
    third = channel.begin(1, None, "c", 1.0001, 50)
    assert 2 not in channel.receivers(second) or 2 not in channel.receivers(third)
    assert channel.receivers(second).count(1) == 0  # it speaks itself


def test_radio_network_delivers() -> None:
    points = random_points(20, 35, random.Random(3))
    sim = Simulation(RadioChannel(points), MeshConfig(write_back=6, acknowledged=True))
    assert share_delivered(sim, [4, 11]) > 0.9


def test_trace_in_k7_format(tmp_path: Path) -> None:
    ratios = {(a, b): 0.95 for a in range(6) for b in range(6) if abs(a - b) == 1}
    path = tmp_path / "made.k7"
    write_k7(path, ratios)
    series = read_k7(path)
    assert set(series) == set(ratios)
    assert all(abs(value - 0.95) < 0.1 for _, values in series.values() for value in values)
    sim = Simulation(TraceChannel(series), MeshConfig(acknowledged=True, write_back=6))
    assert share_delivered(sim, [5]) > 0.95


def test_trace_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.k7"
    path.write_text("{}\ndatetime,src,dst,channel,mean_rssi,pdr,tx_count\n2018-01-11,1,x,2,3,4,5\n")
    with pytest.raises(MeshError, match="line 3"):
        read_k7(path)
    path.write_text("{}\nnothing\n")
    with pytest.raises(MeshError, match="no k7 trace"):
        read_k7(path)


@pytest.mark.skipif(not GRENOBLE.exists(), reason="the recorded trace is not at hand")
def test_grenoble_trace_delivers_above_95_percent_with_acknowledgement() -> None:
    series = read_k7(GRENOBLE)
    config = MeshConfig(acknowledged=True, write_back=8)
    sim = Simulation(TraceChannel(series, start=9200.0), config)
    assert len(sim.nodes) == 50
    subscribers = list(range(0, 50, 5))
    for node in subscribers:
        sim.subscribe(node, 1)
    sim.settle(60)
    assert share_delivered(sim, subscribers, count=60) > 0.95


@pytest.mark.skipif(not INTEL.exists(), reason="the recorded table is not at hand")
def test_intel_lab_table_reads() -> None:
    series = read_trace(INTEL)
    assert {n for pair in series for n in pair} == set(range(1, 55))


def test_best_ways_are_those_that_most_packets_survive() -> None:
    steady = {(0, 1): 0.9, (1, 2): 0.9, (0, 2): 0.5, (2, 0): 1.0}
    channel = TraceChannel({pair: ([0.0], [ratio]) for pair, ratio in steady.items()})
    found = channel.best_ways(0, 10.0)
    assert found == pytest.approx({0: 1.0, 1: 0.9, 2: 0.81})
    assert channel.best_ways(1, 10.0) == pytest.approx({1: 1.0, 2: 0.9, 0: 0.9})


def test_nodes_of_a_trace_that_hang_together(tmp_path: Path) -> None:
    made = tmp_path / "made.k7"
    write_k7(made, dict.fromkeys(((0, 1), (1, 0), (1, 2), (2, 1), (5, 6), (6, 5)), 0.9))
    assert connected_nodes(read_k7(made), 3, 1000.0) == {0, 1, 2}
