from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zonal_lab.emulation.cpu import CpuController, CpuGroups, find_cpu_controller
from zonal_lab.emulation.network import EmulatedNetwork
from zonal_lab.emulation.runs import REGISTER, ProcessMark, RunRecord, remove_leftovers
from zonal_lab.emulation.topology import layout
from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("emulating")

HOLDER = """
import json, sys, time
from zonal_lab.emulation.network import EmulatedNetwork
from zonal_lab.emulation.signals import ending_in_order
from zonal_lab.emulation.topology import layout
pair = layout("pair")
with ending_in_order(also_ignored="asked" in sys.argv), EmulatedNetwork(pair) as network:
    workers = [network.start(node, ["sleep", "600"]) for node in pair.nodes]
    network.limit_cpu(pair.nodes[0], workers[0], 0.2)
    print(json.dumps({"run": network.run_id, "pids": [w.pid for w in workers]}), flush=True)
    sys.stdin.read()
    raise RuntimeError("an experiment failed")
"""


def wait_until(condition: Callable[[], bool], patience_s: float = 10) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


class Holder:
    """A process that holds an emulated network until it is told to fail, or killed.

    It begins with SIGINT and SIGHUP ignored, as after `nohup … &`: these tests may be run that way,
    and `trap` cannot undo it. `asked` says whether it takes the two nevertheless.
    """

    def __init__(self, *, asked: bool = True) -> None:
        ignoring = ["sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"]
        self.process = subprocess.Popen(
            [*ignoring, sys.executable, "-c", HOLDER, *(["asked"] if asked else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.run: str = told["run"]
        self.workers = [ProcessMark.of(pid) for pid in told["pids"]]
        # A process that was just started may still be on its way into its namespace.
        wait_until(lambda: namespace_of("self") not in map(namespace_of, told["pids"]))
        self.namespaces = set(map(namespace_of, told["pids"]))
        controller = find_cpu_controller()
        self.group = controller.root / f"zonal-lab-{self.run}" if controller else None
        self.record = REGISTER / f"{self.run}.json"

    def all_gone(self) -> bool:
        return not (
            self.record.exists()
            or (self.group and self.group.exists())
            or any(worker.alive for worker in self.workers)
            or self.namespaces & namespaces_in_use()
        )


def namespace_of(pid: int | str) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


def namespaces_in_use() -> set[Path]:
    found = set()
    for process in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(process.readlink())
        except OSError:
            continue
    return found


@pytest.fixture
def holder(request: pytest.FixtureRequest) -> Iterator[Holder]:
    made = Holder(asked=getattr(request, "param", True))
    yield made
    made.process.kill()
    made.process.wait(10)
    for pipe in (made.process.stdin, made.process.stdout):
        assert pipe is not None
        pipe.close()
    wait_until(lambda: not any(worker.alive for worker in made.workers))
    remove_leftovers()


def test_the_network_is_there_while_it_is_held(holder: Holder) -> None:
    assert holder.record.exists()
    assert holder.group is None or holder.group.exists()
    assert all(worker.alive for worker in holder.workers)
    assert len(holder.namespaces) == len(holder.workers)


def test_a_failing_experiment_leaves_nothing(holder: Holder) -> None:
    assert holder.process.stdin is not None
    holder.process.stdin.close()
    assert holder.process.wait(10) == 1
    assert holder.all_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_nothing(holder: Holder, number: signal.Signals) -> None:
    holder.process.send_signal(number)
    assert holder.process.wait(10) != 0
    assert holder.all_gone()


@pytest.mark.parametrize("holder", [False], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signals_that_were_ignored_at_the_start_stay_so_unless_asked(
    holder: Holder, number: signal.Signals
) -> None:
    holder.process.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        holder.process.wait(0.5)
    assert not holder.all_gone()
    holder.process.terminate()
    assert holder.process.wait(10) == 128 + signal.SIGTERM
    assert holder.all_gone()


def test_a_killed_run_is_found_and_removed(holder: Holder) -> None:
    holder.process.kill()
    holder.process.wait(10)
    wait_until(lambda: not any(worker.alive for worker in holder.workers))
    assert not holder.namespaces & namespaces_in_use()
    removed = remove_leftovers()
    assert removed.runs >= 1
    assert holder.all_gone()
    assert remove_leftovers().runs == 0


def test_a_running_emulation_is_no_leftover(holder: Holder) -> None:
    remove_leftovers()
    assert not holder.all_gone()
    assert all(worker.alive for worker in holder.workers)


def test_success_leaves_nothing() -> None:
    pair = layout("pair")
    before = set(REGISTER.glob("*.json"))
    with EmulatedNetwork(pair) as network:
        mark = ProcessMark.of(network.start(pair[1], ["sleep", "600"]).pid)
        assert mark.alive
    assert not mark.alive
    assert set(REGISTER.glob("*.json")) <= before


def test_a_worker_that_dies_or_keeps_silent_is_reported() -> None:
    pair = layout("pair")
    with EmulatedNetwork(pair) as network:
        dying = network.start(pair[1], [sys.executable, "-c", "raise SystemExit('no licence')"])
        with pytest.raises(EmulationError, match="no licence"):
            dying.hear(10)
        silent = network.start(pair[2], ["sleep", "600"])
        with pytest.raises(EmulationError, match=r"did not answer within 0\.05 s"):
            silent.hear(0.05)


def test_a_limited_process_gets_its_share_of_a_core() -> None:
    if find_cpu_controller() is None:
        pytest.skip("no cpu controller is mounted")
    record = RunRecord()  # or another run would take the groups for leftovers
    groups = CpuGroups(record.run)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        groups.limit("busy", 0.2)
        groups.add("busy", busy.pid)
        wait_until(lambda: cpu_seconds(busy.pid) > 0.05)
        shares: list[float] = []
        while len(shares) < 10 and not (shares and shares[-1] > 0.1):  # others may be busy, too
            before, start = cpu_seconds(busy.pid), time.monotonic()
            wait_until(lambda start=start: time.monotonic() - start > 1.5)  # type: ignore[misc] # its own
            shares.append((cpu_seconds(busy.pid) - before) / (time.monotonic() - start))
        assert shares[-1] > 0.1
        assert max(shares) < 0.25
    finally:
        busy.kill()
        busy.wait()
        groups.close()
        record.close()
    assert not groups.root.exists()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_of_control_groups_are_written(tmp_path: Path, version: int) -> None:
    if version == 2:
        (tmp_path / "cgroup.subtree_control").write_text("cpu memory")
        (tmp_path / "zonal-lab-x").mkdir()
        (tmp_path / "zonal-lab-x" / "cgroup.subtree_control").write_text("cpu")
    groups = CpuGroups("x", CpuController(tmp_path, version))
    groups.limit("R1", 0.2)
    group = tmp_path / "zonal-lab-x" / "R1"
    if version == 1:
        assert (group / "cpu.cfs_quota_us").read_text() == "2000"
        assert (group / "cpu.cfs_period_us").read_text() == "10000"
    else:
        assert (group / "cpu.max").read_text() == "2000 10000"
    groups.limit("R1", 1)
    unlimited = (group / ("cpu.cfs_quota_us" if version == 1 else "cpu.max")).read_text()
    assert unlimited.startswith("-1" if version == 1 else "max")


def test_the_controller_is_found_among_mounts(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io")
    v1 = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n"
    v2 = f"cgroup2 {tmp_path} cgroup2 rw,relatime 0 0\n"
    found = find_cpu_controller(v1)
    assert found is not None
    assert (found.version, str(found.root)) == (1, "/sys/fs/cgroup/cpu")
    unified = find_cpu_controller(v2)
    assert unified is not None
    assert (unified.version, unified.root) == (2, tmp_path)
    assert find_cpu_controller("proc /proc proc rw 0 0\n") is None
