"""What each work is, in words for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal_lab.peers.fences import STEPS
from zonal_lab.peers.joins_sedona import PACKAGE
from zonal_lab.peers.things import NEAREST, RADIUS_M
from zonal_lab.peers.use_case import GRANULARITY, WARM_S

if TYPE_CHECKING:
    from collections.abc import Callable

TITLES = {
    "things": "What is where now",
    "fences": "Who enters, who leaves",
    "index": "GeoBroker's own code",
    "use-case": "GeoBroker's own server",
    "mqtt": "MQTT brokers",
    "rest": "REST",
    "joins": "Joins of what was recorded",
}
_GEOBROKER = (
    "commit 0e11aec of 2021, built with Spatial4j 0.8, JTS 1.17 and JeroMQ 0.5.3 as released, "
    "where it names snapshots of its own"
)


def words_of(work: str, plan: dict[str, Any]) -> str:
    """A work of a plan: what is done, and how each system is set up."""
    return _WORDS[work](plan)


def _things(plan: dict[str, Any]) -> str:
    return (
        f"{plan['things']:,} things in 55 × 39 km, half of them moved once, then "
        f"{plan['questions']} questions of one client, one after the other: all within "
        f"{RADIUS_M / 1000:g} km, and the nearest {NEAREST}. *Zonal*: `zonal store`, durable "
        "in SQLite, behind a stock router; a session puts one message a thing and asks by "
        "`get`; the processor time is that of store and router. *Tile38*, *Redis*: in memory "
        "alone, many commands in a write; Redis has no search without a radius, so its client "
        "doubles one. *PostGIS*: geography with a GiST index, prepared statements of 500 "
        "rows, no `fsync`; its memory is the table's size with indices."
    )


def _fences(plan: dict[str, Any]) -> str:
    return (
        f"{plan['fences']:,} circles of 100 to 500 m, {plan['moving']:,} things, {STEPS} steps "
        "of some 50 m each; entries and exits are told. *Zonal*: the border alone in a "
        "process, places handed over in batches of 500, without a network. *Tile38*: a "
        "channel for each circle (`SETCHAN … DETECT enter,exit`), one subscriber of all of "
        "them, steps as `SET`s of 500 in a write; its processor time includes the network's."
    )


def _index(plan: dict[str, Any]) -> str:
    return (
        f"{plan['workload_scale']:g} of GeoBroker's 110,000 operations (35,000 adds, 25,000 "
        "updates, 50,000 gets; circles of 0.01°), answers as subscriptions that are exactly "
        "right. *GeoBroker*: `TopicAndGeofenceMapper` and `ClientDirectory` of its server "
        f"({_GEOBROKER}), called as its matching logic does, "
        "at the best of the granularities 25, 50 and 100, after two rounds of warm-up; "
        "processor time of its one thread, without that of the garbage collector and the "
        "compiler."
    )


def _use_case(plan: dict[str, Any]) -> str:
    return (
        f"{plan['clients']} clients that are somewhere else each time, in 0.2 × 0.2°; at each "
        "place a client tells where it is, moves its subscription there (a circle of 0.01°) "
        "and publishes 750 bytes to a circle of the same size, each once the one before is "
        f"acknowledged, as fast as the server answers; {plan['seconds']:g} s after "
        f"{WARM_S:g} s of warm-up. A load in C, with the same places for both. *GeoBroker*: "
        f"its server ({_GEOBROKER}), spoken to over ZeroMQ with JSON as its clients do, "
        f"granularity {GRANULARITY}, two message processors, logging errors alone. "
        "*Zonal*: our broker over MQTT 5, subscriptions at QoS 0, all else acknowledged."
    )


def _mqtt(plan: dict[str, Any]) -> str:
    return (
        f"A load in C, MQTT 3.1.1, 64 bytes, {plan['seconds']:g} s each, a fresh broker for each "
        f"row. *Steady*: {plan['rate']:,} messages a second, 1 → 1, QoS 0, latency from when a "
        f"message was due. *Idle*: {plan['idle']:,} connections. Mosquitto with `set_tcp_nodelay` "
        "and its limits out of the way; nats-server with JetStream, as its MQTT needs; rumqttd "
        "with room for 1,000 under way; aedes on one core as it is; amqtt open to everybody. "
        "*zenohd with MQTT*: the plug-in in the router's process, with its defaults; it grants "
        "QoS 0 to whoever subscribes at 1, so its rows of QoS 1 are acknowledged publications and "
        "deliveries that nobody acknowledges. –: the broker did not do it."
    )


def _rest(plan: dict[str, Any]) -> str:
    return (
        f"A load in C, HTTP/1.1 on connections that stay, one request under way on each, a "
        f"body of 30 bytes, {plan['seconds']:g} s each; *get*: every connection asks for a key "
        "of its own. Behind the server's router a client (Python) hears every put and answers "
        "every get. *Zonal*: the web server of `zonal serve` with a router in its process, "
        "without its limit on the requests of one address. *zenohd with REST*: the plug-in in "
        "the router's process, with its defaults. –: it knows no places."
    )


def _joins(plan: dict[str, Any]) -> str:
    return (
        f"{plan['messages']:,} messages and {plan['subscriptions']:,} subscriptions to circles "
        "of 1.1 km in Beijing, both in Parquet: how many messages each subscriber would have "
        "got, on two cores, after a join of a quarter of the messages. *Zonal*: "
        "`delivery_counts`. *Apache Sedona*: a join by `ST_DistanceSphere`, grouped and "
        f"counted, on the newest Spark that its package fits (`{PACKAGE}`). Processor time is "
        "that of Java and its workers."
    )


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "things": _things,
    "fences": _fences,
    "index": _index,
    "use-case": _use_case,
    "mqtt": _mqtt,
    "rest": _rest,
    "joins": _joins,
}
