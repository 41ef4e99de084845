"""GeoBroker's figures 7 and 8: the index by granularity, and with or without geofences."""

from __future__ import annotations

import time
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.index import SubscriptionIndex
from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.index.workload import TOPIC, Trajectory, arrivals, circle_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from zonal.geo import Circle, Point
    from zonal_lab.experiment import Draw

RATIOS = {"99/1": (99, 1), "1/1": (1, 1), "1/10": (1, 10), "1/99": (1, 99)}
GRANULARITIES: list[int | None] = [1, 10, 25, 50, 100, None]
CLIENT_COUNTS = [1, 10, 100, 250, 500, 750, 1000]
WAYS = {"answers collected": False, "answers remembered": True}
"""Without geofences the index remembers whole answers; the paper's did not."""

WORK = "GeoBroker 2020"
Sweep = dict[str, dict[str, float]]


def rhythm(ratio: tuple[int, int]) -> Iterator[bool]:
    """True for an update, False for a get, in the ratio's rhythm."""
    updates, gets = ratio
    return cycle([True] * updates + [False] * gets)


class Walk(NamedTuple):
    """Clients on their trajectories: who is where next, and the geofences around them."""

    routes: list[Trajectory]
    steps: list[tuple[int, Point]]
    circles: list[Circle]


def walk_of(trajectories: list[Trajectory], clients: int) -> Walk:
    """Teleporting clients on the first trajectories; made once for many measurements."""
    routes = [trajectories[number % len(trajectories)] for number in range(clients)]
    steps = list(islice(arrivals(routes), 20_000))
    return Walk(routes, steps, [circle_at(point) for _, point in steps])


def throughput(
    walk: Walk,
    ratio: tuple[int, int],
    granularity: float | None,
    seconds: float,
    *,
    geo: bool = True,
    remembers: bool = True,
) -> float:
    """Operations a second of teleporting clients, one operation at each place they reach.

    Without geofences an update changes the subscription's value, as a client may that subscribes
    again with another quality of service. The index remembers whole answers without places; the
    paper's did not: `remembers` switches between them.
    """
    index: SubscriptionIndex[int] = SubscriptionIndex(granularity)
    for number, route in enumerate(walk.routes):
        index.add(number, TOPIC, circle_at(route[0]) if geo else None, client=number)
    done, kinds = 0, rhythm(ratio)
    start = time.process_time()
    while True:
        for (client, point), circle in zip(walk.steps, walk.circles, strict=True):
            if next(kinds):
                if geo:
                    index.update(client, area=circle)
                else:
                    index.update(client, value=done)
            elif geo:
                index.match(TOPIC, point)
            elif remembers:
                index.match(TOPIC)
            else:
                index.values(index.match_rows(TOPIC)).tolist()
            done += 1
            if not done % 100 and time.process_time() - start >= seconds:
                return done / (time.process_time() - start)


def sweep_granularity(walk: Walk, seconds: float) -> Sweep:
    """Operations a second by ratio and granularity."""
    return {
        name: {
            str(granularity or "auto"): throughput(walk, ratio, granularity, seconds)
            for granularity in GRANULARITIES
        }
        for name, ratio in RATIOS.items()
    }


def granularity_claims(tables: Sequence[Sweep], clients: int) -> Iterator[Claim]:
    """What the paper says about figure 7, and our own claim for the automatic granularity.

    A table is a round.
    """
    who = f"({clients} clients)"

    def rate(draw: Draw, ratio: str, granularity: str) -> float:
        return draw([table[ratio][granularity] for table in tables])

    def finer(ratio: str) -> Callable[[Draw], float]:
        return lambda draw: change(rate(draw, ratio, "100"), rate(draw, ratio, "1"))

    def against_best(draw: Draw, granularity: str, ratios: Iterable[str] = RATIOS) -> float:
        """The worst of these ratios, against the best fixed granularity of each."""
        return min(
            change(rate(draw, each, granularity), max(rate(draw, each, one) for one in _FIXED))
            for each in ratios
        )

    yield Claim(
        WORK, "figure 7", f"1/99: granularity 100 gets more done than 1 {who}", "faster",
        Unit.CHANGE, finer("1/99"), least=0, neutral=0,
    )  # fmt: skip
    yield Claim(
        WORK, "figure 7", f"99/1: granularity 100 gets less done than 1 {who}", "slower",
        Unit.CHANGE, finer("99/1"), most=0, neutral=0,
    )  # fmt: skip
    yield Claim(
        WORK, "figure 7",
        f"25 is balanced: at every ratio at most 20 % below the best granularity {who}",
        "well balanced", Unit.CHANGE, lambda draw: against_best(draw, "25"), least=-20,
    )  # fmt: skip
    yield Claim(
        WORK, "figure 7", f"10 is the best granularity at 1/1 {who}", "highest", Unit.CHANGE,
        lambda draw: against_best(draw, "10", ("1/1",)), least=0,
    )  # fmt: skip
    yield Claim(
        OURS, "index", "automatic fields: at every ratio at most 20 % below the best granularity "
        f"{who}", "", Unit.CHANGE, lambda draw: against_best(draw, "auto"), least=-20,
    )  # fmt: skip


