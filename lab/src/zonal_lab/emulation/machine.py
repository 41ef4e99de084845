"""What this machine can emulate, and what it lacks, in words that say what to do about it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from zonal_lab.emulation.cpu import find_cpu_controller
from zonal_lab.emulation.namespaces import Namespace
from zonal_lab.errors import EmulationError

_COMMANDS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
}


@dataclass(frozen=True)
class Machine:
    """The abilities that emulation needs; `missing` is empty when it can begin."""

    missing: tuple[str, ...]
    netem: bool = False
    cpu_limits: bool = False

    def require(self) -> None:
        """Raise an error that lists everything that is missing."""
        if self.missing:
            listed = "\n".join(f"  - {each}" for each in self.missing)
            raise EmulationError(f"this machine cannot emulate networks yet:\n{listed}")


def examine_machine() -> Machine:
    """Look for root, commands, namespaces, shaping, TUN and control groups by trying them."""
    missing = [
        f"the command `{command}` is missing: apt-get install {package}"
        for command, package in _COMMANDS.items()
        if shutil.which(command) is None
    ]
    if os.name != "posix" or not Path("/proc/self/ns/net").exists():
        return Machine(("network namespaces exist on Linux only",))
    if os.geteuid() != 0:
        missing.append("root is needed to make namespaces and shape links: run it with sudo")
    if missing:
        return Machine(tuple(missing))
    netem = False
    try:
        with Namespace("probe") as probe:
            missing.extend(_missing_in(probe))
            netem = _can(
                probe, "tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1ms"
            )
    except EmulationError as error:
        missing.append(f"network namespaces cannot be made ({error}): give CAP_SYS_ADMIN")
    if not Path("/dev/net/tun").exists():
        missing.append("/dev/net/tun is missing: load the tun module (modprobe tun)")
    return Machine(tuple(missing), netem, find_cpu_controller() is not None)


def _missing_in(probe: Namespace) -> list[str]:
    needed = {
        "the kernel has no bridge (modprobe bridge)": "ip link add b0 type bridge",
        "the kernel has no veth (modprobe veth)": "ip link add v0 type veth peer name v1",
        "the kernel has no token bucket (modprobe sch_tbf)": (
            "tc qdisc replace dev lo root tbf rate 5mbit burst 5kb latency 100ms"
        ),
    }
    return [what for what, command in needed.items() if not _can(probe, *command.split())]


def _can(probe: Namespace, *argv: str) -> bool:
    try:
        probe.run(*argv)
    except EmulationError:
        return False
    return True
