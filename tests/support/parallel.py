"""How `make test` shares the tests out among processes (pytest-xdist, `--dist loadscope`).

The tests of a file stay together, in their order. Tests that need something of which a machine has
only one, or that would disturb their like, form a group, wherever their files are, and a group
runs in one process. Groups start first, the longest at once, and files fill up the time beside
them. Without `-n` nothing of this happens.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdist.workermanage import WorkerController

GROUPS = {"spark_holder": "spark", "emulating": "emulation", "chrome": "browser"}
"""Groups by the fixture that makes a test one of theirs, longest first.

A test that has no such fixture joins by its mark: `pytest.mark.group("spark")`.
"""

MOST_PROCESSES = 8
"""Each process collects all tests first, and with more the longest group ends no sooner."""

_STEPPED_BACK = 2
"""The niceness of processes that do not have the longest group."""

FOLDER = pytest.StashKey[Path]()
"""Where each process writes down the groups of the tests that it found."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "group(name): runs in one process with all of that group")


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many processes `-n auto` means: tests wait more than they compute."""
    return min(len(os.sched_getaffinity(0)) + 3, MOST_PROCESSES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Make the folder for what the processes will find."""
    folder = tempfile.TemporaryDirectory(prefix="zonal-tests-")
    config.add_cleanup(folder.cleanup)
    config.stash[FOLDER] = Path(folder.name)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Tell a new process where to write its groups."""
    node.workerinput["groups"] = str(node.config.stash[FOLDER] / node.gateway.id)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Hand out groups and files where scopes were asked for."""
    return GroupsAndFiles(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a process of many: import our share of the files before all others.

    What has no byte code yet, as in a fresh clone, is compiled once and not by each process.
    """
    workerinput = getattr(session.config, "workerinput", None)
    if workerinput is None:
        return
    number, count = int(workerinput["workerid"][2:]), int(workerinput["workercount"])
    folders = (Path(argument) for argument in session.config.args)
    files = sorted(file for folder in folders for file in folder.rglob("test_*.py"))
    for file in files[number % count :: count]:
        try:
            _ = pytest.Module.from_parent(session, path=file.absolute()).obj
        except (pytest.Collector.CollectError, pytest.skip.Exception):  # collecting will tell
            _forget(file)


def _forget(file: Path) -> None:
    """Have a module imported anew that was not imported to its end."""
    for name, module in [*sys.modules.items()]:
        if getattr(module, "__file__", None) == str(file.absolute()):
            del sys.modules[name]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process of many: find the groups, and put their tests first."""
    if not hasattr(config, "workerinput"):
        return
    groups = {item.nodeid: group for item in items if (group := _group(item))}
    first = list(GROUPS.values())
    rank = {group: number for number, group in enumerate(dict.fromkeys([*first, *groups.values()]))}
    items.sort(key=lambda item: rank.get(groups.get(item.nodeid, ""), len(rank)))
    Path(config.workerinput["groups"]).write_text(json.dumps(groups), encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """In a process of many: step back a little for whoever has the longest group.

    All share the same cores, and that group would be the last to end.
    """
    longest = next(iter(GROUPS.values()))
    if hasattr(item.config, "workerinput") and _group(item) != longest:
        behind = _STEPPED_BACK - os.nice(0)
        if behind > 0:
            os.nice(behind)


def _group(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("group")
    if mark is not None:
        return str(mark.args[0])
    fixtures = getattr(item, "fixturenames", ())
    return next((group for fixture, group in GROUPS.items() if fixture in fixtures), None)


class GroupsAndFiles(LoadScopeScheduling):
    """Hands out whole groups and whole files.

    A test that ends its process has failed and is not tried again; what was to follow it runs in
    another process.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._groups: dict[str, str] = {}

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take what a process found, and in which groups."""
        self._groups |= json.loads(Path(node.workerinput["groups"]).read_text(encoding="utf-8"))
        super().add_node_collection(node, collection)

    def _split_scope(self, nodeid: str) -> str:
        return self._groups.get(nodeid) or nodeid.partition("::")[0]

    def _reschedule(self, node: WorkerController) -> None:
        super()._reschedule(node)
        # A process starts a test only when it knows the next one, or that there is none.
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        # A process may have ended without our knowing yet; when we do, others get what it has.
        with contextlib.suppress(OSError):
            super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test that `node` was at when it ended, if it was at one."""
        # Left to itself, xdist would run that test again, and wait for ever for whoever gets a
        # scope in which nothing is left to do.
        work = self.assigned_work[node]
        waiting = [(unit, test) for unit in work.values() for test in unit if not unit[test]]
        for unit, test in waiting[:1]:
            unit[test] = True
        self.assigned_work[node] = {
            scope: unit for scope, unit in work.items() if not all(unit.values())
        }
        super().remove_node(node)
        return waiting[0][1] if waiting else None
