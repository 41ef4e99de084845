"""What access control by place costs a stock router: processor time a message, with and without.

Publisher, router and subscriber are a process each; the router's own processor time is counted, so
that it matters little who else uses the machine. Messages are put one by one, as moving things do,
or by declared publishers, as things that stay in their place do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zenoh
from rich.console import Console

import zonal
from zonal.geo import Point
from zonal.keys import encoding_named, message_keys
from zonal.trust import compile_rules, read_rules

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MILANO = "POLYGON ((9.04 45.38, 9.28 45.38, 9.28 45.54, 9.04 45.54, 9.04 45.38))"
RULE = '[[rule]]\nwho = "anonymous"\nallow = ["publish", "subscribe", "query"]\ntopics = "city/#"\n'
BLOCK = zenoh.CongestionControl.BLOCK
SPAWN = multiprocessing.get_context("spawn")
PAYLOAD = bytes(20)
console = Console(highlight=False, stderr=True)


def access_controls() -> dict[str, Any]:
    """Without rules; a rule without an area; and one for Milano, with more and more cells."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.toml"
        path.write_text(RULE)
        anywhere = read_rules(path)
        path.write_text(f'{RULE}area = "{MILANO}"\n')
        milano = read_rules(path)
    made = {"no rules": None, "no area": compile_rules(anywhere).access_control}
    for cells in (8, 32, 128):
        made[f"{cells} cells"] = compile_rules(milano, max_cells=cells).access_control
    return made


def _route(pipe: Connection, access_control: Any) -> None:
    settings = {} if access_control is None else {"access_control": access_control}
    with zonal.Router(["tcp/127.0.0.1:0"], settings=settings) as router:
        pipe.send(router.endpoints[0])
        while pipe.recv() == "used":
            pipe.send(time.process_time())


def _hear(pipe: Connection, endpoint: str) -> None:
    heard = [0]

    def count(_: zenoh.Sample) -> None:
        heard[0] += 1

    with zenoh.open(zonal.config("client", connect=[endpoint])) as session:
        session.declare_subscriber("city/**/@s2/**", count)
        pipe.send("declared")
        while pipe.recv() == "heard":
            pipe.send(heard[0])


def _asked(pipe: Connection, word: str) -> Any:
    pipe.send(word)
    return pipe.recv()


def measure(access_control: Any, count: int, *, declared: bool) -> float:
    """Microseconds of the router's a message, of which all arrive."""
    (router_pipe, theirs), (hearer_pipe, its) = SPAWN.Pipe(), SPAWN.Pipe()
    router = SPAWN.Process(target=_route, args=(theirs, access_control))
    router.start()
    endpoint = router_pipe.recv()
    hearer = SPAWN.Process(target=_hear, args=(its, endpoint))
    hearer.start()
    hearer_pipe.recv()
    draw = random.Random(1)
    keys = [
        message_keys(
            f"city/air/{number}",
            Point(draw.uniform(45.39, 45.53), draw.uniform(9.05, 9.27)),
            None,
            encoding_named("s2"),
        )[0]
        for number in range(1000)
    ]
    with zenoh.open(zonal.config("client", connect=[endpoint])) as session:
        chosen = keys if declared else keys[:1]
        publishers = [session.declare_publisher(k, congestion_control=BLOCK) for k in chosen]
        while not publishers[-1].matching_status.matching:
            time.sleep(0.05)
        time.sleep(1.0)  # declarations spread
        before = _asked(router_pipe, "used")
        for number in range(count):
            if declared:
                publishers[number % 1000].put(PAYLOAD)
            else:
                session.put(keys[number % 1000], PAYLOAD, congestion_control=BLOCK)
        deadline = time.monotonic() + 60
        while _asked(hearer_pipe, "heard") < count:
            assert time.monotonic() < deadline, "messages are missing"
            time.sleep(0.02)
        used = _asked(router_pipe, "used") - before
    for pipe, process in ((hearer_pipe, hearer), (router_pipe, router)):
        pipe.send("end")
        process.join()
    return float(used) / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages, one round")
    options = parser.parse_args()
    count, rounds = (6_000, 1) if options.quick else (60_000, 3)
    controls = access_controls()
    times: dict[str, dict[str, list[float]]] = {
        name: {"put": [], "declared": []} for name in controls
    }
    for _ in range(rounds):  # by turns, so that noise hits all alike
        for name, control in controls.items():
            for way, spent in times[name].items():
                spent.append(measure(control, count, declared=way == "declared"))
    results = {}
    for name, control in controls.items():
        rules = [] if control is None else control["rules"]
        results[name] = {
            "key_expressions": sum(len(rule["key_exprs"]) for rule in rules),
            **{f"{way}_us": round(statistics.median(each), 2) for way, each in times[name].items()},
        }
        console.print(
            f"[bold]{name}[/]  " + "  ".join(f"{k} {v:,}" for k, v in results[name].items())
        )
    print(json.dumps(results))


if __name__ == "__main__":
    main()
