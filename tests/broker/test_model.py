"""A broker under random orders, beside a model that knows no index and keeps no plans."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench, Client
from property_examples import examples
from zonal.broker.geocontext import read_geofence, read_location
from zonal.broker.topics import matches
from zonal.geo import Circle

PLACES = ["45.46,9.19", "45.47,9.20", "45.60,9.40", "52.52,13.40"]
FENCES = [
    None,
    "CIRCLE (9.19 45.46, 2000)",
    "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))",
    "CIRCLE (13.40 52.52, 5000)",
]
TOPICS = ["a", "a/b", "b"]
FILTERS = ["a", "a/#", "+", "#", "a/+", "b"]
CLIENTS = range(3)


class Order(NamedTuple):
    kind: str
    client: int
    topic: str = ""
    fence: str | None = None
    place: str | None = None
    no_local: bool = False
    around: bool = False


ORDERS = st.one_of(
    st.builds(
        Order, st.just("subscribe"), st.sampled_from(CLIENTS), st.sampled_from(FILTERS),
        st.sampled_from(FENCES), st.none(), st.booleans(), st.booleans(),
    ),
    st.builds(
        Order, st.just("unsubscribe"), st.sampled_from(CLIENTS), st.sampled_from(FILTERS)
    ),
    st.builds(
        Order, st.just("move"), st.sampled_from(CLIENTS), place=st.sampled_from(PLACES)
    ),
    st.builds(Order, st.just("leave"), st.sampled_from(CLIENTS)),
    *[
        st.builds(
            Order, st.just("publish"), st.sampled_from(CLIENTS), st.sampled_from(TOPICS),
            st.sampled_from(FENCES), st.sampled_from([None, *PLACES]), st.just(False),
            st.just(False),
        )
    ] * 3,
)  # fmt: skip


class Model:
    """What everybody wants and where everybody is, in plain dictionaries."""

    def __init__(self) -> None:
        self.wishes: dict[int, dict[str, Order]] = {n: {} for n in CLIENTS}
        self.places: dict[int, str] = {}

    def receivers(self, order: Order) -> set[int]:
        return {n for n in CLIENTS if any(self.wants(n, w, order) for w in self.wishes[n].values())}

    def wants(self, client: int, wish: Order, sent: Order) -> bool:
        if not matches(wish.topic, sent.topic) or (wish.no_local and client == sent.client):
            return False
        source = sent.place or self.places.get(sent.client)
        here = self.places.get(client)
        if wish.around:
            if here is None or source is None:
                return False
            circle = Circle(read_location(here), radius_m=3000.0)
            if not circle.contains(read_location(source)):
                return False
        elif wish.fence is not None and (
            source is None or not read_geofence(wish.fence).contains(read_location(source))
        ):
            return False
        if sent.fence is None:
            return True
        return here is not None and read_geofence(sent.fence).contains(read_location(here))


def places(order: Order) -> list[tuple[str, str]]:
    found = []
    if order.around:
        found.append(("around", "3km"))
    elif order.fence is not None:
        found.append(("geofence", order.fence))
    if order.place is not None:
        found.append(("location", order.place))
    return found


@examples(150)
@given(st.lists(ORDERS, max_size=40))
def test_the_broker_does_what_the_model_does(orders: list[Order]) -> None:
    bench, model = Bench(), Model()
    clients: dict[int, Client] = {n: bench.connected(f"c{n}") for n in CLIENTS}
    for number, order in enumerate(orders):
        client = clients[order.client]
        match order.kind:
            case "subscribe":
                client.subscribe(order.topic, properties=places(order), no_local=order.no_local)
                model.wishes[order.client][order.topic] = order
            case "unsubscribe":
                client.unsubscribe(order.topic)
                model.wishes[order.client].pop(order.topic, None)
            case "move":
                assert order.place is not None
                client.publish("$zonal/location", order.place.encode())
                model.places[order.client] = order.place
            case "leave":
                client.hang_up()
                clients[order.client] = bench.connected(f"c{order.client}")
                model.wishes[order.client].clear()
                model.places.pop(order.client, None)
            case "publish":
                client.publish(order.topic, str(number).encode(), properties=places(order))
                got = {n for n in CLIENTS if clients[n].payloads() == [str(number).encode()]}
                assert got == model.receivers(order)
    assert all(client.payloads() == [] for client in clients.values())
