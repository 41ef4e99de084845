"""How the cases of `peers` are run: servers on loopback, each started for its case alone."""

from __future__ import annotations

import contextlib
import re
import subprocess
from typing import TYPE_CHECKING, Any

from zonal_lab.experiment import Outcome, Trial
from zonal_lab.peers.fences import run_fences
from zonal_lab.peers.getting import version_got
from zonal_lab.peers.index_work import run_index
from zonal_lab.peers.joins_work import SEDONA, run_joins
from zonal_lab.peers.mqtt_work import SHAPES, run_mqtt
from zonal_lab.peers.plan import NAMES, PeerCase
from zonal_lab.peers.programs import MissingProgramError, Programs
from zonal_lab.peers.rest_work import REQUESTS, run_rest
from zonal_lab.peers.things import run_things
from zonal_lab.peers.use_case import WARM_S, run_use_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.peers.plan import PeersPlan

MISSING = "missing"
"""The figure of a case whose program is not here: why."""
_VERSIONS = {
    "tile38": ("tile38-server", "--version"),
    "redis": ("redis-server", "--version"),
    "mosquitto": ("mosquitto", "-h"),
    "mosquitto-newer": ("mosquitto-newer", "-h"),
    "nats": ("nats-server", "--version"),
    "postgis": ("psql", "--version"),
    "rumqttd": ("rumqttd", "--version"),
    "amqtt": ("amqtt", "--version"),
    "zenoh-mqtt": ("zenohd", "--version"),
    "sedona": (SEDONA, "-c", "import pyspark; print(pyspark.__version__)"),
}
_GOT = {"mochi": "mochi-mqtt", "aedes": "aedes"}
"""Those that do not tell their version, as recipes call them."""
_PROGRAM_NAMES = {
    "postgis": "PostgreSQL",
    "zenoh-mqtt": "zenohd and its plug-ins",
    "sedona": "Apache Sedona's Spark",
}
_SECONDS = {"things": 15.0, "fences": 10.0, "index": 20.0, "use-case": WARM_S + 8, "joins": 60.0}


class PeersTrial(Trial[PeerCase]):
    """The experiment with its options set.

    Args:
        plan: what to run.
        programs: a folder in which programs are looked for before the path.
        geolife: trajectories for the index' workload; None: made-up walks.
    """

    emulates = False

    def __init__(
        self, plan: PeersPlan, programs: Path | None = None, geolife: Path | None = None
    ) -> None:
        super().__init__(plan)
        self._plan = plan
        self._programs = Programs(programs)
        self._geolife = geolife

    def prepare(self, results: Results) -> dict[str, str]:
        """Note the versions of what is here."""
        del results
        walks = "made-up walks" if self._geolife is None else "Geolife's trajectories"
        return {
            "places of index and joins": walks,
            "load of Tile38's and Redis' things": "in C",
            "versions": self._versions(),
            **self._built(),
        }

    def _built(self) -> dict[str, str]:
        """How whoever laid programs there has built them, if they say it in a file `built`."""
        folder = self._programs.folder
        if folder is None or not (folder / "built").exists():
            return {}
        return {"built": " ".join((folder / "built").read_text(encoding="utf-8").split())}

    def _versions(self) -> str:
        found = []
        for system, (program, *asked) in _VERSIONS.items():
            if not self._programs.has(program):
                continue
            command = [self._programs.find(program), *asked]
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                done = subprocess.run(  # noqa: S603 - a program that was looked up
                    command, capture_output=True, text=True, timeout=20, check=False
                )
                said = done.stdout + done.stderr
                if version := re.search(r"\d+\.\d+\.\d+", said) or re.search(r"\d+\.\d+", said):
                    name = _PROGRAM_NAMES.get(system, NAMES[system])
                    found.append(f"{name} {version[0]}")
        for system, name in _GOT.items():
            if version_told := version_got(self._programs.folder, name):
                found.append(f"{NAMES[system]} {version_told}")
        return ", ".join(found) or "nobody told one"

    def seconds_of(self, case: PeerCase) -> float:
        """By the work; a broker is loaded in eight ways, a web server in five."""
        ways = len(REQUESTS) if case.work == "rest" else len(SHAPES) + 2
        return _SECONDS.get(case.work, ways * (self._plan.seconds + 2))

    @contextlib.contextmanager
    def stage(self, case: PeerCase) -> Iterator[Callable[[PeerCase], Outcome]]:
        """Nothing is shared."""
        del case
        yield self._run

    def _run(self, case: PeerCase) -> Outcome:
        try:
            return Outcome(self._figures(case))
        except MissingProgramError as error:
            return Outcome({MISSING: str(error)})

    def _figures(self, case: PeerCase) -> dict[str, Any]:
        plan, system, here = self._plan, case.system, self._programs
        seed = plan.seed + case.round
        works: dict[str, Callable[[], dict[str, Any]]] = {
            "things": lambda: run_things(system, here, plan.things, plan.questions, seed),
            "fences": lambda: run_fences(system, here, plan.fences, plan.moving, seed),
            "index": lambda: run_index(system, here, self._geolife, plan.workload_scale),
            "use-case": lambda: run_use_case(
                system, here, clients=plan.clients, seconds=plan.seconds
            ),
            "mqtt": lambda: run_mqtt(
                system, here, seconds=plan.seconds, rate=plan.rate, idle=plan.idle
            ),
            "rest": lambda: run_rest(system, here, seconds=plan.seconds),
            "joins": lambda: run_joins(
                system, here, self._geolife,
                messages=plan.messages, subscriptions=plan.subscriptions, seed=seed,
            ),
        }  # fmt: skip
        return works[case.work]()
