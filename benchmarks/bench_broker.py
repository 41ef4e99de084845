"""The geo broker against Mosquitto, in one run: throughput, the use case, overhead, idle memory.

Load comes from separate processes. Every figure is a ratio within this run; the last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import mqtt5
import numpy as np
from rich.console import Console
from rich.table import Table

import broker_attacks
import broker_load
import broker_neutral
from zonal.broker import Broker, RemoteEnd, Settings, set_password
from zonal.errors import SparkError
from zonal_lab.geobroker import (
    KINDS,
    PUBLISH,
    GeobrokerPlan,
    Travelled,
    UseCase,
    journeys_for,
    measure_overhead,
    run_use_case,
    run_workload_job,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from broker_neutral import Shape

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
console = Console(stderr=False)


class Running(NamedTuple):
    """A broker that serves."""

    name: str
    port: int
    pid: int
    protocol: str = ""
    """What the neutral load is told of it, if it is not MQTT."""


@contextlib.contextmanager
def zonal_broker(*arguments: str) -> Iterator[Running]:
    """Our broker, in a process of its own."""
    fixed = ("--port", "0", "--sys-interval", "0", "--log-level", "error")
    command = [sys.executable, "-m", "zonal", "broker", *fixed, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"mqtt://[^:]+:(\d+)", process.stdout.readline())
            assert found is not None
            yield Running("zonal", int(found[1]), process.pid)
        finally:
            process.terminate()


@contextlib.contextmanager
def mosquitto(
    credentials: str = "allow_anonymous true", *, no_delay: bool = True
) -> Iterator[Running]:
    """Mosquitto as Debian ships it, with its limits out of the way."""
    port = free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(
            f"listener {port} 127.0.0.1\n{credentials}\npersistence false\nlog_type none\n"
            "max_queued_messages 0\nmax_inflight_messages 1000\n"
            f"set_tcp_nodelay {str(no_delay).lower()}\n"
        )
        file.flush()
        with subprocess.Popen(["mosquitto", "-c", file.name], stderr=subprocess.DEVNULL) as process:
            try:
                wait_for_port(port)
                yield Running("mosquitto", port, process.pid)
            finally:
                process.terminate()


@contextlib.contextmanager
def tile38(program: str) -> Iterator[Running]:
    """Tile38 without its append-only file."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--appendonly", "no", "-q", "-h", "127.0.0.1", "-p", str(port)]
        with subprocess.Popen([*command, "-d", folder], stdout=subprocess.DEVNULL) as process:
            try:
                wait_for_port(port)
                yield Running("tile38", port, process.pid, "resp=1")
            finally:
                process.terminate()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.02)
    raise TimeoutError(f"nothing listens on port {port}")


# Throughput

Fan = tuple[str, int, int, int, int, float]
"""Its name, publishers, subscribers, QoS, deliveries under way, and the target."""
FANS: tuple[Fan, ...] = (
    ("1 → 100, QoS 0", 1, 100, 0, 20_000, 1.0),
    ("1 → 100, QoS 0, few under way", 1, 100, 0, 1_000, 1.0),
    ("1 → 100, QoS 1", 1, 100, 1, 20_000, 0.5),
    ("100 → 1, QoS 0", 100, 1, 0, 5_000, 0.5),
    ("100 → 1, QoS 0, few under way", 100, 1, 0, 400, 0.5),
    ("100 → 1, QoS 1", 100, 1, 1, 5_000, 0.5),
)


def throughput(seconds: float, rounds: int, fans: tuple[Fan, ...]) -> list[dict[str, Any]]:
    """Deliveries per second of both, alternating; the median of the rounds."""
    rows = []
    for name, publishers, subscribers, qos, window, target in fans:
        rates: dict[str, list[broker_load.Rate]] = {"mosquitto": [], "zonal": []}
        for _ in range(rounds):
            for start in (mosquitto, zonal_broker):
                with start() as running:
                    rates[running.name].append(
                        broker_load.rate(
                            running.port, running.pid, publishers=publishers,
                            subscribers=subscribers, qos=qos, seconds=seconds, window=window,
                        )
                    )  # fmt: skip
        rows.append({"case": name, "target": target, **compared(rates)})
        row = rows[-1]
        console.print(
            f"{name}: {row['zonal']:,} deliveries/s, Mosquitto {row['mosquitto']:,}: "
            f"{row['share']:.2f} (target {target}); CPU {row['zonal_cpu_us']} and "
            f"{row['mosquitto_cpu_us']} µs a delivery"
        )
    return rows


