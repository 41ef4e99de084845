"""GeoBroker's figures 7 and 8: the index by granularity, and with or without geofences."""

from __future__ import annotations

import time
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.index import SubscriptionIndex
from zonal_lab.experiment import OURS, Verdict
from zonal_lab.index.workload import TOPIC, Trajectory, arrivals, circle_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Circle, Point

RATIOS = {"99/1": (99, 1), "1/1": (1, 1), "1/10": (1, 10), "1/99": (1, 99)}
GRANULARITIES: list[int | None] = [1, 10, 25, 50, 100, None]
CLIENT_COUNTS = [1, 10, 100, 250, 500, 750, 1000]
WAYS = {"answers collected": False, "answers remembered": True}
"""Without geofences the index remembers whole answers; the paper's did not."""

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
                index.values(index.match_rows(TOPIC))
            done += 1
            if not done % 100 and time.process_time() - start >= seconds:
                return done / (time.process_time() - start)


def sweep_granularity(trajectories: list[Trajectory], clients: int, seconds: float) -> Sweep:
    """Operations a second by ratio and granularity."""
    walk = walk_of(trajectories, clients)
    return {
        name: {
            str(granularity or "auto"): throughput(walk, ratio, granularity, seconds)
            for granularity in GRANULARITIES
        }
        for name, ratio in RATIOS.items()
    }


def granularity_claims(table: Sweep, clients: int) -> list[Verdict]:
    """What the paper says about figure 7, and our own claim for the automatic granularity."""
    fixed = [str(granularity) for granularity in GRANULARITIES if granularity]
    gets, updates, even = table["1/99"], table["99/1"], table["1/1"]
    best = {name: max(fixed, key=row.__getitem__) for name, row in table.items()}
    spread = {
        name: min(row[name] / max(row[other] for other in fixed) for row in table.values())
        for name in fixed
    }
    balanced = max(spread, key=spread.__getitem__)
    auto = min(row["auto"] / max(row[name] for name in fixed) for row in table.values())
    claims = {
        "finer fields make gets faster": (
            gets["100"] > gets["1"],
            f"granularity 100 has {gets['100'] / gets['1']:.2f}x the throughput of 1 at 1/99",
        ),
        "finer fields make updates slower": (
            updates["100"] < updates["1"],
            f"granularity 100 has {updates['100'] / updates['1']:.2f}x the throughput of 1 at 99/1",
        ),
        "25 is well balanced for all ratios": (
            balanced == "25" or spread["25"] > 0.8,
            f"worst case {spread['25']:.2f} of the best; most balanced is {balanced}",
        ),
        "10 is best at 1/1": (
            best["1/1"] == "10",
            f"best is {best['1/1']}; 10 reaches {even['10'] / even[best['1/1']]:.2f} of it",
        ),
    }
    told = [_verdict("figure 7", text, clients, claim) for text, claim in claims.items()]
    near = auto > 0.8, f"worst case {auto:.2f} of the best fixed granularity of each ratio"
    told.append(_verdict(OURS, "automatic is near the best fixed one", clients, near))
    return told


def _verdict(source: str, text: str, clients: int, claim: tuple[bool, str]) -> Verdict:
    holds, numbers = claim
    return Verdict(source, f"{text} ({clients} clients)", holds, numbers)


def sweep_clients(trajectories: list[Trajectory], seconds: float, *, remembers: bool) -> Sweep:
    """How many times as fast the index is with geofences as without, by ratio and clients."""
    factors: Sweep = {name: {} for name in RATIOS}
    for clients in CLIENT_COUNTS:
        walk = walk_of(trajectories, clients)
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


def geo_claims(factors: Sweep, way: str) -> list[Verdict]:
    """What the paper says about figure 8."""
    one_update, one_get = 1 / factors["99/1"]["1"], 1 / factors["1/99"]["1"]
    many = factors["1/99"]["1000"], factors["1/10"]["1000"]
    crossing = next((n for n, factor in factors["1/99"].items() if factor > 1), "none")
    claims = {
        "one client, 99/1: 24.37 times slower with geofences, not more": (
            one_update <= 24.37,
            f"{one_update:.2f} times slower",
        ),
        "one client, 1/99: 1.13 times slower, not more": (
            one_get <= 1.13,
            f"{one_get:.2f} times slower",
        ),
        "one client: geofences cost more in updates than in gets": (
            one_update > one_get,
            f"{one_update:.2f} against {one_get:.2f}",
        ),
        "many clients: geofences win where gets dominate": (
            min(many) > 1,
            f"1000 clients: {many[0]:.2f}x at 1/99, {many[1]:.2f}x at 1/10; ahead from {crossing}",
        ),
    }
    return [Verdict("figure 8", f"{text} ({way})", *claim) for text, claim in claims.items()]
