"""The mesh becomes legitimate, stays so, and becomes so again when nodes and links come and go."""

from meshes import is_one_mesh, settled_network
from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import line
from zonal.mesh.legitimate import faults, is_legitimate
from zonal.mesh.simulation import Simulation


def test_stays_legitimate_without_faults() -> None:
    sim = settled_network(1)
    sim.settle(150)  # until every link estimate has risen to its end
    for _ in range(60):
        sim.settle(1)
        assert not list(faults(sim.nodes, sim.now, 1))


def test_partition_and_merge() -> None:
    sim = Simulation(GraphChannel(line(8)), MeshConfig(max_depth=16))
    for node in (0, 3, 7):
        sim.subscribe(node, 1)
    assert sim.run_until(lambda: is_one_mesh(sim), 60)
    sim.channel.cut(3, 4)
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 2), sim.now + 100)
    assert {n.tree.root for n in sim.nodes.values()} == {0, 4}
    record = sim.publish(5, 1)
    sim.settle(1)
    assert [d.node for d in record.deliveries] == [7]
    sim.channel.mend(3, 4)
    assert sim.run_until(lambda: is_one_mesh(sim), sim.now + 100)
    record = sim.publish(5, 1)
    sim.settle(1)
    assert sorted(d.node for d in record.deliveries) == [0, 3, 7]


def test_nodes_leave_and_join() -> None:
    sim = settled_network(3)
    sim.remove(0)  # the root, of all nodes
    gone = lambda: all(node.tree.root != 0 for node in sim.nodes.values())  # noqa: E731
    assert sim.run_until(gone, sim.now + 60)
    sim.add(0)
    assert sim.run_until(lambda: is_one_mesh(sim), sim.now + 150), list(
        faults(sim.nodes, sim.now, 1)
    )
