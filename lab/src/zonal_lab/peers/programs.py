"""Where the peers' programs are, and how each is started: its own process, its best settings."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.runtime import ChildProcess
from zonal_lab.emulation import wait_until
from zonal_lab.errors import EmulationError
from zonal_lab.systems import free_port, geo_broker_command, node_settings, resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Command = Callable[["Programs", int, Path], list[str]]

_PATIENCE_S = 40.0
_AEDES = """\
import net from 'node:net'
import {{ Aedes }} from '{folder}/node_modules/aedes/aedes.js'
const broker = await Aedes.createBroker()
net.createServer({{ noDelay: true }}, broker.handle).listen({port}, '127.0.0.1')
"""


class MissingProgramError(EmulationError):
    """A program that is not on this machine."""


@dataclass(frozen=True)
class RunningServer:
    """A server that listens: its port and the process that began it."""

    port: int
    pid: int

    @property
    def pids(self) -> list[int]:
        """Its processes."""
        return family_of(self.pid)

    def cpu_s(self) -> float:
        """Processor time of all of them so far."""
        return sum(fine_cpu_s(each) for each in self.pids)

    def resident(self) -> int:
        """Bytes that they hold, pages that they share counted for each."""
        return sum(resident_bytes(each) for each in self.pids)


def fine_cpu_s(pid: int) -> float:
    """Processor time of a process' threads so far, finer than the ticks of the process' own."""
    times = Path(f"/proc/{pid}/task").glob("*/schedstat")
    try:
        return sum(int(each.read_text(encoding="ascii").split()[0]) for each in times) / 1e9
    except OSError:  # a thread ended meanwhile
        return fine_cpu_s(pid)


def family_of(pid: int) -> list[int]:
    """A process and all that it started, and they in turn."""
    return [pid, *_children(pid)]


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(each) for each in (task / "children").read_text().split()]
    return found + [more for each in found for more in _children(each)]


@dataclass(frozen=True)
class Programs:
    """Programs by name: in a folder that was named, else on the path."""

    folder: Path | None = None

    def find(self, name: str) -> str:
        """The path of a program or file; `MissingProgramError` where there is none."""
        if self.folder is not None and (self.folder / name).exists():
            return str((self.folder / name).absolute())
        # Debian installs servers where the path of an ordinary user does not lead.
        found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if found is None:
            raise MissingProgramError(f"there is no {name} here")
        return found

    def has(self, name: str) -> bool:
        """Whether a program is there."""
        try:
            self.find(name)
        except MissingProgramError:
            return False
        return True

    @contextlib.contextmanager
    def started(self, command: Command) -> Iterator[RunningServer]:
        """A server on a free port, with a folder of its own, for as long as the block lasts."""
        port = free_port()
        with tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder:
            words = command(self, port, Path(folder))
            with (Path(folder) / "said").open("wb") as said:
                process = ChildProcess(words, stdout=said, stderr=said)
            try:
                wait_until(lambda: _listens(port), _PATIENCE_S, f"{words[0]} does not listen")
                yield RunningServer(port, process.pid)
            finally:
                process.end(grace_s=2)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
        return True
    return False


def tile38(programs: Programs, port: int, folder: Path) -> list[str]:
    """In memory only."""
    return [programs.find("tile38-server"), "-q", "--appendonly", "no", "-h", "127.0.0.1",
            "-p", str(port), "-d", str(folder)]  # fmt: skip


def redis(programs: Programs, port: int, folder: Path) -> list[str]:
    """In memory only."""
    return [programs.find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save",
            "", "--appendonly", "no", "--dir", str(folder)]  # fmt: skip


def _mosquitto(programs: Programs, port: int, folder: Path) -> list[str]:
    return [programs.find("mosquitto"), "-c", _mosquitto_settings(port, folder)]


def _newer_mosquitto(programs: Programs, port: int, folder: Path) -> list[str]:
    return [programs.find("mosquitto-newer"), "-c", _mosquitto_settings(port, folder)]


def _mosquitto_settings(port: int, folder: Path) -> str:
    settings = folder / "mosquitto.conf"
    settings.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type none\n"
        "max_queued_messages 0\nmax_inflight_messages 1000\nset_tcp_nodelay true\n",
        encoding="utf-8",
    )
    return str(settings)


def _nats(programs: Programs, port: int, folder: Path) -> list[str]:
    settings = folder / "nats.conf"
    settings.write_text(
        f'server_name: peer\nlisten: "127.0.0.1:{free_port()}"\n'
        f'jetstream {{ store_dir: "{folder}" }}\nmqtt {{ host: "127.0.0.1", port: {port}, '
        "max_ack_pending: 1000 }\n",
        encoding="utf-8",
    )
    return [programs.find("nats-server"), "-c", str(settings)]


def _mochi(programs: Programs, port: int, folder: Path) -> list[str]:
    del folder
    others = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    return [programs.find("mochi-mqtt"), "-tcp", f"127.0.0.1:{port}", "-ws", others[0],
            "-info", others[1]]  # fmt: skip


def _rumqttd(programs: Programs, port: int, folder: Path) -> list[str]:
    settings = folder / "rumqttd.toml"
    limits = (
        "connection_timeout_ms = 60000\nmax_payload_size = 20480\nmax_inflight_count = 1000\n"
        "dynamic_filters = true\n"
    )
    settings.write_text(
        "id = 0\n[router]\nid = 0\nmax_connections = 10010\nmax_outgoing_packet_count = 1000\n"
        "max_segment_size = 104857600\nmax_segment_count = 10\n"
        f'[v4.1]\nname = "v4"\nlisten = "127.0.0.1:{port}"\nnext_connection_delay_ms = 0\n'
        f"[v4.1.connections]\n{limits}",
        encoding="utf-8",
    )
    return [programs.find("rumqttd"), "-c", str(settings)]


def _aedes(programs: Programs, port: int, folder: Path) -> list[str]:
    script = folder / "aedes.mjs"
    script.write_text(_AEDES.format(folder=programs.find("aedes"), port=port), encoding="utf-8")
    return [programs.find("node"), str(script)]


def _amqtt(programs: Programs, port: int, folder: Path) -> list[str]:
    settings = folder / "amqtt.yaml"
    settings.write_text(
        f"listeners:\n  default:\n    type: tcp\n    bind: 127.0.0.1:{port}\n"
        "plugins:\n  amqtt.plugins.authentication.AnonymousAuthPlugin:\n"
        "    allow_anonymous: true\n",
        encoding="utf-8",
    )
    return [programs.find("amqtt"), "-c", str(settings)]


def zenohd_with(
    programs: Programs, plug_in: str, settings: dict[str, str], listen: str, folder: Path
) -> list[str]:
    """A `zenohd` that must load one of Zenoh's plug-ins, from where its library is."""
    library = Path(programs.find(f"libzenoh_plugin_{plug_in}.so"))
    told = node_settings("router", listen=[listen]) | {
        "plugins_loading": {"enabled": True, "search_dirs": [str(library.parent)]},
        "plugins": {plug_in: {**settings, "__required__": True}},
    }
    path = folder / "zenohd.json5"
    path.write_text(json.dumps(told), encoding="utf-8")
    return [programs.find("zenohd"), "-c", str(path)]


