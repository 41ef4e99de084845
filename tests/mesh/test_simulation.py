"""The simulator: same seed, same run; channel models; traces."""

import random
from pathlib import Path

import pytest

from zonal.errors import MeshError
from zonal.mesh.channels import GraphChannel, Transmission
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line, random_points
from zonal.mesh.legitimate import is_legitimate
from zonal.mesh.packets import Beacon
from zonal.mesh.simulation import Simulation
from zonal_lab.psvr.radio import RadioChannel, RadioConfig, packet_ratio
from zonal_lab.psvr.trace_channel import TraceChannel
from zonal_lab.psvr.traces import read_intel_lab, read_k7, write_k7

GRENOBLE = Path(__file__).parents[3] / "shared/data/iotlab_k7/grenoble.k7.gz"
INTEL = Path(__file__).parents[3] / "shared/data/intel_lab/data/connectivity.txt"


def delivery(sim: Simulation, subscribers: list[int], count: int = 40) -> float:
    for node in subscribers:
        sim.subscribe(node, 1)
    sim.settle(60)
    rng, records = random.Random(1), []
    for _ in range(count):
        publisher = rng.choice([n for n in sim.nodes if n not in subscribers])
        records.append(sim.publish(publisher, 1))
        sim.settle(1)
    return sum(len(r.deliveries) for r in records) / count / len(subscribers)


def test_same_seed_same_run_and_another_seed_another_run() -> None:
    def run(seed: int) -> list[tuple[float, int]]:
        graph = connected_gnp(10, 0.3, random.Random(1))
        sim = Simulation(GraphChannel(graph, loss=0.2, seed=seed), seed=seed)
        sim.log = []
        sim.settle(20)
        return [(time, sender) for time, sender, _, _ in sim.log]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_over_the_wire_gives_the_same_result_as_passing_packets() -> None:
    graph = connected_gnp(10, 0.3, random.Random(1))

    def run(over_the_wire: bool) -> list[object]:
        sim = Simulation(GraphChannel(graph), seed=4, over_the_wire=over_the_wire)
        sim.subscribe(3, 1)
        sim.log = []
        sim.settle(15)
        sim.publish(7, 1)
        sim.settle(2)
        return sim.log

    assert run(True) == run(False)


def test_corrupt_bytes_on_the_air_are_counted_and_survived() -> None:
    class Noisy(GraphChannel):
        def begin(
            self, sender: int, to: int | None, packet: bytes, now: float, octets: int
        ) -> Transmission:
            if self.rng.random() < 0.2:
                data = bytearray(packet)
                data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
                packet = bytes(data)
            return super().begin(sender, to, packet, now, octets)

    sim = Simulation(Noisy(line(6)), seed=1, over_the_wire=True)
    sim.subscribe(5, 1)
    sim.settle(60)
    assert sum(n.counters.refused for n in sim.nodes.values()) > 50
    assert {n.tree.root for n in sim.nodes.values()} == {0}


def test_independent_loss_without_and_with_acknowledgement() -> None:
    graph = connected_gnp(20, 0.2, random.Random(2))
    plain = Simulation(GraphChannel(graph, loss=0.1), MeshConfig(write_back=6))
    acked = Simulation(GraphChannel(graph, loss=0.1), MeshConfig(write_back=6, acknowledged=True))
    subscribers = [2, 9, 15]
    without, with_it = delivery(plain, subscribers), delivery(acked, subscribers)
    assert 0.5 < without < 0.99
    assert with_it > 0.97 > 0.97 * without


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
    assert delivery(sim, [4, 11]) > 0.9


def test_trace_in_k7_format(tmp_path: Path) -> None:
    ratios = {(a, b): 0.95 for a in range(6) for b in range(6) if abs(a - b) == 1}
    path = tmp_path / "made.k7"
    write_k7(path, ratios)
    series = read_k7(path)
    assert set(series) == set(ratios)
    assert all(abs(value - 0.95) < 0.1 for _, values in series.values() for value in values)
    sim = Simulation(TraceChannel(series), MeshConfig(acknowledged=True, write_back=6))
    assert delivery(sim, [5]) > 0.95


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
    assert delivery(sim, subscribers, count=60) > 0.95


@pytest.mark.skipif(not INTEL.exists(), reason="the recorded table is not at hand")
def test_intel_lab_table_reads() -> None:
    series = read_intel_lab(INTEL)
    assert {n for pair in series for n in pair} == set(range(1, 55))


def test_churn_of_nodes_and_links_heals() -> None:
    rng = random.Random(8)
    channel = GraphChannel(connected_gnp(15, 0.4, rng))
    sim = Simulation(channel, MeshConfig(max_links=14, max_candidates=14))
    for node in (1, 6, 12):
        sim.subscribe(node, 1)
    for step in range(6):
        a, b = rng.sample(range(15), 2)
        sim.at(20.0 + 5 * step, lambda a=a, b=b: channel.cut(a, b))
        sim.at(60.0 + 5 * step, lambda a=a, b=b: channel.mend(a, b))
    sim.at(30.0, lambda: sim.remove(14))
    sim.at(70.0, lambda: sim.add(14))
    sim.run(95)
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), 250)


def test_beacons_are_sent_once_a_period_when_nothing_changes() -> None:
    sim = Simulation(GraphChannel(line(4)), MeshConfig(max_links=4))
    sim.settle(40)
    before = sim.sent[Beacon]
    sim.settle(50)
    assert sim.sent[Beacon] - before == pytest.approx(200, rel=0.05)


def test_weak_links_get_more_tries() -> None:
    weak = {(0, 1): ([0.0], [0.55]), (1, 0): ([0.0], [0.55])}
    config = MeshConfig(acknowledged=True, write_back=10, cautious=True)
    sim = Simulation(TraceChannel(weak, seed=3), config)
    sim.subscribe(1, 1)
    sim.settle(60)
    records = []
    for _ in range(60):
        records.append(sim.publish(0, 1))
        sim.settle(3)
    # Four tries would leave (1 - 0.55)^4 = 4 % undelivered, apart from beacons that get lost.
    assert sum(len(r.deliveries) for r in records) >= 59
    assert sum(n.counters.repeats for n in sim.nodes.values()) > 60


def test_best_ways_are_those_that_most_packets_survive() -> None:
    steady = {(0, 1): 0.9, (1, 2): 0.9, (0, 2): 0.5, (2, 0): 1.0}
    channel = TraceChannel({pair: ([0.0], [ratio]) for pair, ratio in steady.items()})
    found = channel.best_ways(0, 10.0)
    assert found == pytest.approx({0: 1.0, 1: 0.9, 2: 0.81})
    assert channel.best_ways(1, 10.0) == pytest.approx({1: 1.0, 2: 0.9, 0: 0.9})