def compared(rates: dict[str, list[broker_load.Rate]]) -> dict[str, Any]:
    """Medians of both brokers; the share is the median of the rounds' own ratios."""
    pairs = zip(rates["zonal"], rates["mosquitto"], strict=True)
    result: dict[str, Any] = {
        "share": round(statistics.median(ours.per_s / theirs.per_s for ours, theirs in pairs), 2)
    }
    for name, seen in rates.items():
        result[name] = round(statistics.median(rate.per_s for rate in seen))
        result[f"{name}_cpu_us"] = round(statistics.median(rate.cpu_us for rate in seen), 2)
    return result


def machine_costs() -> dict[str, float]:
    """Microseconds a delivery takes inside the machine, without sockets, by messages a read."""
    costs = {}
    for name, subscribers, together in (
        ("1 → 100, QoS 0", 100, 50),
        ("1 → 100, QoS 0, few under way", 100, 1),
        ("100 → 1, QoS 0", 1, 12),
        ("100 → 1, QoS 0, few under way", 1, 1),
    ):
        broker = Broker(Settings(sys_interval=0))
        for number in range(subscribers):
            connection = broker.open(RemoteEnd(), 0.0)
            asked = mqtt5.TopicFilter("bench/fan", max_qos=broker_load.QOS[0])
            broker.receive(
                connection,
                mqtt5.ConnectPacket(f"s{number}").write()
                + mqtt5.SubscribePacket(1, [asked]).write(),
                0.0,
            )
        sender = broker.open(RemoteEnd(), 0.0)
        broker.receive(sender, mqtt5.ConnectPacket("p").write(), 0.0)
        burst = mqtt5.PublishPacket("bench/fan", b"x" * 256).write() * together
        start, count = time.process_time(), 0
        while time.process_time() - start < 1.0:
            broker.receive(sender, burst, 0.0)
            for connection in broker.flush():
                connection.take()
            count += together * subscribers
        costs[name] = round((time.process_time() - start) / count * 1e6, 2)
        console.print(
            f"{name}: {costs[name]} µs a delivery for decoding, matching and encoding; what it "
            "takes beyond that is sockets"
        )
    return costs


def neutral(seconds: float, rounds: int, shapes: tuple[Shape, ...]) -> list[dict[str, Any]]:
    """Both brokers under the same load in C, each in two settings."""
    brokers = {
        "zonal": zonal_broker,
        "zonal, busy polling": partial(zonal_broker, "--busy-poll-us", "400"),
        "mosquitto": partial(mosquitto, no_delay=False),
        "mosquitto, no delay": mosquitto,
    }
    return broker_neutral.measure(brokers, shapes, seconds, rounds, console.print)


def fences(
    seconds: float, rounds: int, shapes: tuple[Shape, ...], program: str | None
) -> list[dict[str, Any]]:
    """Notifications of circular fences, and how long one takes to set up, beside Tile38's."""
    brokers: dict[str, Callable[[], AbstractContextManager[Running]]] = {"zonal": zonal_broker}
    if program is None:
        console.print("Tile38 is not here: --tile38 names its server, else PATH has tile38-server")
    else:
        brokers["tile38"] = partial(tile38, program)
    rows = broker_neutral.measure(brokers, shapes, seconds, rounds, console.print)
    for row in rows:
        for name in brokers:
            console.print(
                f"{row['case']}, {name}: set up in {row[f'{name} subscribe_us']} µs each, "
                f"processor time {row[f'{name} subscribe_cpu_us']} µs"
            )
    return rows


# The use case


CASES = ((250, "teleport"), (1000, "teleport"), (1000, "travel"))


def use_case(
    seconds: float, data: Path | None, cases: tuple[tuple[int, str], ...]
) -> list[dict[str, Any]]:
    """The lab's travelling and teleporting clients, with geo-contexts and without."""
    ways = journeys_for(1000, trace(data))
    rows = []
    for clients, kind in cases:
        plan = GeobrokerPlan(
            seconds=2 * seconds, clients=(clients,), teleport_seconds=seconds, ramp_s=2.0
        )
        for system in ("mosquitto", "geo"):
            seen = run_use_case(UseCase(system, clients, kind), plan, ways)
            rows.append(travelled(seen))
            console.print(describe(rows[-1]))
    return rows


def trace(data: Path | None) -> pa.Table | None:
    """Geolife by the workload job; without Geolife or Spark, clients walk made-up ways."""
    if data is None:
        return None
    try:
        found = run_workload_job(data, 1000)
    except SparkError as error:
        console.print(f"made-up ways: {error}")
        return None
    from pyspark.sql import SparkSession  # here: processes of the load import this module

    SparkSession.getActiveSession().stop()  # not beside what is measured
    return found


