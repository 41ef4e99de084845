"""Subscribers that move: what they lose on the way, and what their declarations cost."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import statistics
import threading
import time
from typing import TYPE_CHECKING

import zenoh

import zonal
from cover_sizes import declared_m2, size_m2
from session_scale import cpu_seconds, key_at, wait_for_match
from zonal.geo import Circle, Point, destination

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

DUOMO = Point(45.4642, 9.19)
TOPIC = "bench/moving"
_CITY_M = 12_000.0
_MESSAGES_A_SECOND = 600
_SPAWN = multiprocessing.get_context("spawn")


def moving_through_cells(endpoint: str, cells: int) -> dict[str, int]:
    """An ego-centric subscriber crosses many cells while 1,000 messages a second flow."""
    config = zonal.config("client", connect=[endpoint])
    where, stop, sent = [DUOMO], threading.Event(), [0]
    with (
        zonal.open(config) as sender,
        zonal.open(config, position=lambda: where[0], lifetime=3600) as mobile,
    ):
        subscriber = mobile.declare_subscriber(TOPIC, area=Circle(radius_m=1000), margin_m=20)
        wait_for_match(endpoint, key_at(TOPIC, DUOMO))
        publisher = sender.declare_publisher(
            TOPIC, congestion_control=zenoh.CongestionControl.BLOCK
        )

        def send() -> None:
            start = time.perf_counter()
            while not stop.is_set():
                # Always inside, wherever the subscriber is: it walks a circle of 900 m around.
                publisher.put(str(sent[0]).encode(), location=DUOMO)
                sent[0] += 1
                time.sleep(max(0.0, start + sent[0] / 1000 - time.perf_counter()))

        thread = threading.Thread(target=send)
        thread.start()
        crossed: set[str] = set(subscriber.declared_keys)
        steps = 0
        while len(crossed) < cells and steps < 20 * cells:
            steps += 1
            where[0] = destination(DUOMO, steps * 11.3, 900 * math.sqrt((steps * 0.618) % 1))
            mobile.update_position()
            crossed.update(subscriber.declared_keys)
            time.sleep(0.002)
        stop.set()
        thread.join()
        heard: list[int] = []
        while len(heard) < sent[0] and (sample := subscriber.recv(timeout=5)) is not None:
            heard.append(int(sample.payload.to_bytes()))
        while (extra := subscriber.try_recv()) is not None:
            heard.append(int(extra.payload.to_bytes()))
    return {
        "moving_cells": len(crossed),
        "moving_moves": steps,
        "moving_sent": sent[0],
        "moving_lost": sent[0] - len(set(heard)),
        "moving_doubled": len(heard) - len(set(heard)),
    }


def many_moving(
    endpoint: str, router_pid: int, subscribers: int, seconds: float, *, amid_traffic: bool
) -> dict[str, float]:
    """Subscribers with circles of 2 km move at 10 m/s (time runs ten times as fast).

    Amid traffic, messages come from all over the city, so many that they are covered closely.
    """
    if not amid_traffic:
        return _many_moving(endpoint, router_pid, subscribers, seconds)
    pipe, other = _SPAWN.Pipe()
    sender = _SPAWN.Process(target=_send_from_everywhere, args=(endpoint, other))
    sender.start()
    pipe.recv()
    try:
        figures = _many_moving(endpoint, router_pid, subscribers, seconds)
    finally:
        pipe.send("end")
        sender.join()
    return {f"{name}_amid_traffic": value for name, value in figures.items()}


def _send_from_everywhere(endpoint: str, pipe: Connection) -> None:
    """Messages at an even pace from places that are spread evenly over the city."""
    with zonal.open(zonal.config("client", connect=[endpoint])) as session:
        pipe.send("ready")
        start = time.perf_counter()
        for number in itertools.count():
            if pipe.poll(max(0.0, start + number / _MESSAGES_A_SECOND - time.perf_counter())):
                return
            away_m = _CITY_M * math.sqrt(number * 0.618 % 1)
            session.put(TOPIC, b"x" * 64, location=destination(DUOMO, number * 137.5, away_m))


def _many_moving(
    endpoint: str, router_pid: int, subscribers: int, seconds: float
) -> dict[str, float]:
    config = zonal.config("client", connect=[endpoint])
    pace, step_s = 10.0, 0.5
    sessions, subscribed, places, bearings = [], [], [], []
    try:
        for number in range(subscribers):
            places.append(destination(DUOMO, number * 37.0, 8000 * math.sqrt(number / subscribers)))
            bearings.append(number * 53.0 % 360)
            session = zonal.open(config, position=lambda n=number: places[n], lifetime=3600)
            sessions.append(session)
            area = Circle(radius_m=2000)
            subscribed.append(session.declare_subscriber(TOPIC, lambda _: None, area=area))
        declared = 0
        cpu, begin, metres = cpu_seconds(router_pid), time.perf_counter(), 0.0
        while time.perf_counter() - begin < seconds:
            tick = time.perf_counter()
            for number, (session, subscriber) in enumerate(zip(sessions, subscribed, strict=True)):
                places[number] = destination(places[number], bearings[number], 10 * pace * step_s)
                before = set(subscriber.declared_keys)
                session.update_position()
                declared += len(set(subscriber.declared_keys) - before)
                metres += 10 * pace * step_s
            time.sleep(max(0.0, step_s - (time.perf_counter() - tick)))
        elapsed = time.perf_counter() - begin
        used = cpu_seconds(router_pid) - cpu
        ratios = [
            declared_m2(each.declared_keys) / size_m2(Circle(DUOMO, radius_m=2000))
            for each in subscribed
        ]
    finally:
        for session in sessions:
            session.close()
    kilometres = metres / 1000
    return {
        "movers": subscribers,
        "declarations_per_km": declared / kilometres,
        "moving_declared_over_wanted": statistics.median(ratios),
        "router_cpu_share_of_a_core": used / elapsed,
        "router_cpu_at_10_m_s": used / elapsed / (kilometres * 1000 / elapsed / subscribers / 10),
        "kilometres": kilometres,
    }
