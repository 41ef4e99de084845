from __future__ import annotations

from itertools import pairwise

import pytest

from zonal_lab.errors import EmulationError
from zonal_lab.scale import broker_growth
from zonal_lab.scale.broker_growth import measure_broker, started_broker
from zonal_lab.scale.mqtt_crowd import Connection, Crowd


def test_our_broker_delivers_to_exactly_those_whose_areas_contain_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker_growth, "A_CONNECTION", 40)
    found = measure_broker(400)
    assert found["connections"] == 10
    assert found["hits"] == found["expected"] > 1
    figures = [found[name] for name in ("add_us", "publish_cpu_us", "bytes_each")]
    assert min(figures) > 0
    assert all(low <= high for low, high in pairwise([found["ask_us"], found["ask_p99_us"]]))


def test_a_subscription_that_the_broker_refuses_is_said() -> None:
    with started_broker() as (_, port), pytest.raises(EmulationError, match="refused"):
        Crowd(port, [["$geo/circle:nowhere/air"]])


def test_packets_are_read_however_they_arrive() -> None:
    with started_broker() as (_, port):
        crowd = Crowd(port, [["air/#"]])
        publisher = Connection(port, "publisher")
        for size in (1, 200, 40_000):
            publisher.publish("air/quality", b"x" * size)
        assert crowd.take(3, 10.0) == 3
        publisher.socket.close()
        crowd.close()
