"""Messages a second from an unpaced publisher through a router into the log.

Publisher, router and recorder are processes of their own. The rate is by the clock; what the
recorder alone takes of a processor is what one free core would do.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipeline_measuring import measured, say
from zonal.pipeline import Log, Recorder, RecorderPlan
from zonal.runtime import collect_seldom

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SPAWN = multiprocessing.get_context("spawn")
PLANS = {
    "without recovery": RecorderPlan(recover=False),
    "with recovery": RecorderPlan(),
}


def bench_recorder(folder: Path, scale: float, _: Path | None) -> dict[str, Any]:
    """Five runs of each plan, in turns."""
    collect_seldom()  # as `zonal record` does
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in PLANS}
    for number in range(5):
        for name, plan in PLANS.items():
            place = folder / f"{number}-{plan.recover}"
            runs[name].append(_record(place, int(600_000 * scale), plan))
    result: dict[str, Any] = {"runs": runs}
    for name, ran in runs.items():
        rates = [run["messages_per_s"] for run in ran]
        own = statistics.median(run["own_cpu_us"] for run in ran)
        say(
            f"recorder {name}: {', '.join(f'{rate:,.0f}' for rate in rates)} msg/s by the clock "
            f"through a router (target 50,000); {own:.1f} µs of processor time a message, which is "
            f"{1e6 / own:,.0f} a second on one free core, and with publisher and router "
            f"{statistics.median(run['all_cpu_us'] for run in ran):.0f} µs; "
            f"{sum(run['overflowed'] for run in ran):.0f} overflowed, "
            f"{sum(run['lost'] for run in ran):.0f} lost"
        )
        key = "" if not PLANS[name].recover else "recovering_"
        result[f"{key}messages_per_s"] = statistics.median(rates)
        result[f"{key}messages_per_own_cpu_s"] = 1e6 / own
    return result


def _record(folder: Path, count: int, plan: RecorderPlan) -> dict[str, float]:
    import zonal

    with _process(_route) as endpoint:  # noqa: SIM117 - in the order of their closing
        with zonal.open(zonal.config("client", connect=[endpoint])) as session:
            with Recorder(session, folder / "log", ["city/**"], plan=plan) as recorder:
                with _process(_publish, endpoint, count):
                    own = time.process_time()
                    with measured() as took:
                        end = time.monotonic() + 120
                        while recorder.counters.written < count and time.monotonic() < end:
                            time.sleep(0.05)
                    own = time.process_time() - own
                    counters = recorder.counters
    return {
        "messages": count,
        "messages_per_s": count / took.wall_s,
        "own_cpu_us": 1e6 * own / count,
        "all_cpu_us": 1e6 * took.cpu_s / count,
        "overflowed": counters.overflowed,
        "lost": count - Log(folder / "log").next_offset(),
    }


@contextmanager
def _process(target: Any, *arguments: Any) -> Iterator[Any]:
    """A process that says when it is ready, and ends when it is told to."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=target, args=(theirs, *arguments))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _route(pipe: Any) -> None:
    import zonal

    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        pipe.send(router.endpoints[0])
        pipe.recv()


def _publish(pipe: Any, endpoint: str, count: int) -> None:
    import zenoh

    import zonal

    with zonal.open(
        zonal.config("client", connect=[endpoint]), position=zonal.Point(45.46, 9.19)
    ) as session:
        publisher = session.declare_publisher(
            "city/airquality", congestion_control=zenoh.CongestionControl.BLOCK
        )
        pipe.send("ready")
        for number in range(count):
            publisher.put(b'{"pm10":%d,"station":"s1"}' % (number % 100))
        pipe.recv()  # a session that closes would drop what is still on its way
