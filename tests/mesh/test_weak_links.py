"""Links that lose much: SUBs are repeated, publications are not done twice, the ring stays calm."""

import random

from meshes import RatioChannel, share_delivered
from zonal.mesh.config import MeshConfig
from zonal.mesh.counters import NodeCounters
from zonal.mesh.links import LinkTable, Neighbour
from zonal.mesh.packets import Pub, Send, Sub, View
from zonal.mesh.place import Forward, Place
from zonal.mesh.relay import Relay
from zonal.mesh.ring import Reach
from zonal.mesh.routing import Psvr
from zonal.mesh.simulation import Simulation
from zonal.mesh.tree import choose_parent

PUB = Pub(2, 7, 3, 5, 200, (1,), 2, 9, b"")


def layer(loss: float) -> Psvr:
    """A node in the middle of a line of three, whose links lose so much one way."""
    psvr = Psvr(1, MeshConfig(), random.Random(1))
    psvr.settle(Place(1, 0, (2,), (1, 3), 4, Reach({}, 4), loss), 0.0)
    list(psvr.tick(0.0))
    psvr.again.clear()
    return psvr


def said(psvr: Psvr, until: float) -> list[Sub]:
    """The SUBs that the node says up to this time."""
    return [
        effect.packet
        for step in range(1, int(until * 100) + 1)
        if psvr.wake_at <= step / 100
        for effect in psvr.tick(step / 100)
        if isinstance(effect, Send) and isinstance(effect.packet, Sub)
    ]


def test_over_a_good_link_a_sub_is_said_once_and_over_a_weak_one_as_often_as_it_needs() -> None:
    for loss, times in ((0.05, 1), (0.5, 3), (0.95, 8)):
        psvr = layer(loss)
        psvr.subscribe(5, 0.005)
        assert [sub.channels for sub in said(psvr, 2)] == [(5,)] * times


def test_copies_of_a_sub_are_passed_on_as_one() -> None:
    psvr = layer(0.5)
    sub = Sub(2, None, (5,), (2,))
    first, again = (list(psvr.hear(sub, now)) for now in (0.01, 0.3))
    assert [len(first), len(again)] == [1, 0]
    assert len(said(psvr, 2)) == 2  # the copies that its own neighbours need
    assert len(list(psvr.hear(sub, 5.0))) == 1  # the next lease


def test_what_comes_to_a_position_again_is_passed_on_only_if_it_goes_farther() -> None:
    config = MeshConfig(acknowledged=True)
    relay = Relay(1, config, NodeCounters(), LinkTable(1, config))
    assert not relay.is_handled(PUB, 10, 1.0)
    assert relay.is_handled(PUB._replace(sender=4, hop=8), 10, 1.0)
    assert relay.is_handled(PUB._replace(end=4), 10, 1.0)
    assert not relay.is_handled(PUB._replace(end=3), 10, 1.0)  # all around the ring
    assert relay.is_handled(PUB._replace(end=8), 10, 1.0)
    assert not relay.is_handled(PUB._replace(goal=4), 10, 1.0)
    assert not relay.is_handled(PUB._replace(ttl=50), 10, 1.0)  # it set out anew
    assert not relay.is_handled(PUB, 10, 9.0)  # long after


def test_a_hop_to_a_neighbour_that_is_gone_is_not_repeated() -> None:
    config = MeshConfig(acknowledged=True)
    relay = Relay(1, config, NodeCounters(), LinkTable(1, config))
    relay.send(PUB, [Forward(1, 2, 4, 6)], 0.0)
    assert relay.tick(1.0, None) == []
    assert not relay.pending
    assert len(relay.stranded.held) == 1


def relay_at_a_leaf(near: dict[int, tuple[int, ...]]) -> tuple[Relay, Place]:
    """A relay that has sent a hop to its parent, and where it stands."""
    config = MeshConfig(acknowledged=True)
    relay = Relay(1, config, NodeCounters(), LinkTable(1, config))
    view = View(0, 0, 0, 0, 1, 10, (), (), ())
    relay.links.used[6] = Neighbour(6, view, 0, 0.0, quality=0.9)
    place = Place(1, 6, (), (1,), 10, Reach(near, 10))
    relay.stranded.settle(place, -1.0)
    relay.send(PUB, [Forward(1, 2, 4, 6)], 0.0)
    return relay, place


def tries(relay: Relay, place: Place, until: int) -> list[Send]:
    """What it sends up to this time."""
    return [
        effect
        for step in range(1, until * 100 + 1)
        for effect in relay.tick(step / 100, place)
        if isinstance(effect, Send)
    ]


def test_where_there_is_no_way_around_a_hop_is_tried_while_link_and_ring_stand() -> None:
    relay, place = relay_at_a_leaf({})
    sent = tries(relay, place, 10)
    assert len(sent) > 3 * relay.config.ack_tries
    assert len(set(sent)) == 1  # the same hop, which its receiver knows
    relay.stranded.settle(place._replace(positions=(3,)), 10.0)
    assert tries(relay, place, 12) == []
    assert not relay.pending
    assert len(relay.stranded.held) == 1


def test_where_there_is_a_way_around_it_is_taken_after_the_usual_tries() -> None:
    relay, place = relay_at_a_leaf({6: (2,), 8: (2,)})
    sent = tries(relay, place, 3)
    assert [s.to for s in sent[: relay.config.ack_tries]] == [6, 6, 6, 8]


def test_hops_that_wait_leave_room_for_others() -> None:
    relay, place = relay_at_a_leaf({})
    for serial in range(relay.config.pending - 1):
        relay.send(PUB._replace(serial=100 + serial), [Forward(1, 2, 4, 6)], 0.0)
    assert len(relay.pending) == relay.config.pending
    tries(relay, place, 4)
    assert len(relay.pending) == relay.config.pending // 2


def test_a_weak_parent_is_kept_where_a_good_one_would_be_left() -> None:
    def parent(quality: float) -> int:
        view = View(0, 1, 0, 100, 1, 4, (), (), ())
        old = Neighbour(7, view, 0, 0.0, quality=quality, cost=100)
        new = Neighbour(8, view._replace(cost=20), 0, 0.0, quality=quality, cost=100)
        return choose_parent(9, 7, {7: old, 8: new}, 64, 1.5).parent

    assert parent(1.0) == 8
    assert parent(0.5) == 7


def test_a_line_of_weak_links_delivers_with_few_messages() -> None:
    near = {(a, b): 0.65 for a in range(8) for b in range(8) if abs(a - b) == 1}
    config = MeshConfig(acknowledged=True, write_back=8)
    sim = Simulation(RatioChannel(near, seed=2), config, seed=2)
    sim.settle(150)
    before = sum(node.counters.forwarded for node in sim.nodes.values())
    assert share_delivered(sim, [0, 7], count=30) > 0.97
    messages = sum(node.counters.forwarded for node in sim.nodes.values()) - before
    assert messages < 30 * 14