def travelled(seen: Travelled) -> dict[str, Any]:
    rows = seen.operations[seen.operations[:, 2] == PUBLISH]
    latencies = (rows[:, 4] - rows[:, 3]) / 1e6
    cpu_s = seen.broker_cpu_s + seen.clients_cpu_s
    return {
        "broker": "zonal" if seen.case.system == "geo" else "mosquitto",
        "clients": seen.case.clients,
        "kind": seen.case.kind,
        "published_per_s": round(len(rows) / seen.seconds),
        "deliveries": seen.received,
        "excess": seen.received - seen.relevant,
        "unfinished": seen.unfinished,
        "latency_ms": round(float(latencies.mean()), 2),
        "latency_p99_ms": round(float(np.percentile(latencies, 99)), 2),
        "broker_cpu_s": round(seen.broker_cpu_s, 2),
        "clients_cpu_s": round(seen.clients_cpu_s, 2),
        "relevant_per_cpu_s": round(seen.relevant / cpu_s),
    }


def describe(row: dict[str, Any]) -> str:
    return (
        f"{row['clients']} clients, {KINDS[row['kind']]}, {row['broker']}: "
        f"{row['published_per_s']:,}/s, {row['deliveries']:,} deliveries, {row['excess']:,} in "
        f"excess, latency {row['latency_ms']} ms (p99 {row['latency_p99_ms']}), CPU "
        f"{row['broker_cpu_s']} + {row['clients_cpu_s']} s, "
        f"{row['relevant_per_cpu_s']:,} relevant/CPU s"
    )


# Geo overhead and idle memory


def overhead(seconds: float, rounds: int) -> dict[str, Any]:
    """Everything matches: the lab's measurement, while nobody moves and while everybody does."""
    result = {}
    for name, moving in (("resting", False), ("moving", True)):
        found = measure_overhead(seconds, rounds, moving=moving)
        mean = statistics.fmean
        latency, cpu = mean(found.latency_percents), mean(found.cpu_percents)
        result[name] = {**asdict(found), "latency_percent": round(latency, 1)}
        console.print(
            f"everything matches, clients {name}: delivery {mean(found.geo_ms):.3f} ms with geo "
            f"checks, {mean(found.no_geo_ms):.3f} ms without: {latency:+.1f} % (target +8 %); the "
            f"broker's CPU time {cpu:+.1f} %"
        )
    return result


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1])


def idle(count: int) -> dict[str, float]:
    """Memory of idle connections."""
    result: dict[str, float] = {"connections": count}
    for start in (mosquitto, zonal_broker):
        with start() as running:
            before = resident_kib(running.pid)
            ready, stop = broker_load.spawn.Event(), broker_load.spawn.Event()
            process = broker_load.spawn.Process(
                target=broker_load.hold, args=(running.port, count, ready, stop)
            )
            process.start()
            try:
                assert ready.wait(120)
                each = (resident_kib(running.pid) - before) / count
            finally:
                stop.set()
                process.join(20)
            result[f"{running.name}_kib_each"] = round(each, 2)
            console.print(f"{count:,} idle connections, {running.name}: {each:.2f} KiB each")
    return result


# Attacks