def _zenoh_mqtt(programs: Programs, port: int, folder: Path) -> list[str]:
    endpoint = f"tcp/127.0.0.1:{free_port()}"
    return zenohd_with(programs, "mqtt", {"port": f"127.0.0.1:{port}"}, endpoint, folder)


def _zonal(programs: Programs, port: int, folder: Path) -> list[str]:
    del programs, folder
    return geo_broker_command("127.0.0.1", port, "--log-level", "error")


BROKERS: dict[str, tuple[str, Command]] = {
    "zonal": (sys.executable, _zonal),
    "mosquitto": ("mosquitto", _mosquitto),
    "mosquitto-newer": ("mosquitto-newer", _newer_mosquitto),
    "nats": ("nats-server", _nats),
    "mochi": ("mochi-mqtt", _mochi),
    "rumqttd": ("rumqttd", _rumqttd),
    "aedes": ("aedes", _aedes),
    "amqtt": ("amqtt", _amqtt),
    "zenoh-mqtt": ("libzenoh_plugin_mqtt.so", _zenoh_mqtt),
}
"""MQTT brokers: the program that must be there, and how it is started."""


@contextlib.contextmanager
def postgis() -> Iterator[tuple[str, RunningServer]]:
    """Debian's PostgreSQL with PostGIS in a folder, without `fsync`: its address and process."""
    found = sorted(Path("/usr/share/postgresql").glob("*/extension/postgis.control"))
    if not found:
        raise MissingProgramError("there is no PostGIS here")
    programs = Path("/usr/lib/postgresql") / found[-1].parts[4] / "bin"
    folder = Path(tempfile.mkdtemp(prefix="zpg"))
    as_user = []
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    data = folder / "db"
    made = [programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"]
    settings = (
        f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off "
        "-c synchronous_commit=off -c shared_buffers=256MB -c jit=off"
    )
    control = [*as_user, programs / "pg_ctl", "-D", data, "-w", "-s"]
    try:
        _run([*as_user, *made, "--locale=C", "-E", "UTF8"])
        _run([*control, "-o", settings, "-l", folder / "log", "start"])
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        yield f"postgresql:///postgres?host={folder}&user=postgres", RunningServer(0, pid)
    finally:
        _run([*control, "-m", "immediate", "stop"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[object], *, check: bool = True) -> None:
    done = subprocess.run(  # noqa: S603 - fixed programs
        [str(each) for each in command],
        check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd="/", timeout=120,
    )  # fmt: skip
    if check and done.returncode:
        raise EmulationError(f"{command[-1]} of PostgreSQL ended with {done.returncode}")