def walks_of_all(trajectories: list[Trajectory]) -> dict[int, Walk]:
    """A walk of each number of clients, for as many sweeps as there are."""
    return {clients: walk_of(trajectories, clients) for clients in CLIENT_COUNTS}


def sweep_clients(walks: Mapping[int, Walk], seconds: float, *, remembers: bool) -> Sweep:
    """How many times as fast the index is with geofences as without, by ratio and clients."""
    factors: Sweep = {name: {} for name in RATIOS}
    for clients, walk in walks.items():
        for name, ratio in RATIOS.items():
            geo, plain = (
                throughput(walk, ratio, 25, seconds, geo=flag, remembers=remembers)
                for flag in (True, False)
            )
            factors[name][str(clients)] = geo / plain
    return factors


def break_even(trajectories: list[Trajectory], clients: int = 1000) -> dict[str, Any]:
    """From which cost of a delivery on the geofences' shorter answers pay for their check."""
    routes = [trajectories[number % len(trajectories)] for number in range(clients)]
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number, route in enumerate(routes):
        index.add(number, TOPIC, circle_at(route[0]), client=number)
    points = [point for _, point in islice(arrivals(routes), 20_000)]
    start = time.process_time()
    hits = sum([len(index.match(TOPIC, point)) for point in points]) / len(points)
    middle = time.process_time()
    plain_hits = sum([len(index.match(TOPIC)) for _ in points]) / len(points)
    geo_s, plain_s = middle - start, time.process_time() - middle
    cost_us = (geo_s - plain_s) / len(points) * 1e6
    cost_ns = cost_us * 1e3 / (plain_hits - hits)
    told = (
        f"a get with places costs {cost_us:.1f} µs more and finds {hits:.0f} instead of "
        f"{plain_hits:.0f} of {clients} clients, so it pays once a delivery costs {cost_ns:.0f} ns"
    )
    return {"get_us": cost_us, "hits": hits, "delivery_ns": cost_ns, "told": told}


def geo_claims(tables: Sequence[Sweep], way: str) -> Iterator[Claim]:
    """What the paper says about figure 8; a table is a round."""

    def slower(draw: Draw, ratio: str) -> float:
        return 1 / draw([table[ratio]["1"] for table in tables])

    def faster(draw: Draw) -> float:
        return min(draw([table[ratio]["1000"] for table in tables]) for ratio in ("1/99", "1/10"))

    for ratio, size in (("99/1", 24.37), ("1/99", 1.13)):
        yield Claim(
            WORK, "figure 8",
            f"one client, {ratio}: {size} times slower with geofences, not more ({way})",
            f"× {size}", Unit.TIMES, lambda draw, r=ratio: slower(draw, r), most=size, neutral=1,  # type: ignore[misc] # its own
        )  # fmt: skip
    yield Claim(
        WORK, "figure 8",
        f"one client: geofences slow down updates more than gets ({way})", "× 21.6", Unit.TIMES,
        lambda draw: slower(draw, "99/1") / slower(draw, "1/99"), least=1, neutral=1,
    )  # fmt: skip
    yield Claim(
        WORK, "figure 8",
        f"1,000 clients: faster with geofences where gets dominate ({way})", "faster", Unit.TIMES,
        faster, least=1, neutral=1,
    )  # fmt: skip


_FIXED = [str(granularity) for granularity in GRANULARITIES if granularity]