def attacks(seconds: float, brokers: tuple[str, ...]) -> list[dict[str, Any]]:
    """A well-behaved pair beside clients that do their worst."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours", Path(folder) / "theirs"
        user, password = broker_attacks.USER.decode(), broker_attacks.PASSWORD
        set_password(ours, user, password)
        subprocess.run(
            ["mosquitto_passwd", "-b", "-c", str(theirs), user, password.decode()], check=True
        )
        Path(folder).chmod(0o755)  # Mosquitto reads it as another user
        theirs.chmod(0o644)
        starts = {
            "mosquitto": lambda: mosquitto(f"password_file {theirs}"),
            "zonal": lambda: zonal_broker("--passwords", str(ours)),
        }
        for name in brokers:
            with starts[name]() as running:
                for row in broker_attacks.attacked(running.port, seconds):
                    rows.append({"broker": running.name, **row})
                    console.print(
                        f"{running.name}, {row['attack']}: p99 {row['alone_p99_ms']} → "
                        f"{row['attacked_p99_ms']} ms (×{row['ratio']}), lost {row['lost']} of "
                        f"{row['messages']}"
                    )
    return rows


# Output


def main() -> None:
    options = read_arguments()
    results: dict[str, Any] = {"cpus": os.cpu_count()}
    if options.into is not None and options.into.exists():
        results = json.loads(options.into.read_text())
    if not options.draw and shutil.which("mosquitto") is None:
        raise SystemExit("mosquitto is not installed (Debian: apt-get install mosquitto)")
    for name, part in PARTS.items():
        if options.draw or (options.only and name not in options.only):
            continue
        console.print(f"[bold]{name.replace('_', ' ').capitalize()}[/]")
        results[name] = part(options)
        if options.into is not None:
            options.into.write_text(json.dumps(results) + "\n")
    if not options.no_figures:
        # Here, because every process of the load imports this module first.
        import broker_figures

        FIGURES.mkdir(parents=True, exist_ok=True)
        broker_figures.draw(results, FIGURES)
    summary(results)
    print(json.dumps(results))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--no-figures", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), help="only these parts")
    parser.add_argument("--data", type=Path, help="a folder with Geolife's *.plt; else made up")
    parser.add_argument("--into", type=Path, help="JSON file that gathers the parts of many runs")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw what --into has")
    parser.add_argument("--tile38", default=shutil.which("tile38-server"), help="Tile38's server")
    parser.add_argument("--quick", action="store_true", help="the least of everything, no pictures")
    options = parser.parse_args()
    options.fans, options.attacked = FANS, ("mosquitto", "zonal")
    options.shapes, options.fences = broker_neutral.SHAPES, broker_neutral.FENCES
    options.cases, options.overhead = CASES, (max(10.0, options.seconds), max(5, options.rounds))
    if options.quick:
        options.seconds, options.rounds, options.idle, options.no_figures = 0.3, 1, 20, True
        options.fans, options.attacked = FANS[:1], ("zonal",)
        options.shapes, options.fences = options.shapes[2:3], broker_neutral.FEW_FENCES
        options.cases, options.overhead = ((20, "teleport"),), (0.5, 1)
    return options


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "throughput": lambda options: throughput(options.seconds, options.rounds, options.fans),
    "neutral": lambda options: neutral(options.seconds, options.rounds, options.shapes),
    "fences": lambda options: fences(
        options.seconds, options.rounds, options.fences, options.tile38
    ),
    "machine_us_per_delivery": lambda _: machine_costs(),
    "use_case": lambda options: use_case(2 * options.seconds, options.data, options.cases),
    # Ten seconds: by then every sender has been heard from once before what counts begins.
    "overhead": lambda options: overhead(*options.overhead),
    "idle": lambda options: idle(options.idle),
    "attacks": lambda options: attacks(options.seconds, options.attacked),
}


def summary(results: dict[str, Any]) -> None:
    """Targets and what was reached."""
    table = Table("figure", "target", "reached", "")
    for row in results.get("throughput", ()):
        met = row["share"] >= row["target"]
        table.add_row(row["case"], f"≥ {row['target']}", str(row["share"]), "✓" if met else "✗")
    for row in results.get("fences", ()):
        if "tile38" in row:
            ratio = row["zonal"] / row["tile38"]
            name = f"notifications, {row['case']}, of Tile38's"
            table.add_row(name, "≥ 1.5", f"{ratio:.2f}", "✓" if ratio >= 1.5 else "✗")
        took = row["zonal subscribe_us"]
        name = f"set-up of a fence, {row['case']}"
        table.add_row(name, "≤ 80 µs", f"{took} µs", "✓" if took <= 80 else "✗")
    for row in results.get("attacks", ()):
        if row["broker"] == "zonal":
            met = row["ratio"] <= 2 and not row["lost"]
            name, reached = f"p99, {row['attack']}", f"×{row['ratio']}, {row['lost']} lost"
            table.add_row(name, "≤ ×2, 0 lost", reached, "✓" if met else "✗")
    rows = results.get("use_case", [])
    for theirs, ours in zip(rows[::2], rows[1::2], strict=True):
        ratio = ours["relevant_per_cpu_s"] / max(1, theirs["relevant_per_cpu_s"])
        name = f"relevant/CPU s, {ours['clients']} {KINDS[ours['kind']]} clients"
        table.add_row(name, "> 1", f"{ratio:.1f}", "✓" if ratio > 1 else "✗")
    if "overhead" in results:
        percent = results["overhead"]["resting"]["latency_percent"]
        table.add_row("geo overhead", "≤ 8 %", f"{percent} %", "✓" if percent <= 8 else "✗")
    console.print(table)


if __name__ == "__main__":
    main()
