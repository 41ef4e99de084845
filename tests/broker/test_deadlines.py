"""Deadlines forget what has ended: they hold neither connections nor sessions until they come."""

from __future__ import annotations

import gc
import weakref

import mqtt5
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench
from zonal.broker.timers import FEW, Timers


def test_ended_connections_with_a_long_keep_alive_are_forgotten() -> None:
    bench = Bench()
    for number in range(500):
        bench.connected(f"c{number}", keep_alive=65535).hang_up()
    assert len(bench.broker.timers) <= 2 * FEW + 2


def test_connections_that_never_said_connect_are_forgotten() -> None:
    bench = Bench()
    for _ in range(500):
        bench.client().hang_up()
    assert len(bench.broker.timers) <= 2 * FEW + 2


def test_sessions_that_were_replaced_are_forgotten() -> None:
    bench = Bench()
    will = mqtt5.Will("gone", will_delay_interval=80_000)
    for _ in range(500):
        bench.connected("same", expiry=86_400, will=will).hang_up()
    assert len(bench.broker.timers) <= 2 * FEW + 4


def test_a_forgotten_deadline_holds_nothing() -> None:
    class Thing:
        def __call__(self, _: float) -> None: ...

    timers, thing = Timers(), Thing()
    deadline = timers.at(1e9, thing)
    known = weakref.ref(thing)
    timers.cancel(deadline)
    del thing
    gc.collect()
    assert known() is None


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=400))
def test_what_is_due_comes_in_order_and_what_is_cancelled_never(
    wanted: list[tuple[int, bool]],
) -> None:
    timers = Timers()
    came: list[tuple[int, int]] = []
    made = []
    for number, (when, keep) in enumerate(wanted):
        made.append(
            (timers.at(when, lambda _, when=when, n=number: came.append((when, n))), keep)  # type: ignore[misc]
        )
    for deadline, keep in made:
        if not keep:
            timers.cancel(deadline)
            timers.cancel(deadline)
    for now in range(0, 51, 10):
        for due in timers.due(now):
            due(now)
    expected = [(when, n) for n, (when, keep) in enumerate(wanted) if keep]
    assert came == sorted(expected)
    assert len(timers) == 0
