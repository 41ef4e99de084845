"""Real nodes in network namespaces that find each other by multicast alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from meshes import QUICK, wait_for_ring
from network import eventually
from zonal import mesh
from zonal_lab.emulation import Namespace, enter

pytestmark = pytest.mark.usefixtures("emulating")


def open_in(space: Namespace) -> mesh.MeshSession:
    """A node whose sockets and threads are in a namespace, with nothing configured but its pace."""
    opened: list[mesh.MeshSession] = []

    def work() -> None:
        enter(space.descriptor)
        opened.append(mesh.open(config=QUICK, discovery=mesh.Discovery(), insecure=True))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return opened[0]


@contextmanager
def room(bridges: Sequence[Sequence[int]], *, ipv6: bool) -> Iterator[list[mesh.MeshSession]]:
    """Nodes in namespaces of their own; each bridge has a card of each node it names."""
    names = sorted({name for members in bridges for name in members})
    with ExitStack() as closing:
        switch = closing.enter_context(Namespace("switch"))
        spaces = {name: closing.enter_context(Namespace(f"node {name}")) for name in names}
        for number, members in enumerate(bridges):
            bridge = f"br{number}"
            switch.batch("ip", [f"link add {bridge} type bridge mcast_snooping 0 forward_delay 0"])
            for name in members:
                space, card = spaces[name], f"card{number}"
                port = f"p{number}n{name}"
                switch.batch(
                    "ip", [f"link add {port} type veth peer name {card} netns {space.path}"]
                )
                switch.batch("ip", [f"link set {port} master {bridge}", f"link set {port} up"])
                if ipv6:
                    space.run("sysctl", "-qw", f"net.ipv6.conf.{card}.disable_ipv6=0")
                else:
                    space.batch("ip", [f"addr add 10.7.{number}.{name + 1}/24 dev {card}"])
                space.batch("ip", [f"link set {card} up"])
            switch.batch("ip", [f"link set {bridge} up"])
        nodes = []
        for name in names:
            nodes.append(open_in(spaces[name]))
            closing.callback(nodes[-1].close)
        yield nodes


@pytest.mark.parametrize("ipv6", [False, True])
def test_three_namespaces_on_a_bridge_form_a_mesh_by_discovery_alone(ipv6: bool) -> None:
    with room([[0, 1, 2]], ipv6=ipv6) as nodes:
        heard = nodes[2].declare_subscriber("street/*/noise")
        wait_for_ring(nodes)
        nodes[0].put("street/a/noise", b"62 dB")
        assert heard.recv(10).payload == b"62 dB"


def test_a_chain_of_bridges_where_not_everyone_hears_everyone() -> None:
    with room([[0, 1], [1, 2], [2, 3]], ipv6=True) as nodes:
        heard = nodes[3].declare_subscriber("street/noise")
        wait_for_ring(nodes)
        sight = [{nodes.index(n) for n in nodes if n.id in node.neighbours} for node in nodes]
        assert sight == [{1}, {0, 2}, {1, 3}, {2}]

        def arrives() -> mesh.MeshSample | None:
            nodes[0].put("street/noise", b"from the other end")
            return heard.recv(0.5)

        assert eventually(arrives, 20).payload == b"from the other end"
